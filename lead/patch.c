/* Writing jumps over the functions of an object. */
#include "lead.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Names of the runtime, sorted as strcmp does. */
static const char *const known[] = {
#define X(name) #name,
#include "runtime/names.def"
#undef X
};
static const char *const known_12[] = {
#define X(name) #name,
#include "runtime/names_12.def"
#undef X
};
static const char *const known_11[] = {
#define X(name) #name,
#include "runtime/names_11.def"
#undef X
};

static int compare_names(const void *name, const void *entry) {
  return strcmp(name, *(const char *const *)entry);
}

#define IS_IN(name, list)                                                                          \
  (bsearch(name, list, sizeof list / sizeof *(list), sizeof *(list), compare_names) != NULL)

/* ---- What there is to lead ---- */

/* A function of the object; entry.name is empty where it stays as it is. */
typedef struct place {
  uint64_t address; /* in the file */
  bool may_be_runtime, is_known;
  lead_entry entry;
} place;

typedef struct places {
  place *place;
  size_t count, capacity;
  bool failed;
  unsigned runtime;
  uint64_t first, last; /* known functions of the runtime */
} places;

/* Whether a name is like those of the runtime's interface. Functions inside the runtime of CUDA 11
 * are called __cudart1670 and the like; among them are those that run before main. */
static bool is_like_runtime(const char *name) {
  return strncmp(name, "cuda", 4) == 0 ||
         (strncmp(name, "__cuda", 6) == 0 && strncmp(name, "__cudart", 8) != 0);
}

/* bf_elf_visit: notes every function, because what follows a function says how much room it has. */
static void note(void *context, const Elf64_Sym *symbol, const char *name) {
  places *all = context;
  if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
    return;
  if (all->count == all->capacity) {
    size_t capacity = all->capacity ? 2 * all->capacity : 1024;
    place *larger = realloc(all->place, capacity * sizeof *larger);
    if (!larger) {
      all->failed = true;
      return;
    }
    all->place = larger;
    all->capacity = capacity;
  }
  place *to = &all->place[all->count++];
  *to = (place){.address = symbol->st_value, .entry = {.name = name}};
  to->may_be_runtime = all->runtime && is_like_runtime(name);
  to->is_known =
      to->may_be_runtime && (IS_IN(name, known) || IS_IN(name, known_12) || IS_IN(name, known_11));
  to->entry.library = lead_library_of(name);
  if (to->is_known && (!all->first || to->address < all->first))
    all->first = to->address;
  if (to->is_known && to->address > all->last)
    all->last = to->address;
}

static int compare_places(const void *left, const void *right) {
  const place *a = left, *b = right;
  if (a->address != b->address)
    return a->address < b->address ? -1 : 1;
  return (int)b->is_known - (int)a->is_known;
}

/* Whether a function is led away: one of the runtime, known or between those that are, or one that
 * starts a library. Functions of the program may have names like those of the runtime. */
static bool is_led(const places *all, const place *function) {
  bool between = function->address >= all->first && function->address <= all->last;
  return function->entry.library || function->is_known || (function->may_be_runtime && between);
}

/* ---- Writing ---- */

/* mov $entry, %r11; jmp *(%r11) */
static void make_code(const lead_entry *entry, unsigned char code[LEAD_CODE_BYTES]) {
  uint64_t address = (uint64_t)(uintptr_t)entry;
  memcpy(code, "\x49\xbb", 2);
  memcpy(code + 2, &address, sizeof address);
  memcpy(code + 10, "\x41\xff\x23", 3);
}

bool lead_write(void *address, const void *code, size_t bytes) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = (uintptr_t)address & ~(page - 1);
  uintptr_t end = ((uintptr_t)address + bytes + page - 1) & ~(page - 1);
  if (mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return false;
  memcpy(address, code, bytes);
  return mprotect((void *)begin, end - begin, PROT_READ | PROT_EXEC) == 0;
}

/* Whether memory holds what the file does at the address of a function. */
static bool is_unchanged(const lead_object *object, uint64_t address) {
  const Elf64_Phdr *segment = bf_elf_segment(&object->elf, address, LEAD_CODE_BYTES);
  if (!segment || !(segment->p_flags & PF_X))
    return false;
  const void *stored =
      bf_elf_part(&object->elf, segment->p_offset + (address - segment->p_vaddr), LEAD_CODE_BYTES);
  return stored &&
         memcmp((const void *)(uintptr_t)(object->address + address), stored, LEAD_CODE_BYTES) == 0;
}

/* The address of the function that a library has in place of one; NULL where there is none. */
static const void *find_instead(const lead_object *object, const places *all,
                                const lead_library *library) {
  for (size_t i = 0; library && library->instead && i < all->count; i++)
    if (strcmp(all->place[i].entry.name, library->instead) == 0)
      return (const void *)(uintptr_t)(object->address + all->place[i].address);
  return NULL;
}

/* Keeps an entry where sanitizers see that it is in use: the code that names it is no place where
 * they look for addresses. */
static void keep(lead_entry *entry) {
  static lead_entry *last;
  entry->next = __atomic_load_n(&last, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&last, &entry->next, entry, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
}

/* Leads one function away; the entry lives as long as the process. */
static bool lead(const lead_object *object, const places *all, const place *function, uint64_t room,
                 unsigned runtime) {
  const void *instead = find_instead(object, all, function->entry.library);
  unsigned char code[LEAD_CODE_BYTES];
  lead_entry *entry = malloc(sizeof *entry);
  char *name = strdup(function->entry.name);
  if (!entry || !name || room < sizeof code || !is_unchanged(object, function->address)) {
    free(entry);
    free(name);
    return false;
  }
  *entry = (lead_entry){instead ? instead : (const void *)lead_first_call, name, runtime,
                        function->entry.library, NULL};
  keep(entry);
  make_code(entry, code);
  return lead_write((void *)(uintptr_t)(object->address + function->address), code, sizeof code);
}

void lead_patch(const lead_object *object, unsigned runtime) {
  places all = {.runtime = runtime};
  bf_elf_symbols(&object->elf, SHT_SYMTAB, note, &all);
  if (!all.count)
    bf_elf_symbols(&object->elf, SHT_DYNSYM, note, &all);
  if (all.count)
    qsort(all.place, all.count, sizeof *all.place, compare_places);
  bool is_good = !all.failed;
  for (size_t i = 0; i < all.count && is_good; i++) {
    size_t next = i + 1; /* the first function behind it */
    while (next < all.count && all.place[next].address == all.place[i].address)
      next++;
    uint64_t room =
        next < all.count ? all.place[next].address - all.place[i].address : LEAD_CODE_BYTES;
    if (!is_led(&all, &all.place[i]) || (i > 0 && all.place[i - 1].address == all.place[i].address))
      continue; /* the same code under another name is led already */
    is_good = lead(object, &all, &all.place[i], room, runtime);
    if (!is_good)
      lead_say("%s: the calls of %s cannot be led to Bankfold's runtime", object->path,
               all.place[i].entry.name);
  }
  free(all.place);
  if (!is_good && runtime)
    _exit(127); /* what follows could only be NVIDIA's runtime without a GPU */
}
