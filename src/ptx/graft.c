/* Programs with other device code: new modules in a segment at the end, to which the records of the
 * program lead. Offsets and constants are those of the System V gABI. */
#include "ptx/graft.h"

#include "ptx/bytes.h"

#include <string.h>

#define RECORD_MAGIC 0x466243B1u

enum {
  RECORD_BYTES = 24,
  RECORD_ADDRESS = 8, /* where a record has the address of its module */
  MODULE_HEADER_BYTES = 16,
  PAGE_BYTES = 4096,
  SEGMENT_BYTES = 56,
  SEGMENT_LOAD = 1,
  SEGMENT_DYNAMIC = 2,
  SEGMENT_NOTE = 4,
  SEGMENT_READABLE = 4,
  DYNAMIC_BYTES = 16,
  DYNAMIC_RELOCATIONS = 7,
  DYNAMIC_RELOCATIONS_BYTES = 8,
  RELOCATION_BYTES = 24,
  FLAGS_PACKED = 0xA000, /* LZ4, zstd: bits of an image's flags (ptx/fatbin.c) */
};

static void write_u64(unsigned char *at, uint64_t value) {
  for (unsigned i = 0; i < 8; i++)
    at[i] = (unsigned char)(value >> 8 * i);
}

static void write_u32(unsigned char *at, uint32_t value) {
  for (unsigned i = 0; i < 4; i++)
    at[i] = (unsigned char)(value >> 8 * i);
}

/* A program that is being changed, in place but for what is added at its end. */
typedef struct grafting {
  const bf_fatbin *fatbin;
  const bf_graft *grafts;
  size_t count;
  unsigned char *bytes;
  uint64_t size;
  unsigned char *segments; /* program headers */
  unsigned segment_count;
  uint64_t begin, address; /* where the new segment is in the file and in memory */
  bf_text *added;          /* its content */
  bf_diagnostic *diagnostic;
} grafting;

static int refuse(const grafting *g, const char *why) {
  return bf_fail_file(g->diagnostic, BF_UNSUPPORTED, g->fatbin->name, "%s", why);
}

static unsigned char *segment_at(const grafting *g, unsigned i) {
  return g->segments + (size_t)i * SEGMENT_BYTES;
}

/* ---- Addresses ---- */

/* The address in memory of a byte of the file; false where it is not loaded. */
static bool address_of(const grafting *g, uint64_t offset, uint64_t *address) {
  for (unsigned i = 0; i < g->segment_count; i++) {
    const unsigned char *segment = segment_at(g, i);
    uint64_t begin = bf_read_u64(segment + 8), size = bf_read_u64(segment + 32);
    if (bf_read_u32(segment) == SEGMENT_LOAD && offset >= begin && offset - begin < size) {
      *address = bf_read_u64(segment + 16) + (offset - begin);
      return true;
    }
  }
  return false;
}

/* The byte of the file that has so many bytes at an address, or NULL. */
static unsigned char *byte_at(const grafting *g, uint64_t address, uint64_t bytes) {
  for (unsigned i = 0; i < g->segment_count; i++) {
    const unsigned char *segment = segment_at(g, i);
    uint64_t begin = bf_read_u64(segment + 16), size = bf_read_u64(segment + 32);
    uint64_t offset = bf_read_u64(segment + 8) + (address - begin);
    if (bf_read_u32(segment) == SEGMENT_LOAD && address >= begin &&
        bf_fits(address - begin, bytes, size) && bf_fits(offset, bytes, g->size))
      return g->bytes + offset;
  }
  return NULL;
}

/* ---- Segments ---- */

static int find_segments(grafting *g) {
  uint64_t offset = g->size >= 64 ? bf_read_u64(g->bytes + 32) : 0;
  g->segment_count = g->size >= 64 ? bf_read_u16(g->bytes + 56) : 0;
  if (g->size < 64 || memcmp(g->bytes, "\177ELF\2\1", 6) != 0)
    return refuse(g, "only 64-bit little-endian ELF programs are changed");
  if (bf_read_u16(g->bytes + 54) != SEGMENT_BYTES || g->segment_count == 0 ||
      !bf_fits(offset, (uint64_t)g->segment_count * SEGMENT_BYTES, g->size))
    return refuse(g, "it has no program headers: only linked programs and libraries are changed");
  g->segments = g->bytes + offset;
  return BF_OK;
}

