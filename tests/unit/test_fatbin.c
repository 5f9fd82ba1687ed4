/* Fat binaries: what is found in files that nvcc wrote, and what is said about damaged ones. */
#include "ptx/fatbin.h"
#include "ptx/lz4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DATA "tests/data/fatbin/"

/* ---- Helpers ---- */

static bf_fatbin *open_data(const char *name) {
  char path[256];
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic = {0};
  snprintf(path, sizeof path, DATA "%s", name);
  if (bf_fatbin_open(path, &fatbin, &diagnostic) != BF_OK)
    fail_msg("%s: %s", path, diagnostic.message);
  return fatbin;
}

/* The text of an image, from 0. */
static char *text_of(const bf_fatbin *fatbin, size_t index) {
  bf_text text = {0};
  bf_diagnostic diagnostic = {0};
  if (bf_fatbin_text(fatbin, &fatbin->images[index], &text, &diagnostic) != BF_OK)
    fail_msg("%s: %s", fatbin->name, diagnostic.message);
  assert_int_equal(strlen(text.data), text.size);
  return text.data;
}

/* A file's bytes, to be damaged. */
static unsigned char *load(const char *name, size_t *size) {
  char path[256];
  snprintf(path, sizeof path, DATA "%s", name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  unsigned char *bytes = malloc(1 << 16);
  assert_non_null(bytes);
  *size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static void put_u32(unsigned char *at, uint32_t value) {
  for (int i = 0; i < 4; i++)
    at[i] = (unsigned char)(value >> 8 * i);
}

static void put_u64(unsigned char *at, uint64_t value) {
  put_u32(at, (uint32_t)value);
  put_u32(at + 4, (uint32_t)(value >> 32));
}

/* Reads bytes, then all PTX in them; the first fault must have this error and message. */
static void refuses(const unsigned char *bytes, size_t size, int error, const char *message) {
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic = {0};
  int result = bf_fatbin_read("input", bytes, size, &fatbin, &diagnostic);
  for (size_t i = 0; result == BF_OK && i < fatbin->image_count; i++) {
    bf_text text = {0};
    result = bf_fatbin_text(fatbin, &fatbin->images[i], &text, &diagnostic);
    bf_text_free(&text);
    if (result != BF_OK)
      assert_null(text.data);
  }
  assert_int_equal(result, error);
  assert_string_equal(diagnostic.message, message);
  assert_string_equal(diagnostic.file, "input");
  if (fatbin)
    bf_fatbin_close(fatbin);
}

/* ---- Good files ---- */

/* PTX is the same however it is stored, and as nvcc --ptx writes it but for the comments. */
static void same_text_in_all_forms(void **state) {
  (void)state;
  static const char *const names[] = {"lz4.fatbin", "object.o", "relocatable.o", "library.so",
                                      "headerless.so"};
  bf_fatbin *plain = open_data("plain.fatbin");
  char *expected = text_of(plain, 0);
  assert_non_null(strstr(expected, ".visible .entry thrice("));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bf_fatbin *fatbin = open_data(names[i]);
    char *text = text_of(fatbin, 0);
    assert_string_equal(text, expected);
    free(text);
    bf_fatbin_close(fatbin);
  }
  free(expected);
  bf_fatbin_close(plain);
}

static void lists_images(void **state) {
  (void)state;
  static const struct {
    bf_image_kind kind;
    bf_arch arch;
    uint64_t bytes;
  } expected[] = {
      {BF_IMAGE_PTX, {75, 0}, 692},   {BF_IMAGE_CUBIN, {90, 0}, 5192}, {BF_IMAGE_PTX, {90, 0}, 692},
      {BF_IMAGE_PTX, {90, 'a'}, 693}, {BF_IMAGE_PTX, {100, 'f'}, 719},
  };
  bf_fatbin *fatbin = open_data("many.fatbin");
  assert_int_equal(fatbin->image_count, 5);
  assert_int_equal(fatbin->module_count, 1);
  for (size_t i = 0; i < 5; i++) {
    const bf_image *image = &fatbin->images[i];
    assert_int_equal(image->kind, expected[i].kind);
    assert_int_equal(image->arch.sm, expected[i].arch.sm);
    assert_int_equal(image->arch.variant, expected[i].arch.variant);
    assert_int_equal(image->bytes, expected[i].bytes);
    assert_int_equal(image->packing, BF_PACKING_ZSTD);
    assert_int_equal(image->number, i + 1);
  }
  bf_fatbin_close(fatbin);
}

static void reads_names_and_options(void **state) {
  (void)state;
  bf_fatbin *fatbin = open_data("lineinfo.fatbin");
  assert_string_equal(fatbin->images[0].identifier, "twice.cu");
  assert_string_equal(fatbin->images[0].options, " --generate-line-info ");
  assert_int_equal(fatbin->images[0].version_major, 9);
  bf_fatbin_close(fatbin);
  fatbin = open_data("plain.fatbin");
  assert_null(fatbin->images[0].identifier);
  assert_null(fatbin->images[0].options);
  bf_fatbin_close(fatbin);
}

static void finds_modules_of_libraries(void **state) {
  (void)state;
  static const char *const names[] = {"library.so", "headerless.so"};
  for (size_t i = 0; i < 2; i++) {
    bf_fatbin *fatbin = open_data(names[i]);
    assert_int_equal(fatbin->module_count, 2);
    assert_int_equal(fatbin->image_count, 2);
    char *text = text_of(fatbin, 1);
    assert_non_null(strstr(text, "negate"));
    free(text);
    assert_true((fatbin->images[0].section != NULL) == (i == 0));
    bf_fatbin_close(fatbin);
  }
}

/* Puts a member at *size in an archive. */
static void add_member(char *archive, size_t *size, const char *name, const void *bytes,
                       size_t count) {
  *size += (size_t)sprintf(archive + *size, "%-16s%-32s%-10zu`\n", name, "0", count);
  memcpy(archive + *size, bytes, count);
  *size += count;
  if (*size % 2)
    archive[(*size)++] = '\n';
}

/* A library of object files: a table of names of odd length, so that the next member has no address
 * that is a multiple of 8, and object files with a module each. */
static void reads_archives(void **state) {
  (void)state;
  size_t sizes[2], size = 8;
  unsigned char *members[] = {load("object.o", &sizes[0]), load("relocatable.o", &sizes[1])};
  char *archive = malloc(1 << 18);
  assert_non_null(archive);
  memcpy(archive, "!<arch>\n", 8);
  add_member(archive, &size, "//", "a name", 5);
  add_member(archive, &size, "object.o/", members[0], sizes[0]);
  add_member(archive, &size, "relocatable.o/", members[1], sizes[1]);
  bf_fatbin *fatbin;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_fatbin_read("lib.a", archive, size, &fatbin, &diagnostic), BF_OK);
  assert_int_equal(fatbin->module_count, 2);
  char *text = text_of(fatbin, fatbin->image_count - 1);
  assert_non_null(strstr(text, ".version"));
  free(text);
  bf_fatbin_close(fatbin);
  refuses((unsigned char *)archive, size - 100, BF_BAD_INPUT,
          "at byte 8566: the header of a member of the library is damaged or cut off");
  free(archive);
  free(members[0]);
  free(members[1]);
}

