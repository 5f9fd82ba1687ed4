/* The loads of some kernels of bench/weak.cu in plain C, at the same addresses and with nothing
 * else to do: how fast this host's memory allows these kernels to be, beside which bench_weak
 * prints how fast the emulator runs them. */
#ifndef BF_BENCH_WEAK_HOST_H
#define BF_BENCH_WEAK_HOST_H

#include "weak.h"

/* Threads that load in turn, one load each: a warp, or a block, of which the host sees more at
 * once. */
enum { BESIDE_FEW = 32, BESIDE_MANY = 256 };

/* A function in which threads of [begin, begin + beside) do `turns` loads each; x is what a thread
 * goes on from, i its number. It returns something of all that was loaded. */
#define WALK(name, type, which, load, next)                                                        \
  static uint32_t name(const void *memory, const uint32_t *index, uint32_t begin, unsigned beside, \
                       unsigned turns) {                                                           \
    const type *table = memory;                                                                    \
    uint32_t at[BESIDE_MANY], sum = 0;                                                             \
    for (unsigned t = 0; t < beside; t++)                                                          \
      at[t] = index[begin + t];                                                                    \
    for (unsigned k = 0; k < turns; k++)                                                           \
      for (unsigned t = 0; t < beside; t++) {                                                      \
        uint32_t x = at[t], i = begin + t, loaded;                                                 \
        (void)i;                                                                                   \
        if (!(which))                                                                              \
          continue;                                                                                \
        loaded = table[load];                                                                      \
        sum += loaded;                                                                             \
        at[t] = next;                                                                              \
      }                                                                                            \
    return sum;                                                                                    \
  }
#define DRAWN (x * 1664525u + 1013904223u)
WALK(walk_gather, uint32_t, true, x &(WORDS - 1), DRAWN)
WALK(walk_large, uint32_t, true, x &(LARGE_WORDS - 1), DRAWN)
WALK(walk_bytes, uint8_t, i & 1, x &(4 * WORDS - 1), DRAWN)
WALK(walk_chase, uint32_t, true, x, loaded)
WALK(walk_indexed, uint32_t, true, index[(i + k * 64 * 256) & (WORDS - 1)], x)

typedef uint32_t (*walk)(const void *, const uint32_t *, uint32_t, unsigned, unsigned);

static walk walk_of(const kernel *own) {
  static const struct {
    const char *name;
    walk how;
  } rows[] = {{"gather", walk_gather},
              {"gather_indexed", walk_indexed},
              {"gather_large", walk_large},
              {"gather_bytes", walk_bytes},
              {"chase", walk_chase}};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, own->name) == 0)
      return rows[i].how;
  return NULL;
}

/* CPU seconds that the loads of a kernel take by themselves, the least of several runs in either
 * order; 0: there are none to compare with. */
static double host_seconds(const bench *at, const kernel *own) {
  static volatile uint32_t kept; /* so that no load is left out */
  static const unsigned beside[] = {BESIDE_FEW, BESIDE_MANY};
  walk how = walk_of(own);
  const void *memory = (const void *)(uintptr_t)(how == walk_large ? at->large : at->from);
  const uint32_t *index = (const uint32_t *)(uintptr_t)at->index;
  double least = 0, start = bf_seconds();
  for (unsigned run = 0; how && (run < 4 || bf_seconds() - start < 0.4); run++) {
    double seconds = cpu_seconds();
    for (uint32_t i = 0; i < own->blocks * own->threads; i += beside[run % 2])
      kept += how(memory, index, i, beside[run % 2], (unsigned)own->n);
    seconds = cpu_seconds() - seconds;
    least = run == 0 || seconds < least ? seconds : least;
  }
  return least;
}

#endif
