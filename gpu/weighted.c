/* Sums of float weights by grey level (the weighted histograms of kernels/histogram) on the GPU of
 * this machine, with 32 copies of every sum in shared memory: copy by copy as it is, the same with
 * hashed addresses, padded, and bin by bin. As CSV:
 *
 *   weighted [HEIGHT]
 *
 * Images are 1024 pixels wide: constant, natural, and random. Results are compared with the CPU. */
#include "kernels/devices.h"
#include "kernels/histogram/histogram.h"
#include "kernels/histogram/image.h"
#include "rewrite/rewrite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1024, BINS = 256, THREADS = 1024, PIXELS_PER_THREAD = 64, REPEATS = 21 };
static const bf_geometry geometry = {5, 16, 4};

/* Bank bits take the bits of the copy: 8 to 12 of the word. */
static const char copy_hash[] = "xor:0,8,31";

typedef struct way {
  const char *name, *kernel, *hash; /* hash NULL: as it is */
} way;

static const way ways[] = {
    {"copy by copy", "weighted_major", NULL},
    {"copy by copy, hashed", "weighted_major", copy_hash},
    {"copy by copy, padded", "weighted_padded", NULL},
    {"bin by bin", "weighted_binmajor", NULL},
};

typedef struct weighed {
  uint32_t pixel_count;
  uint8_t *pixels;
  float *weights;
  double reference[BINS];
} weighed;

static const bf_hash *same(void *context, const bf_ptx_function *kernel,
                           const bf_ptx_variable *array) {
  (void)kernel, (void)array;
  return context;
}

/* The PTX of the histograms, with that hash. */
static int make_ptx(const char *form, bf_text *text, bf_diagnostic *diagnostic) {
  const char *ptx = bf_corpus_ptx("histogram");
  bf_ptx_module *module;
  bf_rewrite_result result = {0};
  bf_hash *hash;
  if (!form) {
    bf_text_puts(text, ptx);
    return BF_OK;
  }
  BF_TRY(bf_hash_parse(form, &geometry, &hash, diagnostic));
  bf_rewrite_options options = {.context = hash, .hash_of = same, .padding_has_room = true};
  int error = bf_ptx_parse("histogram", ptx, strlen(ptx), &module, diagnostic);
  if (!error) {
    error = bf_rewrite(module, &options, &result, diagnostic);
    *text = result.text;
    result.text = (bf_text){0};
    bf_rewrite_free(&result);
    bf_ptx_free(module);
  }
  bf_hash_free(hash);
  return error;
}

static int keep(void *context, const bf_cuda_launched *launched, bf_diagnostic *diagnostic) {
  (void)diagnostic;
  *(bf_cuda_launched *)context = *launched;
  return BF_OK;
}

/* Sums the weights of a picture and compares. */
static int sum(const bf_device *device, const way *own, const weighed *picture, double *worst,
               bf_diagnostic *diagnostic) {
  uint64_t pixels, weights, bins;
  float sums[BINS];
  const uint32_t blocks = picture->pixel_count / (THREADS * PIXELS_PER_THREAD);
  BF_TRY(bf_corpus_upload(device, picture->pixels, picture->pixel_count, &pixels, diagnostic));
  BF_TRY(bf_corpus_upload(device, picture->weights, picture->pixel_count * sizeof(float), &weights,
                          diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, sizeof sums, &bins, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, own->kernel, blocks, 1, THREADS, 1, diagnostic, &pixels, &weights,
                          &picture->pixel_count, &bins));
  BF_TRY(device->read(device->context, bins, sums, sizeof sums, diagnostic));
  for (unsigned i = 0; i < BINS; i++)
    *worst = fmax(*worst, fabs((double)sums[i] - picture->reference[i]) /
                              fmax(1, fabs(picture->reference[i])));
  return BF_OK;
}

static int measure(const char *name, const weighed *picture, const way *own,
                   bf_diagnostic *diagnostic) {
  bf_text ptx = {0};
  bf_device device;
  bf_cuda_launched launched = {0};
  double worst = 0;
  bf_cuda_device_options options = {.repeats = REPEATS, .after = keep, .context = &launched};
  int error = make_ptx(own->hash, &ptx, diagnostic);
  if (!error)
    error = bf_cuda_device_create(ptx.data, &options, &device, diagnostic);
  if (!error) {
    error = sum(&device, own, picture, &worst, diagnostic);
    bf_cuda_device_free(&device);
  }
  bf_text_free(&ptx);
  if (!error)
    printf("%s,%u,\"%s\",%u,%llu,%.0f,%.0f,%.1e\n", name, picture->pixel_count, own->name,
           launched.registers, (unsigned long long)launched.static_bytes, launched.median_ns,
           launched.least_ns, worst);
  return error;
}

/* Fills the picture that is called so. */
static void fill(const char *name, uint32_t height, weighed *picture) {
  bf_corpus_random random = bf_corpus_seed(1);
  picture->pixel_count = WIDTH * height;
  memset(picture->pixels, 128, picture->pixel_count);
  if (strcmp(name, "natural") == 0)
    bf_image_make(1, WIDTH, height, picture->pixels);
  for (uint32_t i = 0; i < picture->pixel_count; i++) {
    uint32_t bits = bf_corpus_next(&random);
    if (strcmp(name, "random") == 0)
      picture->pixels[i] = (uint8_t)bits;
    picture->weights[i] = (float)(bits >> 24) / 256;
  }
  memset(picture->reference, 0, sizeof picture->reference);
  bf_corpus_weighted_reference(picture->pixels, picture->weights, picture->pixel_count,
                               picture->reference);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"constant", "natural", "random"};
  bf_diagnostic diagnostic;
  long height = argc > 1 ? strtol(argv[1], NULL, 10) : 65536;
  if (height < 64 || height > 1 << 20)
    return fprintf(stderr, "weighted: a height of 64 to 1048576\n"), 2;
  weighed picture = {.pixels = malloc((size_t)height * WIDTH),
                     .weights = malloc((size_t)height * WIDTH * sizeof(float))};
  int error = picture.pixels && picture.weights ? BF_OK : BF_NO_MEMORY;
  printf("image,pixels,layout,registers,shared_bytes,median_ns,least_ns,worst_error\n");
  for (unsigned i = 0; i < sizeof names / sizeof *names && !error; i++) {
    fill(names[i], (uint32_t)height, &picture);
    for (unsigned w = 0; w < sizeof ways / sizeof *ways && !error; w++)
      error = measure(names[i], &picture, &ways[w], &diagnostic);
  }
  if (error)
    fprintf(stderr, "weighted: %s\n", error == BF_NO_MEMORY ? "out of memory" : diagnostic.message);
  free(picture.pixels);
  free(picture.weights);
  return error ? 2 : 0;
}