static void reads_plain_text_and_cubins(void **state) {
  (void)state;
  bf_fatbin *fatbin = open_data("twice.ptx");
  assert_int_equal(fatbin->images[0].kind, BF_IMAGE_PTX);
  assert_int_equal(fatbin->images[0].arch.sm, 90);
  char *text = text_of(fatbin, 0);
  assert_int_equal(strlen(text), fatbin->size);
  free(text);
  bf_fatbin_close(fatbin);
  fatbin = open_data("twice.cubin");
  assert_int_equal(fatbin->images[0].kind, BF_IMAGE_CUBIN);
  assert_int_equal(fatbin->images[0].arch.sm, 90);
  assert_int_equal(fatbin->images[0].version_major, 1);
  assert_int_equal(fatbin->images[0].version_minor, 8);
  bf_text none = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_fatbin_text(fatbin, fatbin->images, &none, &diagnostic), BF_UNSUPPORTED);
  bf_fatbin_close(fatbin);
}

static void knows_size_of_module(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("many.fatbin", &size);
  assert_int_equal(bf_fatbin_module_bytes(bytes), size);
  bytes[0]++;
  assert_int_equal(bf_fatbin_module_bytes(bytes), 0);
  free(bytes);
}

/* ---- Architectures ---- */

static void parses_architectures(void **state) {
  (void)state;
  static const char *const good[] = {"sm_90", "compute_90", "90"};
  static const char *const bad[] = {"", "sm_", "sm_0", "sm_90b", "sm_90aa", "sm_1000", "hopper"};
  bf_arch arch;
  char text[BF_ARCH_TEXT_BYTES];
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(bf_arch_parse(good[i], &arch));
    assert_string_equal(bf_arch_print(arch, text), "sm_90");
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(bf_arch_parse(bad[i], &arch));
  assert_true(bf_arch_parse("sm_100f", &arch));
  assert_string_equal(bf_arch_print(arch, text), "sm_100f");
}

