/* MRIQ, NN and STREAM. */
#include "reproduce/rgpu/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- MRIQ ---- */

static const double TWO_PI = 6.283185307179586;

/* Angles up to 19, rounded to 2^-20, of sums of up to 2048 numbers below 1, and the approximations
 * of sine and cosine that GPUs have. */
static const double MRIQ_ERROR = 2e-3;

/* Takes the samples, with 2 pi in their places, to a buffer, or to the constant memory of the plain
 * kernel. */
static int upload_samples(const rgpu_data *data, const bf_device *device, rgpu_kernel kernel,
                          uint64_t *address, bf_diagnostic *diagnostic) {
  uint64_t count = rgpu_elements(data, "k"), size = count * sizeof(float), room;
  const float *k = rgpu_array(data, "k");
  float *scaled = malloc(size);
  int error = scaled ? BF_OK : bf_no_memory(diagnostic);
  for (uint64_t i = 0; !error && i < count; i++)
    scaled[i] = i % 4 == 3 ? k[i] : (float)(k[i] * TWO_PI);
  if (!error)
    error = kernel == RGPU_PLAIN
                ? device->symbol(device->context, "samples", address, &room, diagnostic)
                : bf_corpus_upload(device, NULL, size, address, diagnostic);
  if (!error)
    error = device->write(device->context, *address, scaled, size, diagnostic);
  free(scaled);
  return error;
}

static int launch_mriq(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                       rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { THREADS = 256 };
  uint64_t voxels = (uint64_t)rgpu_parameter(data, "voxels"), bytes = voxels * sizeof(float);
  uint32_t count = (uint32_t)rgpu_parameter(data, "samples"), blocks = (uint32_t)voxels / THREADS;
  uint64_t samples, x, y, z, real, imaginary;
  BF_TRY(upload_samples(data, device, kernel, &samples, diagnostic));
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "x"), bytes, &x, diagnostic));
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "y"), bytes, &y, diagnostic));
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "z"), bytes, &z, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &real, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &imaginary, diagnostic));
  if (kernel == RGPU_PLAIN)
    BF_TRY(BF_CORPUS_LAUNCH(device, "mriq", blocks, 1, THREADS, 1, diagnostic, &x, &y, &z, &real,
                            &imaginary, &count));
  else
    BF_TRY(BF_CORPUS_LAUNCH(device, "mriq", blocks, 1, THREADS, 1, diagnostic, &samples, &x, &y, &z,
                            &real, &imaginary, &count));
  BF_TRY(device->read(device->context, real, rgpu_array(result, "real"), bytes, diagnostic));
  return device->read(device->context, imaginary, rgpu_array(result, "imaginary"), bytes,
                      diagnostic);
}

/* One voxel. */
static void sum_samples(const float *k, uint64_t samples, const double place[3], float *real,
                        float *imaginary) {
  double sum[2] = {0, 0};
  for (uint64_t i = 0; i < samples; i++, k += 4) {
    double angle = (double)k[0] * place[0] + (double)k[1] * place[1] + (double)k[2] * place[2];
    sum[0] += (double)k[3] * cos(TWO_PI * angle);
    sum[1] += (double)k[3] * sin(TWO_PI * angle);
  }
  *real = (float)sum[0];
  *imaginary = (float)sum[1];
}

/* Every 16th voxel: sines take time. */
static int check_mriq(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                      bf_diagnostic *diagnostic) {
  enum { EVERY = 16 };
  const float *x = rgpu_array(before, "x"), *y = rgpu_array(before, "y"),
              *z = rgpu_array(before, "z"), *k = rgpu_array(before, "k"),
              *real = rgpu_array(after, "real"), *imaginary = rgpu_array(after, "imaginary");
  uint64_t samples = (uint64_t)rgpu_parameter(before, "samples");
  (void)diagnostic;
  for (uint64_t i = 0; i < rgpu_elements(before, "x"); i += EVERY) {
    double place[3] = {(double)x[i], (double)y[i], (double)z[i]};
    float expected_real, expected_imaginary;
    sum_samples(k, samples, place, &expected_real, &expected_imaginary);
    bf_corpus_compare_f32(&real[i], &expected_real, 1, MRIQ_ERROR, outcome);
    bf_corpus_compare_f32(&imaginary[i], &expected_imaginary, 1, MRIQ_ERROR, outcome);
  }
  return BF_OK;
}

