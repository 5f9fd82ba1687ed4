// The parameter sweeps of published work on this GPU: a 256-bin histogram (64 bins for a histogram
// per thread) of 12-bit images of 1536 x 1024 pixels, and the Hough transform of 120 angles of
// images of that size. For each method all layouts, numbers of copies, threads in a block (32 to
// 1024 in steps of 32) and blocks per SM (1 to 8, at most 2048 threads); where copies are spread
// over the threads of a block in global memory, no more copies than threads. Printed are the
// fastest of each, in the form of braak15's Tables 3.3 to 3.7, 4.1 and 4.2. The file has a row
// for every configuration that the GPU can run.
#include "tables.cuh"

#include "measure.cuh"

#include <string.h>
#include <unistd.h>

static const char columns[] =
    "# Sweeps in the form of braak15, Tables 3.3 to 3.7, 4.1 and 4.2.\n"
    "# table: the table of the document that the row belongs to\n"
    "# method, image, layout: what votes, in what, and where copies lie\n"
    "# copies: sub-histograms of a block (3.3, 3.6), of a warp (3.5), of a thread (3.4: 1), or\n"
    "#   sub-Hough spaces (4.1: of the space, 4.2: of a line)\n"
    "# threads: in a block; blocks_per_sm: of the grid (0: one thread per pixel, or one block per\n"
    "#   angle)\n"
    "# shared_bytes: of all blocks of an SM together; 0 for votes in global memory\n"
    "# median_us: of a whole call, the kernels that add copies up included\n"
    "# result: right, or wrong\n"
    "table,method,image,layout,copies,threads,blocks_per_sm,shared_bytes,median_us,result\n";

// One configuration with its time.
struct Entry {
  std::string table, method, image;
  bf_cuda_layout layout;
  unsigned copies, threads, blocks;
  size_t shared_bytes;
  double us;
};

// What is tried, and what came out.
struct Sweep {
  unsigned shrink, thread_step, most_blocks, most_copies;
  FILE *csv;
  std::vector<Entry> best; // one for each table, method and image
  bool any_wrong;
};

// The median of three samples of four calls, after one call; of one call that takes long.
template <typename Call> static double quick_us(Call call) {
  const double long_us = 500;
  static cudaEvent_t start = NULL, stop = NULL;
  if (!start) {
    must(cudaEventCreate(&start), "event");
    must(cudaEventCreate(&stop), "event");
  }
  float times[4] = {0};
  for (int i = 0; i < 4; i++) {
    int calls = i ? 4 : 1;
    cudaEventRecord(start, 0);
    for (int k = 0; k < calls; k++)
      if (call() != BF_OK)
        return -1;
    cudaEventRecord(stop, 0);
    must(cudaEventSynchronize(stop), "a call");
    must(cudaEventElapsedTime(&times[i], start, stop), "time");
    times[i] *= 1000.0f / calls;
    if (times[0] > long_us)
      return times[0];
  }
  std::sort(times + 1, times + 4);
  return times[2];
}

static void add_entry(Sweep *sweep, const Entry &entry, bool right) {
  sweep->any_wrong |= !right;
  fprintf(sweep->csv, "%s,%s,%s,%s,%u,%u,%u,%zu,%.2f,%s\n", entry.table.c_str(),
          entry.method.c_str(), entry.image.c_str(), layout_names[entry.layout], entry.copies,
          entry.threads, entry.blocks, entry.shared_bytes, entry.us, right ? "right" : "wrong");
  for (Entry &old : sweep->best)
    if (old.table == entry.table && old.method == entry.method && old.image == entry.image) {
      if (entry.us < old.us)
        old = entry;
      return;
    }
  sweep->best.push_back(entry);
}

// Memory of the device that grows as it must and is clear.
struct Workspace {
  void *memory = NULL;
  size_t bytes = 0;
  ~Workspace() { cudaFree(memory); }
  void need(size_t wanted) {
    if (wanted > bytes) {
      cudaFree(memory);
      memory = device_array<unsigned char>(bytes = wanted);
    }
    bf_cuda_workspace_clear(memory, wanted, 0);
  }
};