/* Where the new segment goes: behind all others, on a page of its own. */
static void place_segment(grafting *g) {
  uint64_t end = 0;
  for (unsigned i = 0; i < g->segment_count; i++) {
    const unsigned char *segment = segment_at(g, i);
    uint64_t own_end = bf_read_u64(segment + 16) + bf_read_u64(segment + 40);
    if (bf_read_u32(segment) == SEGMENT_LOAD && own_end > end)
      end = own_end;
  }
  /* A gap, as systems with pages of up to 64 KiB may load the program. */
  enum { GAP_BYTES = 65536 };
  g->begin = (g->size + GAP_BYTES - 1) / GAP_BYTES * GAP_BYTES;
  g->address = (end + GAP_BYTES - 1) / GAP_BYTES * GAP_BYTES;
}

/* Takes the header of a note, which programs do without, for the new segment. Segments that are
 * loaded stand in the order of their addresses: it comes behind the last of them. */
static int add_segment(grafting *g) {
  unsigned note = g->segment_count, last = 0;
  for (unsigned i = 0; i < g->segment_count; i++) {
    if (bf_read_u32(segment_at(g, i)) == SEGMENT_NOTE)
      note = i;
    else if (bf_read_u32(segment_at(g, i)) == SEGMENT_LOAD)
      last = i;
  }
  if (note == g->segment_count)
    return refuse(g, "it has no program header of a note, whose place new code could take");
  if (note > last) {
    last++;
    memmove(segment_at(g, last + 1), segment_at(g, last), (size_t)(note - last) * SEGMENT_BYTES);
  } else {
    memmove(segment_at(g, note), segment_at(g, note + 1), (size_t)(last - note) * SEGMENT_BYTES);
  }
  unsigned char *own = segment_at(g, last);
  write_u32(own, SEGMENT_LOAD);
  write_u32(own + 4, SEGMENT_READABLE);
  write_u64(own + 8, g->begin);
  write_u64(own + 16, g->address);
  write_u64(own + 24, g->address);
  write_u64(own + 32, g->added->size);
  write_u64(own + 40, g->added->size);
  write_u64(own + 48, PAGE_BYTES);
  return BF_OK;
}

/* ---- Records ---- */

/* The relocation of the address at a place in memory, or NULL. */
static unsigned char *find_relocation(const grafting *g, uint64_t place) {
  uint64_t table = 0, bytes = 0;
  for (unsigned i = 0; i < g->segment_count; i++) {
    const unsigned char *segment = segment_at(g, i);
    uint64_t begin = bf_read_u64(segment + 8), size = bf_read_u64(segment + 32);
    if (bf_read_u32(segment) != SEGMENT_DYNAMIC || !bf_fits(begin, size, g->size))
      continue;
    for (uint64_t at = 0; at + DYNAMIC_BYTES <= size; at += DYNAMIC_BYTES) {
      const unsigned char *entry = g->bytes + begin + at;
      if (bf_read_u64(entry) == DYNAMIC_RELOCATIONS)
        table = bf_read_u64(entry + 8);
      else if (bf_read_u64(entry) == DYNAMIC_RELOCATIONS_BYTES)
        bytes = bf_read_u64(entry + 8);
    }
  }
  unsigned char *first = table ? byte_at(g, table, bytes) : NULL;
  for (uint64_t at = 0; first && at + RELOCATION_BYTES <= bytes; at += RELOCATION_BYTES)
    if (bf_read_u64(first + at) == place)
      return first + at;
  return NULL;
}

/* Leads the records of a module, which was at one address, to another; how many there are. */
static unsigned move_records(grafting *g, uint64_t from, uint64_t to) {
  unsigned moved = 0;
  for (uint64_t offset = 0; bf_fits(offset, RECORD_BYTES, g->size); offset += 8) {
    unsigned char *record = g->bytes + offset;
    uint64_t place;
    if (bf_read_u32(record) != RECORD_MAGIC || !address_of(g, offset, &place))
      continue;
    unsigned char *relocation = find_relocation(g, place + RECORD_ADDRESS);
    bool is_own = bf_read_u64(record + RECORD_ADDRESS) == from;
    if (relocation)
      is_own = bf_read_u64(relocation + 16) == from;
    if (!is_own)
      continue;
    write_u64(record + RECORD_ADDRESS, to);
    if (relocation)
      write_u64(relocation + 16, to);
    moved++;
  }
  return moved;
}

