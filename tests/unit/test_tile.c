/* Tiles of wmma: how they are read, and which forms of them the verifier takes in arrays with
 * longer rows, with hashes, and in those that are left alone. */
#include "verify.h"

#include "ptx/tile.h"

/* ---- Reading ---- */

static void tiles_are_read(void **state) {
  static const struct {
    const char *text;
    bf_ptx_tile tile;
    uint64_t stride; /* bytes; 0: no number */
  } rows[] = {
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r1,%r2}, [%r3], 64;",
       {.role = 'a',
        .lines = 16,
        .line_elements = 16,
        .element_bytes = 2,
        .is_along = true,
        .address = 1,
        .stride = 2},
       128},
      {"wmma.load.a.sync.aligned.col.m8n32k16.f16 {%r1,%r2}, [%rd1], %r9;",
       {.role = 'a',
        .lines = 16,
        .line_elements = 8,
        .element_bytes = 2,
        .address = 1,
        .stride = 2},
       0},
      {"wmma.load.b.sync.aligned.row.m16n16k8.tf32 {%r1,%r2}, [%rd1], %r8;",
       {.role = 'b',
        .lines = 8,
        .line_elements = 16,
        .element_bytes = 4,
        .address = 1,
        .stride = 2},
       160},
      {"wmma.load.b.sync.aligned.col.m8n32k16.shared.s8 {%r1}, [%r3], 48;",
       {.role = 'b',
        .lines = 32,
        .line_elements = 16,
        .element_bytes = 1,
        .is_along = true,
        .address = 1,
        .stride = 2},
       48},
      {"wmma.store.d.sync.aligned.row.m32n8k16.shared.f32 [%r3], {%r1,%r2};",
       {.is_store = true,
        .role = 'c',
        .lines = 32,
        .line_elements = 8,
        .element_bytes = 4,
        .is_along = true},
       32},
  };
  char text[1024];
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_ptx_tile tile;
    uint64_t stride = 0;
    snprintf(
        text, sizeof text,
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u32 k_n)\n{\n"
        ".reg .b32 %%r<10>;\n.reg .b64 %%rd<4>;\nmov.u32 %%r8, 40;\nld.param.u32 %%r9, [k_n];\n"
        "%s\nret;\n}\n",
        rows[i].text);
    bf_ptx_module *module = parse(text);
    const bf_ptx_function *kernel = bf_ptx_find(module, "k");
    assert_true(bf_ptx_tile_read(kernel->instruction[2], &tile));
    assert_memory_equal(&tile, &rows[i].tile, sizeof tile);
    assert_int_equal(bf_ptx_tile_stride(kernel, kernel->instruction[2], &tile, &stride),
                     rows[i].stride != 0);
    assert_int_equal(stride, rows[i].stride);
    assert_false(bf_ptx_tile_read(kernel->instruction[0], &tile));
    bf_ptx_free(module);
  }
}

/* ---- Judging ---- */

/* Lines that start with '-' are the original's only, with '+' the rewritten form's. Array a has 64
 * rows of 128 bytes, which become 144; b is of the same size. */
typedef struct form {
  const char *name, *body;
  const char *message; /* why it is rejected; NULL: accepted */
} form;

