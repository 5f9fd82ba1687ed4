/* What PTX says beside what was measured: the analysis of the library, for each kernel. */
#include "ncu/ncu.h"
#include "ptx/fatbin.h"

#include <string.h>

static uint64_t blocks_of(const bf_ncu_kernel *kernel) {
  uint64_t blocks = 1;
  for (unsigned i = 0; i < 3; i++)
    blocks *= kernel->grid[i] ? kernel->grid[i] : 1;
  return blocks;
}

/* Adds what the PTX says of a kernel, from the shape of its blocks. */
static void predict(const bf_module *module, const bf_machine *machine, bf_ncu_kernel *kernel) {
  bf_analyze_kernel_options how;
  bf_kernel_analysis *analysis;
  bf_diagnostic diagnostic;
  bf_analyze_kernel_default_options(&how);
  memcpy(how.block, kernel->block, sizeof how.block);
  memcpy(how.grid, kernel->grid, sizeof how.grid);
  if (bf_analyze_kernel(module, kernel->short_name, machine, &how, &analysis, &diagnostic) !=
      BF_OK) {
    kernel->not_predicted = "how many threads a block has is not known: ncu --page raw says so";
    return;
  }
  const bf_kernel_site *site;
  kernel->not_predicted = NULL;
  for (size_t i = 0; (site = bf_kernel_analysis_get(analysis, i)); i++) {
    if (!site->is_reached || !site->has_op)
      continue;
    if (!site->is_exact)
      kernel->not_predicted = "some addresses or counts are not known without running";
    if (site->is_exact || site->wavefronts > 0)
      bf_ncu_predict(kernel, site->source_file, site->source_line,
                     site->wavefronts * blocks_of(kernel), site->ideal * blocks_of(kernel));
  }
  bf_kernel_analysis_free(analysis);
}

/* Predicts from the PTX of one module of a program. */
static int predict_module(const bf_fatbin *fatbin, const bf_image *image, const bf_machine *machine,
                          bf_ncu *ncu, bf_diagnostic *diagnostic) {
  bf_module *module = NULL;
  bf_text ptx = {0};
  BF_TRY(bf_fatbin_text(fatbin, image, &ptx, diagnostic));
  int error = bf_module_parse(ptx.data, ptx.size, fatbin->name, &module, diagnostic);
  for (size_t i = 0; i < ncu->kernels && !error; i++)
    if (bf_module_find(module, ncu->kernel[i].short_name))
      predict(module, machine, &ncu->kernel[i]);
  bf_module_free(module);
  bf_text_free(&ptx);
  return error;
}

int bf_ncu_predict_program(bf_ncu *ncu, const char *program, const bf_machine *machine,
                           bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  BF_TRY(bf_fatbin_open(program, &fatbin, diagnostic));
  int error = BF_OK;
  for (size_t i = 0; i < ncu->kernels; i++)
    ncu->kernel[i].not_predicted = "there is no PTX of a kernel of that name";
  for (unsigned i = 1; !error && i <= fatbin->module_count; i++) {
    const bf_image *image = bf_fatbin_pick(fatbin, i, (bf_arch){0});
    error = image ? predict_module(fatbin, image, machine, ncu, diagnostic) : BF_OK;
  }
  bf_fatbin_close(fatbin);
  return error;
}
