/* Machine code for simulations: a cubin that somebody has made, or that ptxas makes now. */
#include "tune/machine_code.h"

#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"

#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 1 << 28 };

int bf_machine_code_suits(const bf_sim_gpu *gpu, const char *option, bf_diagnostic *diagnostic) {
  if (gpu->scoreboard_cycles)
    return BF_OK;
  return bf_fail(diagnostic, BF_BAD_INPUT,
                 "%s is for GPUs of compute capability 9.0, as h200; %s is none", option,
                 gpu->name);
}

/* Writes PTX to a file. */
static int write_source(const char *path, const bf_text *ptx, bf_diagnostic *diagnostic) {
  bf_writer *writer;
  BF_TRY(bf_writer_open(path, false, &writer, diagnostic));
  int error = bf_writer_write(writer, ptx->data, ptx->size, diagnostic);
  if (!error)
    return bf_writer_commit(writer, diagnostic);
  bf_writer_close(writer);
  return error;
}

/* Compiles PTX to a cubin in a folder. */
static int compile(const char *folder, const bf_text *ptx, char path[PATH_MAX],
                   bf_diagnostic *diagnostic) {
  char ptxas[PATH_MAX], source[PATH_MAX];
  snprintf(source, sizeof source, "%s/simulated.ptx", folder);
  snprintf(path, PATH_MAX, "%s/simulated.cubin", folder);
  BF_TRY(bf_process_find_tool("ptxas", BF_VARIABLE_PTXAS, ptxas, diagnostic));
  BF_TRY(write_source(source, ptx, diagnostic));
  bool is_special = strstr(ptx->data, ".target sm_90a") != NULL;
  const char *arch = is_special ? "-arch=sm_90a" : "-arch=sm_90";
  const char *argv[] = {ptxas, arch, "--generate-line-info", source, "-o", path, NULL};
  bf_process run = {.path = ptxas, .arguments = (char **)argv, .keeps_output = true};
  bf_process_end end;
  BF_TRY(bf_process_run(&run, &end, diagnostic));
  int error = BF_OK;
  if (end.status)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "ptxas refuses the PTX: %.300s",
                    end.error.data ? end.error.data : "");
  bf_process_end_free(&end);
  return error;
}

int bf_machine_code_load(const char *path, bf_machine_code *code, bf_diagnostic *diagnostic) {
  bf_text bytes = {0};
  *code = (bf_machine_code){0};
  BF_TRY(bf_read_file(path, MOST_BYTES, &bytes, diagnostic));
  int error = bf_machine_code_read(path, bytes.data, bytes.size, code, diagnostic);
  bf_text_free(&bytes);
  return error;
}

int bf_machine_code_make(const bf_text *ptx, bf_machine_code *code, bf_diagnostic *diagnostic) {
  char folder[PATH_MAX], path[PATH_MAX];
  *code = (bf_machine_code){0};
  BF_TRY(bf_process_make_folder(folder, diagnostic));
  int error = compile(folder, ptx, path, diagnostic);
  if (!error)
    error = bf_machine_code_load(path, code, diagnostic);
  bf_process_remove_folder(folder);
  return error;
}
