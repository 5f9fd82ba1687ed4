// Histograms, as bankfold_vote_cuda.h has them: checks what is asked for, lays out the workspace
// and calls the way that was chosen.
#include "tiles.cuh"

#include <math.h>
#include <string.h>

// Rows of counters of the 8-bit values, which are sorted into bins at the end.
enum { BYTE_VALUES = 256 };

int vote_device(Device *device) {
  *device = {};
  bool known =
      cudaGetDevice(&device->number) == cudaSuccess &&
      cudaDeviceGetAttribute(&device->sms, cudaDevAttrMultiProcessorCount, device->number) ==
          cudaSuccess &&
      cudaDeviceGetAttribute(&device->shared_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                             device->number) == cudaSuccess &&
      cudaDeviceGetAttribute(&device->major, cudaDevAttrComputeCapabilityMajor, device->number) ==
          cudaSuccess;
  return known ? BF_OK : BF_IO;
}

int vote_check(void) { return cudaPeekAtLastError() == cudaSuccess ? BF_OK : BF_IO; }

static size_t pixel_bytes(bf_pixel_type type) {
  return type == BF_PIXEL_U8 ? 1 : type == BF_PIXEL_U16 ? 2 : 4;
}

// Whether rows of that many bytes fit into their stride, and all of them into memory.
static bool stride_fits(uint64_t row_bytes, uint64_t stride_bytes, uint64_t height) {
  return stride_bytes >= row_bytes && (!height || stride_bytes <= (uint64_t)INT64_MAX / height);
}

// The image with everything filled in. Images, masks and weights without gaps become one row.
static int make_image(const bf_pixels *from, unsigned channel, Image *image) {
  if (!from || from->type > BF_PIXEL_F32 || from->channels > 4)
    return BF_BAD_INPUT;
  unsigned channels = from->channels ? from->channels : 1;
  if (channel >= channels || (!from->data && from->width && from->height) ||
      from->width > (size_t)INT64_MAX / 16)
    return BF_BAD_INPUT;
  uint64_t row_bytes = from->width * channels * pixel_bytes(from->type);
  *image = {(const unsigned char *)from->data,
            from->stride_bytes ? from->stride_bytes : row_bytes,
            from->width,
            from->height,
            channels,
            channel,
            from->mask,
            from->mask_stride_bytes ? from->mask_stride_bytes : from->width};
  if (image->width == 0 || image->height == 0)
    image->width = image->height = 0;
  return stride_fits(row_bytes, image->stride_bytes, image->height) &&
                 stride_fits(from->mask ? image->width : 0, image->mask_stride_bytes, image->height)
             ? BF_OK
             : BF_BAD_INPUT;
}

static void join_rows(Image *image, Weights *weights, bf_pixel_type type) {
  uint64_t row_bytes = image->width * image->channels * pixel_bytes(type);
  uint64_t weight_bytes = weights && weights->type == BF_WEIGHT_F64 ? 8 : 4;
  if (image->stride_bytes != row_bytes ||
      (image->mask && image->mask_stride_bytes != image->width) ||
      (weights && weights->stride_bytes != image->width * weight_bytes) || image->height == 0)
    return;
  image->width *= image->height;
  image->stride_bytes *= image->height;
  image->mask_stride_bytes *= image->height;
  if (weights)
    weights->stride_bytes *= image->height;
  image->height = 1;
}

// What single precision does to even bins. Range and scale are rounded, and so are difference and
// product: less than four times 2^-24 of the bins, and of those that low is away from 0. A margin
// of one or more means never.
static void add_single(Bins *bins) {
  double scale = bins->count / (bins->high - bins->low);
  double margin = 1e-6 * (bins->count + fabs(bins->low) * scale);
  bool usable = !bins->edges && margin < 0.25 && scale < 1e30 && fabs(bins->low) < 1e30;
  bins->low_single = usable ? (float)bins->low : 0;
  bins->scale_single = usable ? (float)scale : 0;
  bins->margin = usable ? (float)margin : 1;
}

