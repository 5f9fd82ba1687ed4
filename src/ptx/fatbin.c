/* Fat binaries: from a file to the list of its images. The file is recognised by its first bytes
 * and read whole; every offset in it is checked before it is followed. */
#include "ptx/fatbin.h"

#include "ptx/bytes.h"
#include "ptx/elf.h"
#include "ptx/ptx_text.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_MAGIC 0xBA55ED50u
#define MAX_FILE_BYTES ((uint64_t)1 << 32)

enum {
  MODULE_HEADER_BYTES = 16,
  MODULE_VERSION = 1,
  IMAGE_HEADER_BYTES = 64,
  IMAGE_VERSION = 0x0101,
  FLAG_LZ4 = 0x2000,
  FLAG_ZSTD = 0x8000,
  FLAG_ARCH_ONLY = 0x100000,   /* sm_90a */
  FLAG_ARCH_FAMILY = 0x200000, /* sm_100f */
};

const char *bf_image_kind_name(bf_image_kind kind) {
  static const char *const names[] = {"ptx", "cubin", "lto", "other"};
  return names[kind];
}

const char *bf_image_packing_name(bf_image_packing packing) {
  static const char *const names[] = {"none", "lz4", "zstd"};
  return names[packing];
}

/* Appends an image and gives it its number. */
static int add_image(bf_fatbin *fatbin, const bf_image *image, bf_diagnostic *diagnostic) {
  if (fatbin->image_count == fatbin->image_capacity) {
    size_t capacity = fatbin->image_capacity ? fatbin->image_capacity * 2 : 8;
    bf_image *images = realloc(fatbin->images, capacity * sizeof *images);
    if (!images)
      return bf_no_memory(diagnostic);
    fatbin->images = images;
    fatbin->image_capacity = capacity;
  }
  fatbin->images[fatbin->image_count] = *image;
  fatbin->images[fatbin->image_count].number = (unsigned)fatbin->image_count + 1;
  fatbin->image_count++;
  return BF_OK;
}

/* ---- Images ---- */

/* The text [offset, offset + size) of an image's header of header_bytes, into *text; NULL where it
 * is empty. what names it in messages. */
static int read_header_text(bf_fatbin *fatbin, const bf_image *image, uint64_t header_bytes,
                            uint32_t offset, uint32_t size, const char *what, const char **text,
                            bf_diagnostic *diagnostic) {
  if (size == 0)
    return BF_OK;
  if (!bf_fits(offset, size, header_bytes))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->offset,
                        "%s lies outside the header of its image", what);
  char *copy = bf_arena_alloc(&fatbin->arena, (size_t)size + 1);
  if (!copy)
    return bf_no_memory(diagnostic);
  memcpy(copy, fatbin->bytes + image->offset + offset, size);
  *text = copy;
  return BF_OK;
}

/* The name of the source and the options of ptxas. */
static int read_names(bf_fatbin *fatbin, bf_image *image, uint64_t header_bytes,
                      bf_diagnostic *diagnostic) {
  const unsigned char *header = fatbin->bytes + image->offset;
  int error = read_header_text(fatbin, image, header_bytes, bf_read_u32(header + 32),
                               bf_read_u32(header + 36), "a name", &image->identifier, diagnostic);
  uint32_t options = bf_read_u32(header + 20);
  if (error || options == 0)
    return error;
  if (!bf_fits(options, 8, header_bytes))
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->offset + 20,
                        "options lie outside the header of their image");
  return read_header_text(fatbin, image, header_bytes, bf_read_u32(header + options),
                          bf_read_u32(header + options + 4), "a list of options", &image->options,
                          diagnostic);
}

static bf_image_kind kind_of(unsigned code) {
  return code == 1   ? BF_IMAGE_PTX
         : code == 2 ? BF_IMAGE_CUBIN
         : code == 8 ? BF_IMAGE_LTO
                     : BF_IMAGE_OTHER;
}

/* How the payload is stored, from the flags and the sizes, which must agree. payload_bytes counts
 * the padding. */
