/* Kinds of files, by how they begin. */
#include "cli/file_kind.h"

#include "access/access.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

typedef enum kind { UNKNOWN, PROGRAM, SOURCE, PTX, TRACE, KINDS } kind;

/* What a kind is, and which commands are for it. */
static const char *const meant[KINDS] = {
    [PROGRAM] =
        "is a program or library: 'bankfold exec PROGRAM' runs it without a GPU and shows its "
        "conflicts, 'bankfold exec --save-trace FILE PROGRAM' writes a trace",
    [SOURCE] =
        "is CUDA source: build it with nvcc -arch=sm_90 -lineinfo, then 'bankfold exec PROGRAM' "
        "runs it; nvcc -ptx makes PTX, for 'bankfold analyze' and 'bankfold profile'",
    [PTX] = "is PTX: 'bankfold analyze FILE' looks at it, 'bankfold profile FILE --launch "
            "LAUNCHES' runs "
            "its kernels",
    [TRACE] = "is a trace of accesses: 'bankfold check', 'bankfold classify' and 'bankfold solve' "
              "take it",
};

/* Commands and the kinds that they take, as bits. */
static const struct {
  const char *command;
  unsigned kinds;
} taken[] = {
    {"check", 1 << TRACE},
    {"classify", 1 << TRACE},
    {"draw", 1 << TRACE},
    {"solve", 1 << TRACE},
    {"exec", 1 << PROGRAM},
    {"run", 1 << PROGRAM},
    {"profile", 1 << PTX},
    {"trace", 1 << PTX},
    {"analyze", 1 << PTX | 1 << PROGRAM},
    {"rewrite", 1 << PTX | 1 << PROGRAM},
};

/* Whether a text starts, behind comments, with the operation of an access. */
static bool starts_with_access(const char *text) {
  while (*text == '#' || isspace((unsigned char)*text))
    text += *text == '#' ? strcspn(text, "\n") : 1;
  char word[16] = "";
  size_t length = strcspn(text, " \t\n");
  if (length < sizeof word)
    memcpy(word, text, length);
  return *word && bf_op_find(word) >= 0;
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), own = strlen(end);
  return length > own && strcmp(text + length - own, end) == 0;
}

/* The kind of a regular file. */
static kind kind_of(const char *path) {
  char start[4097] = "";
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return UNKNOWN;
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(start, 1, sizeof start - 1, file) : 0;
  if (file)
    fclose(file);
  if (got >= 4 && memcmp(start, "\177ELF", 4) == 0)
    return PROGRAM;
  if (strstr(start, ".version") && strstr(start, ".target"))
    return PTX;
  if (ends_with(path, ".cu") || ends_with(path, ".cuh") || strstr(start, "__global__"))
    return SOURCE;
  return starts_with_access(start) ? TRACE : UNKNOWN;
}

void cli_file_kind_hint(const cli_command *command, int count, char **arguments) {
  unsigned kinds = 0;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (strcmp(taken[i].command, command->name) == 0)
      kinds = taken[i].kinds;
  kind own = kinds && count > 0 ? kind_of(arguments[0]) : UNKNOWN;
  if (own != UNKNOWN && !(kinds >> own & 1))
    fprintf(stderr, "bankfold: %s %s\n", arguments[0], meant[own]);
}