// The bins; edges are still those of the host.
static int make_bins(const bf_histogram_options *options, bf_pixel_type type, Bins *bins) {
  if (!options || options->bins < 1 || options->bins > BF_MAX_BINS)
    return BF_BAD_INPUT;
  *bins = {(unsigned)options->bins, options->low, options->high, options->edges};
  bins->margin = 1;
  if (options->edges) {
    for (size_t i = 0; i <= options->bins; i++)
      if (isnan(options->edges[i]) || (i && options->edges[i] <= options->edges[i - 1]))
        return BF_BAD_INPUT;
    return BF_OK;
  }
  if (bins->low == 0 && bins->high == 0)
    bins->high = type == BF_PIXEL_U8 ? 256 : type == BF_PIXEL_U16 ? 65536 : 1;
  add_single(bins);
  return bins->low < bins->high && bins->low >= -1e300 && bins->high <= 1e300 ? BF_OK
                                                                              : BF_BAD_INPUT;
}

// Bins of 2^n values from 0 on, in integers: how to scale values. 8-bit values for PACKED need no
// scale, for they are counted one by one.
static bool make_scale(const Bins &bins, bf_pixel_type type, Scale *scale) {
  double width = bins.high / bins.count, values = type == BF_PIXEL_U8 ? 256 : 65536;
  int exponent;
  if (type == BF_PIXEL_F32 || bins.edges || bins.low != 0 || bins.high > values)
    return false;
  if (width < 1 || frexp(width, &exponent) != 0.5)
    return false;
  *scale = {bins.count, (unsigned)(exponent - 1), bins.high < values ? (unsigned)bins.high : 0};
  return true;
}

// What a call needs to know, from what the caller said.
struct Request {
  Image image;
  bf_pixel_type type;
  Bins bins;
  Scale scale;
  bool scaled; // scale holds
  bool accumulate, wide;
  bf_cuda_choice choice;
  Device device;
};

static bool power_of_two(unsigned n) { return n && !(n & (n - 1)); }

// Whether PACKED can do it: values of more than a byte lie where they should, and single precision
// is good for something. Copies of rows must fit; those are checked at the launch.
static bool can_pack(const Request &request) {
  const Image &image = request.image;
  size_t bytes = pixel_bytes(request.type);
  if (image.channels > 1 || image.mask || (uintptr_t)image.data % bytes ||
      (image.stride_bytes % bytes && image.height > 1))
    return false;
  return request.type == BF_PIXEL_U8 || request.scaled || request.bins.margin < 1;
}

// Whether PACKED counts values as they are or shifted; otherwise it computes rows.
static bool is_shifted(const Request &request) {
  unsigned rows = request.bins.count + 1;
  return request.type == BF_PIXEL_U8 ||
         (request.scaled && rows * 4 + 64 <= (unsigned)request.device.shared_limit);
}

// The most copies of a power of two, at most `most`, that fit `blocks` times in an SM.
static unsigned copies_that_fit(unsigned rows, unsigned most, unsigned blocks,
                                const Device &device) {
  unsigned copies = most;
  while (copies > 1 && (size_t)rows * copies * 4 + 1024 > (size_t)device.shared_limit / blocks)
    copies /= 2;
  return copies;
}

// Threads for tiles of that many vectors, at least 256 for their reads to be under way together.
static unsigned threads_for(uint64_t vectors, unsigned loads, unsigned most) {
  uint64_t threads = (vectors + loads * WARP - 1) / (loads * WARP) * WARP;
  return threads < 256 ? 256 : threads > most ? most : (unsigned)threads;
}

// Parameters for PACKED and small images, whose time is that of a launch and of what blocks hand
// on: few copies, for these must be cleared and added up. Every block adds all rows to the same
// words, so that where rows are many, half as many blocks with tiles of twice the size are faster.
// Measured on an H200, over all kinds of data together: bench/results, 12 bits 1536x1024. Two copies
// have half the wavefronts of one where all lanes meet in one bank.
static bf_cuda_choice small_default(unsigned rows, uint64_t bytes, const Device &device) {
  const unsigned many_rows = 1024;
  uint64_t vectors = bytes / VECTOR_BYTES / device.sms + 1;
  if (rows > many_rows)
    return {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, 1, threads_for(2 * vectors, 4, 1024), 1, 4};
  unsigned threads = vectors > 256 ? 512 : 256, loads = vectors > 512 ? 2 : 1;
  return {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, 2, threads, 1, loads};
}

