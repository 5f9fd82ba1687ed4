/* A file as PTX. */
#include "scan/inner.h"

#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 4200 };

/* A command while it is put together. */
typedef struct command {
  const char *word[MOST_ARGUMENTS];
  unsigned count;
  const char *architecture; /* that we have chosen; NULL: the command says it, or nothing does */
  char target[24];          /* the word that says it */
} command;

static void add(command *own, const char *word) {
  if (own->count < MOST_ARGUMENTS - 1)
    own->word[own->count++] = word;
}

/* Has it compile for an architecture. */
static void choose(command *own, const char *architecture) {
  own->architecture = architecture;
  snprintf(own->target, sizeof own->target, "-arch=%s", architecture);
}

/* ---- Commands of a build ---- */

/* How many words from here say what is written where, which is for us to say; 0: none. */
static unsigned output_words(const char *const *at) {
  static const char *const alone[] = {
      "-c",        "-dc",        "-dw",     "-dlink",    "-ptx", "-cubin", "-MD", "-MMD", "-MP",
      "--compile", "--device-c", "-fatbin", "-rdc=true", "-M",   "-MM",    "-E",  "-S",   NULL};
  static const char *const pairs[] = {"-o", "-MF", "-MT", "-MQ", "--output-file", NULL};
  for (unsigned i = 0; alone[i]; i++)
    if (strcmp(at[0], alone[i]) == 0)
      return 1;
  for (unsigned i = 0; pairs[i]; i++)
    if (strcmp(at[0], pairs[i]) == 0)
      return at[1] ? 2 : 1;
  return 0;
}

static bool is_clang(const char *compiler) {
  const char *slash = strrchr(compiler, '/');
  return strstr(slash ? slash + 1 : compiler, "clang") != NULL;
}

/* The command of a build, made to write PTX with lines of the source. */
static void add_build(command *own, char *const *given) {
  const char *const *at = (const char *const *)given;
  bool clang = is_clang(at[0]);
  add(own, at[0]);
  for (at++; *at;) {
    unsigned skipped = output_words(at);
    if (!skipped)
      add(own, *at++);
    at += skipped;
  }
  if (clang) {
    add(own, "--cuda-device-only");
    add(own, "-S");
    add(own, "-gline-tables-only");
  } else {
    add(own, "-lineinfo");
    add(own, "-ptx");
  }
}

/* Whether flags say for what nvcc compiles. */
static bool has_architecture(const char *const *flags) {
  for (; flags && *flags; flags++)
    if (strstr(*flags, "arch") || strstr(*flags, "gencode"))
      return true;
  return false;
}

/* nvcc for a source of which nothing is known. */
static int add_nvcc(command *own, const scan_unit *unit, const char *const *flags,
                    char nvcc[PATH_MAX], bf_diagnostic *diagnostic) {
  bf_diagnostic reason = {0};
  if (bf_process_find_tool("nvcc", BF_VARIABLE_NVCC, nvcc, &reason) != BF_OK)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, unit->path, "not compiled: %.200s",
                        reason.message);
  add(own, nvcc);
  add(own, "-lineinfo");
  add(own, "-ptx");
  if (!has_architecture(flags)) {
    choose(own, bf_process_next_architecture(NULL, NULL));
    add(own, own->target);
  }
  for (; flags && *flags; flags++)
    add(own, *flags);
  add(own, unit->file);
  return BF_OK;
}

/* ---- Compiling ---- */

/* Paths of a rule as make has it, "x: a b \", a line each, with the folder where they have none; a
 * space in a path follows a \. */
static void read_rule(const char *text, const char *folder, bf_text *inputs) {
  const char *at = strstr(text, ": ");
  for (at = at ? at + 1 : ""; *at;) {
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "\\\n", 2) == 0) {
      at += 2;
      continue;
    }
    bool is_path = *at != 0;
    if (is_path && *at != '/')
      bf_text_addf(inputs, "%s/", folder);
    for (; *at && !strchr(" \t\r\n", *at); at++) {
      at += *at == '\\' && at[1] == ' ';
      bf_text_add(inputs, at, 1);
    }
    if (is_path)
      bf_text_puts(inputs, "\n");
  }
}

