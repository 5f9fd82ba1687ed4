/* Finding patterns, one lane at a time: the reference for the vector versions. */
#include "memory/memo.h"

#include <string.h>

_Static_assert(BF_MEMO_PATTERNS == 256, "bf_memo_place gives 8 bits");

/* Odd numbers without a pattern: multiples of 0x9e3779b1 (2^32 over the golden ratio). */
#define FACTOR(i) (UINT32_C(0x9e3779b1) * (2 * (i) + 1) | 1)
#define FACTORS(i) FACTOR(i), FACTOR(i + 1), FACTOR(i + 2), FACTOR(i + 3)
_Alignas(64) const uint32_t bf_memo_factor[BF_MEMO_LANES] = {FACTORS(0),  FACTORS(4),  FACTORS(8),
                                                             FACTORS(12), FACTORS(16), FACTORS(20),
                                                             FACTORS(24), FACTORS(28)};

static bf_memo *find(bf_memo *table, const uint32_t *address, uint64_t key, uint32_t base,
                     bool *found) {
  bf_memo made = {.key = key};
  uint32_t sum = 0;
  for (unsigned lane = 0; lane < BF_MEMO_LANES; lane++) {
    uint32_t relative = key >> lane & 1 ? address[lane] - base : 0;
    int32_t number = (int32_t)relative;
    made.relative[lane] = relative;
    made.bits |= relative;
    made.lowest = number < made.lowest ? number : made.lowest;
    made.highest = number > made.highest ? number : made.highest;
    sum += relative * bf_memo_factor[lane];
  }
  bf_memo *memo = &table[bf_memo_place(sum, key)];
  *found = memo->key == key && memcmp(memo->relative, made.relative, sizeof made.relative) == 0;
  if (!*found)
    *memo = made;
  return memo;
}

static bool fits(const uint32_t *address, uint32_t mask, uint32_t last, uint32_t odd) {
  uint32_t highest = 0, bits = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    uint32_t at = address[__builtin_ctz(left)];
    highest = at > highest ? at : highest;
    bits |= at;
  }
  return highest <= last && (bits & odd) == 0;
}

const bf_memo_kernel bf_memo_scalar = {"scalar", find, fits, NULL};

const bf_memo_kernel *bf_memo_available(unsigned index) {
  const bf_memo_kernel *usable[3] = {&bf_memo_scalar};
  unsigned count = 1;
#if defined(__x86_64__) && !defined(BF_NO_SIMD)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    usable[count++] = &bf_memo_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512vpopcntdq"))
    usable[count++] = &bf_memo_avx512;
#endif
  return index < count ? usable[index] : NULL;
}

const bf_memo_kernel *bf_memo_best(void) {
  const bf_memo_kernel *best = &bf_memo_scalar;
  for (unsigned i = 1; bf_memo_available(i); i++)
    best = bf_memo_available(i);
  return best;
}
