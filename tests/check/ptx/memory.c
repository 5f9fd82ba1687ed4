/* Lets allocation number 0, 1, 2, ... fail while a PTX file is parsed, printed and cut into blocks,
 * and its kernels are analysed: each time the answer is that memory ran out. Linked with --wrap so
 * that malloc, calloc and realloc come here first. Leaks are found by the sanitizer. */
#include "analyze/analyze.h"
#include "ptx/ptx.h"

#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long left = -1; /* allocations until one fails; -1: none will */

static bool fails(void) { return left >= 0 && left-- == 0; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

static char text[1 << 20];

/* One attempt each: 1 done without a failed allocation, 0 refused for lack of memory, -1 wrong. */

static int verdict(int error) {
  bool reached = left < 0;
  left = -1;
  if (error == BF_OK)
    return reached ? -1 : 1;
  return error == BF_NO_MEMORY && reached ? 0 : -1;
}

static int try_parse(const void *size) {
  bf_ptx_module *module;
  bf_diagnostic diagnostic;
  int result = verdict(bf_ptx_parse("test", text, *(const size_t *)size, &module, &diagnostic));
  bf_ptx_free(module);
  return result;
}

static int try_print(const void *module) {
  bf_text printed = {0};
  bf_ptx_print(module, &printed);
  int result = verdict(printed.failed ? BF_NO_MEMORY : BF_OK);
  bf_text_free(&printed);
  return result;
}

static int try_flow(const void *function) {
  bf_ptx_flow *flow;
  int result = verdict(bf_ptx_flow_create(function, &flow, NULL));
  bf_ptx_flow_free(flow);
  return result;
}

/* A kernel and its module. */
typedef struct subject {
  const bf_ptx_module *module;
  const bf_ptx_function *kernel;
} subject;

static int try_analyze(const void *given) {
  const subject *s = given;
  bf_analyze_options options = {.block = {16, 4, 1}};
  bf_analysis *analysis;
  int result = verdict(bf_analyze(s->module, s->kernel, &options, &analysis, NULL));
  bf_analysis_free(analysis);
  return result;
}

/* Fails one allocation after the other until none is reached; false where an answer is wrong. */
static bool all_fail_well(const char *what, int (*attempt)(const void *), const void *input) {
  for (long number = 0;; number++) {
    left = number;
    int result = attempt(input);
    if (result < 0)
      printf("%s: wrong answer when allocation %ld fails\n", what, number);
    if (result != 0)
      return result > 0;
  }
}

int main(int count, char **argument) {
  FILE *file = count == 2 ? fopen(argument[1], "rb") : NULL;
  if (!file)
    return 2;
  size_t size = fread(text, 1, sizeof text, file);
  fclose(file);
  bool fine = all_fail_well("parse", try_parse, &size);
  bf_ptx_module *module;
  if (bf_ptx_parse("test", text, size, &module, NULL) != BF_OK)
    return 1;
  fine &= all_fail_well("print", try_print, module);
  for (const bf_ptx_item *item = module->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION) {
      subject s = {module, item->function};
      fine &= all_fail_well(item->function->name, try_flow, item->function);
      fine &= all_fail_well(item->function->name, try_analyze, &s);
    }
  bf_ptx_free(module);
  return !fine;
}
