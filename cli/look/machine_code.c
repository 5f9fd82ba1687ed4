/* Machine code for simulations: a cubin that somebody has made, or that ptxas makes now. */
#include "cli/look/machine_code.h"

#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"
#include "ptx/fatbin.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28 };

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

/* Compiles PTX to a cubin in a folder. */
static int compile(const char *folder, const bf_text *ptx, char path[PATH_MAX],
                   bf_diagnostic *diagnostic) {
  char ptxas[PATH_MAX], source[PATH_MAX];
  bf_writer *writer;
  snprintf(source, sizeof source, "%s/simulated.ptx", folder);
  snprintf(path, PATH_MAX, "%s/simulated.cubin", folder);
  BF_TRY(bf_process_find_tool("ptxas", BF_VARIABLE_PTXAS, ptxas, diagnostic));
  BF_TRY(bf_writer_open(source, false, &writer, diagnostic));
  int error = bf_writer_write(writer, ptx->data, ptx->size, diagnostic);
  if (!error)
    error = bf_writer_commit(writer, diagnostic);
  else
    bf_writer_close(writer);
  BF_TRY(error);
  bool is_special = strstr(ptx->data, ".target sm_90a") != NULL;
  const char *arch = is_special ? "-arch=sm_90a" : "-arch=sm_90";
  const char *argv[] = {ptxas, arch, "--generate-line-info", source, "-o", path, NULL};
  bf_process run = {.path = ptxas, .arguments = (char **)argv, .keeps_output = true};
  bf_process_end end;
  BF_TRY(bf_process_run(&run, &end, diagnostic));
  if (end.status)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "ptxas refuses the PTX: %.300s",
                    end.error.data ? end.error.data : "");
  bf_process_end_free(&end);
  return error;
}

static int read_cubin(const char *path, bf_machine_code *code, bf_diagnostic *diagnostic) {
  bf_text bytes = {0};
  BF_TRY(bf_read_file(path, MOST_BYTES, &bytes, diagnostic));
  int error = bf_machine_code_read(path, bytes.data, bytes.size, code, diagnostic);
  bf_text_free(&bytes);
  return error;
}

int cli_machine_code_load(const char *cubin, const bf_sim_gpu *gpu, const char *file,
                          uint64_t module, const char *ptx, bf_machine_code *code,
                          bf_diagnostic *diagnostic) {
  char folder[PATH_MAX], path[PATH_MAX];
  *code = (bf_machine_code){0};
  if (!gpu->scoreboard_cycles)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "--cubin is for GPUs of compute capability 9.0, as h200; %s is none", gpu->name);
  if (strcmp(cubin, "auto") != 0)
    return read_cubin(cubin, code, diagnostic);
  bf_text text = {0};
  if (file)
    BF_TRY(read_text(file, module, &text, diagnostic));
  else
    bf_text_puts(&text, ptx);
  int error = bf_process_make_folder(folder, diagnostic);
  if (!error) {
    error = compile(folder, &text, path, diagnostic);
    if (!error)
      error = read_cubin(path, code, diagnostic);
    bf_process_remove_folder(folder);
  }
  bf_text_free(&text);
  return error;
}
