/* Whole pictures are made one at a time by each thread; what is kept of them is copied. */
#include "reproduce/atomics/pictures.h"

#include "reproduce/atomics/photo.h"

#include <stdlib.h>
#include <string.h>

typedef struct picture_work {
  bf_pictures *pictures;
  uint32_t first_row;
  bf_photo_statistics statistics[BF_PICTURES];
} picture_work;

/* Task: one picture. */
static int make_picture(void *context, unsigned index, bf_diagnostic *diagnostic) {
  picture_work *work = context;
  const bf_pictures *pictures = work->pictures;
  uint16_t *whole = malloc((size_t)BF_PICTURE_WIDTH * BF_PICTURE_HEIGHT * sizeof *whole);
  if (!whole)
    return bf_no_memory(diagnostic);
  int error = bf_photo_make(index, BF_PICTURE_WIDTH, BF_PICTURE_HEIGHT, whole, diagnostic);
  if (!error) {
    bf_photo_measure(whole, BF_PICTURE_WIDTH, BF_PICTURE_HEIGHT, &work->statistics[index]);
    memcpy(pictures->pixels[index], whole + (size_t)work->first_row * BF_PICTURE_WIDTH,
           pictures->pixel_count * sizeof *whole);
  }
  free(whole);
  return error;
}

static void add_table(bf_reproduce_run *run, const char *name, const picture_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, name, "Pictures: 12 bits, 1536 x 1024",
      "seed|mean|deviation|difference of neighbours|correlation 1 apart|8 apart|64 apart|kurtosis "
      "of "
      "differences|entropy of 256 bins|bins in a warp|share of its fullest bin");
  for (unsigned i = 0; i < work->pictures->count; i++) {
    const bf_photo_statistics *s = &work->statistics[i];
    bf_reproduce_cell(table, "%u", i);
    bf_reproduce_cell(table, "%.0f", s->mean);
    bf_reproduce_cell(table, "%.0f", s->deviation);
    bf_reproduce_cell(table, "%.1f", s->neighbour_difference);
    bf_reproduce_cell(table, "%.3f", s->correlation_1);
    bf_reproduce_cell(table, "%.3f", s->correlation_8);
    bf_reproduce_cell(table, "%.3f", s->correlation_64);
    bf_reproduce_cell(table, "%.1f", s->difference_kurtosis);
    bf_reproduce_cell(table, "%.2f", s->entropy_bits);
    bf_reproduce_cell(table, "%.2f", s->bins_per_warp);
    bf_reproduce_cell(table, "%.2f", s->largest_share);
  }
  bf_reproduce_table_csv_only(table);
}

int bf_pictures_make(bf_reproduce_run *run, const char *table_name, unsigned count,
                     uint32_t first_row, uint32_t pixel_count, bf_pictures *pictures,
                     bf_diagnostic *diagnostic) {
  bf_arena *arena = bf_reproduce_arena(run);
  picture_work work = {.pictures = pictures, .first_row = first_row};
  *pictures = (bf_pictures){.count = count, .pixel_count = pixel_count};
  for (unsigned i = 0; i < count; i++) {
    pictures->pixels[i] = bf_arena_alloc(arena, pixel_count * sizeof **pictures->pixels);
    if (!pictures->pixels[i])
      return bf_no_memory(diagnostic);
  }
  BF_TRY(bf_reproduce_parallel(run, count, "pictures", make_picture, &work, diagnostic));
  if (table_name)
    add_table(run, table_name, &work);
  return BF_OK;
}

int bf_pictures_count(const bf_pictures *pictures, const bf_picture_run *run, double *cycles,
                      bf_diagnostic *diagnostic) {
  bf_vote_histogram histogram = {.pixel_count = pictures->pixel_count,
                                 .blocks = run->blocks,
                                 .threads = BF_PICTURE_THREADS,
                                 .space = run->space};
  bf_vote_gpu gpu;
  BF_TRY(bf_vote_gpu_create(run->gpu, run->changes, run->hash, &gpu, diagnostic));
  int error = BF_OK;
  *cycles = 0;
  for (unsigned i = 0; i < pictures->count && !error; i++) {
    bf_vote_outcome outcome;
    histogram.pixels = pictures->pixels[i];
    error = bf_vote_histogram_run(&gpu, &histogram, &outcome, diagnostic);
    *cycles += (double)outcome.cycles / pictures->count;
  }
  bf_vote_gpu_free(&gpu);
  return error;
}