/* For each wanted architecture, what is picked among sm_75, sm_90, sm_90a and sm_100f; as ptxas
 * accepts them. */
static void picks_best(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"sm_75", "sm_75"},    {"sm_89", "sm_75"},     {"sm_90", "sm_90"},     {"sm_90a", "sm_90a"},
      {"sm_100", "sm_100f"}, {"sm_100a", "sm_100f"}, {"sm_103", "sm_100f"},  {"sm_120", "sm_90"},
      {"sm_120f", "sm_90"},  {"sm_70", NULL},        {"sm_100f", "sm_100f"},
  };
  bf_fatbin *fatbin = open_data("many.fatbin");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_arch wanted;
    char text[BF_ARCH_TEXT_BYTES];
    assert_true(bf_arch_parse(cases[i][0], &wanted));
    const bf_image *image = bf_fatbin_pick(fatbin, 1, wanted);
    assert_true((image != NULL) == (cases[i][1] != NULL));
    if (image)
      assert_string_equal(bf_arch_print(image->arch, text), cases[i][1]);
  }
  bf_arch any = {0};
  assert_int_equal(bf_fatbin_pick(fatbin, 1, any)->arch.sm, 100);
  assert_null(bf_fatbin_pick(fatbin, 2, any));
  bf_fatbin_close(fatbin);
}

static void says_what_is_there_instead(void **state) {
  (void)state;
  bf_diagnostic diagnostic;
  bf_arch old = {70, 0}, any = {0};
  bf_fatbin *fatbin = open_data("many.fatbin");
  assert_int_equal(bf_fatbin_no_ptx(fatbin, 0, old, &diagnostic), BF_UNSUPPORTED);
  assert_string_equal(diagnostic.message,
                      "no PTX that runs on sm_70; there is PTX for sm_75, sm_90, sm_90a, sm_100f; "
                      "machine code for sm_90");
  bf_fatbin_close(fatbin);
  fatbin = open_data("twice.cubin");
  bf_fatbin_no_ptx(fatbin, 1, any, &diagnostic);
  assert_string_equal(diagnostic.message, "no PTX in module 1; there is machine code for sm_90");
  bf_fatbin_close(fatbin);
}

/* ---- Damaged files ---- */

