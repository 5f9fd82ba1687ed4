/* In the place of the rewriter, for tests of everything around it: PTX is rewritten when a line is
 * put behind it, and left alone where it says "// refuse this". Second versions are only said to be
 * there, under the names that the rewriter gives them. */
#include "inject.h"

#include <stdlib.h>
#include <string.h>

/* Fewer blocks at once are taken to cost too much. */
bool inject_foresee(const inject_image *image, const inject_kernel *kernel,
                    const inject_launch *launch, unsigned multiprocessors,
                    const unsigned resident[2], const inject_values *values, bool *may_gain,
                    char *reason, size_t reason_bytes) {
  *may_gain = true;
  (void)image, (void)kernel, (void)launch, (void)multiprocessors, (void)values;
  snprintf(reason, reason_bytes, "it is predicted");
  return resident[1] >= resident[0];
}

void inject_foresee_prepare(const inject_image *image, const inject_kernel *kernel) {
  (void)image, (void)kernel;
}

int inject_rewrite(const inject_settings *settings, const char *name, const bf_text *ptx,
                   bool has_code, inject_rewritten *rewritten, bf_diagnostic *diagnostic) {
  static const char limit[] = "// threads in x: ";
  const char *most = strstr(ptx->data, limit);
  most = most ? most + sizeof limit - 1 : NULL;
  const char *cursor = ptx->data, *end = ptx->data + ptx->size;
  bf_kernel_text kernel;
  (void)settings, (void)has_code;
  if (!strstr(ptx->data, ".version"))
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "no PTX");
  bool is_dynamic = strstr(ptx->data, ".extern .shared");
  bool is_refused = strstr(ptx->data, "// refuse this");
  while (bf_kernel_next(&cursor, end, &kernel)) {
    char known[256], beside[300];
    rewritten->kernels++;
    snprintf(known, sizeof known, "%.*s", (int)kernel.name_size, kernel.name);
    snprintf(beside, sizeof beside, "%s__bankfold_1", known);
    inject_add_kernel(is_refused ? &(inject_kernel){.name = known, .reason = "it says so"}
                                 : &(inject_kernel){.name = known,
                                                    .beside = beside,
                                                    .hash = "fixed",
                                                    .rounds = is_dynamic,
                                                    .most_x = most ? strtoull(most, NULL, 10) : 0},
                      &rewritten->lines);
  }
  if (is_refused)
    return BF_OK;
  rewritten->is_changed = true;
  rewritten->hashed = rewritten->kernels;
  bf_text_add(&rewritten->text, ptx->data, ptx->size);
  bf_text_puts(&rewritten->text, "\n// rewritten\n");
  return BF_OK;
}
