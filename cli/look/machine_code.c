/* The machine code of --cubin: a cubin that somebody has made, or that ptxas makes of the PTX that
 * is simulated. */
#include "cli/look/machine_code.h"

#include "ptx/fatbin.h"
#include "tune/machine_code.h"

#include <string.h>

/* The PTX text of a module of a file, whose lines are those that ptxas names. */
static int read_text(const char *file, uint64_t module, bf_text *text, bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  BF_TRY(bf_fatbin_open(file, &fatbin, diagnostic));
  unsigned number = module ? (unsigned)module : 1;
  const bf_image *image = bf_fatbin_pick(fatbin, number, (bf_arch){0});
  int error = image ? bf_fatbin_text(fatbin, image, text, diagnostic)
                    : bf_fatbin_no_ptx(fatbin, number, (bf_arch){0}, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

int cli_machine_code_load(const char *cubin, const bf_sim_gpu *gpu, const char *file,
                          uint64_t module, const char *ptx, bf_machine_code *code,
                          bf_diagnostic *diagnostic) {
  *code = (bf_machine_code){0};
  BF_TRY(bf_machine_code_suits(gpu, "--cubin", diagnostic));
  if (strcmp(cubin, "auto") != 0)
    return bf_machine_code_load(cubin, code, diagnostic);
  bf_text text = {0};
  int error = BF_OK;
  if (file)
    error = read_text(file, module, &text, diagnostic);
  else
    bf_text_puts(&text, ptx);
  if (!error)
    error = bf_machine_code_make(&text, code, diagnostic);
  bf_text_free(&text);
  return error;
}