static int read_packing(const bf_fatbin *fatbin, bf_image *image, uint64_t payload_bytes,
                        bf_diagnostic *diagnostic) {
  const unsigned char *header = fatbin->bytes + image->offset;
  uint64_t compressed = bf_read_u32(header + 16), bytes = bf_read_u64(header + 56);
  bool lz4 = image->flags & FLAG_LZ4, zstd = image->flags & FLAG_ZSTD;
  if (compressed > payload_bytes)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, image->offset + 16,
                        "%llu compressed bytes in a payload of %llu",
                        (unsigned long long)compressed, (unsigned long long)payload_bytes);
  if ((lz4 && zstd) || (compressed && !lz4 && !zstd))
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, fatbin->name, image->offset + 40,
                        "compressed in an unknown way (flags 0x%llx); known: LZ4 and zstd",
                        (unsigned long long)image->flags);
  image->packing = lz4 ? BF_PACKING_LZ4 : zstd ? BF_PACKING_ZSTD : BF_PACKING_NONE;
  image->stored_bytes = lz4 || zstd ? compressed : payload_bytes;
  image->bytes = lz4 || zstd ? bytes : payload_bytes;
  return BF_OK;
}

/* Reads the image at offset, which must end before `end`; *next is where the next one starts. */
static int read_image(bf_fatbin *fatbin, uint64_t offset, uint64_t end, const char *section,
                      uint64_t *next, bf_diagnostic *diagnostic) {
  const unsigned char *header = fatbin->bytes + offset;
  if (end - offset < IMAGE_HEADER_BYTES)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset,
                        "%llu bytes are left in the module, but the header of an image has %d",
                        (unsigned long long)(end - offset), IMAGE_HEADER_BYTES);
  uint64_t header_bytes = bf_read_u32(header + 4), payload_bytes = bf_read_u64(header + 8);
  if (bf_read_u16(header + 2) != IMAGE_VERSION)
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, fatbin->name, offset + 2,
                        "an image of version 0x%04x; known: 0x%04x", bf_read_u16(header + 2),
                        IMAGE_VERSION);
  if (header_bytes < IMAGE_HEADER_BYTES || header_bytes > end - offset)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset + 4,
                        "a header of %llu bytes in a module of which %llu are left",
                        (unsigned long long)header_bytes, (unsigned long long)(end - offset));
  if (payload_bytes > end - offset - header_bytes)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset + 8,
                        "a payload of %llu bytes in a module of which %llu are left",
                        (unsigned long long)payload_bytes,
                        (unsigned long long)(end - offset - header_bytes));
  bf_image image = {.kind = kind_of(bf_read_u16(header)),
                    .module = fatbin->module_count,
                    .version_major = bf_read_u16(header + 26),
                    .version_minor = bf_read_u16(header + 24),
                    .arch.sm = bf_read_u32(header + 28),
                    .flags = bf_read_u64(header + 40),
                    .offset = offset,
                    .payload = offset + header_bytes,
                    .section = section};
  image.arch.variant = image.flags & FLAG_ARCH_ONLY     ? 'a'
                       : image.flags & FLAG_ARCH_FAMILY ? 'f'
                                                        : 0;
  int error = read_packing(fatbin, &image, payload_bytes, diagnostic);
  if (!error)
    error = read_names(fatbin, &image, header_bytes, diagnostic);
  *next = image.payload + payload_bytes;
  return !error ? add_image(fatbin, &image, diagnostic) : error;
}

/* ---- Modules ---- */

uint64_t bf_fatbin_module_bytes(const void *header) {
  const unsigned char *at = header;
  uint64_t header_bytes = bf_read_u16(at + 6), bytes = bf_read_u64(at + 8);
  bool good = bf_read_u32(at) == MODULE_MAGIC && bf_read_u16(at + 4) == MODULE_VERSION &&
              header_bytes >= MODULE_HEADER_BYTES && bytes <= UINT64_MAX - header_bytes;
  return good ? header_bytes + bytes : 0;
}

/* Reads the module at offset, which must end at or before `end`; *next is behind it. */
static int read_module(bf_fatbin *fatbin, uint64_t offset, uint64_t end, const char *section,
                       uint64_t *next, bf_diagnostic *diagnostic) {
  const unsigned char *header = fatbin->bytes + offset;
  if (end - offset < MODULE_HEADER_BYTES)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset,
                        "the header of a module is cut off");
  if (bf_read_u32(header) != MODULE_MAGIC)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset,
                        "a module starts with 0x%08X, not with 0x%08X", MODULE_MAGIC,
                        bf_read_u32(header));
  uint64_t header_bytes = bf_read_u16(header + 6), bytes = bf_fatbin_module_bytes(header);
  if (bytes == 0)
    return bf_fail_byte(diagnostic, BF_UNSUPPORTED, fatbin->name, offset + 4,
                        "a module of version %u with a header of %u bytes; known: version %d with "
                        "%d or more",
                        bf_read_u16(header + 4), bf_read_u16(header + 6), MODULE_VERSION,
                        MODULE_HEADER_BYTES);
  if (bytes > end - offset)
    return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, offset + 8,
                        "a module of %llu bytes, of which %llu are there",
                        (unsigned long long)bytes, (unsigned long long)(end - offset));
  fatbin->module_count++;
  *next = offset + bytes;
  int error = BF_OK;
  for (uint64_t at = offset + header_bytes; at < *next && !error;)
    error = read_image(fatbin, at, *next, section, &at, diagnostic);
  return error;
}

