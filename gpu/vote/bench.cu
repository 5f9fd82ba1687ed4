// Histograms and Hough transforms on the GPU of this machine: are they right, and how fast?
//
//   vote_bench [FILE.csv]       every way and many parameters; well under a minute
//   vote_bench --quick [FILE]   what is compared with, the defaults and what the tuner finds
//   vote_bench --small [FILE]   all with images of a thousandth of the pixels, to try the program
//   vote_bench --tables FILE    the sweeps of published tables; tables.cu says what is in the file
//   vote_bench --check [N [M]]  values beside edges of bins, and random cases 0 to N-1 (M to N-1),
//                               against the CPU; status 1: some differ
//   vote_bench --once ...       one small histogram, for `bankfold exec --json`
//   vote_bench --tune FILE      tries the tuner
//
// Prints a line for every problem, and writes a row for everything that was measured to the file.
// Times are medians, between two events, of `calls` calls in a row (eight for small images); images
// lie on the device, and calls write their result there. Small images are also measured one call at
// a time (`alone`), for in a row a call may begin while the one before ends. Saved choices of the
// tuner are not used: `default` is what holds without them. A row's `ratio` is the time of what it
// is compared with (`against`) divided by its own. CUB is CUB's DeviceHistogram with its temporary
// storage allocated before; -DBF_NO_CUB leaves it out.
//
// Two ceilings: copy_us is the time for the bytes that are read at the speed of a large copy,
// measured in the same run. wavefront_us is the time that atomics in shared memory take: the
// wavefronts of a sample of the image's warps, one cycle each, on all SMs at their highest clock.
// For weights they are a load and a store, and for Hough transforms one for 32 votes, which is the
// least that there can be.
#include "check.cuh"
#include "measure.cuh"
#include "tables.cuh"
#include "tiles.cuh"

#ifndef BF_NO_CUB
#include <cub/device/device_histogram.cuh>
#endif

#include <math.h>
#include <string.h>
#include <unistd.h>

// ---- Rows ----

// What a row of the table is about.
struct Subject {
  std::string problem, data, size;
  size_t bins;
  double bytes; // that have to be read
  const char *against;
  double against_us; // 0: not known
  double least_us;   // the default's wavefronts, where they do not depend on the data; 0: they do
};

// Where rows go, and what ceilings are computed from.
struct Report {
  FILE *csv;
  double copied_bytes_per_us, cycles_per_us; // of all SMs together
  bool any_wrong;
};
static Report report;

static void print_row(const Subject &subject, const char *method, const char *parameters, double us,
                      bool right, double wavefront_us = 0) {
  if (us < 0)
    return;
  report.any_wrong |= !right;
  if (!report.csv)
    return;
  char ratio[32] = "", wavefronts[32] = "";
  if (subject.against_us > 0)
    snprintf(ratio, sizeof ratio, "%.2f", subject.against_us / us);
  if (wavefront_us > 0)
    snprintf(wavefronts, sizeof wavefronts, "%.2f", wavefront_us);
  fprintf(report.csv, "%s,%s,%s,%zu,%s,%s,%.2f,%.1f,%s,%s,%s,%.2f,%s\n", subject.problem.c_str(),
          subject.data.c_str(), subject.size.c_str(), subject.bins, method, parameters, us,
          subject.bytes / us / 1000, ratio, subject.against_us > 0 ? subject.against : "",
          right ? "right" : "wrong", subject.bytes / report.copied_bytes_per_us, wavefronts);
}

// The line of a problem; times that are not known are negative.
static void print_line(const Subject &subject, double usual, double tuned, double wavefront_us) {
  const double times[] = {usual, tuned};
  printf("%-15s %-10s %-10s %6zu %9.1f ", subject.problem.c_str(), subject.data.c_str(),
         subject.size.c_str(), subject.bins, subject.against_us);
  for (double us : times)
    if (us > 0)
      printf(" %9.1f %7.2f %5.2f ", us, subject.against_us > 0 ? subject.against_us / us : 0,
             subject.bytes / us / 1e6);
    else
      printf(" %9s %7s %5s ", "-", "-", "-");
  printf(" %7.1f", subject.bytes / report.copied_bytes_per_us);
  if (wavefront_us > 0)
    printf(" %7.1f", wavefront_us);
  printf("\n");
  fflush(stdout);
}

