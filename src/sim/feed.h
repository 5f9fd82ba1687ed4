/* Inside room sim: where the instructions of a launch come from. The emulator, which executes PTX
 * at the moment the model issues it (feed.c), or a trace of machine instructions (sass_feed.c).
 * Blocks and warps are the feed's own; the model looks at the next instruction of a warp, and lets
 * it happen. */
#ifndef BF_SIM_FEED_H
#define BF_SIM_FEED_H

#include "sim/addresses.h"
#include "sim/program.h"

typedef struct bf_sim_feed bf_sim_feed;

typedef struct bf_sim_feed_calls {
  /* Makes ready for a launch on launch->workers multiprocessors, whose observer is told of accesses
   * during step; fills program and addresses, which the caller frees, and cluster. */
  int (*open)(bf_sim_feed *feed, const bf_sim_gpu *gpu, const bf_emu_launch *launch,
              bf_sim_program **program, bf_sim_addresses *addresses, bf_diagnostic *diagnostic);
  void (*close)(bf_sim_feed *feed);
  int (*result)(const bf_sim_feed *feed, bf_emu_result *result, bf_diagnostic *diagnostic);
  bool (*stopped)(const bf_sim_feed *feed); /* a fault has ended the launch */
  void (*clock)(bf_sim_feed *feed, unsigned place, const uint64_t *clock);
  /* Clusters; NULL where the feed knows none. As bf_emu_stepper_join and _in_cluster. */
  bool (*join)(bf_sim_feed *feed, uint64_t cluster, const unsigned *place);
  uint64_t (*in_cluster)(const bf_sim_feed *feed, uint64_t cluster, unsigned rank);
  /* As the functions of emu/step.h. */
  void *(*begin)(bf_sim_feed *feed, unsigned place, uint64_t index);
  void (*end)(bf_sim_feed *feed, unsigned place, void *block);
  void *(*warp)(void *block, unsigned index);
  uint64_t (*block_bytes)(const void *block);
  uint64_t (*barriers)(const void *block);
  bf_emu_turn (*peek)(void *warp, bf_emu_next *next);
  bool (*step)(void *warp);
  /* The same of reductions that are put off; NULL where the feed knows none. */
  bool (*put_off)(bf_sim_feed *feed);
  bool (*has_put_off)(const bf_sim_feed *feed, unsigned place);
  void (*settle)(bf_sim_feed *feed, uint64_t time, unsigned place);
  bf_emu_wait (*wait)(const void *warp);
} bf_sim_feed_calls;

struct bf_sim_feed {
  const bf_sim_feed_calls *calls;
  const char *kernel; /* its name */
  bf_emu_needs needs; /* registers, shared_bytes */
  unsigned sites;
  unsigned cluster; /* blocks of one; 0: none */
};

/* Simulates a launch of a feed (engine.c); launch->kernel is not looked at. */
int bf_sim_run_feed(const bf_sim_settings *settings, bf_sim_feed *feed, const bf_emu_launch *launch,
                    bf_sim_result *result, bf_diagnostic *diagnostic);
/* As bf_sim_blocks_per_sm, for what a kernel needs. */
unsigned bf_sim_fit(const bf_sim_gpu *gpu, const bf_emu_needs *needs, const bf_emu_launch *launch,
                    const char **limit);

#endif