// Parameters for PACKED. Large images: a bank for every lane, or else as many copies as there is
// room for, and one block per SM with four reads of every thread under way. Where rows are
// computed, mostly of floats, there are fewer atomics to the byte: 8 copies, which are at most four
// wavefronts, are as good and sooner added up. Measured on an H200, as above.
static bf_cuda_choice packed_default(const Request &request) {
  unsigned rows = request.type == BF_PIXEL_U8 ? BYTE_VALUES : request.bins.count + 1;
  uint64_t bytes = request.image.width * request.image.height * pixel_bytes(request.type);
  uint64_t round = (uint64_t)request.device.sms * 512 * VECTOR_BYTES;
  if (bytes <= 4 * round)
    return small_default(rows, bytes, request.device);
  unsigned copies = copies_that_fit(rows, is_shifted(request) ? WARP : 8, 1, request.device);
  return {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, copies, copies == WARP ? 768u : 1024u, 1, 4};
}

static bf_cuda_choice default_choice(const Request &request) {
  unsigned rows = request.type == BF_PIXEL_U8 ? BYTE_VALUES : request.bins.count + 1;
  if (can_pack(request))
    return packed_default(request);
  return {
      BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, copies_that_fit(rows, WARP, 2, request.device), 512, 2, 1};
}

// Whether a choice of the tuner is one for this call: lines of its file are not about masks,
// channels, addresses and ranges.
static bool takes(const Request &request, const bf_cuda_choice &choice) {
  size_t rows = request.type == BF_PIXEL_U8 ? BYTE_VALUES : request.bins.count + 1;
  if (choice.method != BF_CUDA_PACKED)
    return choice.method == BF_CUDA_PLAIN;
  return can_pack(request) && (!is_shifted(request) || rows * choice.copies * 4 + 64 <=
                                                           (size_t)request.device.shared_limit);
}

// Fills in what a choice leaves open, and refuses what makes no sense.
static int complete(const Request &request, bf_cuda_choice *choice) {
  bf_cuda_choice usual = default_choice(request);
  if (!choice->copies)
    choice->copies = usual.copies;
  if (!choice->threads)
    choice->threads = 512;
  if (!choice->blocks_per_sm)
    choice->blocks_per_sm = 1;
  if (!choice->loads)
    choice->loads = 2;
  unsigned most = choice->method == BF_CUDA_GLOBAL ? 1024 : WARP;
  if (!power_of_two(choice->copies) || choice->copies > most || choice->threads % WARP ||
      choice->threads > 1024 || choice->blocks_per_sm > 64 || choice->layout > BF_CUDA_HASHED ||
      !power_of_two(choice->loads) || choice->loads > 4)
    return BF_BAD_INPUT;
  if (choice->method == BF_CUDA_THREAD_HALVES && choice->threads % 64)
    return BF_BAD_INPUT;
  if (choice->layout == BF_CUDA_HASHED && request.bins.count % WARP)
    return BF_UNSUPPORTED;
  return BF_OK;
}

// What choice NULL means.
static bf_cuda_choice usual_choice(const Request &request, const bf_pixels *image,
                                   const bf_histogram_options *options) {
  bf_cuda_choice saved;
  if (!options->weights && vote_saved(request.device.number, image, options, &saved) &&
      complete(request, &saved) == BF_OK && takes(request, saved))
    return saved;
  return default_choice(request);
}

static int make_request(const bf_pixels *image, const bf_histogram_options *options,
                        const bf_cuda_choice *choice, Request *request) {
  *request = {};
  if (!options)
    return BF_BAD_INPUT;
  int error = make_image(image, options->channel, &request->image);
  if (error)
    return error;
  request->type = image->type;
  request->accumulate = options->accumulate;
  error = make_bins(options, image->type, &request->bins);
  if (error)
    return error;
  error = vote_device(&request->device);
  if (error)
    return error;
  request->scaled = make_scale(request->bins, image->type, &request->scale);
  if (!options->weights)
    join_rows(&request->image, NULL, image->type);
  request->choice = choice ? *choice : usual_choice(*request, image, options);
  return choice ? complete(*request, &request->choice) : BF_OK;
}

