/* ELF: just enough to find fat binaries. Offsets and constants are those of the System V gABI. */
#include "ptx/elf.h"

#include "ptx/bytes.h"

#include <stdlib.h>
#include <string.h>

enum {
  HEADER_BYTES = 64,
  SECTION_BYTES = 64,
  SEGMENT_BYTES = 56,
  MACHINE_CUDA = 190,
  SECTION_NOBITS = 8,
  SECTION_COMPRESSED = 0x800, /* in the flags */
  SEGMENT_LOAD = 1,
  EXTENDED_INDEX = 0xFFFF,
};

/* A file being read. */
typedef struct reader {
  const char *name;
  const unsigned char *bytes;
  uint64_t size;
  bf_diagnostic *diagnostic;
} reader;

bool bf_elf_is(const unsigned char *bytes, uint64_t size) {
  return size >= 4 && memcmp(bytes, "\177ELF", 4) == 0;
}

/* ---- Ranges ---- */

typedef struct range_list {
  bf_elf_range *ranges;
  size_t count;
} range_list;

static int compare_ranges(const void *left, const void *right) {
  uint64_t a = ((const bf_elf_range *)left)->begin, b = ((const bf_elf_range *)right)->begin;
  return a < b ? -1 : a > b;
}

/* Sorts sections, which must not overlap: each byte belongs to one image. */
static int order_sections(const reader *r, range_list *sections) {
  bf_elf_range *ranges = sections->ranges;
  qsort(ranges, sections->count, sizeof *ranges, compare_ranges);
  for (size_t i = 1; i < sections->count; i++)
    if (ranges[i].begin < ranges[i - 1].begin + ranges[i - 1].size)
      return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, ranges[i].begin,
                          "section %s overlaps section %s", ranges[i].section,
                          ranges[i - 1].section);
  return BF_OK;
}

/* Sorts segments and joins those that overlap, so that no byte is searched twice. */
static void merge_segments(range_list *segments) {
  qsort(segments->ranges, segments->count, sizeof *segments->ranges, compare_ranges);
  size_t kept = 0;
  for (size_t i = 0; i < segments->count; i++) {
    bf_elf_range next = segments->ranges[i];
    bf_elf_range *last = kept ? &segments->ranges[kept - 1] : NULL;
    if (!last || next.begin > last->begin + last->size)
      segments->ranges[kept++] = next;
    else if (next.begin + next.size > last->begin + last->size)
      last->size = next.begin + next.size - last->begin;
  }
  segments->count = kept;
}

/* Appends the section and the part of [*from, ...) before it; *from moves behind the section. */
static void add_around(bf_elf *elf, const bf_elf_range *section, uint64_t *from) {
  if (*from < section->begin) {
    bf_elf_range before = {*from, section->begin - *from, NULL};
    elf->ranges[elf->range_count++] = before;
  }
  elf->ranges[elf->range_count++] = *section;
  if (*from < section->begin + section->size)
    *from = section->begin + section->size;
}

/* The sections, and the segments with the sections cut out, by offset. */
static int combine(const reader *r, const range_list *sections, const range_list *segments,
                   bf_arena *arena, bf_elf *elf) {
  size_t most = segments->count + 2 * sections->count, next = 0;
  uint64_t covered = 0;
  elf->ranges = bf_arena_alloc(arena, most * sizeof *elf->ranges);
  if (!elf->ranges)
    return bf_no_memory(r->diagnostic);
  for (size_t i = 0; i < segments->count; i++) {
    uint64_t end = segments->ranges[i].begin + segments->ranges[i].size;
    uint64_t from = segments->ranges[i].begin > covered ? segments->ranges[i].begin : covered;
    while (next < sections->count && sections->ranges[next].begin < end) {
      add_around(elf, &sections->ranges[next++], &from);
      covered = from;
    }
    if (from < end) {
      bf_elf_range rest = {from, end - from, NULL};
      elf->ranges[elf->range_count++] = rest;
    }
  }
  while (next < sections->count)
    elf->ranges[elf->range_count++] = sections->ranges[next++];
  return BF_OK;
}

/* ---- Sections ---- */

typedef struct section_table {
  uint64_t offset, count;
  uint64_t names, names_size; /* the section with the names of sections */
} section_table;

static const unsigned char *section_at(const reader *r, const section_table *table, uint64_t i) {
  return r->bytes + table->offset + i * SECTION_BYTES;
}

/* Finds the section headers; count is 0 where the file has none. Counts that do not fit the ELF
 * header are in section 0. */
static int find_sections(const reader *r, section_table *table) {
  memset(table, 0, sizeof *table);
  table->offset = bf_read_u64(r->bytes + 40);
  uint64_t count = bf_read_u16(r->bytes + 60);
  uint64_t names = bf_read_u16(r->bytes + 62);
  if (table->offset == 0)
    return BF_OK;
  if (bf_read_u16(r->bytes + 58) != SECTION_BYTES ||
      !bf_fits(table->offset, SECTION_BYTES, r->size))
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, 40,
                        "no section headers at byte %llu; the file is cut off or damaged",
                        (unsigned long long)table->offset);
  if (count == 0)
    count = bf_read_u64(section_at(r, table, 0) + 32);
  if (names == EXTENDED_INDEX)
    names = bf_read_u32(section_at(r, table, 0) + 40);
  if (count > (r->size - table->offset) / SECTION_BYTES)
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, table->offset,
                        "%llu section headers reach past the end of the file",
                        (unsigned long long)count);
  if (names >= count)
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, 62,
                        "the section with the names is number %llu of %llu",
                        (unsigned long long)names, (unsigned long long)count);
  const unsigned char *header = section_at(r, table, names);
  table->names = bf_read_u64(header + 24);
  table->names_size = bf_read_u64(header + 32);
  if (!bf_fits(table->names, table->names_size, r->size))
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, table->offset + names * SECTION_BYTES,
                        "the names of sections lie past the end of the file");
  table->count = count;
  return BF_OK;
}

