/* The solver's inner loops, one shape at a time: the reference for the vector versions. */
#include "search/kernel.h"

typedef uint32_t vec;
typedef uint64_t sum;
enum { LANES = 1 };

static inline vec v_load(const uint32_t *at) { return *at; }
static inline void v_store(uint32_t *at, vec x) { *at = x; }
static inline vec v_set1(uint32_t x) { return x; }
static inline vec v_and(vec a, vec b) { return a & b; }
static inline vec v_andnot(vec a, vec b) { return ~a & b; }
static inline vec v_xor(vec a, vec b) { return a ^ b; }
static inline vec v_add(vec a, vec b) { return a + b; }
static inline vec v_sub(vec a, vec b) { return a - b; }
static inline vec v_max(vec a, vec b) { return a > b ? a : b; }
static inline vec v_shift_right(vec a, unsigned shift) { return a >> shift; }
static inline vec v_popcount(vec a) { return (vec)__builtin_popcount(a); }
static inline vec v_pairs(vec a) { return a * (a - 1) / 2; }
static inline sum s_zero(void) { return 0; }
static inline sum s_add(sum total, vec weight, vec value) { return total + (sum)weight * value; }
static inline uint64_t s_total(sum total) { return total; }

static inline bf_bytes v_bytes(bf_bytes table, bf_bytes index) {
  bf_bytes found = {0};
  for (unsigned i = 0; i < sizeof found; i++)
    found[i] = table[index[i]];
  return found;
}

#define KERNEL(name) scalar_##name
#include "search/fold_body.h"
#include "search/kernel_body.h"
#include "search/pencil_body.h"

const bf_kernel bf_kernel_scalar = {"scalar",     scalar_cost,       scalar_split,  scalar_passes,
                                    scalar_bound, scalar_pencil,     scalar_planes, scalar_ends,
                                    scalar_fold,  scalar_fold_planes};
