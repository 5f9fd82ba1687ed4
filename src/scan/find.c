/* The files of a project that may hold kernels. */
#include "scan/inner.h"

#include "process/folder.h"
#include "process/process.h"
#include "process/program.h"

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_DEPTH = 64 };

bool scan_ends_with(const char *text, const char *end) {
  size_t length = strlen(text), own = strlen(end);
  return length >= own && strcmp(text + length - own, end) == 0;
}

static bool ends_with_any(const char *path, const char *const *ends) {
  while (*ends && !scan_ends_with(path, *ends))
    ends++;
  return *ends != NULL;
}

/* ---- Lists ---- */

scan_unit *scan_add_unit(scan_files *files, const char *path, const char *file, scan_kind kind) {
  if (files->units == files->unit_capacity) {
    size_t capacity = files->unit_capacity ? 2 * files->unit_capacity : 64;
    scan_unit *larger = realloc(files->unit, capacity * sizeof *larger);
    if (!larger)
      return NULL;
    files->unit = larger;
    files->unit_capacity = capacity;
  }
  scan_unit *own = &files->unit[files->units];
  *own = (scan_unit){.path = bf_arena_copy(files->arena, path),
                     .file = bf_arena_copy(files->arena, file),
                     .kind = kind};
  files->units += own->path && own->file;
  return own->path && own->file ? own : NULL;
}

/* Whether a path is a file that is not listed yet. */
static bool is_new_source(const scan_files *files, const char *path) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  for (size_t i = files->sources; i-- > 0;)
    if (strcmp(files->source[i], path) == 0)
      return false;
  return true;
}

bool scan_add_source(scan_files *files, const char *path) {
  if (!is_new_source(files, path))
    return true;
  if (files->sources == files->source_capacity) {
    size_t capacity = files->source_capacity ? 2 * files->source_capacity : 64;
    const char **larger = realloc(files->source, capacity * sizeof *larger);
    if (!larger)
      return false;
    files->source = larger;
    files->source_capacity = capacity;
  }
  files->source[files->sources] = bf_arena_copy(files->arena, path);
  return files->source[files->sources] && ++files->sources;
}

/* ---- Kinds ---- */

/* Whether a file holds device code: it is a fat binary, or an ELF file or a library of such files
 * that names the section into which nvcc puts it. */
static bool holds_images(const char *path) {
  static const char *const names[] = {".fatbin", ".cubin", ".ptx", ".ptx.zst", NULL};
  static const char section[] = ".nv_fatbin", archive[] = "!<arch>\n", elf[] = "\177ELF";
  char start[8] = {0};
  if (ends_with_any(path, names))
    return true;
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(start, 1, sizeof start, file) : 0;
  if (file)
    fclose(file);
  if (got < sizeof start ||
      (memcmp(start, archive, sizeof archive - 1) != 0 && memcmp(start, elf, sizeof elf - 1) != 0))
    return false;
  bf_text text = {0};
  bool holds = bf_read_file(path, SIZE_MAX, &text, NULL) == BF_OK &&
               memmem(text.data, text.size, section, sizeof section) != NULL;
  bf_text_free(&text);
  return holds;
}

/* ---- Sources that PTX names ---- */

/* Adds the sources that the line information of PTX names, as far as they are there: launches of
 * its kernels may stand in them. */
static int add_named_sources(scan_files *files, const char *path, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  if (bf_read_file(path, SIZE_MAX, &text, NULL) != BF_OK)
    return BF_OK; /* who opens it says why */
  int error = BF_OK;
  for (const char *at = text.data; !error && at && (at = strstr(at, ".file")); at++) {
    const char *open = at + strcspn(at, "\"\n"), *name = open + 1;
    size_t length = *open == '"' ? strcspn(name, "\"\n") : 0;
    char file[PATH_MAX];
    if (*open != '"' || length >= sizeof file || *name != '/')
      continue;
    snprintf(file, sizeof file, "%.*s", (int)length, name);
    bool is_of_system = strncmp(file, "/usr/", 5) == 0;
    if (!is_of_system && !scan_add_source(files, file))
      error = bf_no_memory(diagnostic);
  }
  bf_text_free(&text);
  return error;
}

/* ---- Wheels ---- */

/* Unpacks a wheel or another zip archive by Python, which those who have wheels have. */
static int unpack(scan_files *files, const char *path, char folder[PATH_MAX],
                  bf_diagnostic *diagnostic) {
  char python[PATH_MAX];
  if (!files->unpacked[0])
    BF_TRY(bf_process_make_folder(files->unpacked, diagnostic));
  if (!bf_process_find("python3", NULL, python, sizeof python))
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, path,
                        "python3, which unpacks wheels, was not "
                        "found");
  if (snprintf(folder, PATH_MAX, "%.*s/%u", PATH_MAX - 32, files->unpacked, ++files->wheels) < 0)
    return BF_IO;
  const char *arguments[] = {python, "-m", "zipfile", "-e", path, folder, NULL};
  bf_process run = {.path = python, .arguments = (char **)arguments, .keeps_output = true};
  bf_process_end end;
  BF_TRY(bf_process_run(&run, &end, diagnostic));
  bool is_good = end.status == 0;
  bf_process_end_free(&end);
  return is_good ? BF_OK : bf_fail_file(diagnostic, BF_BAD_INPUT, path, "it cannot be unpacked");
}

static int remove_entry(const char *path, const struct stat *status, int flag, struct FTW *ftw) {
  (void)status, (void)flag, (void)ftw;
  return remove(path);
}