static const rgpu_benchmark rgpu_mriq4 = {.name = "mriq4",
                                          .title = "MRI-Q, four voxels at a time",
                                          .copies = 2,
                                          .quick = {"samples=32", "voxels=768"},
                                          .check = check_mriq};

const rgpu_benchmark rgpu_mriq = {.name = "mriq",
                                  .narrow = &rgpu_mriq4,
                                  .title = "MRI-Q",
                                  .copies = 2,
                                  .lanes = 4,
                                  .quick = {"samples=32", "voxels=768"},
                                  .launch = launch_mriq,
                                  .check = check_mriq};

/* ---- NN: the graph has five images side by side, the kernel one behind the other ---- */

enum { GROUP = 5 };
static const double NN_ERROR = 1e-4; /* sums of up to 1250 products of numbers below 1 */

/* Input `input` of an image, as the graph has it. */
static float input_of(const float *inputs, uint64_t count, uint64_t image, uint64_t input) {
  return inputs[image / GROUP * GROUP * count + input * GROUP + image % GROUP];
}

static int upload_inputs(const rgpu_data *data, const bf_device *device, uint64_t *address,
                         bf_diagnostic *diagnostic) {
  uint64_t inputs = (uint64_t)rgpu_parameter(data, "inputs");
  uint64_t count = rgpu_elements(data, "input");
  float *apart = malloc(count * sizeof *apart);
  if (!apart)
    return bf_no_memory(diagnostic);
  for (uint64_t i = 0; i < count; i++)
    apart[i] = input_of(rgpu_array(data, "input"), inputs, i / inputs, i % inputs);
  int error = bf_corpus_upload(device, apart, count * sizeof *apart, address, diagnostic);
  free(apart);
  return error;
}

static int launch_nn(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                     rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { WARPS = 8 };
  uint32_t inputs = (uint32_t)rgpu_parameter(data, "inputs");
  uint32_t neurons = (uint32_t)rgpu_parameter(data, "neurons");
  uint32_t images = (uint32_t)rgpu_parameter(data, "images");
  uint64_t weights, values, sums, bytes = rgpu_elements(data, "sums") * sizeof(float);
  BF_TRY(bf_corpus_upload(device, rgpu_array(data, "weight"),
                          rgpu_elements(data, "weight") * sizeof(float), &weights, diagnostic));
  BF_TRY(upload_inputs(data, device, &values, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &sums, diagnostic));
  if (kernel == RGPU_PLAIN)
    BF_TRY(BF_CORPUS_LAUNCH(device, "nn", 1, images, neurons, 1, diagnostic, &weights, &values,
                            &sums, &inputs, &neurons));
  else
    BF_TRY(BF_CORPUS_LAUNCH(device, "nn", (neurons + WARPS - 1) / WARPS, images / GROUP, 32, WARPS,
                            diagnostic, &weights, &values, &sums, &inputs, &neurons));
  return device->read(device->context, sums, rgpu_array(result, "sums"), bytes, diagnostic);
}

static int check_nn(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                    bf_diagnostic *diagnostic) {
  uint64_t inputs = (uint64_t)rgpu_parameter(before, "inputs");
  uint64_t neurons = (uint64_t)rgpu_parameter(before, "neurons");
  const float *weight = rgpu_array(before, "weight"), *input = rgpu_array(before, "input"),
              *sums = rgpu_array(after, "sums");
  (void)diagnostic;
  for (uint64_t i = 0; i < rgpu_elements(before, "sums"); i++) {
    double sum = 0;
    for (uint64_t j = 0; j < inputs; j++)
      sum += (double)weight[i % neurons * inputs + j] *
             (double)input_of(input, inputs, i / neurons, j);
    float expected = (float)sum;
    bf_corpus_compare_f32(&sums[i], &expected, 1, NN_ERROR, outcome);
  }
  return BF_OK;
}

