/* Lets allocation number 0, 1, 2, ... fail while a PTX file is parsed, printed and cut into blocks,
 * and its kernels are analysed: each time the answer is that memory ran out. Leaks are found by the
 * sanitizer. */
#include "../failing_memory.h"
#include "analyze/analyze.h"
#include "analyze/settle.h"
#include "ptx/ptx.h"

/* Accesses are not counted here: no machine is asked for. */
bf_settling *bf_settling_create(void) { return NULL; }

bool bf_walk_settles(bf_walk *walk, bf_settling *settling, const bf_record *record,
                     const bf_analyze_site *site, const bf_analyze_access *access) {
  (void)walk, (void)settling, (void)record, (void)site, (void)access;
  return false;
}

static char text[1 << 20];

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

static int try_names(const void *mangled) {
  bf_text readable = {0}, enclosing = {0};
  bf_ptx_readable_name(mangled, &readable);
  bf_ptx_enclosing_name(mangled, &enclosing);
  int result = verdict(readable.failed || enclosing.failed ? BF_NO_MEMORY : BF_OK);
  bf_text_free(&readable);
  bf_text_free(&enclosing);
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
  fine &= all_fail_well("names", try_names, "_ZZ6reduceIi3SumLi64EEvPKT_PS1_iS1_E4part");
  return !fine;
}
