/* Constant expressions: what ptxas computed, recorded in tests/data/expressions/ptxas.txt by
 * tests/check/expressions_ptxas.py --record, is what variables hold in the emulator, and also when
 * the module is printed and read again. */
#include "emu.h"

#include <locale.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROWS = 4096 };

/* A line of the file: type, the bits that ptxas put into the variable, expression. */
typedef struct row {
  char kind[8], text[1000];
  uint64_t bits;
} row;

static size_t read_rows(row *rows) {
  FILE *file = fopen("tests/data/expressions/ptxas.txt", "r");
  assert_non_null(file);
  size_t count = 0;
  unsigned long long bits;
  while (count < MOST_ROWS &&
         fscanf(file, "%7s %llx %999[^\n]", rows[count].kind, &bits, rows[count].text) == 3)
    rows[count++].bits = bits;
  assert_true(feof(file));
  fclose(file);
  return count;
}

/* A variable for each row. */
static void put_module(const row *rows, size_t count, bf_text *text) {
  bf_text_puts(text, ".version 8.5\n.target sm_90\n.address_size 64\n");
  for (size_t i = 0; i < count; i++)
    bf_text_addf(text, ".visible .global .%s v%zu = %s;\n", rows[i].kind, i, rows[i].text);
}

static void compare(const bed *at, const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char name[32];
    bf_emu_range range;
    uint64_t bits = 0;
    snprintf(name, sizeof name, "v%zu", i);
    assert_true(bf_emu_variable(at->module, name, &range));
    assert_true(range.bytes <= sizeof bits);
    memcpy(&bits, (void *)(uintptr_t)range.address, range.bytes);
    if (bits != rows[i].bits)
      fail_msg(".%s %s: 0x%llx, but ptxas: 0x%llx", rows[i].kind, rows[i].text,
               (unsigned long long)bits, (unsigned long long)rows[i].bits);
  }
}

static void values_are_those_of_ptxas(void **state) {
  (void)state;
  row *rows = malloc(MOST_ROWS * sizeof *rows);
  assert_non_null(rows);
  size_t count = read_rows(rows);
  assert_true(count > 500);
  bf_text text = {0}, printed = {0};
  bed at;
  put_module(rows, count, &text);
  bed_open_text(&at, "expressions", text.data, text.size, NULL);
  compare(&at, rows, count);
  bf_ptx_print(at.ptx, &printed);
  bed_close(&at);
  bed_open_text(&at, "printed", printed.data, printed.size, NULL);
  compare(&at, rows, count);
  bed_close(&at);
  bf_text_free(&text);
  bf_text_free(&printed);
  free(rows);
}

/* Offsets of addresses in shared memory count modulo 2^32, others modulo 2^64. */
static void offsets_wrap(void **state) {
  (void)state;
  static const struct {
    const char *space, *address;
    uint32_t element;
  } rows[] = {
      {".shared", "[%s+4294967292]", 15},
      {".shared", "[%s+~3]", 15},
      {".shared", "[%s+0xfffffffffffffff8]", 14},
      {".shared", "[%s+1<<66]", 17},
      {".shared", "[s+(7 % -3)*4]", 7},
      {"", "[s+WARP_SZ]", 8},
      {".shared", "[s+4294967296+8]", 2},
      {".global", "[%g+~3]", 15},
      {".global", "[%g+(~7)/2*2+8+4]", 17},
      {".global", "[%g+-(1<<66)]", 15},
      {"", "[g+8*(1.5<2.0)]", 2},
  };
  bf_text text = {0};
  enum { ROWS = sizeof rows / sizeof *rows };
  bf_text_puts(&text, ".version 8.5\n.target sm_90\n.address_size 64\n"
                      ".global .align 8 .u32 g[32];\n.visible .entry k(.param .u64 out)\n{\n"
                      ".shared .align 16 .b8 s[128];\n.reg .b32 %r, %s;\n.reg .b64 %d, %g;\n"
                      "mov.u32 %s, s;\nadd.u32 %s, %s, 64;\nmov.u64 %g, g;\n"
                      "add.u64 %g, %g, 64;\nld.param.u64 %d, [out];\n");
  for (unsigned i = 0; i < 32; i++)
    bf_text_addf(&text, "st.shared.u32 [s+%u], %u;\nst.global.u32 [g+%u], %u;\n", 4 * i, i, 4 * i,
                 i);
  for (unsigned i = 0; i < ROWS; i++)
    bf_text_addf(&text, "ld%s.u32 %%r, %s;\nst.global.u32 [%%d+%u], %%r;\n", rows[i].space,
                 rows[i].address, 4 * i);
  bf_text_puts(&text, "ret;\n}\n");
  bed at;
  bed_open_text(&at, "offsets", text.data, text.size, NULL);
  uint64_t out = bed_alloc(&at, 4 * ROWS, 0);
  bf_emu_launch launch = bed_launch(&at, "k", 1, 1, &out, sizeof out);
  bed_run_well(&at, &launch);
  for (unsigned i = 0; i < ROWS; i++)
    if (((uint32_t *)(uintptr_t)out)[i] != rows[i].element)
      fail_msg("%s: element %u", rows[i].address, ((uint32_t *)(uintptr_t)out)[i]);
  bed_close(&at);
  bf_text_free(&text);
}

/* ---- Where numbers stand ---- */

