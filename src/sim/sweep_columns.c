/* The columns that a sweep's simulations have. */
#include "sim/sweep_columns.h"

#include <string.h>

/* Columns that hold one number each. */
#define COUNTS(X)                                                                                  \
  X("cycles", cycles)                                                                              \
  X("instructions", issued)                                                                        \
  X("thread_instructions", emu.thread_instructions)                                                \
  X("blocks", blocks)                                                                              \
  X("busy_sms", sms)                                                                               \
  X("turns", turns)                                                                                \
  X("shared_accesses", shared_instructions)                                                        \
  X("shared_wavefronts", shared_wavefronts)                                                        \
  X("shared_conflicts", shared_conflicts)                                                          \
  X("global_accesses", global_instructions)                                                        \
  X("global_sectors", global_sectors)                                                              \
  X("l1_hit_sectors", l1_hits)                                                                     \
  X("l1_miss_sectors", l1_misses)                                                                  \
  X("l2_hit_sectors", l2_hits)                                                                     \
  X("l2_miss_sectors", l2_misses)                                                                  \
  X("dram_read_bytes", dram_read_bytes)                                                            \
  X("dram_written_bytes", dram_written_bytes)                                                      \
  X("dram_row_hits", dram_row_hits)                                                                \
  X("dram_row_misses", dram_row_misses)                                                            \
  X("history_right", history_right)                                                                \
  X("history_wrong", history_wrong)                                                                \
  X("history_unknown", history_unknown)

const char *const *bf_sim_columns(bf_arena *arena) {
#define X(name, member) name,
  static const char *const fixed[] = {COUNTS(X) "seconds", "ipc_per_sm", "occupancy"};
#undef X
  enum { FIXED = sizeof fixed / sizeof *fixed };
  const char **columns = bf_arena_alloc(arena, (FIXED + BF_SIM_STALLS + 1) * sizeof *columns);
  if (!columns)
    return NULL;
  memcpy(columns, fixed, sizeof fixed);
  for (unsigned i = 0; i < BF_SIM_STALLS; i++) {
    char name[64];
    snprintf(name, sizeof name, "stall_%s", bf_sim_stall_names[i]);
    for (char *c = name; *c; c++)
      *c = *c == ' ' ? '_' : *c;
    columns[FIXED + i] = bf_arena_copy(arena, name);
    if (!columns[FIXED + i])
      return NULL;
  }
  return columns;
}

void bf_sim_columns_fill(const bf_sim_gpu *gpu, const bf_sim_launched *total, bf_sim_row *row) {
#define X(name, member) bf_sim_row_number(row, total->result.member);
  COUNTS(X)
#undef X
  bf_sim_row_real(row, total->result.seconds);
  bf_sim_row_real(row, bf_sim_ipc_per_sm(total));
  bf_sim_row_real(row, bf_sim_occupancy(gpu, total));
  for (unsigned i = 0; i < BF_SIM_STALLS; i++)
    bf_sim_row_number(row, total->result.stalls[i]);
}