static const char head[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 k_out, .param .u32 k_n).reqntid 128\n{\n"
    "-.shared .align 128 .b8 a[8192];\n+.shared .align 128 .b8 a[9200];\n"
    ".shared .align 128 .b8 b[8192];\n"
    ".reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n+.reg .b32 %n<12>;\n"
    "ld.param.u32 %r19, [k_n];\nld.param.u64 %rd8, [k_out];\nmov.u32 %r18, 64;\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, a;\nmov.u32 %r3, b;\n"
    /* 16 rows for each warp: %r6 = a + 2048 * warp, and in longer rows %n6 */
    "shr.u32 %r4, %r1, 5;\nshl.b32 %r5, %r4, 11;\nadd.s32 %r6, %r2, %r5;\n"
    "+mul.lo.s32 %n5, %r4, 2304;\n+add.s32 %n6, %r2, %n5;\n"
    /* the same as a generic address, %rd5, and of b %rd6 */
    "cvt.u64.u32 %rd1, %r2;\ncvta.shared.u64 %rd2, %rd1;\nmul.wide.u32 %rd3, %r4, 2048;\n"
    "add.s64 %rd5, %rd2, %rd3;\ncvt.u64.u32 %rd4, %r3;\ncvta.shared.u64 %rd7, %rd4;\n"
    "add.s64 %rd6, %rd7, %rd3;\n";

#define LOAD(space) "wmma.load.a.sync.aligned.row.m16n16k16" space ".f16 {%r10,%r11,%r12,%r13}, "
#define WAS(where) "-" LOAD(".shared") where ";\n"
#define IS(where) "+" LOAD(".shared") where ";\n"
#define GENERIC(where) LOAD("") where ";\n"
#define NOT_PROVEN "not proven to be the one in the longer row"
#define OTHER_STRIDE "not as many longer rows"

static const form forms[] = {
    {"a tile for each warp", WAS("[%r6], %r18") IS("[%n6], 72"), NULL},
    {"the last of a row", WAS("[%r6+96], 64") IS("[%n6+96], 72"), NULL},
    {"a line that leaves the row", WAS("[%r6+112], 64") IS("[%n6+112], 72"), NOT_PROVEN},
    {"every other row", WAS("[%r6], 128") IS("[%n6], 144"), NULL},
    {"the stride as it was", WAS("[%r6], %r18") IS("[%n6], %r18"), OTHER_STRIDE},
    {"another stride", WAS("[%r6], %r18") IS("[%n6], 80"), OTHER_STRIDE},
    {"half a row", WAS("[%r6], 32") IS("[%n6], 36"), OTHER_STRIDE},
    {"a stride that is not known", WAS("[%r6], %r19") IS("[%n6], %r19"), "no number"},
    {"no stride", WAS("[%r6]") IS("[%n6]"), "without a stride"},
    {"the address as it was", WAS("[%r6], 64") IS("[%r6], 72"), NOT_PROVEN},
    {"a row further on", WAS("[%r6], 64") IS("[%n6+144], 72"), NOT_PROVEN},
    {"an odd row, which is not whole 32 bytes away", WAS("[%r6+128], 64") IS("[%n6+144], 72"),
     NOT_PROVEN},
    {"two rows on", WAS("[%r6+256], 64") IS("[%n6+288], 72"), NULL},
    {"by name", "-" LOAD("") "[a+4096], 64;\n+" LOAD("") "[a+4608], 72;\n", NULL},
    {"by name, and another row", "-" LOAD("") "[a+4096], 64;\n+" LOAD("") "[a+4096], 72;\n",
     NOT_PROVEN},
    {"by a generic address", "-" GENERIC("[%rd5], 64") IS("[%n6], 72"), NULL},
    {"by a generic address with an offset", "-" GENERIC("[%rd5+4096], 64") IS("[%n6+4608], 72"),
     NULL},
    {"a generic address that stays as it was", GENERIC("[%rd5], 64"), OTHER_STRIDE},
    {"a generic address with the longer stride",
     "-" GENERIC("[%rd5], 64") "+" GENERIC("[%rd5], 72"), "without .shared"},
    {"a shared address without .shared", "-" GENERIC("[%rd5], 64") "+" GENERIC("[%n6], 72"),
     "without .shared"},
    {"a generic address with .shared", "-" GENERIC("[%rd5], 64") IS("[%rd5], 72"), NOT_PROVEN},
    {"a generic address of another array", "-" GENERIC("[%rd6], 64") IS("[%n6], 72"),
     "an array that is left alone"},
    {"an array that is left alone", GENERIC("[%rd6], 64") LOAD(".shared") "[%r3], 64;\n", NULL},
    {"another stride in it", WAS("[%r3], 64") IS("[%r3], 72"), "an array that is left alone"},
    {"another address in it", WAS("[%r3], 64") IS("[%r3+16], 64"), "an array that is left alone"},
    {"memory of a parameter", GENERIC("[%rd8], %r19"), NULL},
    {"memory of a parameter, with another stride",
     "-" GENERIC("[%rd8], 64") "+" GENERIC("[%rd8], 72"), "an array that is left alone"},
    {"memory of whoever knows",
     "st.global.u64 [%rd8], %rd5;\nld.global.u64 %rd1, [%rd8];\n" GENERIC("[%rd1], 64"),
     "not proven to be to one array"},
};

/* One side of a form. */
static void pick(const form *f, char mark, char *text) {
  char whole[MOST_TEXT];
  snprintf(whole, sizeof whole, "%s%sret;\n}\n", head, f->body);
  pick_lines(whole, mark, text);
}

static void forms_are_judged(void **state) {
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  unsigned wrong = 0;
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    pick(&forms[i], '-', original);
    pick(&forms[i], '+', rewritten);
    bf_verify_result result = judge(original, rewritten, "k=none k/a=pad:32+4");
    const char *found = result.findings ? result.finding[0].text : NULL;
    if (!found != !forms[i].message || (found && !strstr(found, forms[i].message))) {
      wrong++;
      print_error("%s: %s\n", forms[i].name, found ? found : "accepted");
    }
    bf_verify_free(&result);
  }
  assert_int_equal(wrong, 0);
}

/* A tile in memory that is hashed is rejected, be it by the hash of the kernel or of the array. */
static void hashes_are_rejected(void **state) {
  static const char *const hashes[] = {"k=fixed", "k=none k/b=fixed"};
  static const form plain = {"", LOAD(".shared") "[%r3], 64;\n", NULL};
  char original[MOST_TEXT], rewritten[MOST_TEXT];
  (void)state;
  pick(&plain, '-', original);
  pick(&plain, '+', rewritten);
  memcpy(strstr(rewritten, "9200"), "8192", 4);
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
    bf_verify_result result = judge(original, rewritten, hashes[i]);
    assert_true(result.findings > 0);
    assert_non_null(strstr(result.finding[0].text, "wmma on shared memory that is hashed"));
    bf_verify_free(&result);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_are_read),
      cmocka_unit_test(forms_are_judged),
      cmocka_unit_test(hashes_are_rejected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