/* ---- Modules ---- */

static const bf_text *graft_of(const grafting *g, const bf_image *image) {
  for (size_t i = 0; i < g->count; i++)
    if (g->grafts[i].image == image)
      return g->grafts[i].ptx;
  return NULL;
}

/* Adds an image of PTX: its header as it was, but for sizes and packing. */
static int add_image(grafting *g, const bf_image *image) {
  bf_text old = {0};
  const bf_text *ptx = graft_of(g, image);
  if (!ptx) {
    BF_TRY(bf_fatbin_text(g->fatbin, image, &old, g->diagnostic));
    ptx = &old;
  }
  uint64_t header_bytes = image->payload - image->offset, stored = (ptx->size + 8) / 8 * 8;
  size_t header = g->added->size;
  bf_text_add(g->added, (const char *)g->fatbin->bytes + image->offset, header_bytes);
  bf_text_add(g->added, ptx->data ? ptx->data : "", ptx->size);
  bf_text_add(g->added, "\0\0\0\0\0\0\0", stored - ptx->size);
  bf_text_free(&old);
  if (g->added->failed)
    return bf_no_memory(g->diagnostic);
  unsigned char *own = (unsigned char *)g->added->data + header;
  write_u64(own + 8, stored);
  write_u32(own + 16, 0);
  write_u64(own + 40, image->flags & ~(uint64_t)FLAGS_PACKED);
  write_u64(own + 56, 0);
  return BF_OK;
}

/* Adds the module with the PTX that it has then, and leads its records there. first is one of its
 * images: the first. */
static int add_module(grafting *g, size_t first) {
  const bf_image *images = g->fatbin->images;
  size_t header = g->added->size;
  uint64_t from, to = g->address + header;
  uint64_t offset = images[first].offset - MODULE_HEADER_BYTES;
  if (images[first].offset < MODULE_HEADER_BYTES ||
      !bf_fatbin_module_bytes(g->fatbin->bytes + offset) || !address_of(g, offset, &from))
    return refuse(g, "its device code is not where programs have it");
  bf_text_add(g->added, (const char *)g->fatbin->bytes + offset, MODULE_HEADER_BYTES);
  for (size_t i = first; i < g->fatbin->image_count && images[i].module == images[first].module;
       i++)
    if (images[i].kind == BF_IMAGE_PTX)
      BF_TRY(add_image(g, &images[i]));
  if (g->added->failed)
    return bf_no_memory(g->diagnostic);
  write_u64((unsigned char *)g->added->data + header + 8,
            g->added->size - header - MODULE_HEADER_BYTES);
  return move_records(g, from, to) ? BF_OK
                                   : refuse(g, "no record leads to its device code: nvcc -rdc=true "
                                               "linked it, or it was replaced before");
}

/* Adds all modules with an image that is named. */
static int add_modules(grafting *g) {
  const bf_image *images = g->fatbin->images;
  for (size_t first = 0, end; first < g->fatbin->image_count; first = end) {
    bool is_named = false;
    for (end = first; end < g->fatbin->image_count && images[end].module == images[first].module;
         end++)
      is_named |= graft_of(g, &images[end]) != NULL;
    if (is_named)
      BF_TRY(add_module(g, first));
  }
  return BF_OK;
}

int bf_graft_program(const bf_fatbin *fatbin, const bf_graft *grafts, size_t count,
                     bf_text *program, bf_diagnostic *diagnostic) {
  static const char zeros[64];
  bf_text added = {0};
  bf_text_add(program, (const char *)fatbin->bytes, fatbin->size);
  if (program->failed)
    return bf_no_memory(diagnostic);
  grafting g = {.fatbin = fatbin,
                .grafts = grafts,
                .count = count,
                .bytes = (unsigned char *)program->data,
                .size = program->size,
                .added = &added,
                .diagnostic = diagnostic};
  int error = find_segments(&g);
  if (!error)
    place_segment(&g);
  if (!error)
    error = add_modules(&g);
  if (!error)
    error = add_segment(&g);
  while (!error && !program->failed && program->size < g.begin)
    bf_text_add(program, zeros,
                g.begin - program->size < sizeof zeros ? g.begin - program->size : sizeof zeros);
  if (!error)
    bf_text_add(program, added.data, added.size);
  bf_text_free(&added);
  return error ? error : program->failed ? bf_no_memory(diagnostic) : BF_OK;
}
