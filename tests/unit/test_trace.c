/* Trace files: what the text form means, what it refuses and where, the packed form, and that
 * damaged files never do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/access.h"

static const bf_trace_limits limits = {.lanes = 32, .allocation_bytes = 65536};

/* ---- Helpers ---- */

static int parse(const char *line, bf_access *access, bf_diagnostic *diagnostic) {
  static bf_arena arena; /* sites of the test lines; freed when the group ends */
  if (!line) {
    bf_arena_free(&arena);
    return 0;
  }
  return bf_trace_parse_line("t", 7, line, &limits, &arena, access, diagnostic);
}

static int free_sites(void **state) {
  (void)state;
  return parse(NULL, NULL, NULL);
}

/* A new file in the temporary folder; the caller unlinks it. */
static char *temporary_name(char *path) {
  strcpy(path, "/tmp/bankfold_test_XXXXXX");
  int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  return path;
}

static void write_bytes(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static size_t read_bytes(const char *path, unsigned char *bytes, size_t most) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, most, file);
  fclose(file);
  return size;
}

/* Reads what is left of a trace: the number of accesses, or the error; checks that each access is
 * valid. */
static int walk_trace(bf_trace *trace, bf_diagnostic *diagnostic) {
  bf_access access;
  int accesses = 0, lane, result;
  while ((result = bf_trace_next(trace, &access, diagnostic)) > 0) {
    assert_int_equal(bf_access_check(&access, &limits, &lane, NULL), BF_OK);
    accesses++;
  }
  bf_trace_close(trace);
  return result < 0 ? result : accesses;
}

static int walk(const char *path, bf_diagnostic *diagnostic) {
  bf_trace *trace;
  BF_TRY(bf_trace_open(path, &limits, &trace, diagnostic));
  return walk_trace(trace, diagnostic);
}

/* The same without putting accesses together, where that is not needed. */
static int pass_trace(bf_trace *trace, bf_diagnostic *diagnostic) {
  uint64_t accesses = 0, more;
  int result;
  while ((result = bf_trace_pass(trace, &more, diagnostic)) == 1)
    accesses += more;
  bf_trace_close(trace);
  return result < 0 ? result : (int)accesses;
}

/* Walks bytes in memory, in both ways, which find the same. */
static int walk_bytes(const void *bytes, size_t size, bf_diagnostic *diagnostic) {
  bf_trace *trace;
  bf_diagnostic passed;
  BF_TRY(bf_trace_open_memory("m", bytes, size, BF_TRACE_OWN, &limits, &trace, diagnostic));
  int result = walk_trace(trace, diagnostic);
  assert_int_equal(bf_trace_open_memory("m", bytes, size, BF_TRACE_OWN, &limits, &trace, &passed),
                   BF_OK);
  assert_int_equal(pass_trace(trace, &passed), result);
  if (result < 0)
    assert_string_equal(passed.message, diagnostic->message);
  return result;
}

static int walk_text(const char *text, bf_diagnostic *diagnostic) {
  return walk_bytes(text, strlen(text), diagnostic);
}

/* Small reproducible random numbers. */
static uint32_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* ---- What lines mean ---- */

static void addresses_per_active_lane(void **state) {
  (void)state;
  bf_access access;
  assert_int_equal(parse("ld 4 5 8 0x10", &access, NULL), 1);
  assert_int_equal(access.op, BF_OP_LD);
  assert_int_equal(access.width_bytes, 4);
  assert_int_equal(access.mask, 5);
  assert_int_equal(access.count, 1);
  assert_int_equal(access.line, 7);
  assert_null(access.site);
  assert_int_equal(access.address[0], 8);
  assert_int_equal(access.address[1], 0);
  assert_int_equal(access.address[2], 16);
}

/* Numbers of every length, with zeros in front, before every separator and at the end of the line.
 */
static void addresses_are_read_in_every_form(void **state) {
  (void)state;
  static const char *const separators[] = {" ", " ", " ", "  ", "\t", " \t "};
  uint64_t random = 3;
  for (unsigned i = 0; i < 5000; i++) {
    char line[1024];
    uint32_t mask = draw(&random) | 1, expected[32] = {0};
    int size = sprintf(line, "ld 1 %x", mask);
    for (uint32_t left = mask; left; left &= left - 1) {
      uint32_t value = draw(&random) % 32768 >> draw(&random) % 16;
      unsigned digits = 1 + draw(&random) % 12;
      expected[__builtin_ctz(left)] = value;
      size += sprintf(line + size, "%s", separators[draw(&random) % 6]);
      size += sprintf(line + size, draw(&random) % 8 ? "%0*u" : "0x%0*x", (int)digits, value);
    }
    bf_access access;
    bf_diagnostic diagnostic;
    assert_int_equal(parse(line, &access, &diagnostic), 1);
    for (unsigned lane = 0; lane < 32; lane++)
      assert_int_equal(access.address[lane], expected[lane]);
  }
}

static void addresses_per_lane_ignore_inactive_ones(void **state) {
  (void)state;
  char line[512] = "st 1 0x80000001";
  for (int lane = 0; lane < 32; lane++)
    sprintf(line + strlen(line), " %d", lane == 5 ? 99999999 : 100 + lane);
  bf_access access;
  assert_int_equal(parse(line, &access, NULL), 1);
  assert_int_equal(access.address[0], 100);
  assert_int_equal(access.address[5], 0);
  assert_int_equal(access.address[31], 131);
}

static void count_and_site_stand_anywhere(void **state) {
  (void)state;
  const char *lines[] = {"red 4 3 0 4 x12 @k.cu:7 # note", "red\t4\t3 @k.cu:7 0 x12 4\r\n",
                         "  red 4 3 x0xC @k.cu:7 0 4 #"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    bf_access access;
    assert_int_equal(parse(lines[i], &access, NULL), 1);
    assert_int_equal(access.count, 12);
    assert_string_equal(access.site, "k.cu:7");
    assert_int_equal(access.address[1], 4);
  }
}

