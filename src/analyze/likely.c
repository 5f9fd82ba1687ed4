/* The shapes that blocks of a kernel can have, from its PTX alone. */
#include "analyze/likely.h"

#include <string.h>

enum { MOST_THREADS = 1024 };

/* The shapes that programs use, the most usual first: of kernels that read the x of a thread only,
 * and of others. */
static const uint32_t lines[][3] = {{256, 1, 1}, {128, 1, 1}, {512, 1, 1}, {1024, 1, 1},
                                    {64, 1, 1},  {32, 1, 1},  {192, 1, 1}};
static const uint32_t tiles[][3] = {{16, 16, 1}, {32, 8, 1}, {32, 32, 1}, {32, 4, 1},
                                    {32, 16, 1}, {16, 8, 1}, {8, 8, 1},   {64, 4, 1},
                                    {8, 8, 4},   {16, 4, 4}, {8, 8, 8}};

/* What is tried where a kernel fits none of these. */
static const uint32_t others[][3] = {{16, 1, 1}, {8, 1, 1},  {8, 4, 1},  {8, 16, 1},
                                     {4, 8, 1},  {16, 2, 1}, {16, 4, 1}, {4, 4, 1},
                                     {8, 32, 1}, {64, 8, 1}, {128, 2, 1}};

/* Whether a kernel reads a part of the thread index: x, y or z, or a part that is not named. */
static bool reads_part(const bf_ptx_function *kernel, char part) {
  for (uint32_t i = 0; i < kernel->instructions; i++)
    for (unsigned k = 0; k < kernel->instruction[i]->operands; k++) {
      const bf_ptx_operand *operand = &kernel->instruction[i]->operand[k];
      if (operand->kind == BF_PTX_SPECIAL && operand->special == BF_PTX_SPECIAL_TID &&
          (operand->component == part || !operand->component))
        return true;
    }
  return false;
}

bool bf_likely_is_tiled(const bf_ptx_function *kernel) {
  return reads_part(kernel, 'y') || reads_part(kernel, 'z');
}

static const bf_ptx_directive *find_directive(const bf_ptx_function *kernel, const char *name) {
  for (unsigned i = 0; i < kernel->directives.count; i++)
    if (strcmp(kernel->directives.item[i].name, name) == 0 && kernel->directives.item[i].numbers)
      return &kernel->directives.item[i];
  return NULL;
}

/* Threads, and the three numbers, of a directive. */
static uint64_t threads_of(const bf_ptx_directive *directive, uint32_t block[3]) {
  uint64_t threads = 1;
  for (unsigned i = 0; i < 3; i++) {
    uint64_t own = i < directive->numbers ? directive->number[i] : 1;
    block[i] = own <= MOST_THREADS ? (uint32_t)own : 0;
    threads = own && own <= MOST_THREADS ? threads * own : 0;
  }
  return threads <= MOST_THREADS ? threads : 0;
}

void bf_likely_add(bf_likely *s, const uint32_t block[3]) {
  for (unsigned i = 0; i < s->count; i++)
    if (memcmp(s->block[i], block, sizeof s->block[i]) == 0)
      return;
  if (s->count < BF_MOST_LIKELY)
    memcpy(s->block[s->count++], block, sizeof s->block[0]);
}

bool bf_likely_find(const bf_ptx_function *kernel, bf_likely *s) {
  const bf_ptx_directive *required = find_directive(kernel, "reqntid");
  const bf_ptx_directive *most = find_directive(kernel, "maxntid");
  uint32_t block[3];
  s->count = 0;
  if (required && threads_of(required, block)) {
    bf_likely_add(s, block);
    return false;
  }
  uint64_t threads = most ? threads_of(most, block) : 0;
  bool is_tiled = bf_likely_is_tiled(kernel), is_deep = reads_part(kernel, 'z');
  if (threads && !is_tiled)
    bf_likely_add(s, (const uint32_t[3]){(uint32_t)threads, 1, 1});
  else if (threads && (block[1] > 1 || block[2] > 1))
    bf_likely_add(s, block);
  size_t count = is_tiled ? sizeof tiles / sizeof *tiles : sizeof lines / sizeof *lines;
  for (size_t i = 0; (is_tiled || !threads) && i < count; i++) {
    const uint32_t *usual = is_tiled ? tiles[i] : lines[i];
    const uint32_t own[3] = {usual[0], usual[1], is_deep ? usual[2] : 1};
    if (!threads || (uint64_t)own[0] * own[1] * own[2] == threads)
      bf_likely_add(s, own);
  }
  for (size_t i = 0; threads && is_tiled && i < sizeof others / sizeof *others; i++)
    if ((uint64_t)others[i][0] * others[i][1] * others[i][2] == threads)
      bf_likely_add(s, others[i]);
  return !threads;
}

void bf_likely_find_others(const bf_ptx_function *kernel, bf_likely *s) {
  s->count = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (bf_likely_is_tiled(kernel) == (others[i][1] > 1))
      bf_likely_add(s, others[i]);
}
