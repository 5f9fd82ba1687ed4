// Images in memory of the host: they are copied to the GPU, voted on, and results are copied back.
// Buffers on the GPU grow as needed and are kept, so that an image can come in strips.
#include "bankfold_vote_cuda.h"
#include "bankfold_vote_host.h"

#include <cuda_runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Memory of the device.
struct Buffer {
  void *data;
  size_t bytes;
};

enum Use { PIXELS, MASK, WEIGHTS, RESULT, WORKSPACE, USES };

struct bf_gpu {
  char name[256];
  Buffer buffer[USES];
};

// ---- Errors ----

static int fail(bf_diagnostic *diagnostic, int error, const char *format, ...) {
  if (!diagnostic)
    return error;
  memset(diagnostic, 0, sizeof *diagnostic);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(diagnostic->message, sizeof diagnostic->message, format, arguments);
  va_end(arguments);
  return error;
}

static int check(cudaError_t error, bf_diagnostic *diagnostic) {
  if (error == cudaSuccess)
    return BF_OK;
  cudaGetLastError();
  return fail(diagnostic, error == cudaErrorMemoryAllocation ? BF_NO_MEMORY : BF_IO,
              "the GPU reports: %s", cudaGetErrorString(error));
}

// Words for what a function of bankfold_vote_cuda.h returns.
static int explain(int error, const char *what, bf_diagnostic *diagnostic) {
  switch (error) {
  case BF_OK:
    return BF_OK;
  case BF_IO:
    return check(cudaGetLastError(), diagnostic) ? BF_IO : fail(diagnostic, BF_IO, "the GPU fails");
  case BF_UNSUPPORTED:
    return fail(diagnostic, error, "%s is not possible on the GPU", what);
  default:
    return fail(diagnostic, error, "%s: wrong options or image", what);
  }
}

// ---- Memory ----

// Makes a buffer at least so large; what it held is lost where it grows.
static int reserve(Buffer *buffer, size_t bytes, bf_diagnostic *diagnostic) {
  if (buffer->data && buffer->bytes >= bytes)
    return BF_OK;
  cudaFree(buffer->data);
  *buffer = {};
  int error = check(cudaMalloc(&buffer->data, bytes ? bytes : 1), diagnostic);
  if (!error)
    buffer->bytes = bytes;
  return error;
}

// Copies rows to the device, without the gaps between them.
static int upload(Buffer *buffer, const void *rows, size_t stride_bytes, size_t row_bytes,
                  size_t height, bf_diagnostic *diagnostic) {
  int error = reserve(buffer, row_bytes * height, diagnostic);
  if (error || row_bytes == 0 || height == 0)
    return error;
  return check(cudaMemcpy2D(buffer->data, row_bytes, rows, stride_bytes ? stride_bytes : row_bytes,
                            row_bytes, height, cudaMemcpyHostToDevice),
               diagnostic);
}

// The image with its mask on the device.
static int upload_image(bf_gpu *gpu, const bf_pixels *image, bf_pixels *there,
                        bf_diagnostic *diagnostic) {
  static const size_t bytes_of[] = {1, 2, 4};
  if (!image || image->type > BF_PIXEL_F32 || image->channels > 4)
    return fail(diagnostic, BF_BAD_INPUT, "no image, or one of unknown pixels");
  size_t pixel_bytes = bytes_of[image->type] * (image->channels ? image->channels : 1);
  if (image->height && image->width > SIZE_MAX / 2 / pixel_bytes / image->height)
    return fail(diagnostic, BF_BAD_INPUT, "%zu x %zu pixels exceed the address space", image->width,
                image->height);
  size_t row_bytes = image->width * pixel_bytes;
  bool empty = row_bytes == 0 || image->height == 0;
  if (!empty &&
      (!image->data || (image->stride_bytes && image->stride_bytes < row_bytes) ||
       (image->mask && image->mask_stride_bytes && image->mask_stride_bytes < image->width)))
    return fail(diagnostic, BF_BAD_INPUT, "no pixels, or a stride below the bytes of a row");
  *there = *image;
  int error = upload(&gpu->buffer[PIXELS], image->data, image->stride_bytes, row_bytes,
                     image->height, diagnostic);
  there->data = gpu->buffer[PIXELS].data;
  there->stride_bytes = 0;
  if (error || !image->mask)
    return error;
  error = upload(&gpu->buffer[MASK], image->mask, image->mask_stride_bytes, image->width,
                 image->height, diagnostic);
  there->mask = (const uint8_t *)gpu->buffer[MASK].data;
  there->mask_stride_bytes = 0;
  return error;
}