/* The first line of what a compiler said that says what is wrong. */
static void first_error(const char *said, char *line, size_t bytes) {
  const char *at = said ? strstr(said, "error") : NULL;
  while (at && at > said && at[-1] != '\n')
    at--;
  snprintf(line, bytes, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

/* Runs a command; where it fails, again for other architectures that may have the instructions. */
static int run(const scan_unit *unit, command *own, bf_diagnostic *diagnostic) {
  char said[200];
  bf_process process = {.path = own->word[0],
                        .arguments = (char **)own->word,
                        .folder = unit->folder,
                        .keeps_output = true};
  char path[PATH_MAX];
  if (!strchr(own->word[0], '/') && bf_process_find(own->word[0], NULL, path, sizeof path))
    process.path = path;
  bf_process_end end;
  own->word[own->count] = NULL;
  BF_TRY(bf_process_run(&process, &end, diagnostic));
  bool is_good = end.status == 0;
  const char *next = is_good || !own->architecture
                         ? NULL
                         : bf_process_next_architecture(own->architecture, end.error.data);
  first_error(end.error.data, said, sizeof said);
  bf_process_end_free(&end);
  if (next) {
    choose(own, next);
    return run(unit, own, diagnostic);
  }
  return is_good ? BF_OK
                 : bf_fail_file(diagnostic, BF_BAD_INPUT, unit->path, "not compiled%s%s",
                                *said ? ": " : "", said);
}

static int compile(const scan_unit *unit, const bf_scan_options *options, const char *folder,
                   bf_text *ptx, bf_text *inputs, bf_diagnostic *diagnostic) {
  char output[PATH_MAX], rule[PATH_MAX], nvcc[PATH_MAX];
  command *own = calloc(1, sizeof *own);
  if (!own)
    return bf_no_memory(diagnostic);
  snprintf(output, sizeof output, "%.*s/x.ptx", PATH_MAX - 16, folder);
  snprintf(rule, sizeof rule, "%.*s/x.d", PATH_MAX - 16, folder);
  int error = BF_OK;
  if (unit->command)
    add_build(own, unit->command);
  else
    error = add_nvcc(own, unit, options->flags, nvcc, diagnostic);
  const char *const last[] = {"-MD", "-MF", rule, "-o", output};
  for (unsigned i = 0; i < sizeof last / sizeof *last; i++)
    add(own, last[i]);
  if (!error)
    error = run(unit, own, diagnostic);
  if (!error)
    error = bf_read_file(output, BF_MAX_PTX_BYTES, ptx, diagnostic);
  bf_text made = {0};
  char here[PATH_MAX];
  const char *where = unit->folder ? unit->folder : getcwd(here, sizeof here);
  if (!error && where && bf_read_file(rule, SIZE_MAX, &made, NULL) == BF_OK)
    read_rule(made.data, where, inputs);
  bf_text_free(&made);
  free(own);
  return error;
}

int scan_open(const scan_unit *unit, const bf_scan_options *options, scan_images *images,
              bf_text *inputs, bf_diagnostic *diagnostic) {
  char folder[PATH_MAX];
  *images = (scan_images){0};
  if (unit->fault)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, unit->path, "%s", unit->fault);
  if (unit->kind == SCAN_IMAGES)
    return bf_fatbin_open(unit->file, &images->fatbin, diagnostic);
  BF_TRY(bf_process_make_folder(folder, diagnostic));
  int error = compile(unit, options, folder, &images->ptx, inputs, diagnostic);
  images->has_compiled = true;
  bf_process_remove_folder(folder);
  if (!error)
    error =
        bf_fatbin_read(unit->path, images->ptx.data, images->ptx.size, &images->fatbin, diagnostic);
  return error;
}

void scan_close(scan_images *images) {
  if (images->fatbin)
    bf_fatbin_close(images->fatbin);
  bf_text_free(&images->ptx);
  *images = (scan_images){0};
}