static void a_site_may_hold_any_other_byte(void **state) {
  (void)state;
  bf_access access;
  assert_int_equal(parse("ld 4 1 0 @a#b@\xff\xc3", &access, NULL), 1);
  assert_string_equal(access.site, "a#b@\xff\xc3");
}

static void blank_lines_and_comments_are_no_access(void **state) {
  (void)state;
  const char *lines[] = {"", "   ", "\t\r", "# ld 4 1 0", "  # x"};
  bf_access access;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    assert_int_equal(parse(lines[i], &access, NULL), 0);
}

static void generators_count_elements(void **state) {
  (void)state;
  static const struct {
    const char *line;
    uint32_t lane1, lane8, lane31;
  } table[] = {
      {"ld 4 ffffffff stride:3", 12, 96, 372},         {"ld 8 ffffffff stride:0+5", 40, 40, 40},
      {"ld 4 ffffffff stride:-1+31", 120, 92, 0},      {"ld 4 ffffffff block:8,1,32", 4, 128, 412},
      {"ld 4 ffffffff block:16,16,1+2", 72, 520, 972}, {"ld 2 80000102 block:8,1,0x20", 2, 64, 206},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    bf_access access;
    assert_int_equal(parse(table[i].line, &access, NULL), 1);
    assert_int_equal(access.address[1], table[i].lane1);
    assert_int_equal(access.address[8], table[i].lane8);
    assert_int_equal(access.address[31], table[i].lane31);
  }
}

/* ---- What is refused, and where ---- */

static void faults_are_located(void **state) {
  (void)state;
  static const struct {
    const char *line;
    unsigned column;
    const char *message; /* part of it */
  } table[] = {
      {"foo 4 1 0", 1, "unknown operation 'foo'; known: ld st atom"},
      {"l 4 1 0", 1, "unknown operation 'l'"},
      {"ld", 3, "expected the width"},
      {"ld four 1 0", 4, "expected the width in bytes, not 'four'"},
      {"ld 4.0 1 0", 4, "expected the width"},
      {"ld 3 1 0", 4, "width is 1, 2, 4, 8 or 16 bytes, not 3"},
      {"ld 99999999999999999999 1 0", 4, "expected the width"},
      {"f64 4 1 0", 5, "f64 accesses 8 bytes per lane, not 4"},
      {"ld 4", 5, "expected the mask"},
      {"ld 4 xyz 0", 6, "expected the mask of active lanes, hexadecimal, not 'xyz'"},
      {"ld 4 0 0", 6, "no lane is active"},
      {"ld 4 1ffffffff 0", 6, "the mask uses lane 32, but there are 32 lanes"},
      {"ld 4 11111111111111111 0", 6, "expected the mask"},
      {"ld 4 1", 7, "expected addresses or a generator"},
      {"ld 4 3 0 # 4", 9, "1 address, but there are 2 active lanes of 32: give 2 or 32"},
      {"ld 4 3 0 4 8", 13, "3 addresses"},
      {"ld 4 ffffffff 0 4", 18, "2 addresses, but 32 lanes are active"},
      {"ld 4 3 0 -4", 10, "address -4 is negative"},
      {"ld 4 3 0 6", 10, "address 6 is not aligned to 4 bytes"},
      {"ld 4 3 65536 0", 8, "address 65536 is past the allocation of 65536 bytes"},
      {"ld 4 3 0 4294967296", 10, "address 4294967296 is past the allocation"},
      {"ld 4 3 0 99999999999999999999", 10,
       "address 99999999999999999999 is past the allocation of 65536 bytes"},
      {"ld 4 3 0 0x1ffffffffffffffff", 10, "is past the allocation of 65536 bytes"},
      {"ld 4 3 0 0x", 10, "expected a byte address, not '0x'"},
      {"ld 4 3 0 4z", 10, "expected a byte address, not '4z'"},
      {"ld 4 3 0 nan", 10, "expected an address, a generator, xCOUNT or @SITE, not 'nan'"},
      {"ld 4 1 0 xNaN", 10, "a count is x and a whole number, not 'xNaN'"},
      {"ld 4 1 0 x", 10, "a count is x and a whole number"},
      {"ld 4 1 0 x-1", 10, "a count is x and a whole number"},
      {"ld 4 1 0 x1.5", 10, "a count is x and a whole number"},
      {"ld 4 1 0 x0", 10, "the count is 0"},
      {"ld 4 1 0 x99999999999999999999", 10, "the count is more than 1125899906842624"},
      {"ld 4 1 0 x1125899906842625", 10, "the count is more than 1125899906842624"},
      {"ld 4 1 0 x2 x3", 13, "a second count"},
      {"ld 4 1 0 @a @b", 13, "a second site"},
      {"ld 4 1 0 @", 11, "the site is empty"},
      {"ld 4 1 0 @a\033[2J", 12, "no white space and no control characters"},
      {"ld 4 1 zigzag:3", 8, "unknown generator 'zigzag:3'; known: stride:S and block:TX,SX,SY"},
      {"ld 4 1 stride:", 15, "expected the stride S"},
      {"ld 4 1 stride:1 0", 17, "addresses after a generator"},
      {"ld 4 1 0 stride:1", 10, "a generator after addresses"},
      {"ld 4 1 stride:1x", 16, "unexpected text in a generator"},
      {"ld 4 1 stride:1+", 17, "expected the offset"},
      {"ld 4 1 stride:4294967296", 15, "below 2^32"},
      {"ld 4 2 stride:-1", 8, "element -1 of lane 1 is negative"},
      {"ld 4 ffffffff stride:1000", 15, "lane 17: address 68000 is past the allocation"},
      {"ld 4 1 block:0,1,1", 14, "the width TX is at least 1"},
      {"ld 4 1 block:8,1", 17, "expected ','"},
      {"\xde\xad\xbe\xef", 1, "unknown operation '?"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    bf_access access;
    bf_diagnostic found;
    assert_int_equal(parse(table[i].line, &access, &found), BF_BAD_INPUT);
    if (found.column != table[i].column || !strstr(found.message, table[i].message))
      fail_msg("'%s' gives column %u, '%s'", table[i].line, found.column, found.message);
    assert_string_equal(found.file, "t");
    assert_int_equal(found.line, 7);
  }
}

static void the_33rd_address_is_at_fault(void **state) {
  (void)state;
  char line[512] = "ld 4 ffffffff";
  for (int i = 0; i < 33; i++)
    strcat(line, " 0");
  bf_access access;
  bf_diagnostic found;
  assert_int_equal(parse(line, &access, &found), BF_BAD_INPUT);
  assert_int_equal(found.column, 79);
  assert_string_equal(found.message, "address number 33, but there are 32 lanes");
}

static void a_caret_points_into_the_excerpt(void **state) {
  (void)state;
  bf_access access;
  bf_diagnostic found;
  assert_int_equal(parse("ld 4 3 0 6", &access, &found), BF_BAD_INPUT);
  assert_string_equal(found.excerpt, "ld 4 3 0 6");
  assert_int_equal(found.caret, 9);
  assert_int_equal(parse("ld\t4 3 0 6", &access, &found), BF_BAD_INPUT);
  assert_string_equal(found.excerpt, "ld 4 3 0 6");
}

/* ---- Files ---- */

/* Addresses of every number of digits. */
static void numbers_are_printed(void **state) {
  (void)state;
  uint64_t power = 1;
  for (unsigned digits = 0; digits < 10; digits++, power *= 10) {
    for (uint64_t value = power < 3 ? 0 : power - 3; value < power + 100; value++) {
      char expected[64];
      bf_access access = {.op = BF_OP_LD, .width_bytes = 1, .mask = 5, .count = 1};
      access.address[0] = (uint32_t)value;
      access.address[2] = UINT32_MAX - (uint32_t)value;
      bf_text text = {0};
      bf_trace_print_line(&access, &text);
      snprintf(expected, sizeof expected, "ld 1 00000005 %u %u\n", (unsigned)value,
               UINT32_MAX - (unsigned)value);
      assert_string_equal(text.data, expected);
      bf_text_free(&text);
    }
  }
}

static void line_ends_and_last_lines(void **state) {
  (void)state;
  bf_diagnostic found;
  assert_int_equal(walk_text("ld 4 1 0\nst 4 1 4", &found), 2);
  assert_int_equal(walk_text("# a\r\n\r\nld 4 1 0\r\nst 4 1 4\r\n", &found), 2);
}

static void a_trace_without_accesses_is_refused(void **state) {
  (void)state;
  const char *texts[] = {"", "\n\n", "# only a comment", " "};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    bf_diagnostic found;
    assert_int_equal(walk_text(texts[i], &found), BF_BAD_INPUT);
    assert_string_equal(found.message, "the trace holds no access");
    assert_true(found.file[0]);
  }
}