static void print_head() {
  printf("Microseconds; ratios to CUB, for weights to the layout copy by copy, for Hough "
         "transforms to "
         "one thread of the host.\n%-15s %-10s %-10s %6s %9s  %9s %7s %5s  %9s %7s %5s  %7s %7s\n",
         "problem", "data", "size", "bins", "against", "default", "ratio", "TB/s", "tuned", "ratio",
         "TB/s", "bytes", "wavefr.");
  if (report.csv)
    fprintf(report.csv, "problem,data,size,bins,method,parameters,median_us,gb_per_s,ratio,against,"
                        "result,copy_us,wavefront_us\n");
}

// The time for accesses to shared memory of that many lanes, without conflicts.
static double wavefronts_us(double lanes) {
  return report.cycles_per_us > 0 ? lanes / WARP / report.cycles_per_us : 0;
}

// ---- Baselines ----

__global__ void read_all(const uint4 *from, size_t vectors, unsigned *out) {
  size_t threads = (size_t)gridDim.x * blockDim.x;
  unsigned sum = 0;
#pragma unroll 4
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < vectors; i += threads) {
    uint4 vector = __ldg(from + i);
    sum ^= vector.x ^ vector.y ^ vector.z ^ vector.w;
  }
  if (sum == 0x12345678)
    *out = sum;
}

// A copy (bytes count twice) and reading alone: the ceilings.
static void measure_ceilings(Subject subject, const Data &data, unsigned calls) {
  Device device;
  if (vote_device(&device))
    return;
  size_t bytes = data.host.size();
  unsigned char *to = device_array<unsigned char>(bytes);
  double copy = median_us(calls, [&] {
    return cudaMemcpyAsync(to, data.image.data, bytes, cudaMemcpyDeviceToDevice, 0);
  });
  double read = median_us(calls, [&] {
    read_all<<<device.sms * 4, 512>>>((const uint4 *)data.image.data, bytes / 16, (unsigned *)to);
    return cudaPeekAtLastError();
  });
  subject.bytes *= 2;
  print_row(subject, "copy", "bytes read and written", copy, true);
  subject.bytes /= 2;
  print_row(subject, "read only", "", read, true);
  cudaFree(to);
}

// The speed of a large copy, and the SMs' clock.
static void measure_machine(size_t bytes) {
  Device device;
  int kilohertz = 0;
  must(vote_device(&device) ? cudaErrorUnknown : cudaSuccess, "the device");
  cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device.number);
  report.cycles_per_us = (double)device.sms * kilohertz / 1000;
  unsigned char *from = device_array<unsigned char>(bytes),
                *to = device_array<unsigned char>(bytes);
  double us =
      median_us(1, [&] { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0); });
  report.copied_bytes_per_us = 2 * bytes / us;
  printf("copy of %zu MB: %.2f TB/s; %d SMs at %d MHz\n", bytes >> 20, 2 * bytes / us / 1e6,
         device.sms, kilohertz / 1000);
  cudaFree(from);
  cudaFree(to);
}

template <typename Sample>
static double measure_cub(const Data &data, size_t bins, double high, unsigned calls,
                          const std::vector<uint32_t> &wanted, bool *right, Alone *alone) {
  *right = true;
#ifdef BF_NO_CUB
  (void)data, (void)bins, (void)high, (void)calls, (void)wanted, (void)alone;
  return -1;
#else
  size_t bytes = 0, pixels = data.image.width * data.image.height;
  int *counts = device_array<int>(bins);
  void *storage = NULL;
  const Sample *from = (const Sample *)data.image.data;
  typedef typename std::conditional<std::is_same<Sample, float>::value, float, int>::type Level;
  auto call = [&] {
    return cub::DeviceHistogram::HistogramEven(storage, bytes, from, counts, (int)bins + 1,
                                               (Level)0, (Level)high, (int)pixels, (cudaStream_t)0);
  };
  must(call(), "CUB");
  storage = device_array<unsigned char>(bytes);
  double us = median_us(calls, call);
  if (calls > 1)
    *alone = alone_us(call);
  std::vector<uint32_t> got(bins);
  must(cudaMemcpy(got.data(), counts, bins * 4, cudaMemcpyDeviceToHost), "CUB");
  *right = got == wanted;
  cudaFree(counts);
  cudaFree(storage);
  return us;
#endif
}

// ---- Histograms ----

