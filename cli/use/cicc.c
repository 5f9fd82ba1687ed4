/* cicc in the place of NVIDIA's. nvcc runs cicc to make PTX; what ptxas compiles, fatbinary embeds
 * and -ptx writes is that file, so that it is rewritten as soon as it is there. */
#include "cli/use/wrap.h"
#include "process/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The arguments of cicc that matter. */
typedef struct job {
  char **output;      /* the argument behind -o, or NULL */
  const char *ptx;    /* the file that it names, or one in memory for standard output */
  bool is_printed;    /* the PTX goes to standard output */
  const char *source; /* as the user called it */
  const char *arch;   /* compute_90 */
  bool is_lto;        /* it writes code for the link as well */
} job;

static job read_arguments(char **argv) {
  job found = {.source = "PTX", .arch = "compute"};
  for (char **at = argv + 1; at[0]; at++) {
    found.is_lto |= strcmp(at[0], "-olto") == 0 || strcmp(at[0], "-lto") == 0;
    if (!at[1])
      break;
    if (strcmp(at[0], "-o") == 0)
      found.output = ++at;
    else if (strcmp(at[0], "--orig_src_file_name") == 0)
      found.source = *++at;
    else if (strcmp(at[0], "-arch") == 0)
      found.arch = *++at;
  }
  return found;
}

/* Whether ptxas takes the PTX at path, as far as can be said without compiling it; what it says
 * against it goes to complaint. */
static bool ptxas_takes(const job *own, const char *path, bf_text *complaint) {
  bf_diagnostic unused;
  char *ptxas = (char *)bf_variable_get(BF_VARIABLE_PTXAS), arch[64];
  bf_process_end end;
  if (!ptxas)
    return true;
  snprintf(arch, sizeof arch, "-arch=%s", own->arch);
  char *argv[] = {ptxas, arch, (char *)path, NULL};
  bf_process run = {.path = ptxas, .arguments = argv, .keeps_output = true};
  bool is_taken = bf_process_run(&run, &end, &unused) == BF_OK && end.status == 0;
  bf_text_add(complaint, end.error.data ? end.error.data : "", end.error.size);
  bf_process_end_free(&end);
  return is_taken;
}

/* Fails where ptxas does not take the rewritten PTX. */
static int check_rewritten(const job *own, const bf_text *rewritten, bf_diagnostic *diagnostic) {
  char path[BF_PROCESS_PATH_BYTES];
  bf_text complaint = {0};
  int file = bf_process_memory_file(rewritten, path), error = BF_OK;
  if (file < 0)
    return bf_fail(diagnostic, BF_IO, "no memory for a file");
  if (!ptxas_takes(own, path, &complaint))
    error = bf_fail_file(diagnostic, BF_UNSUPPORTED, own->source,
                         "ptxas does not take the rewritten PTX: %.*s",
                         complaint.data ? (int)strcspn(complaint.data, "\n") : 0,
                         complaint.data ? complaint.data : "");
  bf_text_free(&complaint);
  close(file);
  return error;
}

/* Writes the file anew; signals wait, so that no temporary file is left. */
static int replace(const char *path, const bf_text *text, bf_diagnostic *diagnostic) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  int error = bf_write_file(path, text->data, text->size, diagnostic);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return error;
}

/* Prints PTX. */
static int print(const bf_text *text, bf_diagnostic *diagnostic) {
  if (fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0)
    return BF_OK;
  return bf_fail(diagnostic, BF_IO, "cannot write to standard output");
}

/* Fails where what cicc wrote to is no file that can be read and replaced: /dev/stdout, a pipe. */
static int check_output(const job *own, bf_diagnostic *diagnostic) {
  struct stat status;
  if (own->is_printed || (lstat(own->ptx, &status) == 0 && S_ISREG(status.st_mode)))
    return BF_OK;
  return bf_fail_file(diagnostic, BF_IO, own->ptx, "is no file that can be replaced");
}