const rgpu_benchmark rgpu_nn = {.name = "nn",
                                .title = "Neural network",
                                .copies = 2,
                                .lanes = 3,
                                .quick = {"inputs=100", "images=10"},
                                .launch = launch_nn,
                                .check = check_nn};

/* ---- STREAM ---- */

enum { CENTRES = 3 };
/* As in the graph. */
static const float centre[CENTRES][4] = {
    {0.25f, 0.5f, 0.75f, 0.375f}, {0.125f, 0.875f, 0.5f, 0.625f}, {0.75f, 0.25f, 0.375f, 0.5f}};
static const double STREAM_ERROR = 8 * 4 * 0x1p-24;

/* The points; for the plain kernel coordinate by coordinate. */
static int upload_points(const rgpu_data *data, const bf_device *device, bool is_apart,
                         uint64_t *address, bf_diagnostic *diagnostic) {
  const float *point = rgpu_array(data, "point");
  uint64_t points = (uint64_t)rgpu_parameter(data, "points"), bytes = 4 * points * sizeof *point;
  if (!is_apart)
    return bf_corpus_upload(device, point, bytes, address, diagnostic);
  float *apart = malloc(bytes);
  if (!apart)
    return bf_no_memory(diagnostic);
  for (uint64_t i = 0; i < 4 * points; i++)
    apart[i % 4 * points + i / 4] = point[i];
  int error = bf_corpus_upload(device, apart, bytes, address, diagnostic);
  free(apart);
  return error;
}

static int launch_stream(const rgpu_data *data, const rgpu_data *result, const bf_device *device,
                         rgpu_kernel kernel, bf_diagnostic *diagnostic) {
  enum { THREADS = 128 };
  uint32_t points = (uint32_t)rgpu_parameter(data, "points");
  uint64_t from, to, centres, room, bytes = CENTRES * points * sizeof(float);
  BF_TRY(upload_points(data, device, kernel == RGPU_PLAIN, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  BF_TRY(device->symbol(device->context, "centres", &centres, &room, diagnostic));
  BF_TRY(device->write(device->context, centres, centre, sizeof centre, diagnostic));
  BF_TRY(BF_CORPUS_LAUNCH(device, "stream", points / THREADS, 1, THREADS, 1, diagnostic, &from, &to,
                          &points));
  return device->read(device->context, to, rgpu_array(result, "distance"), bytes, diagnostic);
}

static int check_stream(const rgpu_data *before, const rgpu_data *after, bf_corpus_outcome *outcome,
                        bf_diagnostic *diagnostic) {
  const float *point = rgpu_array(before, "point"), *distance = rgpu_array(after, "distance");
  (void)diagnostic;
  uint64_t points = (uint64_t)rgpu_parameter(before, "points");
  for (uint64_t i = 0; i < CENTRES * points; i++) {
    double sum = 0;
    for (unsigned j = 0; j < 4; j++) {
      double way = (double)point[4 * (i % points) + j] - (double)centre[i / points][j];
      sum += way * way;
    }
    float expected = (float)sum;
    bf_corpus_compare_f32(&distance[i], &expected, 1, STREAM_ERROR, outcome);
  }
  return BF_OK;
}

const rgpu_benchmark rgpu_stream = {.name = "stream",
                                    .lanes_fitted =
                                        "the graph has three centres, which was chosen to need the "
                                        "published lanes; with fewer it needed 4.",
                                    .title = "Streamcluster",
                                    .copies = 1,
                                    .lanes = 6,
                                    .quick = {"points=46080", "run=1536"},
                                    .launch = launch_stream,
                                    .check = check_stream};
