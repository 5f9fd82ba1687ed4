/* From a file that may be a program to parsed PTX. */
#include "ptx/fatbin.h"
#include "ptx/ptx.h"

int bf_fatbin_read_ptx(const char *path, uint64_t module, bf_ptx_module **ptx,
                       bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  bf_arch any = {0};
  bf_text text = {0};
  unsigned number = module ? (unsigned)module : 1;
  BF_TRY(bf_fatbin_open(path, &fatbin, diagnostic));
  const bf_image *image = bf_fatbin_pick(fatbin, number, any);
  int error = image ? bf_fatbin_text(fatbin, image, &text, diagnostic)
                    : bf_fatbin_no_ptx(fatbin, number, any, diagnostic);
  if (!error)
    error = bf_ptx_parse(path, text.data ? text.data : "", text.size, ptx, diagnostic);
  bf_text_free(&text);
  bf_fatbin_close(fatbin);
  return error;
}