// ---- The workspace: tickets, sums, edges of bins, and what a way needs besides ----

static size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

struct Space {
  size_t sums_bytes, edges_bytes, table_bytes, scratch_bytes;
  size_t total() const {
    return CLEAR_BYTES + sums_bytes + edges_bytes + table_bytes + scratch_bytes;
  }
};

static Job make_job(const Request &request) {
  Job job = {};
  job.data = request.image.data;
  job.pixels = request.image.width * request.image.height;
  job.scale = request.scale;
  job.layout = request.choice.layout;
  job.copies = request.choice.copies;
  return job;
}

static bool is_published(bf_cuda_method method) { return method >= BF_CUDA_GLOBAL; }

static Space make_space(const Request &request, size_t sum_bytes) {
  unsigned sums = request.bins.count > BYTE_VALUES ? request.bins.count : BYTE_VALUES;
  Space space = {};
  if (sums <= MOST_ARRIVING_BINS)
    sum_bytes = sizeof(uint64_t);
  space.sums_bytes = round_up(sums * sum_bytes);
  if (request.bins.edges)
    space.edges_bytes = round_up((request.bins.count + 1) * sizeof(double));
  if (request.choice.method == BF_CUDA_PLAIN && request.type == BF_PIXEL_U16)
    space.table_bytes = 65536 * sizeof(uint32_t);
  if (is_published(request.choice.method))
    space.scratch_bytes =
        round_up(vote_published_bytes(make_job(request), request.type, request.choice));
  return space;
}

// Edges go to the device. From memory that is not pinned this waits until they are read.
static int copy_edges(Request *request, unsigned char *to, cudaStream_t stream) {
  const double *edges = request->bins.edges;
  if (!edges)
    return BF_OK;
  request->bins.edges = (const double *)to;
  return cudaMemcpyAsync(to, edges, (request->bins.count + 1) * sizeof(double),
                         cudaMemcpyHostToDevice, stream) == cudaSuccess
             ? BF_OK
             : BF_IO;
}

static int run_published(const Request &request, const Result &result, void *scratch,
                         cudaStream_t stream) {
  const Image &image = request.image;
  if (!request.scaled || image.channels > 1 || image.mask || image.height > 1 ||
      (uintptr_t)image.data % pixel_bytes(request.type))
    return BF_UNSUPPORTED;
  Job job = make_job(request);
  job.spread = (unsigned *)scratch;
  job.result = result;
  return vote_published(job, request.type, request.choice, request.device, scratch, stream);
}

static int run_counts(const Request &request, const Result &result, uint32_t *table, void *scratch,
                      cudaStream_t stream) {
  if (is_published(request.choice.method))
    return run_published(request, result, scratch, stream);
  if (request.choice.method == BF_CUDA_PLAIN) {
    int error = vote_table(request.type, request.bins, table, stream);
    return error ? error
                 : vote_plain(request.image, request.type, result, table, request.choice,
                              request.device, stream);
  }
  if (!can_pack(request))
    return BF_UNSUPPORTED;
  if (!is_shifted(request))
    return vote_rows(request.image, request.type, request.scaled ? &request.scale : NULL, result,
                     request.choice, request.device, stream);
  Scale bytes = {BYTE_VALUES, 0, 0};
  return vote_packed(request.image, request.type,
                     request.type == BF_PIXEL_U8 ? bytes : request.scale, result, request.choice,
                     request.device, stream);
}

static Result make_result(const Request &request, unsigned char *workspace, void *counts) {
  Result result = {};
  bool bytes = request.type == BF_PIXEL_U8 && !is_published(request.choice.method);
  result.ticket = (unsigned *)workspace;
  result.sums = (unsigned *)(workspace + CLEAR_BYTES);
  result.values = bytes ? BYTE_VALUES : request.bins.count;
  result.values_are_bins =
      !bytes || (request.scaled && request.bins.count == BYTE_VALUES && request.scale.clamp == 0);
  result.wide = request.wide;
  result.accumulate = request.accumulate;
  result.bins = request.bins;
  result.counts = counts;
  return result;
}

