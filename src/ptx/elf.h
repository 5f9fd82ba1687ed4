/* Inside room ptx: where an ELF file may hold fat binaries. */
#ifndef BF_PTX_ELF_H
#define BF_PTX_ELF_H

#include "ptx/fatbin.h"

typedef struct bf_elf_range {
  uint64_t begin, size;
  const char *section; /* its name, or NULL for a segment; lives forever */
} bf_elf_range;

typedef struct bf_elf {
  bool is_cubin;
  bf_arch arch; /* of a cubin */
  /* Ascending and disjoint: sections, which hold modules one after another, and the rest of what
   * the file loads, in which modules may be anywhere. */
  bf_elf_range *ranges;
  size_t range_count;
} bf_elf;

bool bf_elf_is(const unsigned char *bytes, uint64_t size);
/* Reads the headers of the file; ranges are put into arena. */
int bf_elf_read(const char *name, const unsigned char *bytes, uint64_t size, bf_arena *arena,
                bf_elf *elf, bf_diagnostic *diagnostic);

#endif