// ---- Histograms ----

struct Histogram {
  const char *image;
  Data data;
  bf_histogram_options options;
  std::vector<uint32_t> wanted;
  Workspace workspace;
  uint32_t *counts;
};

static void set_bins(Histogram *one, size_t bins) {
  one->options.bins = bins;
  one->options.high = 4096;
  one->wanted.assign(bins, 0);
  const uint16_t *pixels = (const uint16_t *)one->data.host.data();
  for (size_t i = 0; i < one->data.host.size() / 2; i++)
    one->wanted[pixels[i] * bins / 4096]++;
}

// Bytes of shared memory of a block.
static size_t block_bytes(const bf_cuda_choice &choice, size_t bins) {
  size_t rows = choice.layout == BF_CUDA_PADDED ? bins + 1 : bins;
  switch (choice.method) {
  case BF_CUDA_GLOBAL:
    return 0;
  case BF_CUDA_SHARED:
    return rows * choice.copies * 4;
  case BF_CUDA_THREAD_HALVES:
  case BF_CUDA_THREAD_BANKS:
    return bins * choice.threads * 2;
  case BF_CUDA_THREAD_WORDS:
    return bins * choice.threads * 4;
  default:
    return rows * choice.copies * 4 * (choice.threads / WARP);
  }
}

static void try_histogram(Sweep *sweep, Histogram *one, const char *table,
                          const bf_cuda_choice &choice) {
  size_t bytes = 0;
  if (bf_cuda_histogram_u32(NULL, &bytes, &one->data.image, &one->options, &choice, NULL, 0))
    return;
  one->workspace.need(bytes);
  double us = quick_us([&] {
    return bf_cuda_histogram_u32(one->workspace.memory, &bytes, &one->data.image, &one->options,
                                 &choice, one->counts, 0);
  });
  if (us < 0)
    return;
  std::vector<uint32_t> got(one->options.bins);
  must(cudaMemcpy(got.data(), one->counts, got.size() * 4, cudaMemcpyDeviceToHost), "counts");
  size_t shared = block_bytes(choice, one->options.bins) * choice.blocks_per_sm;
  add_entry(sweep,
            {table, method_names[choice.method], one->image, choice.layout, choice.copies,
             choice.threads, choice.blocks_per_sm, shared, us},
            got == one->wanted);
}

// Every number of threads and blocks for one method, layout and number of copies. Blocks that do
// not fit into an SM together would run one after the other: they are left out.
static void sweep_threads(Sweep *sweep, Histogram *one, const char *table, bf_cuda_method method,
                          bf_cuda_layout layout, unsigned copies, size_t sm_bytes) {
  for (unsigned threads = sweep->thread_step; threads <= 1024; threads += sweep->thread_step)
    for (unsigned blocks = 1; blocks <= sweep->most_blocks && blocks * threads <= 2048; blocks++) {
      bf_cuda_choice choice = {method, layout, copies, threads, blocks, 1};
      bool spread = method == BF_CUDA_GLOBAL && copies > threads;
      if (!spread && (block_bytes(choice, one->options.bins) + 1024) * blocks <= sm_bytes)
        try_histogram(sweep, one, table, choice);
    }
}