/* Reads the modules in [offset, end), one after another with zeros between. */
static int read_modules(bf_fatbin *fatbin, uint64_t offset, uint64_t end, const char *section,
                        bf_diagnostic *diagnostic) {
  int error = BF_OK;
  while (offset < end && !error) {
    if (fatbin->bytes[offset] == 0)
      offset++;
    else
      error = read_module(fatbin, offset, end, section, &offset, diagnostic);
  }
  return error;
}

/* Whether a module with a sound first image may start at offset. In a segment, other bytes can look
 * like the magic number: programs that handle fat binaries hold it as a constant. */
static bool looks_like_module(const bf_fatbin *fatbin, uint64_t offset, uint64_t end) {
  const unsigned char *at = fatbin->bytes + offset;
  if (end - offset < MODULE_HEADER_BYTES + IMAGE_HEADER_BYTES || bf_read_u32(at) != MODULE_MAGIC)
    return false;
  uint64_t bytes = bf_fatbin_module_bytes(at), header_bytes = bf_read_u16(at + 6);
  return bytes >= header_bytes + IMAGE_HEADER_BYTES && bytes <= end - offset &&
         bf_read_u16(at + header_bytes + 2) == IMAGE_VERSION;
}

/* Finds modules in [offset, end) by their magic number; nvcc aligns them to 8 bytes. */
static int search_modules(bf_fatbin *fatbin, uint64_t offset, uint64_t end,
                          bf_diagnostic *diagnostic) {
  int error = BF_OK;
  offset = (offset + 7) / 8 * 8;
  while (offset < end && !error) {
    uint64_t next = offset + 8;
    if (looks_like_module(fatbin, offset, end))
      error = read_module(fatbin, offset, end, NULL, &next, diagnostic);
    offset = (next + 7) / 8 * 8;
  }
  return error;
}

/* ---- Files ---- */

/* A cubin is one image. */
static int read_cubin(bf_fatbin *fatbin, bf_arch arch, bf_diagnostic *diagnostic) {
  bf_image image = {.kind = BF_IMAGE_CUBIN,
                    .module = fatbin->module_count = 1,
                    .version_major = fatbin->bytes[6],
                    .version_minor = fatbin->bytes[8],
                    .arch = arch,
                    .stored_bytes = fatbin->size,
                    .bytes = fatbin->size};
  return add_image(fatbin, &image, diagnostic);
}

static int read_elf(bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  bf_elf elf;
  int error =
      bf_elf_read(fatbin->name, fatbin->bytes, fatbin->size, &fatbin->arena, &elf, diagnostic);
  if (error)
    return error;
  if (elf.is_cubin)
    return read_cubin(fatbin, elf.arch, diagnostic);
  for (size_t i = 0; i < elf.range_count && !error; i++) {
    const bf_elf_range *range = &elf.ranges[i];
    uint64_t end = range->begin + range->size;
    error = range->section ? read_modules(fatbin, range->begin, end, range->section, diagnostic)
                           : search_modules(fatbin, range->begin, end, diagnostic);
  }
  if (!error && fatbin->image_count == 0)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, fatbin->name,
                         "an ELF file without CUDA code: no section .nv_fatbin or __nv_relfatbin, "
                         "and no fat binary in its segments");
  return error;
}

/* PTX text is one image. */
static int read_ptx(bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  bf_image image = {.kind = BF_IMAGE_PTX,
                    .module = fatbin->module_count = 1,
                    .stored_bytes = fatbin->size,
                    .bytes = fatbin->size};
  int error = bf_ptx_text_describe(fatbin->name, (const char *)fatbin->bytes, fatbin->size, &image,
                                   diagnostic);
  return !error ? add_image(fatbin, &image, diagnostic) : error;
}