// A histogram to be measured in many ways.
struct Case {
  Subject subject;
  Data data;
  bf_histogram_options options;
  std::vector<uint32_t> wanted;
  unsigned calls;
};

// The bin of pixel i of the host's image, which is in range.
static unsigned host_bin(const Case &one, size_t i) {
  const unsigned char *data = one.data.host.data();
  bf_pixel_type type = one.data.image.type;
  double top = type == BF_PIXEL_U8 ? 256 : type == BF_PIXEL_U16 ? 65536 : 1;
  double value = type == BF_PIXEL_U8    ? data[i]
                 : type == BF_PIXEL_U16 ? ((const uint16_t *)data)[i]
                                        : ((const float *)data)[i];
  return (unsigned)(value * one.options.bins / (one.options.high ? one.options.high : top));
}

// Wavefronts of one atomic: the most distinct words in a bank.
static unsigned count_wavefronts(const unsigned (&words)[WARP], unsigned count) {
  unsigned in_bank[WARP] = {0}, most = 0;
  for (unsigned i = 0; i < count; i++) {
    bool again = false;
    for (unsigned k = 0; k < i; k++)
      again |= words[k] == words[i];
    if (!again)
      most = std::max(most, ++in_bank[words[i] % WARP]);
  }
  return most;
}

// The time for wavefronts of PACKED: of one in a hundred warps, whose lanes read a vector each, at
// the place that RowShare gives their rows. Blocks that count a part of the rows run one after the
// other here. 0: not known.
static double wavefront_time(const Case &one, const bf_cuda_choice &choice) {
  Device device;
  if (choice.method != BF_CUDA_PACKED || report.cycles_per_us <= 0 || vote_device(&device))
    return 0;
  size_t pixels = one.data.image.width * one.data.image.height;
  size_t per_vector = VECTOR_BYTES * pixels / one.data.host.size();
  size_t per_warp = per_vector * WARP, warps = pixels / per_warp, step = warps > 1000 ? 101 : 1;
  RowShare share = share_rows((unsigned)one.options.bins, choice.copies, device);
  uint64_t wavefronts = 0, atomics = 0;
  for (size_t warp = 0; warp < warps; warp += step)
    for (size_t k = 0; k < per_vector; k++, atomics++)
      for (unsigned part = 0; part <= share.part_mask(); part++) {
        unsigned words[WARP], count = 0;
        for (unsigned lane = 0; lane < WARP; lane++) {
          unsigned row = host_bin(one, warp * per_warp + lane * per_vector + k);
          if ((row & share.part_mask()) == part)
            words[count++] = (row >> share.part_bits) * share.copies + lane % share.copies;
        }
        wavefronts += count_wavefronts(words, count);
      }
  return atomics ? (double)wavefronts / atomics * wavefronts_us((double)pixels) : 0;
}

static double measure_way(Case *one, const bf_cuda_choice *choice, const char *name,
                          const char *parameters, double wavefront_us = 0, Alone *alone = NULL) {
  size_t bytes = 0;
  if (bf_cuda_histogram_u32(NULL, &bytes, &one->data.image, &one->options, choice, NULL, 0) !=
      BF_OK)
    return -1;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *counts = device_array<uint32_t>(one->options.bins);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  auto call = [&] {
    return bf_cuda_histogram_u32(workspace, &bytes, &one->data.image, &one->options, choice, counts,
                                 0);
  };
  double us = median_us(one->calls, call);
  if (alone && one->calls > 1)
    *alone = alone_us(call);
  std::vector<uint32_t> got(one->options.bins);
  must(cudaMemcpy(got.data(), counts, got.size() * 4, cudaMemcpyDeviceToHost), name);
  print_row(one->subject, name, parameters, us, got == one->wanted, wavefront_us);
  cudaFree(workspace);
  cudaFree(counts);
  return us;
}

static void measure_choice(Case *one, const bf_cuda_choice &choice) {
  measure_way(one, &choice, method_names[choice.method], describe(choice).c_str());
}

static void measure_packed(Case *one) {
  for (unsigned copies = 1; copies <= 32; copies *= 2)
    for (unsigned threads : {256u, 512u, 768u, 1024u})
      for (unsigned blocks : {1u, 2u, 4u})
        for (unsigned loads : {1u, 2u, 4u})
          if (threads * blocks <= 2048)
            measure_choice(one,
                           {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, copies, threads, blocks, loads});
}