// Clears the result where blocks add to it.
static int clear_counts(const Request &request, void *counts, cudaStream_t stream) {
  Result result = make_result(request, NULL, counts);
  if (request.accumulate || is_published(request.choice.method) ||
      choose_end(result, 0, 0) != INTO_COUNTS)
    return BF_OK;
  size_t bytes = request.bins.count * (request.wide ? sizeof(uint64_t) : sizeof(uint32_t));
  return cudaMemsetAsync(counts, 0, bytes, stream) == cudaSuccess ? BF_OK : BF_IO;
}

// Counts parts of at most 2^31 pixels one after the other, so that sums of a part fit in 32 bits.
static int run_parts(Request request, unsigned char *workspace, const Space &space, void *counts,
                     cudaStream_t stream) {
  const uint64_t most = (uint64_t)1 << 31;
  unsigned char *edges = workspace + CLEAR_BYTES + space.sums_bytes;
  unsigned char *table = edges + space.edges_bytes, *scratch = table + space.table_bytes;
  int error = copy_edges(&request, edges, stream);
  if (!error)
    error = clear_counts(request, counts, stream);
  Image whole = request.image;
  bool by_rows = whole.height > 1;
  uint64_t units = by_rows ? whole.height : whole.width;
  uint64_t unit_bytes = by_rows ? whole.stride_bytes : whole.channels * pixel_bytes(request.type);
  uint64_t step = by_rows ? most / whole.width : most;
  if (by_rows && step == 0)
    return BF_UNSUPPORTED;
  uint64_t first = 0;
  do {
    uint64_t count = units - first < step ? units - first : step;
    (by_rows ? request.image.height : request.image.width) = count;
    request.image.data = whole.data + first * unit_bytes;
    if (whole.mask)
      request.image.mask = whole.mask + first * (by_rows ? whole.mask_stride_bytes : 1);
    if (!error)
      error = run_counts(request, make_result(request, workspace, counts), (uint32_t *)table,
                         scratch, stream);
    request.accumulate = true;
    first += count;
  } while (!error && first < units);
  return error;
}

static int count(void *workspace, size_t *workspace_bytes, const bf_pixels *image,
                 const bf_histogram_options *options, const bf_cuda_choice *choice, void *counts,
                 bool wide, cudaStream_t stream) {
  Request request;
  if (!workspace_bytes)
    return BF_BAD_INPUT;
  int error = make_request(image, options, choice, &request);
  if (error)
    return error;
  if (options->weights)
    return BF_BAD_INPUT;
  request.wide = wide;
  Space space = make_space(request, sizeof(unsigned));
  if (!workspace) {
    *workspace_bytes = space.total();
    return BF_OK;
  }
  if (*workspace_bytes < space.total() || !counts)
    return BF_BAD_INPUT;
  return run_parts(request, (unsigned char *)workspace, space, counts, stream);
}

// ---- The interface ----

extern "C" int bf_cuda_workspace_clear(void *workspace, size_t workspace_bytes,
                                       cudaStream_t stream) {
  return cudaMemsetAsync(workspace, 0, workspace_bytes, stream) == cudaSuccess ? BF_OK : BF_IO;
}

extern "C" int bf_cuda_histogram_u32(void *workspace, size_t *workspace_bytes,
                                     const bf_pixels *image, const bf_histogram_options *options,
                                     const bf_cuda_choice *choice, uint32_t *counts,
                                     cudaStream_t stream) {
  return count(workspace, workspace_bytes, image, options, choice, counts, false, stream);
}

extern "C" int bf_cuda_histogram_u64(void *workspace, size_t *workspace_bytes,
                                     const bf_pixels *image, const bf_histogram_options *options,
                                     const bf_cuda_choice *choice, uint64_t *counts,
                                     cudaStream_t stream) {
  return count(workspace, workspace_bytes, image, options, choice, counts, true, stream);
}