void scan_files_free(scan_files *files) {
  if (files->unpacked[0])
    nftw(files->unpacked, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  free(files->unit);
  free(files->source);
}

/* ---- Walking ---- */

static int visit(scan_files *files, const char *shown, const char *file, unsigned depth,
                 bool is_named, bf_diagnostic *diagnostic);

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in a folder, in order; those that start with a dot are left out. */
static int list_folder(const char *folder, bf_arena *arena, char ***names, size_t *count,
                       bf_diagnostic *diagnostic) {
  DIR *directory = opendir(folder);
  size_t capacity = 0;
  *names = NULL;
  *count = 0;
  if (!directory)
    return bf_fail_file(diagnostic, BF_IO, folder, "cannot open the folder");
  int error = BF_OK;
  for (struct dirent *entry; !error && (entry = readdir(directory));) {
    if (entry->d_name[0] == '.')
      continue;
    if (*count == capacity) {
      capacity = capacity ? 2 * capacity : 32;
      char **larger = realloc(*names, capacity * sizeof *larger);
      if (!larger)
        error = bf_no_memory(diagnostic);
      else
        *names = larger;
    }
    if (!error && !((*names)[*count] = bf_arena_copy(arena, entry->d_name)))
      error = bf_no_memory(diagnostic);
    *count += !error;
  }
  closedir(directory);
  if (!error)
    qsort(*names, *count, sizeof **names, compare_names);
  return error;
}

/* Lists what cannot be searched with the reason, where it was found in a folder. */
static int keep_fault(scan_files *files, const char *shown, int error, bf_diagnostic *diagnostic) {
  if (error == BF_OK || error == BF_NO_MEMORY)
    return error;
  scan_unit *own = scan_add_unit(files, shown, shown, SCAN_IMAGES);
  const char *fault = bf_arena_copy(files->arena, diagnostic->message);
  if (!own || !fault)
    return bf_no_memory(diagnostic);
  own->fault = fault;
  return BF_OK;
}

/* The sources of the compile_commands.json of a folder that is named, as one that a project is
 * built in. */
static int add_build(scan_files *files, const char *shown, const char *folder,
                     bf_diagnostic *diagnostic) {
  static const char list[] = "compile_commands.json";
  char file[PATH_MAX], name[PATH_MAX];
  bool fits = snprintf(file, sizeof file, "%s/%s", folder, list) < (int)sizeof file &&
              snprintf(name, sizeof name, "%s/%s", shown, list) < (int)sizeof name;
  if (!fits || access(file, F_OK) != 0)
    return BF_OK;
  return keep_fault(files, name, scan_read_commands(files, file, diagnostic), diagnostic);
}

/* Whether a source is listed already, with the command that compiles it. */
static bool has_command(const scan_files *files, const char *file) {
  char path[PATH_MAX];
  bool is_known = false, is_resolved = realpath(file, path) != NULL;
  for (size_t i = 0; i < files->units && is_resolved && !is_known; i++)
    is_known = files->unit[i].command && strcmp(files->unit[i].file, path) == 0;
  return is_known;
}

/* What is in a folder; symbolic links to folders are not followed. */
static int visit_folder(scan_files *files, const char *shown, const char *folder, unsigned depth,
                        bf_diagnostic *diagnostic) {
  char **names;
  size_t count;
  int error = list_folder(folder, files->arena, &names, &count, diagnostic);
  if (!error && depth == 0)
    error = add_build(files, shown, folder, diagnostic);
  for (size_t i = 0; !error && i < count; i++) {
    char inner[PATH_MAX], name[PATH_MAX];
    struct stat status;
    bool fits = snprintf(inner, sizeof inner, "%s/%s", folder, names[i]) < (int)sizeof inner &&
                snprintf(name, sizeof name, "%s/%s", shown, names[i]) < (int)sizeof name;
    if (!fits || stat(inner, &status) != 0 ||
        (S_ISDIR(status.st_mode) && (lstat(inner, &status) != 0 || S_ISLNK(status.st_mode))))
      continue;
    error = visit(files, name, inner, depth + 1, false, diagnostic);
    error = keep_fault(files, name, error, diagnostic);
  }
  free(names);
  return error;
}

static int visit(scan_files *files, const char *shown, const char *file, unsigned depth,
                 bool is_named, bf_diagnostic *diagnostic) {
  static const char *const headers[] = {".cuh", ".h", ".hpp", ".cpp", ".cc", ".cxx", ".inl", NULL};
  static const char *const archives[] = {".whl", ".zip", NULL};
  struct stat status;
  if (stat(file, &status) != 0)
    return bf_fail_file(diagnostic, BF_IO, shown, "cannot be found");
  if (S_ISDIR(status.st_mode))
    return depth < MOST_DEPTH ? visit_folder(files, shown, file, depth, diagnostic) : BF_OK;
  if (!S_ISREG(status.st_mode))
    return BF_OK;
  if (is_named && scan_ends_with(file, ".json"))
    return scan_read_commands(files, file, diagnostic);
  bool is_source = scan_ends_with(file, ".cu");
  if ((is_source || ends_with_any(file, headers)) && !scan_add_source(files, file))
    return bf_no_memory(diagnostic);
  if (ends_with_any(file, archives)) {
    char folder[PATH_MAX];
    BF_TRY(unpack(files, file, folder, diagnostic));
    return visit_folder(files, shown, folder, depth, diagnostic);
  }
  if (is_named ? false : is_source ? has_command(files, file) : !holds_images(file))
    return BF_OK;
  scan_unit *own = scan_add_unit(files, shown, file, is_source ? SCAN_SOURCE : SCAN_IMAGES);
  if (!own)
    return bf_no_memory(diagnostic);
  own->is_named = is_named;
  return scan_ends_with(file, ".ptx") ? add_named_sources(files, file, diagnostic) : BF_OK;
}

int scan_find(scan_files *files, const char *path, bf_diagnostic *diagnostic) {
  return visit(files, path, path, 0, true, diagnostic);
}