static void faults_in_files_have_lines(void **state) {
  (void)state;
  bf_diagnostic found;
  assert_int_equal(walk_text("ld 4 1 0\n\n# c\nld 4 1 2\n", &found), BF_BAD_INPUT);
  assert_int_equal(found.line, 4);
  assert_int_equal(found.column, 8);
  assert_int_equal(walk_bytes("ld 4 1 0\nld 4\0 1 0\n", 19, &found), BF_BAD_INPUT);
  assert_int_equal(found.line, 2);
  assert_int_equal(found.column, 5);
  assert_string_equal(found.message, "a NUL byte: this is not a text trace");
}

static void counts_may_not_overflow(void **state) {
  (void)state;
  bf_diagnostic found;
  assert_int_equal(walk_text("ld 4 1 0 x1125899906842623\nld 4 1 4\n", &found), 2);
  assert_int_equal(walk_text("ld 4 1 0 x1125899906842624\nld 4 1 4\n", &found), BF_BAD_INPUT);
  assert_int_equal(found.line, 2);
}

/* A line of 65536 bytes is fine, one byte more is not, wherever it stands. */
static void long_lines_are_refused(void **state) {
  (void)state;
  const char *access = "ld 4 1 0\n";
  for (size_t length = 65536; length <= 65537; length++) {
    char *text = malloc(length + 32);
    strcpy(text, access);
    memset(text + 9, ' ', length);
    memcpy(text + 9, access, 8);
    strcpy(text + 9 + length, "\nld 4 1 4\n");
    bf_diagnostic found;
    int result = walk_text(text, &found);
    free(text);
    assert_int_equal(result, length == 65536 ? 3 : BF_BAD_INPUT);
    if (result < 0) {
      assert_int_equal(found.line, 2);
      assert_string_equal(found.message, "a line is longer than 65536 bytes");
    }
  }
}

static void long_traces_cross_windows(void **state) {
  (void)state;
  bf_text text = {0};
  for (int i = 0; i < 40000; i++)
    bf_text_addf(&text, "ld 4 3 %d %d @site%d\n", i % 1000 * 4, i % 77 * 4, i % 5);
  char path[32];
  write_bytes(temporary_name(path), text.data, text.size);
  bf_text_free(&text);
  bf_trace *trace;
  assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
  bf_access access;
  for (int i = 0; i < 40000; i++) {
    assert_int_equal(bf_trace_next(trace, &access, NULL), 1);
    assert_int_equal(access.line, i + 1);
    assert_int_equal(access.address[0], i % 1000 * 4);
    assert_int_equal(access.address[1], i % 77 * 4);
    assert_int_equal(access.site[4], '0' + i % 5);
  }
  assert_int_equal(bf_trace_next(trace, &access, NULL), 0);
  assert_int_equal(bf_trace_next(trace, &access, NULL), 0);
  bf_trace_close(trace);
  unlink(path);
}

