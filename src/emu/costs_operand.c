/* What the hardware reads and writes in shared memory by itself: sums, names, and as text. */
#include "emu/costs.h"

#include <stdio.h>
#include <string.h>

static const char *const names[BF_OPERANDS] = {"wgmma A",  "wgmma B",   "copy into", "copy out of",
                                               "far load", "far store", "far atomic"};
static const char letters[] = "ABLSlsa";

const char *bf_operand_name(bf_operand_kind kind) { return names[kind]; }

/* Whether two operands are alike. */
static bool is_alike(const bf_operand *a, const bf_operand *b) {
  return a->rows == b->rows && a->columns == b->columns && a->bytes == b->bytes &&
         a->swizzle_bytes == b->swizzle_bytes && a->is_turned == b->is_turned &&
         strcmp(a->type, b->type) == 0;
}

void bf_operand_add(bf_operand_sum *sum, const bf_operand_sum *more) {
  if (!more->times)
    return;
  const bf_operand before = sum->what;
  sum->varies |= more->varies || (sum->times && !is_alike(&before, &more->what));
  sum->what = more->what;
  if (before.end && (!more->what.end || before.first < more->what.first))
    sum->what.first = before.first;
  if (before.end > more->what.end)
    sum->what.end = before.end;
  sum->times += more->times;
  sum->bytes += more->bytes;
  sum->least_bytes += more->least_bytes;
  sum->most_bytes += more->most_bytes;
  sum->wavefronts += more->wavefronts;
}

void bf_operand_describe(bf_operand_kind kind, const bf_operand_sum *sum, bf_text *text) {
  const bf_operand *what = &sum->what;
  bf_text_puts(text, names[kind]);
  if (kind >= BF_OPERAND_FAR_LOADED)
    bf_text_addf(text, " of %u bytes by %u lanes", what->columns, what->rows);
  else if (what->type[0])
    bf_text_addf(text, " %ux%u %s", what->rows, what->columns, what->type);
  else
    bf_text_addf(text, " %u bytes", what->bytes);
  if (what->is_turned)
    bf_text_puts(text, ", MN-major");
  if (what->swizzle_bytes)
    bf_text_addf(text, ", swizzle %u", what->swizzle_bytes);
  if (sum->varies)
    bf_text_puts(text, ", and others");
}

/* "A,64,16,2048,128,0,f16,0,512,1048576,1048576,1048576,8192,0,8192;" for each kind that there is.
 */
void bf_operands_write(const bf_operand_sum operand[BF_OPERANDS], bf_text *text) {
  for (unsigned i = 0; i < BF_OPERANDS; i++) {
    const bf_operand_sum *sum = &operand[i];
    if (sum->times)
      bf_text_addf(text, "%c,%u,%u,%u,%u,%d,%s,%d,%llu,%llu,%llu,%llu,%llu,%u,%u;", letters[i],
                   sum->what.rows, sum->what.columns, sum->what.bytes, sum->what.swizzle_bytes,
                   sum->what.is_turned, sum->what.type[0] ? sum->what.type : "-", sum->varies,
                   (unsigned long long)sum->times, (unsigned long long)sum->bytes,
                   (unsigned long long)sum->least_bytes, (unsigned long long)sum->most_bytes,
                   (unsigned long long)sum->wavefronts, sum->what.first, sum->what.end);
  }
}

bool bf_operands_read(const char *text, bf_operand_sum operand[BF_OPERANDS]) {
  while (*text) {
    bf_operand_sum sum = {.times = 0};
    char letter;
    unsigned swizzle;
    int turned, varies, length = 0;
    unsigned long long times, bytes, least, most, wavefronts;
    if (sscanf(text, "%c,%u,%u,%u,%u,%d,%7[^,],%d,%llu,%llu,%llu,%llu,%llu,%u,%u;%n", &letter,
               &sum.what.rows, &sum.what.columns, &sum.what.bytes, &swizzle, &turned, sum.what.type,
               &varies, &times, &bytes, &least, &most, &wavefronts, &sum.what.first, &sum.what.end,
               &length) != 15 ||
        !length || !strchr(letters, letter))
      return false;
    if (strcmp(sum.what.type, "-") == 0)
      sum.what.type[0] = 0;
    sum.what.swizzle_bytes = (uint16_t)swizzle;
    sum.what.is_turned = turned != 0;
    sum.varies = varies != 0;
    sum.times = times;
    sum.bytes = bytes;
    sum.least_bytes = least;
    sum.most_bytes = most;
    sum.wavefronts = wavefronts;
    operand[strchr(letters, letter) - letters] = sum;
    text += length;
  }
  return true;
}
