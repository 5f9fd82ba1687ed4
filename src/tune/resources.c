/* What ptxas says kernels need. */
#include "tune/resources.h"

#include "tune/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ---- */

/* Adds a kernel; NULL where memory is exhausted. */
static bf_resource *add(bf_resources *resources, const char *name, size_t length) {
  bf_resource *larger = realloc(resources->item, (resources->count + 1) * sizeof *larger);
  if (!larger)
    return NULL;
  resources->item = larger;
  bf_resource *own = &larger[resources->count];
  *own = (bf_resource){.kernel = strndup(name, length)};
  if (!own->kernel)
    return NULL;
  resources->count++;
  return own;
}

/* The number before a word in a line, as in "Used 24 registers"; 0: the line has none. */
static uint64_t number_before(const char *line, const char *end, const char *word) {
  const char *at = memmem(line, (size_t)(end - line), word, strlen(word));
  while (at && at > line && at[-1] == ' ')
    at--;
  const char *digits = at;
  while (digits && digits > line && digits[-1] >= '0' && digits[-1] <= '9')
    digits--;
  return digits && digits < at ? strtoull(digits, NULL, 10) : 0;
}

/* Lines are "Compiling entry function 'NAME' for 'sm_90'", "... bytes spill stores, ... bytes spill
 * loads" and "Used 24 registers, ..., 4096 bytes smem". */
int bf_resources_read(const char *said, bf_resources *resources, bf_diagnostic *diagnostic) {
  static const char start[] = "Compiling entry function '";
  bf_resource *own = NULL;
  while (*said) {
    const char *end = said + strcspn(said, "\n");
    const char *at = memmem(said, (size_t)(end - said), start, sizeof start - 1);
    if (at) {
      at += sizeof start - 1;
      own = add(resources, at, strcspn(at, "'\n"));
      if (!own)
        return bf_no_memory(diagnostic);
    } else if (own) {
      uint64_t registers = number_before(said, end, "registers");
      own->registers = registers ? (unsigned)registers : own->registers;
      own->spill_bytes += number_before(said, end, "bytes spill stores") +
                          number_before(said, end, "bytes spill loads");
      own->shared_bytes += number_before(said, end, "bytes smem");
    }
    said = *end ? end + 1 : end;
  }
  return BF_OK;
}

void bf_resources_free(bf_resources *resources) {
  for (size_t i = 0; i < resources->count; i++)
    free(resources->item[i].kernel);
  free(resources->item);
  *resources = (bf_resources){0};
}

/* ---- Comparing ---- */

static const bf_resource *find(const bf_resources *resources, const char *kernel) {
  for (size_t i = 0; i < resources->count; i++)
    if (strcmp(resources->item[i].kernel, kernel) == 0)
      return &resources->item[i];
  return NULL;
}

enum { WARP = 32, MOST_THREADS = 1024, PARTITIONS = 4, PARTITION_REGISTERS = 16384 };

/* Threads that a block can have: each of four partitions has its own registers, which warps get in
 * units of 256 (cuda_occupancy.h of the CUDA toolkit, all architectures since Volta). */
static unsigned most_threads(unsigned registers) {
  unsigned warp = (registers * WARP + 255) / 256 * 256;
  unsigned threads = warp ? PARTITION_REGISTERS / warp * PARTITIONS * WARP : MOST_THREADS;
  return threads < MOST_THREADS ? threads : MOST_THREADS;
}

/* Threads that the kernel says its blocks have at most; 0: it does not say. */
static unsigned declared_threads(const bf_ptx_function *kernel) {
  for (unsigned i = 0; i < kernel->directives.count; i++) {
    const bf_ptx_directive *own = &kernel->directives.item[i];
    uint64_t threads = 1;
    for (unsigned k = 0; k < own->numbers; k++)
      threads *= own->number[k] <= MOST_THREADS ? own->number[k] : MOST_THREADS;
    if ((strcmp(own->name, "reqntid") == 0 || strcmp(own->name, "maxntid") == 0) && threads)
      return threads < MOST_THREADS ? (unsigned)threads : MOST_THREADS;
  }
  return 0;
}

/* Blocks at once before / after, in blocks of as many threads as the kernel declares, else in
 * those of all sizes for which fewest are left. */
static double occupancy_lost(const bf_resource *before, const bf_resource *after,
                             unsigned declared) {
  double worst = 1;
  for (unsigned threads = declared ? declared : 64; threads <= MOST_THREADS; threads *= 2) {
    double one =
        bf_predict_resident(&bf_predict_h200, threads, before->shared_bytes, before->registers);
    double other =
        bf_predict_resident(&bf_predict_h200, threads, after->shared_bytes, after->registers);
    worst = one / other > worst ? one / other : worst;
    if (declared)
      break;
  }
  return worst;
}

/* Half as many blocks at once cost at most half the speed, and nothing where enough are left; the
 * root is between both. */
void bf_resources_compare(const bf_resources *before, const bf_resources *after,
                          const bf_ptx_function *kernel, double share, char *reason, size_t size) {
  const bf_resource *one = find(before, kernel->name), *other = find(after, kernel->name);
  if (!one || !other || !one->registers || !other->registers)
    return;
  unsigned declared = declared_threads(kernel), could = most_threads(one->registers);
  could = declared && declared < could ? declared : could;
  if (most_threads(other->registers) < could)
    snprintf(reason, size, "it would need %u registers, not %u: too many for blocks of %u threads",
             other->registers, one->registers, could);
  else if (share > 0 && other->spill_bytes > one->spill_bytes)
    snprintf(reason, size, "it would spill registers to memory: %llu bytes, not %llu",
             (unsigned long long)other->spill_bytes, (unsigned long long)one->spill_bytes);
  else if (share > 0 && share * sqrt(occupancy_lost(one, other, declared)) > 1)
    snprintf(reason, size, "it would need %u registers, not %u, and lose more by it than it gains",
             other->registers, one->registers);
}