// The ways of published work, with the parameters that their tables vary.
static void measure_published(Case *one) {
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_HASHED; layout++)
    for (unsigned copies = 1; copies <= 32; copies *= 2)
      for (unsigned threads : {256u, 512u, 1024u})
        for (unsigned blocks : {1u, 2u})
          measure_choice(one, {BF_CUDA_SHARED, (bf_cuda_layout)layout, copies, threads, blocks, 1});
  for (unsigned layout = BF_CUDA_BIN_BY_BIN; layout <= BF_CUDA_PADDED; layout++) {
    for (unsigned copies = 1; copies <= 256; copies *= 4)
      for (unsigned blocks : {2u, 4u})
        measure_choice(one, {BF_CUDA_GLOBAL, (bf_cuda_layout)layout, copies, 512, blocks, 1});
    for (unsigned copies = 1; copies <= 8; copies *= 2)
      for (unsigned threads : {128u, 512u})
        measure_choice(one, {BF_CUDA_WARP_SOFTWARE, (bf_cuda_layout)layout, copies, threads, 2, 1});
  }
  for (unsigned method = BF_CUDA_WARP_SHUFFLED; method <= BF_CUDA_WARP_ATOMIC_STRIDED; method++)
    for (unsigned copies : {1u, 2u})
      for (unsigned threads : {128u, 512u})
        measure_choice(one, {(bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, copies, threads, 2, 1});
  for (unsigned method = BF_CUDA_THREAD_BYTES; method <= BF_CUDA_THREAD_WORDS; method++)
    for (unsigned threads : {64u, 128u, 192u, 384u, 768u})
      for (unsigned blocks : {1u, 2u, 4u})
        measure_choice(one, {(bf_cuda_method)method, BF_CUDA_BIN_BY_BIN, 1, threads, blocks, 1});
}

static void reference(Case *one) {
  bf_diagnostic diagnostic;
  bf_pixels host = one->data.image;
  host.data = one->data.host.data();
  one->wanted.resize(one->options.bins);
  if (bf_histogram_u32(&host, &one->options, one->wanted.data(), &diagnostic) != BF_OK) {
    fprintf(stderr, "vote_bench: %s\n", diagnostic.message);
    exit(1);
  }
}

static std::string describe_fully(const bf_cuda_choice &choice) {
  return std::string(method_names[choice.method]) + " " + describe(choice);
}

// Rows and a line for calls one at a time; times that are not known are negative.
static void print_alone(Subject subject, const char *parameters, double cub_us, double usual_us) {
  subject.against = "CUB alone";
  subject.against_us = cub_us;
  print_row(subject, "CUB alone", parameters, cub_us, true);
  print_row(subject, "default alone", parameters, usual_us, true);
  if (usual_us > 0)
    printf("  one call at a time, %s: %.1f against %.1f, ratio %.2f\n", parameters, usual_us,
           cub_us, cub_us > 0 ? cub_us / usual_us : 0);
}

// What the tuner finds, with a file that is thrown away. Not for small images, which are for trying
// this program.
static bool tune(const bf_pixels &image, const bf_histogram_options &options,
                 bf_cuda_choice *choice) {
  char path[] = "/tmp/vote_bench.XXXXXX";
  const size_t few = 1 << 20;
  if (image.width * image.height < few)
    return false;
  int descriptor = mkstemp(path);
  if (descriptor < 0)
    return false;
  close(descriptor);
  int error = bf_cuda_tune(path, &image, &options, choice);
  unlink(path);
  return error == BF_OK;
}

enum Sweep { DEFAULT_ONLY, PACKED_SWEEP, ALL_WAYS };

