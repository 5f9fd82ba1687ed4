/* Pictures are made in integers only, so that they are the same everywhere. */
#include "reproduce/atomics/photo.h"

#include "kernels/corpus.h"

#include <math.h>
#include <stdlib.h>

/* Leaves have radii from SMALLEST to LARGEST pixels, with a density that falls as the cube of the
 * radius: then a scene looks alike at all scales. They are painted, each over the last, until they
 * have covered the picture LAYERS times. */
enum { SMALLEST = 8, LARGEST = 512, LAYERS = 6, MOST_GREY = BF_PHOTO_LEVELS - 1 };

typedef struct photo_scene {
  uint32_t width, height;
  bf_corpus_random random;
  int32_t dark, bright; /* the range of shades */
  int16_t *texture;     /* -128 to 127, per pixel */
  int32_t *grey;
} photo_scene;

typedef struct photo_leaf {
  int32_t x, y;
  int64_t radius_squared;
  int32_t grey, slope_x, slope_y; /* slopes: levels per 256 pixels */
  int32_t roughness;              /* levels per unit of texture, times 64 */
} photo_leaf;

static uint32_t below(bf_corpus_random *random, uint32_t limit) {
  return (uint32_t)((uint64_t)bf_corpus_next(random) * limit >> 32);
}

/* From -range to range, 0 on average and most often: the sum of two dice. */
static int32_t around_zero(bf_corpus_random *random, int32_t range) {
  return (int32_t)(below(random, (uint32_t)range + 1) + below(random, (uint32_t)range + 1)) - range;
}

/* A number, 0 to 255, that depends on nothing but its arguments. */
static uint32_t lattice(uint32_t seed, uint32_t cell, uint32_t x, uint32_t y) {
  uint32_t mixed = seed * 0x9e3779b1u ^ cell * 0x85ebca77u ^ x * 0xc2b2ae3du ^ y * 0x27d4eb2fu;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return (mixed ^ mixed >> 15) >> 24;
}

/* Between the four points of a lattice with one point every `cell` pixels. */
static int32_t interpolate(uint32_t seed, uint32_t cell, uint32_t x, uint32_t y) {
  const uint32_t left = x / cell, top = y / cell, dx = x % cell, dy = y % cell;
  const uint32_t above =
      lattice(seed, cell, left, top) * (cell - dx) + lattice(seed, cell, left + 1, top) * dx;
  const uint32_t beneath = lattice(seed, cell, left, top + 1) * (cell - dx) +
                           lattice(seed, cell, left + 1, top + 1) * dx;
  return (int32_t)((above * (cell - dy) + beneath * dy) / (cell * cell)) - 128;
}

/* Texture of four octaves. */
static void make_texture(photo_scene *scene, unsigned seed) {
  int16_t *texture = scene->texture;
  for (uint32_t y = 0; y < scene->height; y++)
    for (uint32_t x = 0; x < scene->width; x++)
      *texture++ = (int16_t)((interpolate(seed, 32, x, y) + interpolate(seed, 16, x, y) +
                              interpolate(seed, 8, x, y) + interpolate(seed, 4, x, y)) /
                             4);
}

/* The square of a radius r with density r^-3: smallest^2 / (1 - u (1 - (smallest/largest)^2)). */
static int64_t some_radius_squared(bf_corpus_random *random) {
  const int64_t small = SMALLEST * SMALLEST, large = (int64_t)LARGEST * LARGEST;
  const int64_t part = bf_corpus_next(random) >> 8; /* 24 bits */
  return small * large * (1 << 24) / ((large << 24) - part * (large - small));
}

/* The grey level at a place, that of the edge beyond it. */
static int32_t at(const photo_scene *scene, int32_t x, int32_t y) {
  x = x < 0 ? 0 : x >= (int32_t)scene->width ? (int32_t)scene->width - 1 : x;
  y = y < 0 ? 0 : y >= (int32_t)scene->height ? (int32_t)scene->height - 1 : y;
  return scene->grey[(size_t)y * scene->width + (size_t)x];
}

/* A leaf anywhere on the picture or near it. Eleven of twelve are parts of what they lie on,
 * with a similar shade; some are smooth, some rough. */
