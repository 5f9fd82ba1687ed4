// Finds the fastest way for a histogram by trying, and keeps what was found in a file. Lines are
//
//   GPU|type|weights|bins|size METHOD LAYOUT COPIES THREADS BLOCKS LOADS MICROSECONDS
//
// where size is the power of two above the number of pixels and spaces in the GPU's name are '_'.
#include "vote.cuh"

#include <algorithm>
#include <float.h>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

static const char header[] = "# bankfold: fastest ways of histograms, measured\n";

// ---- The file ----

static std::string tuned_path(const char *path) {
  if (path)
    return path;
  if (const char *named = getenv("BANKFOLD_VOTE_TUNED"))
    return named;
  const char *home = getenv("HOME");
  return home ? std::string(home) + "/.cache/bankfold/vote.tuned" : "";
}

// What lines tell apart, besides the GPU.
struct Problem {
  unsigned type, weights, size; // weights 0: none; size: the power of two above the pixels
  size_t bins;
  bool operator==(const Problem &other) const {
    return type == other.type && weights == other.weights && size == other.size &&
           bins == other.bins;
  }
};

static Problem make_problem(const bf_pixels *image, const bf_histogram_options *options) {
  unsigned size = 0;
  while (size < 63 && (uint64_t)1 << size < (uint64_t)image->width * image->height)
    size++;
  return {(unsigned)image->type, options->weights ? (unsigned)options->weight_type + 1 : 0, size,
          options->bins};
}

// The name of a GPU as it stands in lines; empty: there is no such GPU.
static std::string device_name(int device) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "";
  std::string name = properties.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

// What stands before the first space of a line for this problem.
static int make_key(const bf_pixels *image, const bf_histogram_options *options, std::string *key) {
  Device device;
  if (!image || !options)
    return BF_BAD_INPUT;
  if (vote_device(&device))
    return BF_IO;
  std::string name = device_name(device.number);
  if (name.empty())
    return BF_IO;
  Problem problem = make_problem(image, options);
  char rest[96];
  snprintf(rest, sizeof rest, "|%u|%u|%zu|%u", problem.type, problem.weights, problem.bins,
           problem.size);
  *key = name + rest;
  return BF_OK;
}

static int read_lines(const std::string &path, std::vector<std::string> *lines) {
  char line[512];
  FILE *file = fopen(path.c_str(), "r");
  if (!file)
    return BF_IO;
  while (fgets(line, sizeof line, file))
    lines->push_back(line);
  fclose(file);
  return BF_OK;
}

static bool parse_choice(const char *text, bf_cuda_choice *choice) {
  unsigned method, layout;
  *choice = {};
  if (sscanf(text, " %u %u %u %u %u %u", &method, &layout, &choice->copies, &choice->threads,
             &choice->blocks_per_sm, &choice->loads) != 6)
    return false;
  choice->method = (bf_cuda_method)method;
  choice->layout = (bf_cuda_layout)layout;
  return method <= BF_CUDA_WARP_ATOMIC_STRIDED && layout <= BF_CUDA_HASHED;
}

// Writes beside the file and renames, so that readers see the old or the new one.
static int replace_file(const std::string &path, const std::vector<std::string> &lines) {
  std::string temporary = path + ".XXXXXX";
  size_t folder = path.rfind('/');
  for (size_t i = 1; folder != std::string::npos && i <= folder; i++)
    if (path[i] == '/')
      mkdir(path.substr(0, i).c_str(), 0777);
  int descriptor = mkstemp(&temporary[0]);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  if (!file)
    return BF_IO;
  bool written = true;
  for (const std::string &line : lines)
    written = fputs(line.c_str(), file) >= 0 && written;
  written = fclose(file) == 0 && written;
  if (written && rename(temporary.c_str(), path.c_str()) == 0)
    return BF_OK;
  unlink(temporary.c_str());
  return BF_IO;
}

static int save(const std::string &path, const std::string &key, const bf_cuda_choice &choice,
                float microseconds) {
  std::vector<std::string> lines, kept = {header};
  char line[160];
  read_lines(path, &lines);
  for (const std::string &old : lines)
    if (old != header && old.compare(0, key.size() + 1, key + " ") != 0)
      kept.push_back(old);
  snprintf(line, sizeof line, " %u %u %u %u %u %u %.2f\n", choice.method, choice.layout,
           choice.copies, choice.threads, choice.blocks_per_sm, choice.loads, microseconds);
  kept.push_back(key + line);
  return replace_file(path, kept);
}

