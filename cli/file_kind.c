/* Kinds of files, by how they begin. */
#include "cli/file_kind.h"

#include "access/access.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

/* What a kind is, and which commands are for it. */
static const char *const meant[CLI_FILE_KINDS] = {
    [CLI_FILE_PROGRAM] =
        "is a program or library: 'bankfold exec PROGRAM' runs it without a GPU and shows its "
        "conflicts, 'bankfold exec --save-trace FILE PROGRAM' writes a trace",
    [CLI_FILE_SOURCE] =
        "is CUDA source: build it with nvcc -arch=sm_90 -lineinfo, then 'bankfold exec PROGRAM' "
        "runs it; nvcc -ptx makes PTX, for 'bankfold analyze' and 'bankfold profile'",
    [CLI_FILE_PTX] = "is PTX: 'bankfold analyze FILE' looks at it, 'bankfold profile FILE --launch "
                     "LAUNCHES' runs "
                     "its kernels",
    [CLI_FILE_NCU] = "is what Nsight Compute measured: 'bankfold ncu FILE' reads it",
    [CLI_FILE_FOLDER] = "is a folder: 'bankfold scan FOLDER' looks at the kernels in it",
    [CLI_FILE_TRACE] =
        "is a trace of accesses: 'bankfold check', 'bankfold classify' and 'bankfold solve' "
        "take it",
};

/* Commands and the kinds that they take, as bits. */
static const struct {
  const char *command;
  unsigned kinds;
} taken[] = {
    {"check", 1 << CLI_FILE_TRACE},
    {"classify", 1 << CLI_FILE_TRACE},
    {"draw", 1 << CLI_FILE_TRACE},
    {"solve", 1 << CLI_FILE_TRACE},
    {"exec", 1 << CLI_FILE_PROGRAM},
    {"run", 1 << CLI_FILE_PROGRAM},
    {"profile", 1 << CLI_FILE_PTX},
    {"trace", 1 << CLI_FILE_PTX},
    {"analyze", 1 << CLI_FILE_PTX | 1 << CLI_FILE_PROGRAM},
    {"rewrite", 1 << CLI_FILE_PTX | 1 << CLI_FILE_PROGRAM},
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

cli_kind_of_file cli_file_kind(const char *path) {
  char start[4097] = "";
  struct stat status;
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
    return CLI_FILE_FOLDER;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return CLI_FILE_UNKNOWN;
  if (ends_with(path, ".ncu-rep"))
    return CLI_FILE_NCU;
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(start, 1, sizeof start - 1, file) : 0;
  if (file)
    fclose(file);
  if (got >= 4 && memcmp(start, "\177ELF", 4) == 0)
    return CLI_FILE_PROGRAM;
  if (strstr(start, ".version") && strstr(start, ".target"))
    return CLI_FILE_PTX;
  if (ends_with(path, ".cu") || ends_with(path, ".cuh") || strstr(start, "__global__"))
    return CLI_FILE_SOURCE;
  if (strstr(start, "\"Kernel Name\""))
    return CLI_FILE_NCU;
  return starts_with_access(start) ? CLI_FILE_TRACE : CLI_FILE_UNKNOWN;
}

void cli_file_kind_hint(const cli_command *command, int count, char **arguments) {
  unsigned kinds = 0;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
    if (strcmp(taken[i].command, command->name) == 0)
      kinds = taken[i].kinds;
  cli_kind_of_file own = kinds && count > 0 ? cli_file_kind(arguments[0]) : CLI_FILE_UNKNOWN;
  if (own != CLI_FILE_UNKNOWN && !(kinds >> own & 1))
    fprintf(stderr, "bankfold: %s %s\n", arguments[0], meant[own]);
}
