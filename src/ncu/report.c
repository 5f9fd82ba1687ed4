/* Reports of Nsight Compute, whose form is NVIDIA's own: its program ncu prints them as tables, and
 * so does our rule (tools/ncu) through its Python module ncu_report. */
#include "ncu/ncu.h"
#include "process/process.h"
#include "process/program.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool is_report(const char *path) {
  size_t length = strlen(path);
  return length > 8 && strcmp(path + length - 8, ".ncu-rep") == 0;
}

/* Exit status of our rule where the module is missing. */
enum { NO_MODULE = 3 };

static int no_reader(const char *report, bf_diagnostic *diagnostic) {
  return bf_fail_file(diagnostic, BF_UNSUPPORTED, report,
                      "Nsight Compute's program ncu is not in PATH, and python3 has no module "
                      "ncu_report; where ncu is: ncu --import FILE --csv --page raw");
}

/* Adds what a program prints of a report; who: how it is called in messages. */
static int print_report(const char *who, const char *const *arguments, const char *report,
                        bf_text *text, bf_diagnostic *diagnostic) {
  bf_process process = {
      .path = arguments[0], .arguments = (char **)arguments, .keeps_output = true};
  bf_process_end end;
  BF_TRY(bf_process_run(&process, &end, diagnostic));
  const char *said = end.error.size ? end.error.data : end.output.size ? end.output.data : "";
  int error = BF_OK;
  if (end.status == 0 && end.output.size)
    bf_text_add(text, end.output.data, end.output.size);
  else if (end.status == NO_MODULE)
    error = no_reader(report, diagnostic);
  else
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, report, "%s does not read it: %.*s", who,
                         (int)strcspn(said, "\n"), said);
  bf_text_puts(text, "\n");
  bf_process_end_free(&end);
  return error;
}

static int load_by_program(const char *ncu, const char *report, bf_text *text,
                           bf_diagnostic *diagnostic) {
  const char *raw[] = {ncu, "--import", report, "--csv", "--page", "raw", NULL};
  const char *source[] = {ncu,      "--import",       report,      "--csv", "--page",
                          "source", "--print-source", "cuda,sass", NULL};
  BF_TRY(print_report("ncu", raw, report, text, diagnostic));
  return print_report("ncu", source, report, text, diagnostic);
}

static int load_by_module(const char *python, const char *report, bf_text *text,
                          bf_diagnostic *diagnostic) {
  const char *arguments[] = {python, "-c", bf_embedded_ncu[0].text, report, NULL};
  return print_report("ncu_report", arguments, report, text, diagnostic);
}

int bf_ncu_load(const char *path, const char *through, bf_text *text, bf_diagnostic *diagnostic) {
  char ncu[PATH_MAX], python[PATH_MAX];
  if (!is_report(path))
    return bf_read_file(path, SIZE_MAX, text, diagnostic);
  if (access(path, R_OK) != 0)
    return bf_fail_file(diagnostic, BF_IO, path, "%s", strerror(errno));
  bool by_module = through && strcmp(through, "ncu_report") == 0;
  if (!by_module && bf_process_find("ncu", NULL, ncu, sizeof ncu))
    return load_by_program(ncu, path, text, diagnostic);
  if ((by_module || !through) && bf_process_find("python3", NULL, python, sizeof python))
    return load_by_module(python, path, text, diagnostic);
  return no_reader(path, diagnostic);
}