// All rows of one histogram. high 0: the whole range of the type.
static void measure_case(Kind kind, bf_pixel_type type, size_t width, size_t height, size_t bins,
                         double high, Sweep sweep) {
  static const char *const problems[] = {"8 bits", "12 bits", "float"};
  Case one = {};
  make_data(kind, type, width, height, &one.data);
  one.options.struct_bytes = sizeof one.options;
  one.options.bins = bins;
  one.options.high = high;
  one.calls = one.data.host.size() < 8 << 20 ? 8 : 1;
  one.subject = {problems[type],
                 kind_names[kind],
                 size_text(width, height),
                 bins,
                 (double)one.data.host.size(),
                 "CUB",
                 0,
                 0};
  reference(&one);
  double top = high ? high : type == BF_PIXEL_U8 ? 256 : type == BF_PIXEL_U16 ? 65536 : 1;
  bool right;
  Alone cub = {-1, -1}, usual = {-1, -1};
  double us = type == BF_PIXEL_U8
                  ? measure_cub<uint8_t>(one.data, bins, top, one.calls, one.wanted, &right, &cub)
              : type == BF_PIXEL_U16
                  ? measure_cub<uint16_t>(one.data, bins, top, one.calls, one.wanted, &right, &cub)
                  : measure_cub<float>(one.data, bins, top, one.calls, one.wanted, &right, &cub);
  one.subject.against_us = us;
  print_row(one.subject, "CUB", "DeviceHistogram", us, right);
  measure_ceilings(one.subject, one.data, one.calls);
  bf_cuda_choice choice = {};
  bf_cuda_default(&one.data.image, &one.options, &choice);
  double wavefront_us = wavefront_time(one, choice);
  double usual_us =
      measure_way(&one, NULL, "default", describe(choice).c_str(), wavefront_us, &usual);
  double tuned_us = -1;
  if (tune(one.data.image, one.options, &choice))
    tuned_us = measure_way(&one, &choice, "tuned", describe_fully(choice).c_str(),
                           wavefront_time(one, choice));
  print_line(one.subject, usual_us, tuned_us, wavefront_us);
  print_alone(one.subject, "between events", cub.events_us, usual.events_us);
  print_alone(one.subject, "until done on the host's clock", cub.host_us, usual.host_us);
  if (sweep >= PACKED_SWEEP)
    measure_packed(&one);
  if (sweep == ALL_WAYS)
    measure_published(&one);
  measure_choice(&one, {BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 8, 512, 2, 1});
  measure_choice(&one, {BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 32, 512, 2, 1});
  free_data(&one.data);
}

// ---- Weights ----

static bool sums_agree(const std::vector<double> &got, const std::vector<double> &wanted) {
  for (size_t i = 0; i < wanted.size(); i++)
    if (!(fabs(got[i] - wanted[i]) <= 1e-3 * fabs(wanted[i]) + 1e-3))
      return false;
  return true;
}

static double measure_weights(Subject *subject, const bf_pixels &image,
                              const bf_histogram_options &options, const bf_cuda_choice *choice,
                              const char *name, const char *parameters,
                              const std::vector<double> &wanted) {
  size_t bytes = 0;
  if (bf_cuda_histogram_f64(NULL, &bytes, &image, &options, choice, NULL, 0) != BF_OK)
    return -1;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  double *sums = device_array<double>(options.bins);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  double us = median_us(1, [&] {
    return bf_cuda_histogram_f64(workspace, &bytes, &image, &options, choice, sums, 0);
  });
  std::vector<double> got(options.bins);
  must(cudaMemcpy(got.data(), sums, got.size() * 8, cudaMemcpyDeviceToHost), name);
  bool right = sums_agree(got, wanted);
  if (subject->against_us == 0)
    subject->against_us = us;
  print_row(*subject, name, parameters, us, right, choice ? 0 : subject->least_us);
  cudaFree(workspace);
  cudaFree(sums);
  return us;
}

static void measure_weighted(Kind kind, size_t width, size_t height, bool all) {
  Data data, weights;
  make_data(kind, BF_PIXEL_U8, width, height, &data);
  make_data(RANDOM, BF_PIXEL_F32, width, height, &weights);
  bf_histogram_options options = {sizeof options};
  options.bins = 256;
  options.weights = weights.image.data;
  Subject subject = {"float weights",
                     kind_names[kind],
                     size_text(width, height),
                     256,
                     (double)(data.host.size() + weights.host.size()),
                     "copy by copy R=32",
                     0,
                     2 * wavefronts_us((double)data.host.size())};
  std::vector<double> wanted(256);
  for (size_t i = 0; i < data.host.size(); i++)
    wanted[data.host[i]] += ((const float *)weights.host.data())[i];
  for (unsigned layout : {1u, 2u, 3u, 0u})
    for (unsigned copies : {32u, 16u, 8u})
      for (unsigned threads : {256u, 512u, 1024u}) {
        if (!all && (copies != 32 || threads != 256))
          continue;
        bf_cuda_choice choice = {BF_CUDA_SHARED, (bf_cuda_layout)layout,    copies,
                                 threads,        threads == 1024 ? 1u : 4u, 1};
        measure_weights(&subject, data.image, options, &choice, "shared atomics",
                        describe(choice).c_str(), wanted);
      }
  for (unsigned threads : {96u, 128u, 160u, 192u, 224u}) {
    bf_cuda_choice choice = {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, 32, threads, 1, 1};
    measure_weights(&subject, data.image, options, &choice, "thread own banks",
                    describe(choice).c_str(), wanted);
  }
  bf_cuda_choice choice = {};
  bf_cuda_default(&data.image, &options, &choice);
  double usual_us = measure_weights(&subject, data.image, options, NULL, "default",
                                    describe_fully(choice).c_str(), wanted);
  double tuned_us = -1;
  if (tune(data.image, options, &choice))
    tuned_us = measure_weights(&subject, data.image, options, &choice, "tuned",
                               describe_fully(choice).c_str(), wanted);
  print_line(subject, usual_us, tuned_us, subject.least_us);
  free_data(&data);
  free_data(&weights);
}