static void missing_files_are_reported(void **state) {
  (void)state;
  bf_diagnostic found;
  assert_int_equal(walk("/nonexistent/file.trace", &found), BF_IO);
  assert_string_equal(found.file, "/nonexistent/file.trace");
}

/* ---- The packed form ---- */

static bf_access random_access(uint64_t *random, const bf_access *before) {
  bf_access access = *before;
  access.line = 0;
  uint32_t change = draw(random);
  if (change & 1 || !before->mask) {
    access.op = (bf_op)(draw(random) % BF_OP_COUNT);
    access.width_bytes = bf_op_fixed_width(access.op);
    if (!access.width_bytes)
      access.width_bytes = 1u << draw(random) % 5;
  }
  if (change & 2)
    access.mask = draw(random);
  if (!access.mask)
    access.mask = 0x80000001;
  if (change & 4)
    access.count = draw(random) % 1000 + 1;
  if (change & 8)
    access.site = draw(random) % 3 ? (draw(random) % 2 ? "kernel.cu:12" : "b") : NULL;
  uint32_t align = ~(access.width_bytes - 1);
  uint32_t move = change & 16 ? draw(random) % 4096 & align : 0;
  for (int lane = 0; lane < 32; lane++) {
    bool listed = change & 32 || !before->mask || !(before->mask >> lane & 1);
    uint32_t base = listed ? draw(random) % 32768 : before->address[lane] % 32768;
    access.address[lane] = access.mask >> lane & 1 ? (base & align) + move : 0;
  }
  return access;
}

static void assert_same_access(const bf_access *a, const bf_access *b) {
  assert_int_equal(a->op, b->op);
  assert_int_equal(a->width_bytes, b->width_bytes);
  assert_int_equal(a->mask, b->mask);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->site == NULL, b->site == NULL);
  if (a->site)
    assert_string_equal(a->site, b->site);
  assert_memory_equal(a->address, b->address, sizeof a->address);
}

