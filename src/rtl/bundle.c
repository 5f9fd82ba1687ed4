/* The files of a unit. */
#include "rtl/bundle.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bf_text *bf_rtl_bundle_add(bf_rtl_bundle *files, const char *start, const char *end) {
  snprintf(files->name[files->count], sizeof files->name[0], "%s%s", start, end);
  return &files->text[files->count++];
}

void bf_rtl_bundle_free(bf_rtl_bundle *files) {
  for (unsigned i = 0; i < files->count; i++)
    bf_text_free(&files->text[i]);
}

static int make_folder(const char *folder, bf_diagnostic *diagnostic) {
  struct stat status;
  if (mkdir(folder, 0777) == 0)
    return BF_OK;
  int error = errno;
  if (error == EEXIST && stat(folder, &status) == 0 && S_ISDIR(status.st_mode))
    return BF_OK;
  return bf_fail_file(diagnostic, BF_IO, folder, "cannot make the folder: %s",
                      strerror(error == EEXIST ? ENOTDIR : error));
}

int bf_rtl_bundle_write(const char *folder, const bf_rtl_bundle *files, bf_diagnostic *diagnostic) {
  char path[4096];
  BF_TRY(make_folder(folder, diagnostic));
  for (unsigned i = 0; i < files->count; i++) {
    const bf_text *text = &files->text[i];
    snprintf(path, sizeof path, "%s/%s", folder, files->name[i]);
    int error = text->failed
                    ? bf_no_memory(diagnostic)
                    : bf_write_file(path, text->data ? text->data : "", text->size, diagnostic);
    while (error && i-- > 0) {
      snprintf(path, sizeof path, "%s/%s", folder, files->name[i]);
      unlink(path);
    }
    BF_TRY(error);
  }
  return BF_OK;
}

int bf_rtl_bundle_fill(const bf_rtl_unit *unit, uint64_t vectors, bf_rtl_bundle *files,
                       uint64_t *written, bf_diagnostic *diagnostic) {
  char module[BF_RTL_NAME_MAX + 16];
  bf_rtl_module_name(unit, module);
  BF_TRY(bf_rtl_write_module(unit, bf_rtl_bundle_add(files, module, ".v"), diagnostic));
  if (bf_rtl_is_family(unit))
    bf_rtl_write_clocked(unit, bf_rtl_bundle_add(files, unit->name, "_clocked.v"));
  BF_TRY(bf_rtl_write_vectors(unit, vectors, bf_rtl_bundle_add(files, unit->name, "_vectors.hex"),
                              written, diagnostic));
  bf_rtl_write_bench(unit, *written, bf_rtl_bundle_add(files, unit->name, "_test.v"));
  bf_text picture = {0};
  int error = bf_rtl_draw(unit, &picture, diagnostic);
  if (!error)
    *bf_rtl_bundle_add(files, unit->name, "_gates.svg") = picture;
  else
    bf_text_free(&picture);
  return error == BF_UNSUPPORTED ? BF_OK : error;
}