static int read_bare(bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  int error = read_modules(fatbin, 0, fatbin->size, NULL, diagnostic);
  if (!error && fatbin->image_count == 0)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, fatbin->name, "a fat binary without images");
  return error;
}

/* ---- Libraries of object files (ar) ---- */

static const char archive_magic[] = "!<arch>\n";
enum { ARCHIVE_MAGIC_BYTES = 8, MEMBER_HEADER_BYTES = 60, MEMBER_SIZE_AT = 48 };

static bool is_archive(const unsigned char *bytes, uint64_t size) {
  return size >= ARCHIVE_MAGIC_BYTES && memcmp(bytes, archive_magic, ARCHIVE_MAGIC_BYTES) == 0;
}

/* The bytes of a member, from the decimal digits of its header; false where they make no sense. */
static bool read_member_size(const unsigned char *header, uint64_t *size) {
  const unsigned char *digit = header + MEMBER_SIZE_AT;
  *size = 0;
  for (unsigned i = 0; i < 10 && digit[i] >= '0' && digit[i] <= '9'; i++)
    *size = *size * 10 + (digit[i] - '0');
  return memcmp(header + MEMBER_HEADER_BYTES - 2, "`\n", 2) == 0 && digit[0] >= '0' &&
         digit[0] <= '9';
}

/* Reads the modules in the sections of the object file in [offset, offset + size). */
static int read_member(bf_fatbin *fatbin, uint64_t offset, uint64_t size,
                       bf_diagnostic *diagnostic) {
  bf_elf elf;
  if (!bf_elf_is(fatbin->bytes + offset, size))
    return BF_OK; /* names, or anything else */
  int error =
      bf_elf_read(fatbin->name, fatbin->bytes + offset, size, &fatbin->arena, &elf, diagnostic);
  for (size_t i = 0; !error && !elf.is_cubin && i < elf.range_count; i++) {
    uint64_t begin = offset + elf.ranges[i].begin;
    if (elf.ranges[i].section)
      error = read_modules(fatbin, begin, begin + elf.ranges[i].size, elf.ranges[i].section,
                           diagnostic);
  }
  return error;
}

/* Reads the members of a library; they start at even bytes. */
static int read_archive(bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  int error = BF_OK;
  for (uint64_t at = ARCHIVE_MAGIC_BYTES, size; at < fatbin->size && !error;) {
    if (fatbin->size - at < MEMBER_HEADER_BYTES || !read_member_size(fatbin->bytes + at, &size) ||
        size > fatbin->size - at - MEMBER_HEADER_BYTES)
      return bf_fail_byte(diagnostic, BF_BAD_INPUT, fatbin->name, at,
                          "the header of a member of the library is damaged or cut off");
    error = read_member(fatbin, at + MEMBER_HEADER_BYTES, size, diagnostic);
    at += MEMBER_HEADER_BYTES + size + size % 2;
  }
  if (!error && fatbin->image_count == 0)
    error = bf_fail_file(diagnostic, BF_BAD_INPUT, fatbin->name,
                         "a library of object files without CUDA code");
  return error;
}

/* ---- Content of any kind ---- */

/* Whether content with these first bytes may be something that is read here. */
static bool is_known(const unsigned char *bytes, uint64_t size) {
  return size && (bf_elf_is(bytes, size) || is_archive(bytes, size) ||
                  (size >= 4 && bf_read_u32(bytes) == MODULE_MAGIC) ||
                  bf_ptx_text_is((const char *)bytes, size));
}

static int refuse_unknown(const char *name, uint64_t size, bf_diagnostic *diagnostic) {
  if (size == 0)
    return bf_fail_file(diagnostic, BF_BAD_INPUT, name, "the file is empty");
  return bf_fail_byte(diagnostic, BF_BAD_INPUT, name, 0,
                      "neither an ELF file, nor a fat binary (0x%08X), nor PTX text (.version)",
                      MODULE_MAGIC);
}

/* Lists the images of fatbin's bytes. */
static int read_images(bf_fatbin *fatbin, bf_diagnostic *diagnostic) {
  if (!is_known(fatbin->bytes, fatbin->size))
    return refuse_unknown(fatbin->name, fatbin->size, diagnostic);
  if (bf_elf_is(fatbin->bytes, fatbin->size))
    return read_elf(fatbin, diagnostic);
  if (is_archive(fatbin->bytes, fatbin->size))
    return read_archive(fatbin, diagnostic);
  if (bf_read_u32(fatbin->bytes) == MODULE_MAGIC)
    return read_bare(fatbin, diagnostic);
  return read_ptx(fatbin, diagnostic);
}