/* The module with that line behind its head, printed. */
static void print_line(const char *line, bf_text *printed) {
  bf_text text = {0};
  bf_diagnostic diagnostic;
  bf_ptx_module *module;
  bf_text_addf(&text, ".version 8.8\n.target sm_90\n.address_size 64\n%s\n", line);
  if (bf_ptx_parse("line", text.data, text.size, &module, &diagnostic) != BF_OK)
    fail_msg("%s: %s", line, diagnostic.message);
  bf_ptx_print(module, printed);
  bf_ptx_free(module);
  bf_text_free(&text);
}

static void numbers_stand_where_ptxas_takes_them(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {".global .u32 a[WARP_SZ];", "a[32];"},
      {".global .align WARP_SZ .u32 a;", ".align 32 "},
      {".entry k() .maxntid WARP_SZ { ret; }", ".maxntid 32\n"},
      {".entry k() { .reg .b32 %r<WARP_SZ>; ret; }", "%r<32>"},
      {".entry k() { .reg .b32 %r; mov.u32 %r, WARP_SZ*2; ret; }", "%r, 64;"},
      {".entry k() { .reg .b32 %r; ld.shared.u32 %r, [%r+4*WARP_SZ]; ret; }", "[%r+128]"},
      {".entry k() { .reg .b32 %r; ld.shared.u32 %r, [%r+~7]; ret; }", "[%r+-8]"},
      {".entry k() { .reg .b64 %d; ld.global.u8 %d, [%d+(~7)/2]; ret; }",
       "[%d+9223372036854775804]"},
      {".entry k() { .reg .b32 %r; ld.shared.u32 %r, [%r+1<<65]; ret; }", "[%r+2]"},
      {".entry k() { .reg .f32 %f; fma.rn.f32 %f, %f, .5, .25+.25; ret; }",
       "%f, 0.5, 0d3FE0000000000000;"},
      {".entry k(.hidden .param .u64 a) { ret; }", ".hidden .param .u64 a"},
      {".weak .shared .align 16 .b8 a[64];", ".weak .shared .align 16 .b8 a[64];"},
      {".visible .func f() { ret; }", ".visible .func f()"},
      {".tex .u64 t; .entry k() { .reg .f32 %f<4>; .reg .f32 %x; "
       "tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [t, {%x}]; ret; }",
       "tex.1d.v4"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_text printed = {0};
    print_line(rows[i][0], &printed);
    if (!strstr(printed.data, rows[i][1]))
      fail_msg("%s: no '%s' in %s", rows[i][0], rows[i][1], printed.data);
    bf_text_free(&printed);
  }
}

/* A program that Bankfold is loaded into may write numbers with a comma. */
static void the_locale_does_not_matter(void **state) {
  (void)state;
  char folder[] = "/tmp/bankfold-locale-XXXXXX", command[200];
  assert_non_null(mkdtemp(folder));
  snprintf(command, sizeof command, "localedef -c -i de_DE -f UTF-8 %s/comma 2>/dev/null", folder);
  bool is_made = system(command) == 0;
  setenv("LOCPATH", folder, 1);
  is_made &= setlocale(LC_ALL, "comma") != NULL;
  bf_text printed = {0};
  char seen[16];
  snprintf(seen, sizeof seen, "%.1f", 0.5);
  print_line(".global .f64 a[4] = {0.5, .5, 1e-3, 1.25+.25};", &printed);
  setlocale(LC_ALL, "C");
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  bool is_right = strstr(printed.data, "{0.5, 0.5, 0.001, 0d3FF8000000000000}") != NULL;
  bf_text_free(&printed);
  assert_true(is_right);
  if (!is_made || strcmp(seen, "0,5") != 0) {
    puts("skipped: no locale here that writes 0,5");
    skip();
  }
}

/* What ptxas refuses as well. */
static void what_makes_no_sense_is_refused(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"1/0", "division by zero"},
      {"5 % (1-1)", "division by zero"},
      {"1.0/0.0", "division by zero"},
      {"1.5+1", "an integer and a floating-point number"},
      {"1 < 1.5", "an integer and a floating-point number"},
      {"1.5 && 1.5", "floating-point numbers do not have this operator"},
      {"1.5 << 1.5", "floating-point numbers do not have this operator"},
      {"1 ? 1.5 : 2", "expected a choice of integers by an integer"},
      {"~1.5", "expected an integer here"},
      {"!1.5", "expected an integer here"},
      {"(.u64)1.5", "expected an integer here"},
      {"1.0+0f3f800000", "expected a constant"},
      {"99999999999999999999", "number of more than 64 bits"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[200];
    bf_diagnostic diagnostic;
    bf_ptx_module *module;
    snprintf(text, sizeof text, ".version 8.5\n.target sm_90\n.global .u64 a = %s;\n", rows[i][0]);
    assert_int_equal(bf_ptx_parse("line", text, strlen(text), &module, &diagnostic), BF_BAD_INPUT);
    assert_non_null(strstr(diagnostic.message, rows[i][1]));
    assert_int_equal(diagnostic.line, 3);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_ptxas),
      cmocka_unit_test(offsets_wrap),
      cmocka_unit_test(numbers_stand_where_ptxas_takes_them),
      cmocka_unit_test(the_locale_does_not_matter),
      cmocka_unit_test(what_makes_no_sense_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
