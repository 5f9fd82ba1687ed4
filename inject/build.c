/* Which build of the library this is: the build id that the linker has put into it, a digest over
 * all of its content. Other code, another id; the same code, built again, the same. */
#include "inject.h"

#include <elf.h>
#include <link.h>
#include <string.h>

/* The header of the object that this file is linked into: the linker defines it. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static size_t round_up(size_t size) { return (size + 3) & ~(size_t)3; }

/* The build id among the notes of a segment; NULL: none. */
static const unsigned char *find_id(const unsigned char *at, size_t left, size_t *size) {
  ElfW(Nhdr) note;
  while (left >= sizeof note) {
    memcpy(&note, at, sizeof note);
    size_t name = round_up(note.n_namesz), whole = sizeof note + name + round_up(note.n_descsz);
    if (whole > left)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(at + sizeof note, "GNU", 4) == 0) {
      *size = note.n_descsz;
      return at + sizeof note + name;
    }
    at += whole;
    left -= whole;
  }
  return NULL;
}

const unsigned char *inject_build_id(size_t *size) {
  const unsigned char *start = (const unsigned char *)&__ehdr_start, *id = NULL;
  for (unsigned i = 0; i < __ehdr_start.e_phnum && !id; i++) {
    ElfW(Phdr) segment;
    memcpy(&segment, start + __ehdr_start.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_NOTE)
      id = find_id(start + segment.p_vaddr, segment.p_memsz, size);
  }
  return id;
}