// The weights of options on the device.
static int upload_weights(bf_gpu *gpu, const bf_pixels *image, bf_histogram_options *options,
                          bf_diagnostic *diagnostic) {
  size_t row_bytes = image->width * (options->weight_type == BF_WEIGHT_F32 ? 4 : 8);
  if (options->weight_type > BF_WEIGHT_F64 ||
      (options->weights_stride_bytes && options->weights_stride_bytes < row_bytes))
    return fail(diagnostic, BF_BAD_INPUT, "weights of unknown type or with a bad stride");
  int error = upload(&gpu->buffer[WEIGHTS], options->weights, options->weights_stride_bytes,
                     row_bytes, image->height, diagnostic);
  options->weights = gpu->buffer[WEIGHTS].data;
  options->weights_stride_bytes = 0;
  return error;
}

// ---- The GPU ----

extern "C" const char *bf_gpu_version(void) { return BF_VERSION; }

extern "C" int bf_gpu_open(bf_gpu **gpu, bf_diagnostic *diagnostic) {
  int count = 0;
  cudaDeviceProp properties;
  *gpu = NULL;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    return fail(diagnostic, BF_UNSUPPORTED, "no GPU that CUDA can use: %s",
                error ? cudaGetErrorString(error) : "none is there");
  }
  int failed = check(cudaGetDeviceProperties(&properties, 0), diagnostic);
  if (failed)
    return failed;
  bf_gpu *opened = (bf_gpu *)calloc(1, sizeof *opened);
  if (!opened)
    return fail(diagnostic, BF_NO_MEMORY, "out of memory");
  snprintf(opened->name, sizeof opened->name, "%s", properties.name);
  *gpu = opened;
  return BF_OK;
}

extern "C" void bf_gpu_close(bf_gpu *gpu) {
  for (unsigned i = 0; gpu && i < USES; i++)
    cudaFree(gpu->buffer[i].data);
  free(gpu);
}

extern "C" const char *bf_gpu_name(const bf_gpu *gpu) { return gpu->name; }

// ---- Histograms ----

// A histogram of the image on the device into the buffer of results: counts of 64 bits, or sums.
static int vote(bf_gpu *gpu, const bf_pixels *there, const bf_histogram_options *options,
                bf_diagnostic *diagnostic) {
  bf_cuda_choice exact = {BF_CUDA_PLAIN, BF_CUDA_BIN_BY_BIN, 0, 0, 0, 0};
  const bool sums = options->weights != NULL;
  Buffer *workspace = &gpu->buffer[WORKSPACE], *result = &gpu->buffer[RESULT];
  size_t bytes = 0;
  int error = sums ? bf_cuda_histogram_f64(NULL, &bytes, there, options, &exact, NULL, 0)
                   : bf_cuda_histogram_u64(NULL, &bytes, there, options, NULL, NULL, 0);
  error = explain(error, "this histogram", diagnostic);
  if (!error)
    error = reserve(workspace, bytes, diagnostic);
  if (!error)
    error = reserve(result, options->bins * sizeof(uint64_t), diagnostic);
  if (error)
    return error;
  error = bf_cuda_workspace_clear(workspace->data, bytes, 0);
  if (!error)
    error = sums ? bf_cuda_histogram_f64(workspace->data, &bytes, there, options, &exact,
                                         (double *)result->data, 0)
                 : bf_cuda_histogram_u64(workspace->data, &bytes, there, options, NULL,
                                         (uint64_t *)result->data, 0);
  return explain(error, "this histogram", diagnostic);
}

// The bins of a histogram, not added to earlier ones, in memory to be freed: 8 bytes each.
static int find_bins(bf_gpu *gpu, const bf_pixels *image, const bf_histogram_options *given,
                     void **found, bf_diagnostic *diagnostic) {
  bf_pixels there;
  *found = NULL;
  if (!gpu || !given || given->bins < 1 || given->bins > BF_MAX_BINS)
    return fail(diagnostic, BF_BAD_INPUT, "no GPU, no options or no bins");
  bf_histogram_options options = *given;
  options.accumulate = false;
  int error = upload_image(gpu, image, &there, diagnostic);
  if (!error && options.weights)
    error = upload_weights(gpu, image, &options, diagnostic);
  if (!error)
    error = vote(gpu, &there, &options, diagnostic);
  if (error)
    return error;
  size_t bytes = options.bins * sizeof(uint64_t);
  *found = malloc(bytes);
  if (!*found)
    return fail(diagnostic, BF_NO_MEMORY, "out of memory");
  error = check(cudaMemcpy(*found, gpu->buffer[RESULT].data, bytes, cudaMemcpyDeviceToHost),
                diagnostic);
  if (error) {
    free(*found);
    *found = NULL;
  }
  return error;
}

