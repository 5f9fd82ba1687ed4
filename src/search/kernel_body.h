/* Inside room search: the solver's inner loops, written once over a vector type. The including file
 * defines: vec            LANES neighbouring shapes' 32-bit values        sum     accumulator of
 * 64-bit sums v_load v_store v_set1 v_and v_andnot(a,b) = ~a & b  v_xor v_add v_sub v_max
 * v_shift_right v_popcount     bits set in each value v_pairs(x) = x * (x - 1) / 2 s_zero
 * s_add(sum, weight, value) = sum + weight * value        s_total and KERNEL(name) for the names of
 * functions. */

static inline vec plane(const bf_planes *planes, uint32_t functional, size_t at) {
  size_t low = functional & ((1u << planes->low_dimension) - 1);
  size_t high = functional >> planes->low_dimension;
  return v_xor(v_load(planes->low + low * planes->stride + at),
               v_load(planes->high + high * planes->stride + at));
}

/* The larger of the two parts into which a plane splits a block of n words. */
static inline vec larger_part(vec block, vec size, vec p) {
  vec ones = v_popcount(v_and(block, p));
  return v_max(ones, v_sub(size, ones));
}

/* total plus what it costs shapes at `at` to go from `from` to `to` in the fullest bank. */
static inline sum add_cost(const bf_planes *planes, size_t at, sum total, vec from, vec to) {
  total = s_add(total, v_load(planes->weight + at), v_sub(to, from));
  if (planes->square)
    total = s_add(total, v_load(planes->square + at), v_sub(v_pairs(to), v_pairs(from)));
  return total;
}

static inline __attribute__((always_inline)) uint64_t
cost_of(const bf_planes *planes, const uint32_t *functional, const unsigned m) {
  sum total = s_zero();
  for (size_t at = 0; at < planes->stride; at += LANES) {
    vec block[1u << (BF_MAX_FUNCTIONALS - 1)];
    vec ideal = v_load(planes->ideal + at), fullest = ideal;
    block[0] = v_load(planes->active + at);
    for (unsigned j = 0; j + 1 < m; j++) {
      vec p = plane(planes, functional[j], at);
      for (unsigned i = 1u << j; i-- > 0;) {
        vec whole = block[i];
        block[2 * i + 1] = v_and(whole, p);
        block[2 * i] = v_andnot(p, whole);
      }
    }
    vec p = plane(planes, functional[m - 1], at);
    for (unsigned i = 0; i < 1u << (m - 1); i++)
      fullest = v_max(fullest, larger_part(block[i], v_popcount(block[i]), p));
    total = add_cost(planes, at, total, ideal, fullest);
  }
  return s_total(total);
}

static uint64_t KERNEL(cost)(const bf_planes *planes, const uint32_t *functional, unsigned m) {
  switch (m) {
  case 1:
    return cost_of(planes, functional, 1);
  case 2:
    return cost_of(planes, functional, 2);
  case 3:
    return cost_of(planes, functional, 3);
  case 4:
    return cost_of(planes, functional, 4);
  case 5:
    return cost_of(planes, functional, 5);
  default:
    return cost_of(planes, functional, 6);
  }
}

static void KERNEL(split)(const bf_planes *planes, const uint32_t *blocks, unsigned level,
                          uint32_t functional, uint32_t *out_blocks, uint32_t *out_sizes) {
  size_t stride = planes->stride;
  for (size_t at = 0; at < stride; at += LANES) {
    vec p = plane(planes, functional, at);
    for (unsigned i = 0; i < 1u << level; i++) {
      vec whole = v_load(blocks + i * stride + at);
      vec ones = v_and(whole, p), zeros = v_andnot(p, whole);
      v_store(out_blocks + 2 * i * stride + at, zeros);
      v_store(out_blocks + (2 * i + 1) * stride + at, ones);
      v_store(out_sizes + 2 * i * stride + at, v_popcount(zeros));
      v_store(out_sizes + (2 * i + 1) * stride + at, v_popcount(ones));
    }
  }
}

static uint64_t KERNEL(passes)(const bf_planes *planes, const uint32_t *sizes, unsigned level,
                               unsigned m, uint32_t *passes) {
  size_t stride = planes->stride;
  unsigned shift = m - level;
  vec round_up = v_set1((1u << shift) - 1);
  sum total = s_zero();
  for (size_t at = 0; at < stride; at += LANES) {
    vec largest = v_set1(0), ideal = v_load(planes->ideal + at);
    for (unsigned i = 0; i < 1u << level; i++)
      largest = v_max(largest, v_load(sizes + i * stride + at));
    vec needed = v_max(ideal, v_shift_right(v_add(largest, round_up), shift));
    v_store(passes + at, needed);
    total = add_cost(planes, at, total, ideal, needed);
  }
  return s_total(total);
}

static inline __attribute__((always_inline)) uint64_t
bound_of(const bf_planes *planes, const uint32_t *blocks, const uint32_t *sizes,
         const unsigned level, unsigned m, uint32_t functional, const uint32_t *parent,
         uint64_t parent_sum, uint64_t limit) {
  size_t stride = planes->stride;
  unsigned shift = m - level - 1;
  vec round_up = v_set1((1u << shift) - 1);
  sum total = s_zero();
  unsigned since_check = 0;
  for (size_t at = 0; at < stride; at += LANES) {
    vec p = plane(planes, functional, at), largest = v_set1(0);
    for (unsigned i = 0; i < 1u << level; i++)
      largest = v_max(largest, larger_part(v_load(blocks + i * stride + at),
                                           v_load(sizes + i * stride + at), p));
    vec before = v_load(parent + at);
    vec needed = v_max(before, v_shift_right(v_add(largest, round_up), shift));
    total = add_cost(planes, at, total, before, needed);
    if (++since_check == 4) {
      since_check = 0;
      if (parent_sum + s_total(total) >= limit)
        return limit;
    }
  }
  return parent_sum + s_total(total);
}

static uint64_t KERNEL(bound)(const bf_planes *planes, const uint32_t *blocks,
                              const uint32_t *sizes, unsigned level, unsigned m,
                              uint32_t functional, const uint32_t *parent, uint64_t parent_sum,
                              uint64_t limit) {
#define BOUND(level)                                                                               \
  bound_of(planes, blocks, sizes, level, m, functional, parent, parent_sum, limit)
  switch (level) {
  case 0:
    return BOUND(0);
  case 1:
    return BOUND(1);
  case 2:
    return BOUND(2);
  case 3:
    return BOUND(3);
  case 4:
    return BOUND(4);
  default:
    return BOUND(5);
  }
#undef BOUND
}