/* Fills fatbin from borrowed or owned bytes; closes it on failure. */
static int finish(bf_fatbin *fatbin, const char *name, const unsigned char *bytes, uint64_t size,
                  bf_fatbin **out, bf_diagnostic *diagnostic) {
  fatbin->name = bf_arena_copy(&fatbin->arena, name);
  fatbin->bytes = bytes;
  fatbin->size = size;
  int error = fatbin->name ? read_images(fatbin, diagnostic) : bf_no_memory(diagnostic);
  if (error)
    bf_fatbin_close(fatbin);
  else
    *out = fatbin;
  return error;
}

int bf_fatbin_read(const char *name, const void *bytes, uint64_t size, bf_fatbin **out,
                   bf_diagnostic *diagnostic) {
  *out = NULL;
  bf_fatbin *fatbin = calloc(1, sizeof *fatbin);
  if (!fatbin)
    return bf_no_memory(diagnostic);
  return finish(fatbin, name, bytes, size, out, diagnostic);
}

/* Whether reading may go on after `got` more bytes. Looks once, when LOOK_BYTES are there, whether
 * the content is known: what is not known may never end. */
static int check_content(const char *name, const bf_text *content, size_t got,
                         bf_diagnostic *diagnostic) {
  enum { LOOK_BYTES = 1 << 20 };
  const unsigned char *bytes = (const unsigned char *)content->data;
  if (content->failed)
    return bf_no_memory(diagnostic);
  if (content->size >= LOOK_BYTES && content->size - got < LOOK_BYTES &&
      !is_known(bytes, content->size))
    return refuse_unknown(name, content->size, diagnostic);
  if (content->size > MAX_FILE_BYTES)
    return bf_fail_file(diagnostic, BF_UNSUPPORTED, name, "more than %llu bytes",
                        (unsigned long long)MAX_FILE_BYTES);
  return BF_OK;
}

/* Reads up to MAX_FILE_BYTES. */
static int read_content(bf_reader *reader, const char *name, bf_text *content,
                        bf_diagnostic *diagnostic) {
  enum { CHUNK_BYTES = 1 << 16 };
  char *chunk = malloc(CHUNK_BYTES);
  int error = chunk ? BF_OK : bf_no_memory(diagnostic);
  size_t got = 1;
  while (!error && got) {
    error = bf_reader_read(reader, chunk, CHUNK_BYTES, &got, diagnostic);
    if (!error && got) {
      bf_text_add(content, chunk, got);
      error = check_content(name, content, got, diagnostic);
    }
  }
  free(chunk);
  return error;
}

/* The images of what reader gives, which is closed. */
static int open_reader(bf_reader *reader, const char *name, bf_fatbin **out,
                       bf_diagnostic *diagnostic) {
  bf_text content = {0};
  int error = read_content(reader, name, &content, diagnostic);
  bf_reader_close(reader);
  bf_fatbin *fatbin = !error ? calloc(1, sizeof *fatbin) : NULL;
  if (!error && !fatbin)
    error = bf_no_memory(diagnostic);
  if (error) {
    bf_text_free(&content);
    return error;
  }
  fatbin->owned = (unsigned char *)content.data;
  return finish(fatbin, name, fatbin->owned, content.size, out, diagnostic);
}

int bf_fatbin_open(const char *path, bf_fatbin **out, bf_diagnostic *diagnostic) {
  bf_reader *reader;
  *out = NULL;
  BF_TRY(bf_reader_open(path, &reader, diagnostic));
  return open_reader(reader, bf_input_name(path), out, diagnostic);
}

int bf_fatbin_open_memory(const char *name, const void *bytes, size_t size, bf_fatbin **out,
                          bf_diagnostic *diagnostic) {
  bf_reader *reader;
  *out = NULL;
  BF_TRY(bf_reader_open_memory(name, bytes, size, &reader, diagnostic));
  return open_reader(reader, name, out, diagnostic);
}

void bf_fatbin_close(bf_fatbin *fatbin) {
  if (!fatbin)
    return;
  free(fatbin->owned);
  free(fatbin->images);
  bf_arena_free(&fatbin->arena);
  free(fatbin);
}