static void write_trace(const char *path, bool packed, const bf_access *accesses, size_t count) {
  bf_trace_writer *writer;
  unlink(path);
  assert_int_equal(bf_trace_writer_open(path, packed, &writer, NULL), BF_OK);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(bf_trace_writer_add(writer, &accesses[i], NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
}

static void copy_trace(const char *from, const char *to, bool packed) {
  bf_trace *trace;
  bf_trace_writer *writer;
  unlink(to);
  assert_int_equal(bf_trace_open(from, &limits, &trace, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_open(to, packed, &writer, NULL), BF_OK);
  bf_access access;
  while (bf_trace_next(trace, &access, NULL) == 1)
    assert_int_equal(bf_trace_writer_add(writer, &access, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
  bf_trace_close(trace);
}

/* Text -> packed -> text keeps every access, for random traces in which each field changes now and
 * then. */
static void packing_keeps_accesses(void **state) {
  (void)state;
  enum { COUNT = 300 };
  static bf_access accesses[COUNT];
  char first[32], packed[32], last[32];
  temporary_name(first), temporary_name(packed), temporary_name(last);
  for (uint64_t round = 0; round < 20; round++) {
    uint64_t random = round;
    bf_access before = {.count = 1};
    for (int i = 0; i < COUNT; i++)
      before = accesses[i] = random_access(&random, &before);
    write_trace(first, false, accesses, COUNT);
    copy_trace(first, packed, true);
    copy_trace(packed, last, false);
    bf_trace *trace;
    assert_int_equal(bf_trace_open(last, &limits, &trace, NULL), BF_OK);
    for (int i = 0; i < COUNT; i++) {
      bf_access access;
      assert_int_equal(bf_trace_next(trace, &access, NULL), 1);
      assert_same_access(&access, &accesses[i]);
    }
    bf_trace_close(trace);
  }
  unlink(first), unlink(packed), unlink(last);
}

static void packed_lines_are_access_numbers(void **state) {
  (void)state;
  char path[32];
  bf_access accesses[2] = {{.width_bytes = 4, .mask = 1, .count = 1},
                           {.width_bytes = 4, .mask = 1, .count = 1}};
  write_trace(temporary_name(path), true, accesses, 2);
  bf_trace *trace;
  bf_access access;
  assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
  assert_int_equal(bf_trace_next(trace, &access, NULL), 1);
  assert_int_equal(bf_trace_next(trace, &access, NULL), 1);
  assert_int_equal(access.line, 2);
  assert_int_equal(bf_trace_next(trace, &access, NULL), 0);
  assert_int_equal(bf_trace_next(trace, &access, NULL), 0);
  bf_trace_close(trace);
  unlink(path);
}

/* A packed trace before compression, written by hand as docs/traces.md describes it. */
static const unsigned char plain[] = {
    0x89, 'B', 'F', 'T', 'R', 'A', 'C', 'E', 1,    /* magic, version */
    0x01, 2,   'k', '1',                           /* site 0 */
    0xAF, 2,   'l', 'd', 4,   3,   1,   1,   8, 8, /* ld 4 3 4 8 @k1 */
    0x80,                                          /* the same again */
    0x94, 5,   16,                                 /* ld 4 3 12 16 x5 @k1 */
    0x00, 3,                                       /* end of 3 accesses */
};

static void packed_bytes_mean_what_is_documented(void **state) {
  (void)state;
  char path[32];
  write_bytes(temporary_name(path), plain, sizeof plain);
  bf_trace *trace;
  assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
  static const struct {
    uint32_t address0, address1;
    uint64_t count;
  } expected[] = {{4, 8, 1}, {4, 8, 1}, {12, 16, 5}};
  for (int i = 0; i < 3; i++) {
    bf_access access;
    assert_int_equal(bf_trace_next(trace, &access, NULL), 1);
    assert_int_equal(access.address[0], expected[i].address0);
    assert_int_equal(access.address[1], expected[i].address1);
    assert_int_equal(access.count, expected[i].count);
    assert_string_equal(access.site, "k1");
  }
  bf_access access;
  assert_int_equal(bf_trace_next(trace, &access, NULL), 0);
  bf_trace_close(trace);
  unlink(path);
}

/* A list of random accesses, and accesses drawn from it again and again with other counts, places
 * and sites: more distinct ones than are remembered. */
static bf_access *draw_again(size_t kinds, size_t count) {
  bf_access *kind = calloc(kinds, sizeof *kind), *drawn = calloc(count, sizeof *drawn);
  uint64_t random = 5;
  for (size_t i = 0; i < kinds; i++)
    kind[i] = random_access(&random, &(bf_access){.count = 1});
  for (size_t i = 0; i < count; i++) {
    drawn[i] = kind[draw(&random) % (draw(&random) % 2 ? kinds : kinds / 8)];
    uint32_t move = draw(&random) % 3 ? draw(&random) % 64 * 16 : 0;
    for (uint64_t left = drawn[i].mask; left; left &= left - 1)
      drawn[i].address[__builtin_ctzll(left)] += move;
    if (draw(&random) % 4 == 0)
      drawn[i].site = "elsewhere";
    if (draw(&random) % 4 == 0)
      drawn[i].count = draw(&random) % 9 + 1;
  }
  free(kind);
  return drawn;
}

static void shapes_are_recalled(void **state) {
  (void)state;
  enum { COUNT = 6000 };
  bf_access *accesses = draw_again(700, COUNT), read;
  char path[32];
  write_trace(temporary_name(path), true, accesses, COUNT);
  bf_trace *trace;
  assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
    assert_same_access(&read, &accesses[i]);
    assert_int_equal(read.line, i + 1);
  }
  assert_int_equal(bf_trace_next(trace, &read, NULL), 0);
  bf_trace_close(trace);
  unlink(path);
  free(accesses);
}

/* Parts, one after another, hold what the trace holds. */
static void parts_hold_what_the_trace_holds(void **state) {
  (void)state;
  enum { COUNT = 6000 };
  bf_access *accesses = draw_again(50, COUNT);
  for (int packed = 0; packed < 2; packed++) {
    char path[32];
    write_trace(temporary_name(path), packed, accesses, COUNT);
    bf_trace *trace;
    bf_trace_part *part = bf_trace_part_create();
    const bf_access *read;
    size_t found = 0, parts = 0;
    assert_int_equal(bf_trace_open(path, &limits, &trace, NULL), BF_OK);
    for (; bf_trace_cut(trace, part, NULL, NULL) == 1; parts++)
      for (; bf_trace_part_step(part, &read, NULL) == 1; found++) {
        assert_same_access(read, &accesses[found]);
        assert_int_equal(read->line, found + 1);
      }
    assert_int_equal(found, COUNT);
    assert_true(parts > 1);
    uint64_t bytes, size;
    bf_trace_place(trace, &bytes, &size);
    assert_int_equal(bytes, size);
    bf_trace_part_free(part);
    bf_trace_close(trace);
    unlink(path);
  }
  free(accesses);
}

/* A fault in a later part is told with its line in the file. */
static void faults_in_parts_have_their_line(void **state) {
  (void)state;
  bf_text text = {0};
  for (int i = 0; i < 50000; i++)
    bf_text_puts(&text, i == 40000 ? "ld 4 1 3\n" : "ld 4 1 4\n");
  bf_trace *trace;
  bf_diagnostic found = {0};
  const bf_access *read;
  bf_trace_part *part = bf_trace_part_create();
  assert_int_equal(
      bf_trace_open_memory("m", text.data, text.size, BF_TRACE_OWN, &limits, &trace, NULL), BF_OK);
  int result = 0;
  while (result == 0 && bf_trace_cut(trace, part, NULL, &found) == 1)
    while ((result = bf_trace_part_step(part, &read, &found)) == 1)
      continue;
  assert_int_equal(result, BF_BAD_INPUT);
  assert_int_equal(found.line, 40001);
  assert_int_equal(found.column, 8);
  bf_trace_part_free(part);
  bf_trace_close(trace);
  bf_text_free(&text);
}

/* Two shapes, of which the first is recalled: ld 4 lanes 0 and 1 at 0 and 4, at 0 and 8, then the
 * first again, 16 further. */
static const unsigned char recalling[] = {0x89, 'B', 'F',  'T', 'R', 'A', 'C', 'E', 2,
                                          0xA3, 2,   'l',  'd', 4,   3,   0,   8,   0xA0,
                                          0,    16,  0xB0, 0,   32,  0,   3};

static void recalled_shapes_are_as_documented(void **state) {
  (void)state;
  bf_trace *trace;
  bf_access read;
  assert_int_equal(
      bf_trace_open_memory("m", recalling, sizeof recalling, BF_TRACE_OWN, &limits, &trace, NULL),
      BF_OK);
  const uint32_t expected[3][2] = {{0, 4}, {0, 8}, {16, 20}};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
    assert_int_equal(read.address[0], expected[i][0]);
    assert_int_equal(read.address[1], expected[i][1]);
  }
  assert_int_equal(bf_trace_next(trace, &read, NULL), 0);
  bf_trace_close(trace);
  unsigned char bytes[sizeof recalling];
  bf_diagnostic found;
  memcpy(bytes, recalling, sizeof bytes);
  bytes[21] = 2;
  assert_int_equal(walk_bytes(bytes, sizeof bytes, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "a shape that was never listed"));
  bytes[21] = 0;
  bytes[8] = 1;
  assert_int_equal(walk_bytes(bytes, sizeof bytes, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "a record of unknown kind"));
}

/* Every byte of a small file takes every value and every truncation is tried: an error, or only
 * valid accesses (walk checks them), never a crash. */
static void damage(const unsigned char *bytes, size_t size, bool all_values) {
  unsigned char *copy = malloc(size);
  bf_diagnostic found;
  for (size_t i = 0; i < size; i++) {
    int tries = all_values ? 255 : 8;
    for (int t = 0; t < tries; t++) {
      memcpy(copy, bytes, size);
      copy[i] = (unsigned char)(copy[i] ^ (all_values ? t + 1 : 1 << t));
      int result = walk_bytes(copy, size, &found);
      assert_true(result > 0 || (result < 0 && found.message[0]));
    }
    assert_true(walk_bytes(bytes, i, &found) < 0);
  }
  free(copy);
}

/* ld 4 of lanes 0 to 3 at 12, 4, 20, 4, in numbers of two bits above 4; and of all 32 lanes at
 * 4 * (7 * lane % 32), in numbers of five bits, so that the kernels read them. */
static void equal_lengths_are_as_documented(void **state) {
  (void)state;
  unsigned char bytes[160] = {0x89, 'B',  'F',  'T',  'R', 'A', 'C', 'E', 3,    0xE3,
                              2,    'l',  'd',  4,    15,  8,   2,   3,   0x21, 0xE2,
                              0xFF, 0xFF, 0xFF, 0xFF, 15,  23,  5,   2};
  size_t size = 28;
  for (unsigned lane = 0; lane < 32; lane++)
    for (unsigned bit = 0; bit < 5; bit++)
      bytes[size + (5 * lane + bit) / 8] |=
          (unsigned char)((7 * lane % 32 >> bit & 1) << (5 * lane + bit) % 8);
  bytes[size += 20] = 0;
  bytes[size + 1] = 2;
  size += 2;
  bf_trace *trace;
  bf_access read;
  bf_diagnostic found;
  const uint32_t expected[4] = {12, 4, 20, 4};
  assert_int_equal(bf_trace_open_memory("m", bytes, size, BF_TRACE_OWN, &limits, &trace, NULL),
                   BF_OK);
  assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
  assert_memory_equal(read.address, expected, sizeof expected);
  assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
  for (unsigned lane = 0; lane < 32; lane++)
    assert_int_equal(read.address[lane], 4 * (7 * lane % 32));
  assert_int_equal(bf_trace_next(trace, &read, NULL), 0);
  bf_trace_close(trace);
  damage(bytes, size, true);
  bytes[8] = 2;
  assert_int_equal(walk_bytes(bytes, size, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "a record of unknown kind"));
  bytes[8] = 3;
  bytes[16] = 32;
  assert_int_equal(walk_bytes(bytes, size, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "needs more than 32 bits"));
}

/* ld 4 of lanes 1, 3 and 4 at 44, 28 and 20: from 44 on, 8 bytes less a lane; then of all lanes but
 * lane 2 at 100 + 4 * lane. */
static void lines_are_as_documented(void **state) {
  (void)state;
  unsigned char bytes[] = {0x89, 'B',  'F',  'T', 'R', 'A', 'C', 'E', 4,    0xE3,
                           2,    'l',  'd',  4,   26,  88,  64,  15,  0xE2, 0xFB,
                           0xFF, 0xFF, 0xFF, 15,  112, 64,  8,   0,   2};
  const uint32_t expected[5] = {0, 44, 0, 28, 20};
  bf_trace *trace;
  bf_access read;
  bf_diagnostic found;
  assert_int_equal(
      bf_trace_open_memory("m", bytes, sizeof bytes, BF_TRACE_OWN, &limits, &trace, NULL), BF_OK);
  assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
  assert_memory_equal(read.address, expected, sizeof expected);
  assert_int_equal(bf_trace_next(trace, &read, NULL), 1);
  for (unsigned lane = 0; lane < 32; lane++)
    assert_int_equal(read.address[lane], lane == 2 ? 0 : 100 + 4 * lane);
  assert_int_equal(bf_trace_next(trace, &read, NULL), 0);
  bf_trace_close(trace);
  damage(bytes, sizeof bytes, true);
  bytes[17] = 31; /* 16 bytes less a lane: lane 4 at -4 */
  assert_int_equal(walk_bytes(bytes, sizeof bytes, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "needs more than 32 bits"));
  bytes[17] = 15;
  bytes[8] = 3;
  assert_int_equal(walk_bytes(bytes, sizeof bytes, &found), BF_BAD_INPUT);
}

/* Lines of any lanes, mask and direction, some of which leave the line at one lane, are read as
 * they were written, by each kernel's reader and by the slow one, and most of them are short. */
static void lines_are_kept(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static bf_access accesses[COUNT];
  const bf_trace_limits any = {.lanes = 64, .allocation_bytes = (uint64_t)UINT32_MAX + 1};
  char packed[32];
  uint64_t random = 8;
  for (int i = 0; i < COUNT; i++) {
    bf_access *own = &accesses[i];
    int64_t step = (int64_t)(draw(&random) % (i % 5 ? 4096 : 1U << 25)) * 4;
    int64_t origin = (int64_t)(draw(&random) % (1U << 30)) * 4;
    *own = (bf_access){.width_bytes = 4, .count = 1 + (i % 9 == 0), .line = (uint64_t)i + 1};
    own->mask = i % 3 ? draw(&random) | 1U << i % 32 : UINT32_MAX;
    if (i % 11 == 0)
      own->mask |= (uint64_t)draw(&random) << 32;
    step = i % 2 ? -step : step;
    int64_t last = origin + 63 * step;
    step = last < 0 || last > UINT32_MAX ? (i % 4) * 4 : step;
    origin = origin > UINT32_MAX - 63 * 12 ? 0 : origin;
    for (int lane = 0; lane < 64; lane++)
      if (own->mask >> lane & 1)
        own->address[lane] = (uint32_t)(origin + lane * step);
    if (i % 4 == 0)
      own->address[__builtin_ctzll(own->mask)] ^= 16;
  }
  write_trace(temporary_name(packed), true, accesses, COUNT);
  for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
    bf_trace_limits own = any;
    bf_trace *trace;
    bf_access read;
    own.lanes = lanes;
    assert_int_equal(bf_trace_open(packed, &own, &trace, NULL), BF_OK);
    int result = 1;
    for (int i = 0; result == 1 && i < COUNT; i++)
      if ((result = bf_trace_next(trace, &read, NULL)) == 1)
        assert_same_access(&read, &accesses[i]);
    assert_int_equal(result == 1, lanes == 64);
    bf_trace_close(trace);
  }
  unlink(packed);
}

/* Gathers of all kinds of lanes and lengths are read as they were written, whatever kernel reads
 * and however they were listed. */
static void gathers_are_kept(void **state) {
  (void)state;
  enum { COUNT = 400 };
  static bf_access accesses[COUNT];
  const bf_trace_limits any = {.lanes = 64, .allocation_bytes = (uint64_t)UINT32_MAX + 1};
  char packed[32];
  uint64_t random = 3;
  for (int i = 0; i < COUNT; i++) {
    bf_access *own = &accesses[i];
    unsigned bits = draw(&random) % 31, shift = draw(&random) % (31 - bits);
    *own = (bf_access){.width_bytes = shift < 4 ? 1U << shift : 16, .count = 1};
    own->mask = i % 2 ? UINT32_MAX : draw(&random) | 1;
    if (i % 7 == 0)
      own->mask |= (uint64_t)draw(&random) << 32;
    for (int lane = 0; lane < 64; lane++)
      if (own->mask >> lane & 1)
        own->address[lane] =
            (uint32_t)(((uint64_t)draw(&random) << 16 ^ draw(&random)) & ((1U << bits) - 1))
            << shift;
  }
  write_trace(temporary_name(packed), true, accesses, COUNT);
  for (unsigned lanes = 32; lanes <= 64; lanes += 32) {
    bf_trace_limits own = any;
    bf_trace *trace;
    bf_access read;
    own.lanes = lanes;
    assert_int_equal(bf_trace_open(packed, &own, &trace, NULL), BF_OK);
    int result = 1;
    for (int i = 0; result == 1 && i < COUNT; i++)
      if ((result = bf_trace_next(trace, &read, NULL)) == 1)
        assert_same_access(&read, &accesses[i]);
    assert_int_equal(result == 1, lanes == 64);
    bf_trace_close(trace);
  }
  unlink(packed);
}

static void damaged_packed_traces_do_no_harm(void **state) {
  (void)state;
  damage(plain, sizeof plain, true);
  damage(recalling, sizeof recalling, true);
}

/* Accesses of three shapes, whose counts and sites change now and then: most records are passed
 * over without a look at addresses. */
static void damaged_repeats_do_no_harm(void **state) {
  (void)state;
  enum { COUNT = 100 };
  static bf_access accesses[COUNT];
  char path[32];
  bf_text content = {0};
  uint64_t random = 11;
  for (int i = 0; i < COUNT; i++) {
    bf_access *own = &accesses[i];
    uint32_t stride = 4 * (draw(&random) % 3), base = 4 * (draw(&random) % 100);
    *own = (bf_access){.width_bytes = 4, .mask = UINT32_MAX, .count = 1};
    own->count = draw(&random) % 4 ? 1 : draw(&random) % 300 + 1;
    own->site = draw(&random) % 4 ? "a" : "b";
    for (uint32_t lane = 0; lane < 32; lane++)
      own->address[lane] = base + lane * stride;
  }
  write_trace(temporary_name(path), true, accesses, COUNT);
  assert_int_equal(bf_read_file(path, 1 << 16, &content, NULL), BF_OK);
  unlink(path);
  damage((const unsigned char *)content.data, content.size, false);
  bf_text_free(&content);
}

static void damaged_compressed_traces_do_no_harm(void **state) {
  (void)state;
  bf_access accesses[3] = {
      {.width_bytes = 4, .mask = 3, .count = 1, .site = "k1", .address = {4, 8}},
      {.width_bytes = 4, .mask = 3, .count = 1, .site = "k1", .address = {4, 8}},
      {.op = BF_OP_F64, .width_bytes = 8, .mask = 5, .count = 9, .address = {800, 0, 16}},
  };
  char path[32];
  write_trace(temporary_name(path), true, accesses, 3);
  unsigned char bytes[512];
  size_t size = read_bytes(path, bytes, sizeof bytes);
  unlink(path);
  assert_true(size > 16 && size < sizeof bytes);
  damage(bytes, size, false);
}

static void packed_faults_are_explained(void **state) {
  (void)state;
  static const struct {
    size_t at;
    unsigned char value;
    const char *message;
  } table[] = {
      {8, 7, "a packed trace of version 7, but only versions up to 4 can be read"},
      {9, 0x02, "a record of unknown kind (access 1, byte 9)"},
      {11, ' ', "a site holds no white space"},
      {13, 0x80, "a first access that refers to one before it"},
      {13, 0xBF, "a record of unknown kind"},
      {15, 'x', "an unknown operation"},
      {17, 3, "access 1: width is 1, 2, 4, 8 or 16 bytes, not 3"},
      {18, 0, "access 1: no lane is active"},
      {19, 0, "access 1: the count is 0"},
      {20, 2, "a site that is not defined"},
      {21, 1, "negative or needs more than 32 bits"},
      {21, 4, "access 1: address 2 is not aligned to 4 bytes"},
      {23, 0x82, "a new mask without addresses"},
      {28, 4, "the end record tells another number of accesses"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    unsigned char bytes[sizeof plain];
    memcpy(bytes, plain, sizeof plain);
    bytes[table[i].at] = table[i].value;
    bf_diagnostic found;
    assert_int_equal(walk_bytes(bytes, sizeof bytes, &found), BF_BAD_INPUT);
    if (!strstr(found.message, table[i].message))
      fail_msg("byte %zu: '%s'", table[i].at, found.message);
  }
  unsigned char longer[sizeof plain + 1] = {0};
  memcpy(longer, plain, sizeof plain);
  bf_diagnostic found;
  assert_int_equal(walk_bytes(longer, sizeof longer, &found), BF_BAD_INPUT);
  assert_non_null(strstr(found.message, "something follows the end record"));
}

/* Repeated accesses cost almost nothing. */
static void repetition_is_cheap(void **state) {
  (void)state;
  char path[32];
  temporary_name(path);
  unlink(path);
  bf_trace_writer *writer;
  assert_int_equal(bf_trace_writer_open(path, true, &writer, NULL), BF_OK);
  bf_access access = {.width_bytes = 4, .mask = 0xffffffff, .count = 1};
  for (int i = 0; i < 200000; i++)
    assert_int_equal(bf_trace_writer_add(writer, &access, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
  unsigned char bytes[1024];
  assert_true(read_bytes(path, bytes, sizeof bytes) < 200);
  bf_diagnostic found;
  assert_int_equal(walk(path, &found), 200000);
  unlink(path);
}

static void writers_refuse_what_no_trace_can_hold(void **state) {
  (void)state;
  char path[32];
  temporary_name(path);
  unlink(path);
  bf_trace_writer *writer;
  bf_diagnostic found;
  assert_int_equal(bf_trace_writer_open(path, false, &writer, NULL), BF_OK);
  bf_access spaced = {.width_bytes = 4, .mask = 1, .count = 1, .site = "a b"};
  bf_access unaligned = {.width_bytes = 4, .mask = 1, .count = 1, .address = {2}};
  assert_int_equal(bf_trace_writer_add(writer, &spaced, &found), BF_BAD_INPUT);
  assert_int_equal(bf_trace_writer_add(writer, &unaligned, &found), BF_BAD_INPUT);
  assert_int_equal(bf_trace_writer_commit(writer, &found), BF_BAD_INPUT);
  bf_trace_writer_close(writer);
  assert_int_not_equal(access(path, F_OK), 0);
}

/* A pipe (or a device) is written, not replaced by a file. */
static void special_files_are_written_in_place(void **state) {
  (void)state;
  char path[32];
  unlink(temporary_name(path));
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  assert_true(reader >= 0);
  bf_trace_writer *writer;
  bf_access access = {.width_bytes = 4, .mask = 1, .count = 1};
  assert_int_equal(bf_trace_writer_open(path, false, &writer, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_add(writer, &access, NULL), BF_OK);
  assert_int_equal(bf_trace_writer_commit(writer, NULL), BF_OK);
  bf_trace_writer_close(writer);
  char line[32] = "";
  assert_int_equal(read(reader, line, sizeof line - 1), 16);
  assert_string_equal(line, "ld 4 00000001 0\n");
  close(reader);
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  assert_true(S_ISFIFO(status.st_mode));
  unlink(path);
}

static void workloads_of_the_project_are_read(void **state) {
  (void)state;
  const char *names[] = {"dct8",   "fft1024", "fft512", "nw17",        "reduce", "strides64",
                         "tile32", "tile64",  "walsh",  "transpose16", "tile128"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[64];
    snprintf(path, sizeof path, "tests/data/workloads/%s.trace", names[i]);
    bf_diagnostic found;
    if (walk(path, &found) <= 0)
      fail_msg("%s: %s", path, found.message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_per_active_lane),
      cmocka_unit_test(addresses_are_read_in_every_form),
      cmocka_unit_test(addresses_per_lane_ignore_inactive_ones),
      cmocka_unit_test(count_and_site_stand_anywhere),
      cmocka_unit_test(a_site_may_hold_any_other_byte),
      cmocka_unit_test(blank_lines_and_comments_are_no_access),
      cmocka_unit_test(generators_count_elements),
      cmocka_unit_test(faults_are_located),
      cmocka_unit_test(the_33rd_address_is_at_fault),
      cmocka_unit_test(a_caret_points_into_the_excerpt),
      cmocka_unit_test(numbers_are_printed),
      cmocka_unit_test(line_ends_and_last_lines),
      cmocka_unit_test(a_trace_without_accesses_is_refused),
      cmocka_unit_test(faults_in_files_have_lines),
      cmocka_unit_test(counts_may_not_overflow),
      cmocka_unit_test(long_lines_are_refused),
      cmocka_unit_test(long_traces_cross_windows),
      cmocka_unit_test(missing_files_are_reported),
      cmocka_unit_test(packing_keeps_accesses),
      cmocka_unit_test(packed_lines_are_access_numbers),
      cmocka_unit_test(packed_bytes_mean_what_is_documented),
      cmocka_unit_test(damaged_packed_traces_do_no_harm),
      cmocka_unit_test(damaged_repeats_do_no_harm),
      cmocka_unit_test(damaged_compressed_traces_do_no_harm),
      cmocka_unit_test(shapes_are_recalled),
      cmocka_unit_test(parts_hold_what_the_trace_holds),
      cmocka_unit_test(faults_in_parts_have_their_line),
      cmocka_unit_test(equal_lengths_are_as_documented),
      cmocka_unit_test(lines_are_as_documented),
      cmocka_unit_test(lines_are_kept),
      cmocka_unit_test(gathers_are_kept),
      cmocka_unit_test(recalled_shapes_are_as_documented),
      cmocka_unit_test(packed_faults_are_explained),
      cmocka_unit_test(repetition_is_cheap),
      cmocka_unit_test(writers_refuse_what_no_trace_can_hold),
      cmocka_unit_test(special_files_are_written_in_place),
      cmocka_unit_test(workloads_of_the_project_are_read),
  };
  return cmocka_run_group_tests(tests, NULL, free_sites);
}