// Weights of options, checked; NULL weights are not for this function.
static int make_weights(const bf_histogram_options *options, const Image &image, Weights *weights) {
  if (!options->weights || options->weight_type > BF_WEIGHT_F64)
    return BF_BAD_INPUT;
  uint64_t row_bytes = image.width * (options->weight_type == BF_WEIGHT_F32 ? 4 : 8);
  *weights = {(const unsigned char *)options->weights, options->weight_type,
              options->weights_stride_bytes ? options->weights_stride_bytes : row_bytes};
  return stride_fits(row_bytes, weights->stride_bytes, image.height) ? BF_OK : BF_BAD_INPUT;
}

// Whether the sums of every lane can have a bank of their own.
static bool can_pack_weights(const Request &request, const Weights &weights) {
  const Image &image = request.image;
  return request.type == BF_PIXEL_U8 && weights.type == BF_WEIGHT_F32 && image.channels == 1 &&
         !image.mask && image.height <= 1 && (uintptr_t)image.data % 4 == 0 &&
         (uintptr_t)weights.data % VECTOR_BYTES == 0 &&
         request.device.shared_limit > BYTE_VALUES * WARP * 4 + 64;
}

static bf_cuda_choice weighted_default(const Request &request, const Weights &weights) {
  if (can_pack_weights(request, weights))
    return {BF_CUDA_PACKED, BF_CUDA_BIN_BY_BIN, WARP, 224, 1, 1};
  bf_cuda_method method = weights.type == BF_WEIGHT_F32 ? BF_CUDA_SHARED : BF_CUDA_PLAIN;
  return {method, BF_CUDA_BIN_BY_BIN, WARP, 512, 2, 1};
}

// Whether a choice makes sums of weights.
static bool takes_weights(const Request &request, const Weights &weights, bf_cuda_method method) {
  return method == BF_CUDA_PLAIN || method == BF_CUDA_SHARED ||
         (method == BF_CUDA_PACKED && can_pack_weights(request, weights));
}

static bf_cuda_choice usual_weighted(const Request &request, const Weights &weights,
                                     const bf_pixels *image, const bf_histogram_options *options) {
  bf_cuda_choice saved;
  if (vote_saved(request.device.number, image, options, &saved) &&
      complete(request, &saved) == BF_OK && takes_weights(request, weights, saved.method))
    return saved;
  return weighted_default(request, weights);
}

static int make_weighted(const bf_pixels *image, const bf_histogram_options *options,
                         const bf_cuda_choice *choice, Request *request, Weights *weights) {
  int error = make_request(image, options, choice, request);
  if (!error)
    error = make_weights(options, request->image, weights);
  if (error)
    return error;
  join_rows(&request->image, weights, request->type);
  if (!choice)
    request->choice = usual_weighted(*request, *weights, image, options);
  return takes_weights(*request, *weights, request->choice.method) ? BF_OK : BF_UNSUPPORTED;
}

extern "C" int bf_cuda_histogram_f64(void *workspace, size_t *workspace_bytes,
                                     const bf_pixels *image, const bf_histogram_options *options,
                                     const bf_cuda_choice *choice, double *out,
                                     cudaStream_t stream) {
  Request request;
  Weights weights;
  if (!workspace_bytes)
    return BF_BAD_INPUT;
  int error = make_weighted(image, options, choice, &request, &weights);
  if (error)
    return error;
  Space space = make_space(request, sizeof(double));
  if (!workspace) {
    *workspace_bytes = space.total();
    return BF_OK;
  }
  if (*workspace_bytes < space.total() || !out)
    return BF_BAD_INPUT;
  unsigned char *base = (unsigned char *)workspace;
  error = copy_edges(&request, base + CLEAR_BYTES + space.sums_bytes, stream);
  if (error)
    return error;
  Sums sums = {(double *)(base + CLEAR_BYTES), out, (unsigned *)base, request.accumulate,
               request.bins};
  return vote_weighted(request.image, request.type, weights, sums, request.choice, request.device,
                       stream);
}

extern "C" int bf_cuda_default(const bf_pixels *image, const bf_histogram_options *options,
                               bf_cuda_choice *choice) {
  Request request;
  Weights weights;
  int error = options && options->weights ? make_weighted(image, options, NULL, &request, &weights)
                                          : make_request(image, options, NULL, &request);
  if (!error)
    *choice = request.choice;
  return error;
}
