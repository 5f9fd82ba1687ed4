/* bankfold ptx link: the PTX of parts that were compiled separately, as one module. */
#include "cli/look/ptx_link.h"
#include "cli/cli.h"
#include "emu/emu.h"
#include "ptx/link.h"

#include <stdlib.h>

/* The parts of all files so far. */
typedef struct parts {
  bf_ptx_module **part;
  unsigned count;
} parts;

static int add_part(const bf_fatbin *fatbin, const bf_image *image, parts *all,
                    bf_diagnostic *diagnostic) {
  bf_text text = {0};
  bf_ptx_module **grown = realloc(all->part, (all->count + 1) * sizeof *grown);
  if (!grown)
    return bf_no_memory(diagnostic);
  all->part = grown;
  int error = bf_fatbin_text(fatbin, image, &text, diagnostic);
  if (!error)
    error = bf_ptx_parse(image->identifier ? image->identifier : fatbin->name,
                         text.data ? text.data : "", text.size, &all->part[all->count], diagnostic);
  all->count += !error;
  bf_text_free(&text);
  return error;
}

/* Adds the best PTX of each module of a file; at least one. */
static int add_file(const char *path, bf_arch wanted, parts *all, bf_diagnostic *diagnostic) {
  bf_fatbin *fatbin;
  unsigned before = all->count;
  BF_TRY(bf_fatbin_open(path, &fatbin, diagnostic));
  int error = BF_OK;
  for (unsigned module = 1; module <= fatbin->module_count && !error; module++) {
    const bf_image *image = bf_fatbin_pick(fatbin, module, wanted);
    if (image)
      error = add_part(fatbin, image, all, diagnostic);
  }
  if (!error && all->count == before)
    error = bf_fatbin_no_ptx(fatbin, 0, wanted, diagnostic);
  bf_fatbin_close(fatbin);
  return error;
}

/* Links and writes. */
static int write_linked(const parts *all, const char *output, bf_text *text,
                        bf_diagnostic *diagnostic) {
  bf_ptx_module *linked;
  BF_TRY(bf_ptx_link(output ? output : "linked", all->part, all->count, bf_emu_provides, &linked,
                     diagnostic));
  bf_ptx_print(linked, text);
  bf_ptx_free(linked);
  if (text->failed)
    return bf_no_memory(diagnostic);
  return output ? bf_write_file(output, text->data, text->size, diagnostic) : BF_OK;
}

int cli_ptx_link(int count, char **files, bf_arch wanted, const char *output) {
  parts all = {0};
  bf_text text = {0};
  bf_diagnostic diagnostic;
  int error = BF_OK;
  for (int i = 0; i < count && !error; i++)
    error = add_file(files[i], wanted, &all, &diagnostic);
  if (!error)
    error = write_linked(&all, output, &text, &diagnostic);
  for (unsigned i = 0; i < all.count; i++)
    bf_ptx_free(all.part[i]);
  free(all.part);
  if (!error && !output)
    return cli_print(&text);
  bf_text_free(&text);
  return error ? cli_complain(&diagnostic) : CLI_OK;
}