extern "C" int bf_cuda_tuned(const char *path, const bf_pixels *image,
                             const bf_histogram_options *options, bf_cuda_choice *choice) {
  std::string key;
  std::vector<std::string> lines;
  int error = make_key(image, options, &key);
  if (error)
    return error;
  if (read_lines(tuned_path(path), &lines))
    return BF_UNSUPPORTED;
  for (const std::string &line : lines)
    if (line.compare(0, key.size() + 1, key + " ") == 0)
      return parse_choice(line.c_str() + key.size(), choice) ? BF_OK : BF_BAD_INPUT;
  return BF_UNSUPPORTED;
}

// ---- What calls without a choice take ----

struct Saved {
  int device;
  Problem problem;
  bf_cuda_choice choice;
};

// Lines of the file that are about GPUs of this machine; others are passed over.
static std::vector<Saved> read_saved() {
  std::vector<std::string> lines;
  std::vector<Saved> saved;
  int devices = 0;
  if (read_lines(tuned_path(NULL), &lines) || cudaGetDeviceCount(&devices) != cudaSuccess)
    return saved;
  for (int device = 0; device < devices; device++) {
    std::string start = device_name(device) + "|";
    for (const std::string &line : lines) {
      Saved one = {device, {}, {}};
      size_t space = line.find(' ');
      if (space != std::string::npos && line.compare(0, start.size(), start) == 0 &&
          sscanf(line.c_str() + start.size(), "%u|%u|%zu|%u", &one.problem.type,
                 &one.problem.weights, &one.problem.bins, &one.problem.size) == 4 &&
          parse_choice(line.c_str() + space, &one.choice))
        saved.push_back(one);
    }
  }
  return saved;
}

// The file is read once: a call must not wait for a disk.
bool vote_saved(int device, const bf_pixels *image, const bf_histogram_options *options,
                bf_cuda_choice *choice) {
  try {
    static const std::vector<Saved> all = read_saved();
    Problem problem = all.empty() ? Problem{} : make_problem(image, options);
    for (const Saved &one : all)
      if (one.device == device && one.problem == problem) {
        *choice = one.choice;
        return true;
      }
  } catch (const std::bad_alloc &) {
  }
  return false;
}

// ---- Trying ----

// Ways worth trying; those that the problem does not allow are refused when they are called. With
// many bins, few copies can fit on any GPU.
static std::vector<bf_cuda_choice> candidates(bool weighted, size_t bins) {
  std::vector<bf_cuda_choice> list;
  unsigned most_copies = bins > 8192 ? 4 : WARP;
  if (weighted) {
    for (unsigned threads : {96u, 128u, 192u, 224u})
      list.push_back({BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, WARP, threads, 1, 1});
    for (bf_cuda_layout layout : {BF_CUDA_BIN_BY_BIN, BF_CUDA_HASHED})
      for (unsigned copies : {8u, 32u})
        for (unsigned threads : {256u, 512u, 1024u})
          list.push_back({BF_CUDA_SHARED, layout, copies, threads, 2, 1});
    list.push_back({BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 8, 512, 2, 1});
    return list;
  }
  for (unsigned copies = 1; copies <= most_copies; copies *= 2)
    for (unsigned threads : {256u, 384u, 512u, 768u, 1024u})
      for (unsigned blocks : {1u, 2u, 4u})
        for (unsigned loads : {1u, 2u, 4u})
          if (threads * blocks <= 2048)
            list.push_back({BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, copies, threads, blocks, loads});
  for (unsigned copies : {1u, 8u, 32u})
    for (unsigned threads : {256u, 512u, 1024u})
      list.push_back({BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, copies, threads, 2, 1});
  return list;
}

// A problem with the memory that trying it needs.
struct Trial {
  const bf_pixels *image;
  bf_histogram_options options;
  void *workspace, *result;
  size_t workspace_bytes;
  cudaEvent_t start, stop;
};