/* The name of a section where it is one that holds modules, else NULL. __nv_relfatbin holds those
 * of nvcc -rdc=true, which wait for the device linker. */
static const char *fatbin_section(const reader *r, const section_table *table,
                                  const unsigned char *header) {
  static const char *const known[] = {".nv_fatbin", "__nv_relfatbin"};
  uint64_t name = bf_read_u32(header);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint64_t size = strlen(known[i]) + 1;
    if (bf_fits(name, size, table->names_size) &&
        memcmp(r->bytes + table->names + name, known[i], size) == 0)
      return known[i];
  }
  return NULL;
}

static int add_section(const reader *r, const unsigned char *header, const char *section,
                       range_list *sections) {
  bf_elf_range range = {bf_read_u64(header + 24), bf_read_u64(header + 32), section};
  uint64_t at = (uint64_t)(header - r->bytes);
  if (bf_read_u32(header + 4) == SECTION_NOBITS || range.size == 0)
    return BF_OK;
  if (!bf_fits(range.begin, range.size, r->size))
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, at,
                        "section %s (byte %llu, %llu bytes) reaches past the end of the file",
                        section, (unsigned long long)range.begin, (unsigned long long)range.size);
  if (bf_read_u64(header + 8) & SECTION_COMPRESSED)
    return bf_fail_byte(r->diagnostic, BF_UNSUPPORTED, r->name, at,
                        "section %s is compressed as a whole; decompress it first (objcopy "
                        "--decompress-debug-sections)",
                        section);
  sections->ranges[sections->count++] = range;
  return BF_OK;
}

/* Lists the sections that hold modules. */
static int list_sections(const reader *r, bf_arena *arena, range_list *sections) {
  section_table table;
  int error = find_sections(r, &table);
  if (error)
    return error;
  uint64_t count = 0;
  for (uint64_t i = 0; i < table.count; i++)
    count += fatbin_section(r, &table, section_at(r, &table, i)) != NULL;
  sections->ranges = bf_arena_alloc(arena, count * sizeof *sections->ranges);
  if (!sections->ranges)
    return bf_no_memory(r->diagnostic);
  for (uint64_t i = 0; i < table.count && !error; i++) {
    const unsigned char *header = section_at(r, &table, i);
    const char *section = fatbin_section(r, &table, header);
    if (section)
      error = add_section(r, header, section, sections);
  }
  return !error ? order_sections(r, sections) : error;
}

/* ---- Segments ---- */

/* Lists what the file loads into memory. */
static int list_segments(const reader *r, bf_arena *arena, range_list *segments) {
  uint64_t offset = bf_read_u64(r->bytes + 32), count = bf_read_u16(r->bytes + 56);
  if (offset == 0 || count == 0)
    return BF_OK;
  if (bf_read_u16(r->bytes + 54) != SEGMENT_BYTES || !bf_fits(offset, 0, r->size) ||
      count > (r->size - offset) / SEGMENT_BYTES)
    return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, 32,
                        "%llu program headers at byte %llu reach past the end of the file",
                        (unsigned long long)count, (unsigned long long)offset);
  segments->ranges = bf_arena_alloc(arena, count * sizeof *segments->ranges);
  if (!segments->ranges)
    return bf_no_memory(r->diagnostic);
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *header = r->bytes + offset + i * SEGMENT_BYTES;
    bf_elf_range range = {bf_read_u64(header + 8), bf_read_u64(header + 32), NULL};
    if (bf_read_u32(header) != SEGMENT_LOAD)
      continue;
    if (!bf_fits(range.begin, range.size, r->size))
      return bf_fail_byte(r->diagnostic, BF_BAD_INPUT, r->name, (uint64_t)(header - r->bytes),
                          "a segment (byte %llu, %llu bytes) reaches past the end of the file",
                          (unsigned long long)range.begin, (unsigned long long)range.size);
    segments->ranges[segments->count++] = range;
  }
  merge_segments(segments);
  return BF_OK;
}

/* ---- The whole ---- */

/* The architecture of a cubin is in its flags: since ABI version 8 in bits 8 to 15, before in bits
 * 0 to 7 (LLVM's BinaryFormat/ELF.h, EF_CUDA_SM). */
static bf_arch cubin_arch(const unsigned char *bytes) {
  uint32_t flags = bf_read_u32(bytes + 48);
  bf_arch arch = {(bytes[8] >= 8 ? flags >> 8 : flags) & 0xFF, 0};
  return arch;
}

int bf_elf_read(const char *name, const unsigned char *bytes, uint64_t size, bf_arena *arena,
                bf_elf *elf, bf_diagnostic *diagnostic) {
  reader r = {name, bytes, size, diagnostic};
  memset(elf, 0, sizeof *elf);
  if (size < HEADER_BYTES)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, name, size, "the ELF header is cut off");
  if (bytes[4] != 2 || bytes[5] != 1)
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, name, 4,
                        "only 64-bit little-endian ELF files are read");
  elf->is_cubin = bf_read_u16(bytes + 18) == MACHINE_CUDA;
  if (elf->is_cubin) {
    elf->arch = cubin_arch(bytes);
    return BF_OK;
  }
  range_list sections = {0}, segments = {0};
  int error = list_sections(&r, arena, &sections);
  if (!error)
    error = list_segments(&r, arena, &segments);
  return !error ? combine(&r, &sections, &segments, arena, elf) : error;
}