static photo_leaf some_leaf(photo_scene *scene) {
  bf_corpus_random *random = &scene->random;
  photo_leaf leaf;
  leaf.x = (int32_t)below(random, scene->width + LARGEST) - LARGEST / 2;
  leaf.y = (int32_t)below(random, scene->height + LARGEST) - LARGEST / 2;
  leaf.radius_squared = some_radius_squared(random);
  const bool stands_alone = below(random, 12) == 0;
  leaf.grey = scene->dark + (int32_t)below(random, (uint32_t)(scene->bright - scene->dark));
  if (!stands_alone)
    leaf.grey = (leaf.grey + 2 * at(scene, leaf.x, leaf.y)) / 3;
  leaf.slope_x = around_zero(random, 500);
  leaf.slope_y = around_zero(random, 500);
  const uint32_t kind = below(random, 16);
  leaf.roughness = (int32_t)(kind * kind * 3 / 2);
  return leaf;
}

/* The grey level of a leaf at a place of the picture. */
static int32_t grey_of(const photo_leaf *leaf, int32_t dx, int32_t dy, int32_t texture) {
  return leaf->grey + (leaf->slope_x * dx + leaf->slope_y * dy) / 256 +
         leaf->roughness * texture / 64;
}

/* Paints a leaf; returns how many pixels of the picture it covers. */
static uint64_t paint(photo_scene *scene, const photo_leaf *leaf) {
  uint64_t covered = 0;
  int32_t reach = 0;
  while ((int64_t)(reach + 1) * (reach + 1) <= leaf->radius_squared)
    reach++;
  int32_t top = leaf->y - reach < 0 ? 0 : leaf->y - reach, half = 0;
  for (int32_t y = top; y <= leaf->y + reach && y < (int32_t)scene->height; y++) {
    const int64_t dy = y - leaf->y, left_over = leaf->radius_squared - dy * dy;
    while ((int64_t)(half + 1) * (half + 1) <= left_over)
      half++;
    while ((int64_t)half * half > left_over)
      half--;
    int32_t first = leaf->x - half < 0 ? 0 : leaf->x - half;
    for (int32_t x = first; x <= leaf->x + half && x < (int32_t)scene->width; x++, covered++) {
      const size_t place = (size_t)y * scene->width + (size_t)x;
      scene->grey[place] = grey_of(leaf, x - leaf->x, (int32_t)dy, scene->texture[place]);
    }
  }
  return covered;
}

/* Every scene has its own light: where its shades begin and end. */
static void paint_leaves(photo_scene *scene) {
  const uint64_t enough = (uint64_t)scene->width * scene->height * LAYERS;
  scene->dark = 100 + (int32_t)below(&scene->random, 500);
  scene->bright = 3200 + (int32_t)below(&scene->random, 800);
  for (uint64_t covered = 0; covered < enough;) {
    photo_leaf leaf = some_leaf(scene);
    covered += paint(scene, &leaf);
  }
}

/* The lens: binomial weights 1 2 1 in both directions. */
static int32_t blurred(const photo_scene *scene, int32_t x, int32_t y) {
  int32_t sum = 0;
  for (int32_t dy = -1; dy <= 1; dy++)
    for (int32_t dx = -1; dx <= 1; dx++)
      sum += at(scene, x + dx, y + dy) * (2 - abs(dx)) * (2 - abs(dy));
  return sum / 16;
}

/* -24 to 24, standard deviation 9: the sum of four dice. */
static int32_t noise(bf_corpus_random *random) {
  const uint32_t bits = bf_corpus_next(random);
  int32_t sum = 0;
  for (unsigned die = 0; die < 4; die++)
    sum += (int32_t)((bits >> 4 * die & 15) * 13 / 16);
  return sum - 24;
}