// ---- Hough ----

static double measure_hough_way(Subject *subject, const bf_pixels &edges,
                                const bf_hough_options &options, const bf_cuda_hough_choice *choice,
                                const char *name, const std::vector<uint32_t> &wanted) {
  size_t bytes = 0;
  char parameters[128] = "";
  if (bf_cuda_hough_vote(NULL, &bytes, &edges, &options, choice, NULL, 0) != BF_OK)
    return -1;
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *votes = device_array<uint32_t>(wanted.size());
  double us = median_us(
      1, [&] { return bf_cuda_hough_vote(workspace, &bytes, &edges, &options, choice, votes, 0); });
  std::vector<uint32_t> got(wanted.size());
  must(cudaMemcpy(got.data(), votes, got.size() * 4, cudaMemcpyDeviceToHost), name);
  if (choice)
    snprintf(parameters, sizeof parameters, "%s R=%u threads=%u angles=%u slices=%u",
             layout_names[choice->layout], choice->copies, choice->threads, choice->angles,
             choice->slices);
  print_row(*subject, name, parameters, us, got == wanted, choice ? 0 : subject->least_us);
  cudaFree(workspace);
  cudaFree(votes);
  return us;
}

static void sweep_hough(Subject *subject, const bf_pixels &edges, const bf_hough_options &options,
                        const std::vector<uint32_t> &wanted, unsigned percent, bool all) {
  bf_cuda_hough_choice choice = {BF_CUDA_HOUGH_CONSTANT};
  print_line(*subject, measure_hough_way(subject, edges, options, NULL, "default", wanted), -1,
             subject->least_us);
  measure_hough_way(subject, edges, options, &choice, "constant time", wanted);
  choice = {BF_CUDA_HOUGH_BEST};
  choice.edge_percent = percent;
  measure_hough_way(subject, edges, options, &choice, "edges told", wanted);
  for (unsigned layout = 0; layout < 3; layout++)
    for (unsigned copies : {1u, 2u, 4u, 6u, 8u})
      for (unsigned threads : {128u, 256u, 512u, 1024u}) {
        if (!all && (layout || copies > 1 || threads < 512))
          continue;
        if (threads <= 512 && copies != 6) {
          choice = {BF_CUDA_HOUGH_GLOBAL, (bf_cuda_layout)layout, copies, threads, 1, 1};
          measure_hough_way(subject, edges, options, &choice, "global atomics", wanted);
        }
        for (unsigned angles : {1u, 2u, 4u, 8u})
          for (unsigned slices : {1u, 2u, 4u, 8u}) {
            if (threads < 512 || (copies > 2 && (angles > 1 || slices > 1)))
              continue;
            choice = {
                BF_CUDA_HOUGH_TWO_STEP, (bf_cuda_layout)layout, copies, threads, angles, slices};
            measure_hough_way(subject, edges, options, &choice, "two steps", wanted);
          }
      }
}