static void refuses_damaged_modules(void **state) {
  (void)state;
  static const struct {
    size_t at, bytes; /* where to write, and how much of value */
    uint64_t value;
    int error;
    const char *message;
  } cases[] = {
      {4, 4, 0x100002, BF_UNSUPPORTED,
       "at byte 4: a module of version 2 with a header of 16 bytes; known: version 1 with 16 or "
       "more"},
      {4, 4, 0x080001, BF_UNSUPPORTED,
       "at byte 4: a module of version 1 with a header of 8 bytes; known: version 1 with 16 or "
       "more"},
      {8, 8, 10000, BF_BAD_INPUT, "at byte 8: a module of 10016 bytes, of which 440 are there"},
      {8, 8, UINT64_MAX, BF_UNSUPPORTED,
       "at byte 4: a module of version 1 with a header of 16 bytes; known: version 1 with 16 or "
       "more"},
      {8, 8, 416, BF_BAD_INPUT,
       "at byte 24: a payload of 344 bytes in a module of which 336 are left"},
      {16 + 2, 4, 0x500102, BF_UNSUPPORTED,
       "at byte 18: an image of version 0x0102; known: 0x0101"},
      {16 + 4, 4, 63, BF_BAD_INPUT,
       "at byte 20: a header of 63 bytes in a module of which 424 are left"},
      {16 + 4, 4, UINT32_MAX, BF_BAD_INPUT,
       "at byte 20: a header of 4294967295 bytes in a module of which 424 are left"},
      {16 + 8, 8, UINT64_MAX - 7, BF_BAD_INPUT,
       "at byte 24: a payload of 18446744073709551608 bytes in a module of which 344 are left"},
      {16 + 8, 8, 336, BF_BAD_INPUT, "at byte 32: 341 compressed bytes in a payload of 336"},
      {16 + 8, 8, 8, BF_BAD_INPUT, "at byte 32: 341 compressed bytes in a payload of 8"},
      {16 + 16, 4, 340, BF_BAD_INPUT,
       "at byte 431: damaged LZ4 data: it does not give the 692 bytes that it should"},
      {16 + 20, 4, 76, BF_BAD_INPUT, "at byte 36: options lie outside the header of their image"},
      {16 + 36, 4, 81, BF_BAD_INPUT, "at byte 16: a name lies outside the header of its image"},
      {16 + 68, 4, 9, BF_BAD_INPUT,
       "at byte 16: a list of options lies outside the header of its image"},
      {16 + 40, 8, 0xA011, BF_UNSUPPORTED,
       "at byte 56: compressed in an unknown way (flags 0xa011); known: LZ4 and zstd"},
      {16 + 40, 8, 0x11, BF_UNSUPPORTED,
       "at byte 56: compressed in an unknown way (flags 0x11); known: LZ4 and zstd"},
      {16 + 40, 8, 0x8011, BF_BAD_INPUT, "at byte 96: damaged zstd data: Unknown frame descriptor"},
      {16 + 56, 8, 693, BF_BAD_INPUT,
       "at byte 437: damaged LZ4 data: it does not give the 693 bytes that it should"},
      {16 + 56, 8, (uint64_t)1 << 40, BF_BAD_INPUT,
       "at byte 16: 341 stored bytes should give 1099511627776 bytes of PTX; at most 1073741824 "
       "are read"},
      {16 + 56, 8, 1 << 20, BF_BAD_INPUT,
       "at byte 16: 341 stored bytes should give 1048576 bytes of PTX; at most 1073741824 are "
       "read"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t size;
    unsigned char *bytes = load("lz4.fatbin", &size);
    if (cases[i].bytes == 4)
      put_u32(bytes + cases[i].at, (uint32_t)cases[i].value);
    else
      put_u64(bytes + cases[i].at, cases[i].value);
    refuses(bytes, size, cases[i].error, cases[i].message);
    free(bytes);
  }
}

static void refuses_wrong_zstd_size(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("many.fatbin", &size);
  put_u64(bytes + 16 + 56, 700);
  refuses(bytes, size, BF_BAD_INPUT,
          "at byte 96: zstd data gives 692 bytes, not the 700 that it should");
  put_u64(bytes + 16 + 56, 600);
  refuses(bytes, size, BF_BAD_INPUT,
          "at byte 96: damaged zstd data: Destination buffer is too small");
  free(bytes);
}

static void refuses_nul_in_text(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("plain.fatbin", &size);
  bytes[96 + 40] = 0;
  refuses(bytes, size, BF_BAD_INPUT, "at byte 96: byte 40 of the PTX text is NUL");
  free(bytes);
}

/* Offsets in library.so come from its headers. */
static void refuses_damaged_elf(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("library.so", &size);
  refuses(bytes, 63, BF_BAD_INPUT, "at byte 63: the ELF header is cut off");
  put_u64(bytes + 40, size - 8);
  char message[256];
  snprintf(message, sizeof message,
           "at byte 40: no section headers at byte %zu; the file is cut off or damaged", size - 8);
  refuses(bytes, size, BF_BAD_INPUT, message);
  bytes[4] = 1;
  refuses(bytes, size, BF_UNSUPPORTED, "at byte 4: only 64-bit little-endian ELF files are read");
  free(bytes);
}

/* Offset of the header of the section whose content starts at `content`. */
static size_t section_header(const unsigned char *bytes, size_t size, uint64_t content) {
  unsigned char wanted[8];
  put_u64(wanted, content);
  size_t table = bytes[40] | (size_t)bytes[41] << 8;
  for (size_t at = table; at + 64 <= size; at += 64)
    if (memcmp(bytes + at + 24, wanted, 8) == 0)
      return at;
  fail();
  return 0;
}

static void refuses_damaged_sections(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("library.so", &size);
  bf_fatbin *fatbin = open_data("library.so");
  uint64_t content = fatbin->images[0].offset - 16;
  bf_fatbin_close(fatbin);
  size_t header = section_header(bytes, size, content);
  char message[256];
  put_u64(bytes + header + 24, content + 8);
  uint32_t there;
  memcpy(&there, bytes + content + 8, sizeof there);
  snprintf(message, sizeof message,
           "at byte %llu: a module starts with 0xBA55ED50, not with 0x%08X",
           (unsigned long long)content + 8, there);
  refuses(bytes, size, BF_BAD_INPUT, message);
  put_u64(bytes + header + 24, UINT64_MAX - 16);
  bf_diagnostic diagnostic;
  assert_int_equal(bf_fatbin_read("input", bytes, size, &fatbin, &diagnostic), BF_BAD_INPUT);
  assert_non_null(strstr(diagnostic.message, "reaches past the end of the file"));
  put_u64(bytes + header + 24, content);
  bytes[header + 9] |= 8;
  assert_int_equal(bf_fatbin_read("input", bytes, size, &fatbin, &diagnostic), BF_UNSUPPORTED);
  assert_non_null(strstr(diagnostic.message, "is compressed as a whole"));
  free(bytes);
}

/* A module outside the sections is found by searching the segments around them. */
static void searches_around_sections(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("library.so", &size);
  bf_fatbin *fatbin = open_data("library.so");
  uint64_t first = fatbin->images[0].offset - 16, second = fatbin->images[1].offset - 16;
  bf_fatbin_close(fatbin);
  size_t header = section_header(bytes, size, first);
  bf_diagnostic diagnostic;
  for (int shown = 0; shown < 2; shown++) { /* the one that the section holds */
    put_u64(bytes + header + 24, shown ? second : first);
    put_u64(bytes + header + 32, bf_fatbin_module_bytes(bytes + (shown ? second : first)));
    assert_int_equal(bf_fatbin_read("input", bytes, size, &fatbin, &diagnostic), BF_OK);
    assert_int_equal(fatbin->image_count, 2);
    assert_int_equal(fatbin->images[0].offset, first + 16);
    assert_int_equal(fatbin->images[1].offset, second + 16);
    assert_string_equal(fatbin->images[shown].section, ".nv_fatbin");
    assert_null(fatbin->images[1 - shown].section);
    bf_fatbin_close(fatbin);
  }
  free(bytes);
}

/* A second section header for the same bytes. */
static void refuses_overlapping_sections(void **state) {
  (void)state;
  size_t size;
  unsigned char *bytes = load("library.so", &size);
  bf_fatbin *fatbin = open_data("library.so");
  uint64_t content = fatbin->images[0].offset - 16;
  bf_fatbin_close(fatbin);
  size_t header = section_header(bytes, size, content);
  memcpy(bytes + header + 64, bytes + header, 64);
  char message[128];
  snprintf(message, sizeof message, "at byte %llu: section .nv_fatbin overlaps section .nv_fatbin",
           (unsigned long long)content);
  refuses(bytes, size, BF_BAD_INPUT, message);
  free(bytes);
}

static void refuses_other_files(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    int error;
    const char *message;
  } cases[] = {
      {"", BF_BAD_INPUT, "the file is empty"},
      {"#!/bin/sh\n", BF_BAD_INPUT,
       "at byte 0: neither an ELF file, nor a fat binary (0xBA55ED50), nor PTX text (.version)"},
      {"!<arch>\nlibrary", BF_BAD_INPUT,
       "at byte 8: the header of a member of the library is damaged or cut off"},
      {"!<arch>\n", BF_BAD_INPUT, "a library of object files without CUDA code"},
      {".version", BF_BAD_INPUT, "at byte 8: .version is followed by a number like 9.0"},
      {".version 9", BF_BAD_INPUT, "at byte 9: .version is followed by a number like 9.0"},
      {"// a\n/* b */.version 9.0 .target x", BF_BAD_INPUT,
       "at byte 25: .version is followed by .target and an architecture like sm_90"},
      {"\x50\xED\x55\xBA", BF_BAD_INPUT, "at byte 0: the header of a module is cut off"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    refuses((const unsigned char *)cases[i].bytes, strlen(cases[i].bytes), cases[i].error,
            cases[i].message);
}

/* Every prefix of every file is read or refused with a message; sanitizers watch. */
static void survives_truncation(void **state) {
  (void)state;
  static const char *const names[] = {"lz4.fatbin", "many.fatbin", "library.so", "headerless.so",
                                      "twice.ptx"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t size;
    unsigned char *bytes = load(names[i], &size);
    for (size_t cut = 0; cut < size; cut++) {
      unsigned char *exact = malloc(cut ? cut : 1);
      assert_non_null(exact);
      memcpy(exact, bytes, cut);
      bf_fatbin *fatbin;
      bf_diagnostic diagnostic = {0};
      if (bf_fatbin_read("input", exact, cut, &fatbin, &diagnostic) != BF_OK)
        assert_true(diagnostic.message[0] && !fatbin);
      bf_fatbin_close(fatbin);
      free(exact);
    }
    free(bytes);
  }
}

/* ---- Parts ---- */

static void decodes_lz4(void **state) {
  (void)state;
  static const struct {
    const char *in;
    size_t in_size;
    const char *out; /* NULL: damaged */
    size_t out_size, fault;
  } cases[] = {
      {"\x30xyz", 4, "xyz", 3, 0},
      {"\x12"
       "a\x01\x00\x10z",
       6, "aaaaaaaz", 8, 0},
      {"\x20xy", 3, "xy", 2, 0},
      {"\xF0\x00"
       "abcdefghijklmno",
       17, "abcdefghijklmno", 15, 0},
      {"", 0, "", 0, 0},
      {"\x30xy", 3, NULL, 3, 0},              /* literals cut off */
      {"\x30xyz", 4, NULL, 2, 0},             /* more than fits */
      {"\x30xyz", 4, NULL, 4, 4},             /* less than there should be */
      {"\x10x\x00\x00\x10z", 6, NULL, 8, 0},  /* distance 0 */
      {"\x10x\x02\x00\x10z", 6, NULL, 8, 0},  /* before the start */
      {"\x10x\x01", 3, NULL, 8, 0},           /* distance cut off */
      {"\x1Fx\x01\x00\xFF", 5, NULL, 999, 0}, /* length cut off */
      {"\xF0\xFF\xFF\xFF\xFF", 5, NULL, 20, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned char out[1000];
    size_t fault = 0;
    bool good = bf_lz4_decode((const unsigned char *)cases[i].in, cases[i].in_size, out,
                              cases[i].out_size, &fault);
    assert_int_equal(good, cases[i].out != NULL);
    if (good)
      assert_memory_equal(out, cases[i].out, cases[i].out_size);
    else
      assert_int_equal(fault, cases[i].fault);
  }
}

static void finds_kernels(void **state) {
  (void)state;
  const char *text = "// .entry no {}\n.pragma \".entry no {}\";\n"
                     ".weak .entry a() { { \"}\" } /* } */ }\n"
                     ".func f { }\n.entry b(.param .u32 x)\n.maxntid 32 { ret; } .entry c() {";
  static const char *const bodies[] = {".weak .entry a() { { \"}\" } /* } */ }",
                                       ".entry b(.param .u32 x)\n.maxntid 32 { ret; }"};
  const char *end = text + strlen(text);
  bf_kernel_text kernel;
  for (size_t i = 0; i < 2; i++) {
    assert_true(bf_kernel_next(&text, end, &kernel));
    assert_int_equal(kernel.size, strlen(bodies[i]));
    assert_memory_equal(kernel.begin, bodies[i], kernel.size);
    assert_int_equal(kernel.name_size, 1);
    assert_int_equal(kernel.name[0], "ab"[i]);
  }
  assert_false(bf_kernel_next(&text, end, &kernel));
  assert_ptr_equal(text, end);
  const char *nameless = ".entry \"x\" { }";
  assert_false(bf_kernel_next(&nameless, nameless + strlen(nameless), &kernel));
}

static void keeps_kernels(void **state) {
  (void)state;
  const char *text = ".version 9.0\n.visible .entry a() { ret; }\n.func f { /* } */ }\n"
                     ".entry ab() { { 1 / 2; } }\n.entry c() { \"}\" }// end\n";
  static const struct {
    const char *names[2], *kept;
  } cases[] = {
      {{"a", NULL}, ".version 9.0\n.visible .entry a() { ret; }\n.func f { /* } */ }\n\n// end\n"},
      {{"ab", "c"},
       ".version 9.0\n\n.func f { /* } */ }\n.entry ab() { { 1 / 2; } }\n"
       ".entry c() { \"}\" }// end\n"},
      {{"b", NULL}, ".version 9.0\n\n.func f { /* } */ }\n\n// end\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_text kept = {0};
    bf_kernel_keep(text, strlen(text), cases[i].names, &kept);
    assert_false(kept.failed);
    assert_string_equal(kept.data, cases[i].kept);
    bf_text_free(&kept);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_kernels),
      cmocka_unit_test(same_text_in_all_forms),
      cmocka_unit_test(lists_images),
      cmocka_unit_test(reads_names_and_options),
      cmocka_unit_test(finds_modules_of_libraries),
      cmocka_unit_test(reads_archives),
      cmocka_unit_test(reads_plain_text_and_cubins),
      cmocka_unit_test(knows_size_of_module),
      cmocka_unit_test(parses_architectures),
      cmocka_unit_test(picks_best),
      cmocka_unit_test(says_what_is_there_instead),
      cmocka_unit_test(refuses_damaged_modules),
      cmocka_unit_test(refuses_wrong_zstd_size),
      cmocka_unit_test(refuses_nul_in_text),
      cmocka_unit_test(refuses_damaged_elf),
      cmocka_unit_test(refuses_damaged_sections),
      cmocka_unit_test(searches_around_sections),
      cmocka_unit_test(refuses_overlapping_sections),
      cmocka_unit_test(refuses_other_files),
      cmocka_unit_test(survives_truncation),
      cmocka_unit_test(decodes_lz4),
      cmocka_unit_test(finds_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
