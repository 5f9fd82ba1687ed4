/* Which kernels this CPU can run. */
#include "vote/kernel.h"

const bf_vote_kernel *bf_vote_available(unsigned index) {
  const bf_vote_kernel *usable[4] = {&bf_vote_plain};
  unsigned count = 1;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))
    usable[count++] = &bf_vote_sse4;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    usable[count++] = &bf_vote_avx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("bmi2"))
    usable[count++] = &bf_vote_avx512;
#elif defined(__aarch64__)
  usable[count++] = &bf_vote_neon; /* all processors of this kind have it */
#endif
  return index < count ? usable[index] : NULL;
}

const bf_vote_kernel *bf_vote_best(void) {
  const bf_vote_kernel *best = &bf_vote_plain;
  for (unsigned i = 1; bf_vote_available(i); i++)
    best = bf_vote_available(i);
  return best;
}