/* The architecture whose machine code is made of the PTX: sm_90 of compute_90. */
static void name_arch(const job *own, char arch[64]) {
  static const char virtual[] = "compute_";
  bool is_virtual = strncmp(own->arch, virtual, sizeof virtual - 1) == 0;
  snprintf(arch, 64, "%s%s", is_virtual ? "sm_" : "",
           own->arch + (is_virtual ? sizeof virtual - 1 : 0));
}

/* Rewrites the PTX that cicc wrote; *is_delivered: it is where cicc was to write it. */
static int rewrite(const cli_wrap *wrap, const job *own, bool *is_delivered,
                   bf_diagnostic *diagnostic) {
  bf_text rewritten = {0}, name = {0};
  BF_TRY(check_output(own, diagnostic));
  bf_text_addf(&name, "%s (%s)", own->source, own->arch);
  char arch[64];
  name_arch(own, arch);
  int error =
      cli_wrap_rewrite_file(wrap, own->ptx, name.failed ? own->source : name.data,
                            bf_variable_get(BF_VARIABLE_PTXAS), arch, &rewritten, diagnostic);
  if (!error && rewritten.data)
    error = check_rewritten(own, &rewritten, diagnostic);
  if (!error && rewritten.data)
    error =
        own->is_printed ? print(&rewritten, diagnostic) : replace(own->ptx, &rewritten, diagnostic);
  *is_delivered = !error && rewritten.data;
  bf_text_free(&rewritten);
  bf_text_free(&name);
  return error;
}

/* Warns that the PTX stays as it is; where ptxas refuses it too, its word is enough. */
static void warn(const cli_wrap *wrap, const job *own, const bf_diagnostic *diagnostic) {
  bf_text unused = {0};
  if (check_output(own, NULL) != BF_OK || ptxas_takes(own, own->ptx, &unused))
    cli_wrap_warn(wrap, diagnostic);
  bf_text_free(&unused);
}

/* Prints what cicc wrote as it is. */
static void print_original(const job *own) {
  FILE *file = fopen(own->ptx, "r");
  int character;
  while (file && (character = getc(file)) != EOF)
    putchar(character);
  fflush(stdout);
  if (file)
    fclose(file);
}

/* All that comes behind cicc. */
static void process(const job *own) {
  bf_diagnostic diagnostic = {.caret = -1};
  bool is_delivered = false;
  cli_wrap wrap;
  int error = cli_wrap_get(&wrap, &diagnostic);
  if (!error && own->is_lto)
    cli_wrap_log(&wrap, "%s: left alone: link-time optimisation compiles no PTX", own->source);
  else if (!error)
    error = rewrite(&wrap, own, &is_delivered, &diagnostic);
  if (error)
    warn(&wrap, own, &diagnostic);
  if (own->is_printed && !is_delivered)
    print_original(own);
  cli_wrap_free(&wrap);
}

/* Where cicc is to write to standard output, has it write to a file in memory at path. False where
 * it writes nothing, or that file cannot be had. */
static bool redirect(job *own, char path[BF_PROCESS_PATH_BYTES]) {
  if (!own->output)
    return false;
  own->is_printed = strcmp(*own->output, "-") == 0;
  if (own->is_printed && bf_process_memory_file(&(bf_text){0}, path) < 0)
    return false;
  if (own->is_printed)
    *own->output = path;
  own->ptx = *own->output;
  return true;
}

int cli_cicc(char **argv) {
  bf_diagnostic diagnostic = {.caret = -1};
  char *real = (char *)bf_variable_get(BF_VARIABLE_CICC);
  bf_process_end end;
  if (!real) {
    fputs("bankfold: error: this cicc is run by bankfold nvcc only\n", stderr);
    return BF_PROCESS_NOT_RUN;
  }
  argv[0] = real;
  job own = read_arguments(argv);
  char path[BF_PROCESS_PATH_BYTES];
  if (!redirect(&own, path))
    return bf_process_become(real, argv);
  bf_process run = {.path = real, .arguments = argv};
  if (bf_process_run(&run, &end, &diagnostic) != BF_OK)
    return cli_complain(&diagnostic);
  if (end.status == 0)
    process(&own);
  return bf_process_end_alike(&end);
}
