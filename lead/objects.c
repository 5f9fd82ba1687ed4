/* The objects of the process: looked through before any other code runs, and again whenever more
 * are loaded. */
#include "lead.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the program itself. */
static const char own_path[] = "/proc/self/exe";

/* ---- One object ---- */

/* Says what cannot be done about an object. */
static void complain(const char *path, const bf_cuda_file *file) {
  char own[PATH_MAX] = {0};
  if (strcmp(path, own_path) == 0 && readlink(path, own, sizeof own - 1) > 0)
    path = own;
  if (file->hides_runtime)
    lead_say(
        "%s is stripped and seems to hold the CUDA runtime itself, so that its calls cannot be "
        "found: do not strip it, or build it with nvcc -cudart shared",
        path);
}

/* Leads what is to be led in an object. */
static void examine(const lead_object *object) {
  bf_cuda_file file;
  const lead_library *silent;
  bf_cuda_file_read(&object->elf, &file);
  if (lead_is_library(object->path, &silent)) {
    if (silent)
      lead_say("%s (%s): %s", silent->name, object->path, silent->advice);
    lead_patch(object, 0);
  } else if (file.runtime)
    lead_patch(object, file.runtime);
  else
    complain(object->path, &file);
}

/* Opens the file of an object and looks into it. */
static void open_object(const char *path, uint64_t address) {
  struct stat status;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return; /* e.g. of the kernel */
  size_t size = fstat(descriptor, &status) == 0 ? (size_t)status.st_size : 0;
  void *bytes = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (bytes == MAP_FAILED)
    return;
  lead_object object = {.path = path, .address = address};
  if (bf_elf_open(bytes, size, &object.elf) && object.elf.header->e_machine == EM_X86_64)
    examine(&object);
  munmap(bytes, size);
}

/* ---- All objects ---- */

/* An object that was looked at. */
typedef struct seen {
  struct seen *next;
  uint64_t address;
  bool is_there;
  char path[];
} seen;

/* Those of the process. The loader's lock is held by whoever uses it. */
static seen *all;
static char own_folder[PATH_MAX];

/* Whether a file is one of Bankfold's libraries, which are beside this one or below. */
static bool is_own(const char *path) { return strncmp(path, own_folder, strlen(own_folder)) == 0; }

/* dl_iterate_phdr's: looks at an object for the first time. */
static int visit(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size, (void)context;
  const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : own_path;
  for (seen *s = all; s; s = s->next)
    if (s->address == info->dlpi_addr && strcmp(s->path, path) == 0) {
      s->is_there = true;
      return 0;
    }
  seen *added = malloc(sizeof *added + strlen(path) + 1);
  if (!added)
    return 0;
  *added = (seen){.next = all, .address = info->dlpi_addr, .is_there = true};
  memcpy(added->path, path, strlen(path) + 1);
  all = added;
  if (!is_own(path))
    open_object(path, info->dlpi_addr);
  return 0;
}

/* Looks at objects that are new, and forgets those that are gone. */
static void look(void) {
  for (seen *s = all; s; s = s->next)
    s->is_there = false;
  dl_iterate_phdr(visit, NULL);
  for (seen **at = &all; *at;) {
    seen *s = *at;
    if (s->is_there) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    free(s);
  }
}

/* ---- Objects that are loaded later ---- */

/* What the loader calls when it has loaded or removed objects, before their code runs: debuggers
 * set a breakpoint there. */
static void on_change(void) {
  if (_r_debug.r_state == RT_CONSISTENT)
    look();
}

/* Has the loader call on_change. The function that it calls does nothing: a return, and bytes up to
 * the next function. Where it looks otherwise, it stays as it is. */
static void watch(void) {
  unsigned char code[LEAD_CODE_BYTES] = "\x49\xbb........\x41\xff"; /* mov ..., %r11; jmp *%r11 */
  unsigned char *function = (unsigned char *)(uintptr_t)_r_debug.r_brk;
  uint64_t target = (uint64_t)(uintptr_t)on_change;
  size_t begin = function && memcmp(function, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0; /* endbr64 */
  if (!function || (uintptr_t)function % 16 != 0 || function[begin] != 0xc3)
    return;
  memcpy(code + 2, &target, sizeof target);
  code[12] = 0xe3;
  lead_write(function, code, sizeof code);
}

/* Runs before the code of every other object: the library is linked with -z initfirst. The C
 * library does not know the environment yet. */
__attribute__((constructor)) static void begin(int count, char **arguments, char **environment) {
  (void)count, (void)arguments;
  Dl_info own;
  if (!environ)
    environ = environment;
  if (!dladdr((const void *)begin, &own) || !own.dli_fname || !strrchr(own.dli_fname, '/') ||
      strlen(own.dli_fname) >= sizeof own_folder)
    return;
  memcpy(own_folder, own.dli_fname, (size_t)(strrchr(own.dli_fname, '/') - own.dli_fname) + 1);
  look();
  watch();
}
