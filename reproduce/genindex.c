/* Document 000, section 2: what the degree of bank conflicts does, on two GPUs. */
#include "memory/memory.h"
#include "reproduce/reproduce.h"

enum { MOST = 32 };

/* Replays of one read: wavefronts beyond the first, for ways 1..32 (outer) and strides 1..32. */
typedef struct replay_grid {
  double replays[MOST][MOST];
} replay_grid;

static int count_point(bf_counter *counter, unsigned way, unsigned stride, double *replays,
                       bf_diagnostic *diagnostic) {
  bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = 4 * (lane < way ? lane * stride : lane);
  bf_count count;
  BF_TRY(bf_counter_count(counter, &access, &count, diagnostic));
  *replays = count.conflicts;
  return BF_OK;
}

static int count_grid(const char *name, replay_grid *grid, bf_diagnostic *diagnostic) {
  bf_machine *machine;
  BF_TRY(bf_machine_load(name, NULL, &machine, diagnostic));
  bf_counter *counter = NULL;
  int error = bf_counter_create(machine, NULL, &counter, diagnostic);
  for (unsigned way = 1; way <= MOST && !error; way++)
    for (unsigned stride = 1; stride <= MOST && !error; stride++)
      error = count_point(counter, way, stride, &grid->replays[way - 1][stride - 1], diagnostic);
  bf_counter_free(counter);
  bf_machine_free(machine);
  return error;
}

/* The chart of a figure: a line for each power of two as stride. */
static int draw(bf_reproduce_run *run, const char *name, const char *title, const replay_grid *grid,
                bf_diagnostic *diagnostic) {
  static const char *const names[] = {"stride 1", "2", "4", "8", "16", "32"};
  bf_chart_series series[6];
  double ways[MOST], replays[6][MOST];
  for (unsigned s = 0; s < 6; s++) {
    for (unsigned way = 1; way <= MOST; way++) {
      ways[way - 1] = way;
      replays[s][way - 1] = grid->replays[way - 1][(1u << s) - 1];
    }
    series[s] = (bf_chart_series){.name = names[s], .x = ways, .y = replays[s], .count = MOST};
  }
  return bf_reproduce_chart(run, name,
                            &(bf_chart){.title = title,
                                        .x_label = "lanes that read with the stride",
                                        .y_label = "replays of a read",
                                        .series = series,
                                        .series_count = 6},
                            diagnostic);
}

static int reproduce_genindex(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  replay_grid kepler, hawaii;
  BF_TRY(bf_reproduce_step(run, 0, 2, "K20", diagnostic));
  BF_TRY(count_grid("kepler8", &kepler, diagnostic));
  BF_TRY(bf_reproduce_step(run, 1, 2, "Hawaii", diagnostic));
  BF_TRY(count_grid("gcn", &hawaii, diagnostic));
  bf_reproduce_fact(run, "stride 2 on the K20", "no conflicts",
                    kepler.replays[MOST - 1][1] == kepler.replays[0][0], true, NULL,
                    "%g replays with 32 ways", kepler.replays[MOST - 1][1]);
  BF_TRY(draw(run, "k20_replays", "K20: replays", &kepler, diagnostic));
  return draw(run, "hawaii_replays", "Hawaii: replays", &hawaii, diagnostic);
}

const bf_reproduction bf_reproduce_genindex[] = {
    {"genindex", "the GenIndex microbenchmark", "000, Figs. 1-2",
     "Every warp reads shared memory with way lanes at a stride and the others side by side.",
     reproduce_genindex},
    {NULL, NULL, NULL, NULL, NULL},
};