static int call(Trial *trial, const bf_cuda_choice &choice) {
  return trial->options.weights
             ? bf_cuda_histogram_f64(trial->workspace, &trial->workspace_bytes, trial->image,
                                     &trial->options, &choice, (double *)trial->result, 0)
             : bf_cuda_histogram_u64(trial->workspace, &trial->workspace_bytes, trial->image,
                                     &trial->options, &choice, (uint64_t *)trial->result, 0);
}

// The median time of a way in microseconds, of seven samples: of one call, or of four one after the
// other for small images, most of whose time is that of a launch. A way whose first sample takes
// more than `limit` is not measured further.
static int measure(Trial *trial, const bf_cuda_choice &choice, float limit, float *microseconds) {
  const uint64_t small_pixels = 4 << 20;
  int calls = (uint64_t)trial->image->width * trial->image->height < small_pixels ? 4 : 1;
  std::vector<float> times;
  int error = call(trial, choice);
  while (times.size() < 7 && (times.empty() || times[0] <= limit)) {
    float milliseconds;
    cudaEventRecord(trial->start, 0);
    for (int i = 0; i < calls && !error; i++)
      error = call(trial, choice);
    cudaEventRecord(trial->stop, 0);
    if (error || cudaEventSynchronize(trial->stop) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, trial->start, trial->stop) != cudaSuccess)
      return error ? error : BF_IO;
    times.push_back(milliseconds * 1000 / calls);
  }
  std::sort(times.begin(), times.end());
  *microseconds = times[times.size() / 2];
  return BF_OK;
}

// Memory for every candidate: as much as the one that needs the most.
static int prepare(Trial *trial, const std::vector<bf_cuda_choice> &list) {
  size_t most = 0;
  for (const bf_cuda_choice &choice : list) {
    size_t needed = 0;
    trial->workspace_bytes = 0;
    if (call(trial, choice) == BF_OK)
      needed = trial->workspace_bytes;
    most = std::max(most, needed);
  }
  trial->workspace_bytes = most;
  if (most == 0)
    return BF_BAD_INPUT;
  if (cudaMalloc(&trial->workspace, most) != cudaSuccess ||
      cudaMalloc(&trial->result, trial->options.bins * sizeof(double)) != cudaSuccess)
    return BF_NO_MEMORY;
  return cudaEventCreate(&trial->start) == cudaSuccess &&
                 cudaEventCreate(&trial->stop) == cudaSuccess
             ? bf_cuda_workspace_clear(trial->workspace, most, 0)
             : BF_IO;
}

static void clear(Trial *trial) {
  cudaFree(trial->workspace);
  cudaFree(trial->result);
  if (trial->start)
    cudaEventDestroy(trial->start);
  if (trial->stop)
    cudaEventDestroy(trial->stop);
}

static int find_best(Trial *trial, const std::vector<bf_cuda_choice> &list, bf_cuda_choice *best,
                     float *best_time) {
  const float hopeless = 2; // times the best so far
  *best_time = -1;
  for (const bf_cuda_choice &choice : list) {
    float time, limit = *best_time < 0 ? FLT_MAX : hopeless * *best_time;
    int error = measure(trial, choice, limit, &time);
    if (error == BF_UNSUPPORTED)
      continue;
    if (error)
      return error;
    if (*best_time < 0 || time < *best_time) {
      *best_time = time;
      *best = choice;
    }
  }
  return *best_time < 0 ? BF_UNSUPPORTED : BF_OK;
}

extern "C" int bf_cuda_tune(const char *path, const bf_pixels *image,
                            const bf_histogram_options *options, bf_cuda_choice *best) {
  std::string key;
  bf_cuda_choice found = {};
  float microseconds = 0;
  int error = make_key(image, options, &key);
  if (error)
    return error;
  Trial trial = {image, *options, NULL, NULL, 0, NULL, NULL};
  trial.options.accumulate = false;
  std::vector<bf_cuda_choice> list = candidates(options->weights != NULL, options->bins);
  error = prepare(&trial, list);
  if (!error)
    error = find_best(&trial, list, &found, &microseconds);
  clear(&trial);
  if (error)
    return error;
  if (best)
    *best = found;
  std::string file = tuned_path(path);
  return file.empty() ? BF_IO : save(file, key, found, microseconds);
}