// Tables 3.3 to 3.6 for one image.
static void sweep_histograms(Sweep *sweep, Kind kind) {
  Histogram one = {};
  int sm_bytes = 0;
  cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0);
  one.image = kind_names[kind];
  one.counts = device_array<uint32_t>(256);
  make_data(kind, BF_PIXEL_U16, 1536 / sweep->shrink, 1024 / sweep->shrink, &one.data);
  set_bins(&one, 256);
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_HASHED; layout++) {
    bf_cuda_layout place = (bf_cuda_layout)layout;
    for (unsigned copies = 1; copies <= sweep->most_copies; copies *= 2) {
      if (place != BF_CUDA_HASHED)
        sweep_threads(sweep, &one, "3.3", BF_CUDA_GLOBAL, place, copies, sm_bytes);
      if (place != BF_CUDA_HASHED && copies <= WARP)
        sweep_threads(sweep, &one, "3.5", BF_CUDA_WARP_SOFTWARE, place, copies, sm_bytes);
      if (copies <= WARP)
        sweep_threads(sweep, &one, "3.6", BF_CUDA_SHARED, place, copies, sm_bytes);
    }
  }
  for (unsigned method = BF_CUDA_WARP_SHUFFLED; method <= BF_CUDA_WARP_ATOMIC_STRIDED; method++)
    for (unsigned copies = 1; copies <= 2; copies *= 2)
      sweep_threads(sweep, &one, "3.5", (bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, copies,
                    sm_bytes);
  set_bins(&one, 64);
  for (unsigned method = BF_CUDA_THREAD_HALVES; method <= BF_CUDA_THREAD_WORDS; method++)
    sweep_threads(sweep, &one, "3.4", (bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, 1, sm_bytes);
  free_data(&one.data);
  cudaFree(one.counts);
}

// ---- Hough transforms ----

struct Lines {
  std::string image;
  bf_pixels edges; // on the device
  bf_hough_options options;
  std::vector<uint32_t> wanted;
  Workspace workspace;
  uint32_t *votes;
};

static void try_hough(Sweep *sweep, Lines *one, const char *table, const char *method,
                      const bf_cuda_hough_choice &choice) {
  size_t bytes = 0, words = one->wanted.size(), line = words / 120;
  if (bf_cuda_hough_vote(NULL, &bytes, &one->edges, &one->options, &choice, NULL, 0))
    return;
  one->workspace.need(bytes);
  double us = quick_us([&] {
    return bf_cuda_hough_vote(one->workspace.memory, &bytes, &one->edges, &one->options, &choice,
                              one->votes, 0);
  });
  if (us < 0)
    return;
  std::vector<uint32_t> got(words);
  must(cudaMemcpy(got.data(), one->votes, words * 4, cudaMemcpyDeviceToHost), "votes");
  size_t rows = choice.layout == BF_CUDA_PADDED ? line + 1 : line;
  bool shared = choice.method == BF_CUDA_HOUGH_TWO_STEP;
  add_entry(sweep,
            {table, method, one->image, choice.layout, choice.copies, choice.threads, 0,
             shared ? rows * choice.copies * 4 : 0, us},
            got == one->wanted);
}

// The votes that must come out, by the CPU.
static bool reference_votes(Lines *one) {
  bf_hough_space space;
  bf_diagnostic diagnostic;
  std::vector<unsigned char> host(one->edges.width * one->edges.height);
  must(cudaMemcpy(host.data(), one->edges.data, host.size(), cudaMemcpyDeviceToHost), "edges");
  bf_pixels edges = one->edges;
  edges.data = host.data();
  if (bf_hough_vote(&edges, &one->options, &space, &diagnostic) != BF_OK) {
    fprintf(stderr, "vote_bench: %s\n", diagnostic.message);
    return false;
  }
  one->wanted.assign(space.votes, space.votes + space.angles * space.rhos);
  bf_hough_space_clear(&space);
  return true;
}

// Tables 4.1 and 4.2 for an image of which this many percent are edges.
static void sweep_lines(Sweep *sweep, unsigned percent) {
  Lines one = {};
  size_t width = 1536 / sweep->shrink, height = 1024 / sweep->shrink;
  uint8_t *memory = device_array<uint8_t>(width * height);
  make_edges<<<1024, 256>>>((unsigned)width, width * height, percent, memory);
  one.image = std::to_string(percent) + "% edges";
  one.edges = {memory, BF_PIXEL_U8, 1, width, height, 0, NULL, 0};
  one.options.struct_bytes = sizeof one.options;
  one.options.theta_step = 3.14159265358979323846 / 120;
  if (!reference_votes(&one)) {
    sweep->any_wrong = true;
    cudaFree(memory);
    return;
  }
  one.votes = device_array<uint32_t>(one.wanted.size());
  unsigned most = std::min(8u, sweep->most_copies);
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_PADDED; layout++)
    for (unsigned copies = 1; copies <= most; copies++)
      for (unsigned threads = sweep->thread_step; threads <= 1024; threads += sweep->thread_step) {
        bf_cuda_hough_choice choice = {
            BF_CUDA_HOUGH_GLOBAL, (bf_cuda_layout)layout, copies, threads, 1, 1};
        try_hough(sweep, &one, "4.1", "global atomics", choice);
        choice.method = BF_CUDA_HOUGH_TWO_STEP;
        try_hough(sweep, &one, "4.2", "two steps", choice);
      }
  cudaFree(one.votes);
  cudaFree(memory);
}