// The CPU's library on one thread is what the GPU is compared with.
static void measure_hough(size_t width, size_t height, unsigned percent, bf_hough_form form,
                          bool all) {
  size_t pixels = width * height;
  uint8_t *memory = device_array<uint8_t>(pixels);
  make_edges<<<1024, 256>>>((unsigned)width, pixels, percent, memory);
  std::vector<uint8_t> host(pixels);
  must(cudaMemcpy(host.data(), memory, pixels, cudaMemcpyDeviceToHost), "edges");
  bf_pixels edges = {host.data(), BF_PIXEL_U8, 1, width, height, 0, NULL, 0};
  bf_hough_options options = {sizeof options};
  options.form = form;
  options.theta_step = 3.14159265358979323846 / 120;
  options.threads = 1;
  bf_hough_space space;
  bf_diagnostic diagnostic;
  double best = 1e30;
  std::vector<uint32_t> wanted;
  for (int i = 0; i < (all ? 3 : 1); i++) {
    double start = now_us();
    if (bf_hough_vote(&edges, &options, &space, &diagnostic) != BF_OK) {
      fprintf(stderr, "vote_bench: %s\n", diagnostic.message);
      exit(1);
    }
    best = std::min(best, now_us() - start);
    wanted.assign(space.votes, space.votes + space.angles * space.rhos);
    bf_hough_space_clear(&space);
  }
  uint64_t votes = 0;
  for (uint32_t count : wanted)
    votes += count;
  char data[64];
  snprintf(data, sizeof data, "%u%% edges", percent);
  Subject subject = {form == BF_HOUGH_POLAR ? "Hough polar" : "Hough Cartesian",
                     data,
                     size_text(width, height),
                     wanted.size(),
                     (double)pixels,
                     "CPU one thread",
                     best,
                     wavefronts_us((double)votes)};
  print_row(subject, "CPU one thread", "", best, true);
  edges.data = memory;
  sweep_hough(&subject, edges, options, wanted, percent, all);
  cudaFree(memory);
}

// ---- Modes ----

// Sides of images are divided by shrink.
static void measure_all(bool all, unsigned shrink) {
  measure_machine(((size_t)1 << 30) / shrink / shrink);
  print_head();
  for (unsigned kind = 0; kind < KINDS; kind++)
    measure_case((Kind)kind, BF_PIXEL_U8, 8192 / shrink, 8192 / shrink, 256, 0,
                 all && kind <= RANDOM ? PACKED_SWEEP : DEFAULT_ONLY);
  for (unsigned kind = 0; kind < KINDS; kind++) {
    bool sweep = all && kind <= RANDOM;
    size_t width = 1536 / shrink, height = 1024 / shrink, large = 8192 / shrink;
    Sweep small = all ? PACKED_SWEEP : DEFAULT_ONLY, usual = sweep ? PACKED_SWEEP : DEFAULT_ONLY;
    measure_case((Kind)kind, BF_PIXEL_U16, width, height, 256, 4096, sweep ? ALL_WAYS : small);
    measure_case((Kind)kind, BF_PIXEL_U16, width, height, 4096, 4096, small);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 4096, 4096, usual);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 256, 4096, usual);
    measure_case((Kind)kind, BF_PIXEL_U16, large, large / 2, 65536, 0, DEFAULT_ONLY);
    measure_case((Kind)kind, BF_PIXEL_F32, large / 2, large / 2, 256, 0, usual);
    measure_case((Kind)kind, BF_PIXEL_U8, width, height, 256, 0, small);
  }
  for (unsigned kind = 0; kind < KINDS; kind++)
    measure_weighted((Kind)kind, 4096 / shrink, 4096 / shrink, all && kind <= RANDOM);
  for (unsigned percent : {10u, 21u, 50u}) {
    measure_hough(1536 / shrink, 1024 / shrink, percent, BF_HOUGH_POLAR, all && percent == 21);
    measure_hough(1536 / shrink, 1024 / shrink, percent, BF_HOUGH_CARTESIAN, all && percent == 21);
  }
}

// One call of one way on a small image, for counting wavefronts.
static int count_once(const unsigned (&number)[5]) {
  Case one = {};
  make_data((Kind)number[0], BF_PIXEL_U8, 1024, 16, &one.data);
  one.options.struct_bytes = sizeof one.options;
  one.options.bins = 256;
  reference(&one);
  bf_cuda_choice choice = {
      (bf_cuda_method)number[1], (bf_cuda_layout)number[2], number[3], number[4], 1, 1};
  size_t bytes = 0;
  int error = bf_cuda_histogram_u32(NULL, &bytes, &one.data.image, &one.options, &choice, NULL, 0);
  unsigned char *workspace = device_array<unsigned char>(bytes);
  uint32_t *counts = device_array<uint32_t>(256);
  bf_cuda_workspace_clear(workspace, bytes, 0);
  if (!error)
    error =
        bf_cuda_histogram_u32(workspace, &bytes, &one.data.image, &one.options, &choice, counts, 0);
  std::vector<uint32_t> got(256);
  must(cudaMemcpy(got.data(), counts, 1024, cudaMemcpyDeviceToHost), "counts");
  cudaFree(workspace);
  cudaFree(counts);
  free_data(&one.data);
  printf("%s\n", error ? "refused" : got == one.wanted ? "right" : "wrong");
  return error || got != one.wanted;
}

