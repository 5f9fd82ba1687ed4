/* The tuner of gpu/vote as a C program uses it, for tests/check/vote_gpu.sh.
 *
 *   tuned tune   tunes a histogram into the file that calls without a choice look into
 *   tuned use    prints what choice NULL means for a plain and for a masked image, and makes the
 *                histogram of the plain one so; status 1 where the counts are wrong */
#include "bankfold_vote_cuda.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 64, HEIGHT = 48, BINS = 256 };

static int print_choice(const char *what, const bf_pixels *image,
                        const bf_histogram_options *options) {
  bf_cuda_choice choice;
  int error = bf_cuda_default(image, options, &choice);
  printf("%s: error %d, method %d, copies %u, threads %u, blocks %u, loads %u\n", what, error,
         error ? 0 : (int)choice.method, choice.copies, choice.threads, choice.blocks_per_sm,
         choice.loads);
  return error;
}

/* The histogram without a choice; 1 where it is not the one wanted. */
static int count(const bf_pixels *image, const bf_histogram_options *options,
                 const uint32_t *wanted) {
  size_t bytes = 0;
  void *workspace = NULL;
  uint32_t *counts = NULL, got[BINS] = {0};
  int error = bf_cuda_histogram_u32(NULL, &bytes, image, options, NULL, NULL, NULL);
  if (error || cudaMalloc(&workspace, bytes) || cudaMalloc((void **)&counts, sizeof got) ||
      bf_cuda_workspace_clear(workspace, bytes, NULL))
    return 1;
  error = bf_cuda_histogram_u32(workspace, &bytes, image, options, NULL, counts, NULL);
  cudaMemcpy(got, counts, sizeof got, cudaMemcpyDeviceToHost);
  cudaFree(workspace);
  cudaFree(counts);
  return error || memcmp(got, wanted, sizeof got) != 0;
}

int main(int arguments, char **argument) {
  unsigned char pixels[WIDTH * HEIGHT];
  uint32_t wanted[BINS] = {0};
  void *memory = NULL;
  for (unsigned i = 0; i < sizeof pixels; i++) {
    pixels[i] = (unsigned char)(i * i / 7);
    wanted[pixels[i]]++;
  }
  if (cudaMalloc(&memory, sizeof pixels) ||
      cudaMemcpy(memory, pixels, sizeof pixels, cudaMemcpyHostToDevice))
    return 2;
  bf_pixels image = {.data = memory, .type = BF_PIXEL_U8, .width = WIDTH, .height = HEIGHT};
  bf_pixels masked = image;
  masked.mask = memory;
  bf_histogram_options options = {.struct_bytes = sizeof options, .bins = BINS};
  int status = 2;
  if (arguments == 2 && strcmp(argument[1], "tune") == 0)
    status = bf_cuda_tune(NULL, &image, &options, NULL) != BF_OK;
  else if (arguments == 2 && strcmp(argument[1], "use") == 0)
    status = print_choice("plain", &image, &options) || print_choice("masked", &masked, &options) ||
             count(&image, &options, wanted);
  cudaFree(memory);
  return status;
}