// ---- Printing ----

// The fastest configuration of every method and image of a table.
static void print_table(const Sweep &sweep, const char *table, const char *title) {
  printf("\nTable %s: %s\n%-28s %-11s %-13s %6s %7s %10s %13s %9s\n", table, title, "method",
         "image", "layout", "copies", "threads", "blocks/SM", "shared memory", "us");
  for (const Entry &entry : sweep.best)
    if (entry.table == table)
      printf("%-28s %-11s %-13s %6u %7u %10u %12.1fk %9.2f\n", entry.method.c_str(),
             entry.image.c_str(), layout_names[entry.layout], entry.copies, entry.threads,
             entry.blocks, entry.shared_bytes / 1024.0, entry.us);
}

// The fastest of each histogram table, whatever its method.
static void print_summary(const Sweep &sweep) {
  static const char *const rows[][2] = {{"3.3", "global memory atomics"},
                                        {"3.4", "thread-private (64 bins)"},
                                        {"3.5", "warp-private"},
                                        {"3.6", "shared memory atomics"}};
  printf("\nTable 3.7: the fastest configuration of each approach, us\n");
  for (const auto &row : rows) {
    printf("%-28s", row[1]);
    for (unsigned kind = 0; kind <= RANDOM; kind++) {
      double us = 0;
      for (const Entry &entry : sweep.best)
        if (entry.table == row[0] && entry.image == kind_names[kind] && (us == 0 || entry.us < us))
          us = entry.us;
      if (us > 0)
        printf(" %s %9.2f", kind_names[kind], us);
    }
    printf("\n");
  }
}

static void print_tables(const Sweep &sweep) {
  print_table(sweep, "3.3", "atomics on global memory, 256 bins");
  print_table(sweep, "3.4", "a histogram per thread, 64 bins");
  print_table(sweep, "3.5", "a histogram per warp, 256 bins");
  print_table(sweep, "3.6", "atomics on shared memory, 256 bins");
  print_summary(sweep);
  print_table(sweep, "4.1", "Hough transform, atomics on global memory");
  print_table(sweep, "4.2", "Hough transform, two steps with atomics on shared memory");
}

int measure_tables(const char *path, unsigned shrink) {
  Sweep sweep = {shrink ? shrink : 1, 32, 8, 1024, NULL, {}, false};
  if (sweep.shrink > 1)
    sweep.thread_step = 512, sweep.most_blocks = 1, sweep.most_copies = 2;
  std::string temporary = std::string(path) + ".XXXXXX";
  int descriptor = mkstemp(&temporary[0]);
  sweep.csv = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  if (!sweep.csv) {
    fprintf(stderr, "vote_bench: %s cannot be written\n", path);
    return 1;
  }
  fputs(columns, sweep.csv);
  for (unsigned kind = 0; kind <= RANDOM; kind++)
    sweep_histograms(&sweep, (Kind)kind);
  sweep_lines(&sweep, 10);
  sweep_lines(&sweep, 21);
  print_tables(sweep);
  if (fclose(sweep.csv) != 0 || rename(temporary.c_str(), path) != 0) {
    fprintf(stderr, "vote_bench: %s cannot be written\n", path);
    unlink(temporary.c_str());
    return 1;
  }
  if (sweep.any_wrong)
    printf("some results are wrong\n");
  return sweep.any_wrong;
}