int bf_photo_make(unsigned seed, uint32_t width, uint32_t height, uint16_t *pixels,
                  bf_diagnostic *diagnostic) {
  const size_t count = (size_t)width * height;
  photo_scene scene = {.width = width, .height = height, .random = bf_corpus_seed(seed + 1000)};
  scene.texture = malloc(count * sizeof *scene.texture);
  scene.grey = calloc(count, sizeof *scene.grey);
  int error = scene.texture && scene.grey ? BF_OK : bf_no_memory(diagnostic);
  if (!error) {
    make_texture(&scene, seed);
    paint_leaves(&scene);
    for (uint32_t y = 0; y < height; y++)
      for (uint32_t x = 0; x < width; x++) {
        int32_t grey = blurred(&scene, (int32_t)x, (int32_t)y) + noise(&scene.random);
        *pixels++ = (uint16_t)(grey < 0 ? 0 : grey > MOST_GREY ? MOST_GREY : grey);
      }
  }
  free(scene.texture);
  free(scene.grey);
  return error;
}

/* ---- Statistics ---- */

/* The correlation of pixels `apart` pixels apart in a row. */
static double correlation(const uint16_t *pixels, uint32_t width, uint32_t height, uint32_t apart) {
  double a = 0, b = 0, aa = 0, bb = 0, ab = 0, count = (double)(width - apart) * height;
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x + apart < width; x++) {
      const double left = pixels[(size_t)y * width + x];
      const double right = pixels[(size_t)y * width + x + apart];
      a += left, b += right;
      aa += left * left, bb += right * right, ab += left * right;
    }
  a /= count, b /= count;
  const double variance = sqrt((aa / count - a * a) * (bb / count - b * b));
  return variance > 0 ? (ab / count - a * b) / variance : 1;
}

/* Mean distance and kurtosis of neighbours in a row. */
static void measure_differences(const uint16_t *pixels, uint32_t width, uint32_t height,
                                bf_photo_statistics *statistics) {
  double sum = 0, second = 0, fourth = 0, count = (double)(width - 1) * height;
  for (uint32_t y = 0; y < height; y++)
    for (uint32_t x = 0; x + 1 < width; x++) {
      const double d = (double)pixels[(size_t)y * width + x + 1] - pixels[(size_t)y * width + x];
      sum += fabs(d);
      second += d * d;
      fourth += d * d * d * d;
    }
  statistics->neighbour_difference = sum / count;
  statistics->difference_kurtosis = second > 0 ? fourth * count / (second * second) : 0;
}

static void measure_grey(const uint16_t *pixels, size_t count, bf_photo_statistics *statistics) {
  double bins[256] = {0}, sum = 0, squares = 0, entropy = 0;
  for (size_t i = 0; i < count; i++) {
    bins[pixels[i] >> 4]++;
    sum += pixels[i];
    squares += (double)pixels[i] * pixels[i];
  }
  for (unsigned b = 0; b < 256; b++)
    if (bins[b] > 0)
      entropy -= bins[b] / (double)count * log2(bins[b] / (double)count);
  statistics->mean = sum / (double)count;
  statistics->deviation = sqrt(squares / (double)count - statistics->mean * statistics->mean);
  statistics->entropy_bits = entropy;
}

/* How far pixels that a warp counts together fall apart. */
static void measure_warps(const uint16_t *pixels, size_t count, bf_photo_statistics *statistics) {
  size_t warps = count / 32, different = 0, fullest = 0;
  for (size_t warp = 0; warp < warps; warp++) {
    unsigned bins[256] = {0}, most = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
      unsigned *bin = &bins[pixels[warp * 32 + lane] >> 4];
      different += ++*bin == 1;
      most = *bin > most ? *bin : most;
    }
    fullest += most;
  }
  statistics->bins_per_warp = (double)different / (double)warps;
  statistics->largest_share = (double)fullest / (double)warps / 32;
}

void bf_photo_measure(const uint16_t *pixels, uint32_t width, uint32_t height,
                      bf_photo_statistics *statistics) {
  const size_t count = (size_t)width * height;
  measure_grey(pixels, count, statistics);
  measure_differences(pixels, width, height, statistics);
  measure_warps(pixels, count, statistics);
  statistics->correlation_1 = correlation(pixels, width, height, 1);
  statistics->correlation_8 = correlation(pixels, width, height, 8);
  statistics->correlation_64 = correlation(pixels, width, height, 64);
}