// Tunes two histograms and weights for a small image into a file, and looks what the file says
// then.
static int try_tuner(const char *path) {
  Data bytes, words, weights;
  make_data(NATURAL, BF_PIXEL_U8, 60, 40, &bytes);
  make_data(NATURAL, BF_PIXEL_U16, 60, 40, &words);
  make_data(RANDOM, BF_PIXEL_F32, 60, 40, &weights);
  int errors = 0;
  for (int i = 0; i < 3; i++) {
    bf_histogram_options options = {sizeof options};
    options.bins = 256;
    options.high = i == 1 ? 4096 : 0;
    options.weights = i == 2 ? weights.image.data : NULL;
    const bf_pixels *image = i == 1 ? &words.image : &bytes.image;
    bf_cuda_choice best = {}, found = {};
    int first = bf_cuda_tuned(path, image, &options, &found);
    int tuned = bf_cuda_tune(path, image, &options, &best);
    int second = bf_cuda_tuned(path, image, &options, &found);
    printf("before %d, tuned %d, after %d, %s\n", first, tuned, second,
           memcmp(&best, &found, sizeof best) == 0 ? "the same" : "different");
    errors += tuned != 0 || second != 0 || memcmp(&best, &found, sizeof best) != 0;
  }
  free_data(&bytes);
  free_data(&words);
  free_data(&weights);
  return errors != 0;
}

// Rows go to a file beside `path` that then takes its name.
static int measure_into(const char *path, bool all, unsigned shrink) {
  std::string temporary = path ? std::string(path) + ".XXXXXX" : "";
  if (path) {
    int descriptor = mkstemp(&temporary[0]);
    report.csv = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!report.csv) {
      fprintf(stderr, "vote_bench: %s cannot be written\n", path);
      return 1;
    }
  }
  measure_all(all, shrink);
  if (path && (fclose(report.csv) != 0 || rename(temporary.c_str(), path) != 0)) {
    fprintf(stderr, "vote_bench: %s cannot be written\n", path);
    unlink(temporary.c_str());
    return 1;
  }
  if (report.any_wrong)
    printf("some results are wrong\n");
  return report.any_wrong;
}

static int usage() {
  fprintf(stderr, "usage: vote_bench [--quick | --small] [FILE.csv] | --tables FILE.csv |\n"
                  "       --check [N [FROM]] | --once ... | --tune FILE\n");
  return 2;
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  if (strcmp(mode, "--check") == 0) {
    unsigned to = count > 2 ? (unsigned)strtoul(arguments[2], NULL, 10) : 6000;
    unsigned from = count > 3 ? (unsigned)strtoul(arguments[3], NULL, 10) : 0;
    int wrong = check_refusals() + check_bin_edges() + check_cases(from, to);
    printf("%u cases, %d wrong\n", to - from, wrong);
    return wrong != 0;
  }
  if (strcmp(mode, "--once") == 0 && count == 7) {
    unsigned number[5];
    for (int i = 0; i < 5; i++)
      number[i] = (unsigned)strtoul(arguments[2 + i], NULL, 10);
    return count_once(number);
  }
  if (strcmp(mode, "--tune") == 0 && count == 3)
    return try_tuner(arguments[2]);
  if (strcmp(mode, "--tables") == 0 && (count == 3 || count == 4))
    return measure_tables(arguments[2], count == 4 ? (unsigned)strtoul(arguments[3], NULL, 10) : 1);
  setenv("BANKFOLD_VOTE_TUNED", "/dev/null", 1);
  bool small = strcmp(mode, "--small") == 0, quick = strcmp(mode, "--quick") == 0;
  int options = small || quick;
  if (count > 2 + options || (count > 1 + options && arguments[1 + options][0] == '-'))
    return usage();
  return measure_into(count > 1 + options ? arguments[1 + options] : NULL, !quick && !small,
                      small ? 32 : 1);
}