extern "C" int bf_gpu_histogram_u64(bf_gpu *gpu, const bf_pixels *image,
                                    const bf_histogram_options *options, uint64_t *counts,
                                    bf_diagnostic *diagnostic) {
  void *memory;
  if (!counts || (options && options->weights))
    return fail(diagnostic, BF_BAD_INPUT, "no place for the counts, or weights to count");
  int error = find_bins(gpu, image, options, &memory, diagnostic);
  if (error)
    return error;
  uint64_t *found = (uint64_t *)memory;
  for (size_t i = 0; i < options->bins && !error && options->accumulate; i++)
    if (__builtin_add_overflow(found[i], counts[i], &found[i]))
      error = fail(diagnostic, BF_UNSUPPORTED, "bin %zu has more votes than 64 bits can count", i);
  if (!error)
    memcpy(counts, found, options->bins * sizeof *counts);
  free(memory);
  return error;
}

extern "C" int bf_gpu_histogram_f64(bf_gpu *gpu, const bf_pixels *image,
                                    const bf_histogram_options *options, double *sums,
                                    bf_diagnostic *diagnostic) {
  void *memory;
  if (!sums || !options || !options->weights)
    return fail(diagnostic, BF_BAD_INPUT, "no place for the sums, or no weights");
  int error = find_bins(gpu, image, options, &memory, diagnostic);
  for (size_t i = 0; !error && i < options->bins; i++)
    sums[i] = ((const double *)memory)[i] + (options->accumulate ? sums[i] : 0);
  free(memory);
  return error;
}

// ---- Hough ----

// Edge pixels that vote, for the caller's information: counted on the host.
static uint64_t count_points(const bf_pixels *edges) {
  uint64_t points = 0;
  size_t stride = edges->stride_bytes ? edges->stride_bytes : edges->width;
  size_t mask_stride = edges->mask_stride_bytes ? edges->mask_stride_bytes : edges->width;
  for (size_t y = 0; y < edges->height; y++)
    for (size_t x = 0; x < edges->width; x++)
      points += ((const uint8_t *)edges->data)[y * stride + x] != 0 &&
                (!edges->mask || edges->mask[y * mask_stride + x] != 0);
  return points;
}

// Votes on the device into space->votes, which has room for them.
static int vote_lines(bf_gpu *gpu, const bf_pixels *edges, const bf_hough_options *options,
                      const bf_hough_space *space, bf_diagnostic *diagnostic) {
  Buffer *workspace = &gpu->buffer[WORKSPACE], *result = &gpu->buffer[RESULT];
  size_t bytes = 0, votes_bytes = space->angles * space->rhos * sizeof *space->votes;
  bf_pixels there;
  int error = upload_image(gpu, edges, &there, diagnostic);
  if (!error)
    error = explain(bf_cuda_hough_vote(NULL, &bytes, &there, options, NULL, NULL, 0),
                    "a Hough transform of so many pixels", diagnostic);
  if (!error)
    error = reserve(workspace, bytes, diagnostic);
  if (!error)
    error = reserve(result, votes_bytes, diagnostic);
  if (!error)
    error = explain(bf_cuda_hough_vote(workspace->data, &bytes, &there, options, NULL,
                                       (uint32_t *)result->data, 0),
                    "this Hough transform", diagnostic);
  return error ? error
               : check(cudaMemcpy(space->votes, result->data, votes_bytes, cudaMemcpyDeviceToHost),
                       diagnostic);
}

extern "C" int bf_gpu_hough_vote(bf_gpu *gpu, const bf_pixels *edges,
                                 const bf_hough_options *options, bf_hough_space *space,
                                 bf_diagnostic *diagnostic) {
  if (!gpu || !edges || !options || !space)
    return fail(diagnostic, BF_BAD_INPUT, "no GPU, no edges, no options or no place for the space");
  memset(space, 0, sizeof *space);
  int error =
      explain(bf_cuda_hough_shape(edges, options, space), "a Hough space of this size", diagnostic);
  if (error)
    return error;
  space->votes = (uint32_t *)calloc(space->angles, space->rhos * sizeof *space->votes);
  if (!space->votes)
    return fail(diagnostic, BF_NO_MEMORY, "out of memory");
  if (edges->width && edges->height)
    error = vote_lines(gpu, edges, options, space, diagnostic);
  if (!error) {
    space->points = count_points(edges);
  } else {
    free(space->votes);
    memset(space, 0, sizeof *space);
  }
  return error;
}
