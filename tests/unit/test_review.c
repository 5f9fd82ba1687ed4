/* Reviews: arrays of a module, the accesses of a trace sorted to them, their declarations, and
 * which of them a patch changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/review.h"

/* ---- Modules, traces and sources ---- */

/* What a test has open. */
typedef struct bed {
  bf_machine *machine;
  bf_ptx_module *module;
  bf_review review;
  char folder[32];
} bed;

static void must(int error, const bf_diagnostic *diagnostic) {
  if (error != BF_OK)
    fail_msg("%s", diagnostic->message);
}

/* Parses variables and kernels behind the head of a module and finds its arrays. */
static bed *open_bed(const char *ptx, const char *kernel) {
  bf_diagnostic diagnostic;
  bf_text text = {0};
  bed *b = calloc(1, sizeof *b);
  assert_non_null(b);
  strcpy(b->folder, "/tmp/bankfold.XXXXXX");
  assert_non_null(mkdtemp(b->folder));
  bf_text_addf(&text, ".version 8.0\n.target sm_90\n.address_size 64\n%s", ptx);
  must(bf_machine_load("hopper", NULL, &b->machine, &diagnostic), &diagnostic);
  must(bf_ptx_parse("a.ptx", text.data, text.size, &b->module, &diagnostic), &diagnostic);
  must(bf_review_find_arrays(&b->review, b->module, b->machine, kernel, &diagnostic), &diagnostic);
  bf_text_free(&text);
  return b;
}

static void close_bed(bed *b) {
  bf_review_free(&b->review);
  bf_ptx_free(b->module);
  bf_machine_free(b->machine);
  assert_int_equal(rmdir(b->folder), 0);
  free(b);
}

/* Writes a file into the folder of the test. */
static void write_file(const bed *b, const char *name, const char *text, char path[64]) {
  bf_diagnostic diagnostic;
  snprintf(path, 64, "%s/%s", b->folder, name);
  must(bf_write_file(path, text, strlen(text), &diagnostic), &diagnostic);
}

static void add_trace(bed *b, bool is_merged, const char *text) {
  bf_diagnostic diagnostic;
  char path[64];
  write_file(b, "trace", text, path);
  must(bf_review_add_trace(&b->review, path, is_merged, &diagnostic), &diagnostic);
  unlink(path);
}

/* Reads the source, which lies in a file of that name, and finds declarations. */
static void declare(bed *b, const char *name, const char *text) {
  bf_diagnostic diagnostic;
  char path[64];
  if (text) {
    write_file(b, name, text, path);
    must(bf_review_read_source(&b->review, path, &diagnostic), &diagnostic);
    unlink(path);
  }
  must(bf_review_find_declarations(&b->review, &diagnostic), &diagnostic);
}

static void patch(bed *b, int kind) {
  bf_diagnostic diagnostic;
  must(bf_review_suggest(&b->review, 2, &diagnostic), &diagnostic);
  must(bf_review_patch(&b->review, kind, &diagnostic), &diagnostic);
}

#define SHARED(name, bytes) ".shared .align 16 .b8 " name "[" #bytes "];\n"
#define TOUCH(name) "mov.u32 %r1, " name ";\n"
#define KERNEL(name, directives, body)                                                             \
  ".entry " name "()\n" directives "{\n.reg .b32 %r<4>;\n" body "ret;\n}\n"

/* ---- Arrays ---- */

static const char two_kernels[] = SHARED("_ZZ1kvE4tile", 4096)
    SHARED("_ZZN2ns4tileIiEEvvE4sums_0", 128) ".extern " SHARED("dyn", )
        KERNEL("_Z1kv", "", TOUCH("_ZZ1kvE4tile") TOUCH("_ZZN2ns4tileIiEEvvE4sums_0"))
            KERNEL("_ZN2ns1kEv", "", TOUCH("dyn") TOUCH("_ZZN2ns4tileIiEEvvE4sums_0"))
                KERNEL("idle", "", "");

static void test_arrays(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, "ns::k");
  const bf_review_array *array = b->review.array;
  assert_int_equal(b->review.arrays, 4);
  assert_string_equal(array[0].shared.name, "tile");
  assert_string_equal(array[0].function, "k");
  assert_string_equal(array[0].kernel_name, "k");
  assert_int_equal(array[0].shared.bytes, 4096);
  assert_false(array[0].is_asked);
  assert_string_equal(array[1].shared.name, "sums");
  assert_string_equal(array[1].function, "ns::tile<int>");
  assert_int_equal(array[1].offset_bytes, 4096);
  assert_string_equal(array[2].kernel_name, "ns::k");
  assert_true(array[2].is_asked && array[3].is_asked);
  for (unsigned i = 2; i < 4; i++)
    if (strcmp(array[i].variable->name, "dyn") == 0) {
      assert_string_equal(array[i].shared.name, "dyn");
      assert_null(array[i].function);
      assert_int_equal(array[i].shared.bytes, 0);
    }
  close_bed(b);
}

static void test_no_kernel(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, "idle");
  bf_diagnostic diagnostic;
  bf_review review;
  assert_int_equal(bf_review_find_arrays(&review, b->module, b->machine, "none", &diagnostic),
                   BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "no kernel 'none'; there are k ns::k idle");
  bf_review_free(&review);
  close_bed(b);
}

/* ---- Accesses ---- */

/* How many executions a workload has; its first address is *first. */
static uint64_t executions(const bf_workload *workload, uint64_t *first) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    sum += bf_workload_get(workload, i)->count;
  *first = bf_workload_size(workload) ? bf_workload_get(workload, 0)->address[0] : UINT64_MAX;
  return sum;
}

static void assert_accesses(const bf_workload *workload, uint64_t count, uint64_t first) {
  uint64_t found;
  assert_non_null(workload);
  assert_int_equal(executions(workload, &found), count);
  assert_int_equal(found, first);
}

/* Accesses go to the array that holds all their addresses, which count from its start. */
static void test_trace(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, NULL);
  add_trace(b, false,
            "st 4 ffffffff stride:1+8 x3 @k:a.cu:1\n"
            "ld 4 ffffffff stride:1+1024 x5 @_Z1kv:a.cu:2\n" /* sums */
            "ld 4 3 4092 4096 x7 @k:a.cu:3\n"                /* tile and sums */
            "ld 4 1 4224 x9 @k:a.cu:3\n"                     /* behind all */
            "ld 4 1 0 x11 @idle:a.cu:4\n"                    /* has no array */
            "ld 4 1 0 x13 @other:a.cu:5\n"
            "ld 4 1 0 x17\n");
  assert_accesses(b->review.array[0].shared.workload, 3, 32);
  assert_accesses(b->review.array[1].shared.workload, 5, 0);
  assert_accesses(b->review.array[2].shared.workload, 0, UINT64_MAX);
  assert_int_equal(b->review.mixed, 7 + 9);
  assert_null(b->review.array[0].shared.merged);
  add_trace(b, true, "ld 16 3 4080 4096 x2 @k:a.cu:3\nld 16 1 16 x4 @k:a.cu:3\n");
  assert_accesses(b->review.array[0].shared.merged, 4, 16);
  assert_accesses(b->review.array[0].shared.workload, 3, 32);
  assert_accesses(b->review.array[3].shared.merged, 0, UINT64_MAX);
  assert_int_equal(b->review.mixed, 7 + 9); /* those of merged accesses are the same */
  close_bed(b);
}

static void test_bad_trace(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, NULL);
  bf_diagnostic diagnostic;
  assert_int_equal(bf_review_add_trace(&b->review, "/none/trace", false, &diagnostic), BF_IO);
  close_bed(b);
}

/* A module with one kernel owns all accesses, whatever their sites say. */
static void test_one_kernel(void **state) {
  (void)state;
  bed *b = open_bed(SHARED("s", 128) KERNEL("k", "", TOUCH("s")), NULL);
  add_trace(b, false, "ld 4 1 8\nld 4 1 8 @a.cu:7\nld 4 1 8 @k:a.cu:7\n");
  assert_accesses(b->review.array[0].shared.workload, 3, 8);
  close_bed(b);
}

/* Without running, the size of a block is given, what the kernel requires, or the most likely one.
 */
static void test_analysis(void **state) {
  (void)state;
  static const char body[] = "mov.u32 %r2, %tid.x;\nshl.b32 %r2, %r2, 2;\n" TOUCH(
      "s") "add.u32 %r1, %r1, %r2;\nst.shared.u32 [%r1], %r2;\n";
  static const uint32_t none[3] = {0, 1, 1}, warps[3] = {64, 1, 1};
  bf_diagnostic diagnostic;
  bf_text ptx = {0};
  bf_text_addf(&ptx, "%s.entry a()\n.reqntid 32\n{\n.reg .b32 %%r<4>;\n%sret;\n}\n",
               SHARED("s", 256), body);
  bf_text_addf(&ptx, ".entry b()\n{\n.reg .b32 %%r<4>;\n%sret;\n}\n", body);
  bed *given = open_bed(ptx.data, NULL), *required = open_bed(ptx.data, "a");
  must(bf_review_add_analysis(&given->review, none, &diagnostic), &diagnostic);
  assert_accesses(given->review.array[0].shared.workload, 1, 0);
  assert_accesses(given->review.array[1].shared.workload, 2, 0); /* 64 threads fill 256 bytes */
  must(bf_review_add_analysis(&required->review, none, &diagnostic), &diagnostic);
  assert_accesses(required->review.array[0].shared.workload, 1, 0);
  assert_accesses(required->review.array[1].shared.workload, 0, UINT64_MAX);
  must(bf_review_add_analysis(&required->review, warps, &diagnostic), &diagnostic);
  assert_accesses(required->review.array[0].shared.workload, 3, 0);
  assert_string_equal(bf_workload_get(required->review.array[0].shared.workload, 0)->site,
                      "a:ptx:13");
  bf_text_free(&ptx);
  close_bed(given);
  close_bed(required);
}

/* ---- Declarations ---- */

static void test_declarations(void **state) {
  (void)state;
  bed *b = open_bed(SHARED("_ZZ1fvE1s", 4096) SHARED("_ZZ1gILi8EEvvE1s", 256)
                        SHARED("_ZZ1fvE4gone", 64) SHARED("_ZZ1fvE5twice", 128)
                            KERNEL("k", "",
                                   TOUCH("_ZZ1fvE1s") TOUCH("_ZZ1gILi8EEvvE1s")
                                       TOUCH("_ZZ1fvE4gone") TOUCH("_ZZ1fvE5twice")),
                    NULL);
  const bf_review_array *array = b->review.array;
  declare(b, "a.cu",
          "#define BF_F_S 1\n"
          "void f() { __shared__ float s[32][32]; { __shared__ int twice[32]; } {\n"
          "__shared__ int twice[32]; } }\n"
          "template <int N> void g() { __shared__ unknown s[N][N]; }\n");
  assert_int_equal(array[0].shared.dimensions, 2);
  assert_int_equal(array[0].shared.element_bytes, 4);
  assert_string_equal(array[0].macro, "BF_F_S_"); /* the other name is taken */
  assert_int_equal(array[1].shared.dimension[0], 8);
  assert_int_equal(array[1].shared.element_bytes, 4); /* 256 bytes of 64 elements */
  assert_string_equal(array[1].macro, "BF_G_S");
  assert_null(array[2].declared);
  assert_non_null(strstr(array[2].missing, "no declaration found in "));
  assert_int_equal(array[2].shared.dimensions, 0);
  assert_null(array[3].declared);
  assert_non_null(strstr(array[3].missing, "declared 2 times in "));
  close_bed(b);
}

/* Of several declarations it is the one in whose function the accesses are. */
static void test_near(void **state) {
  (void)state;
  static const char source[] = "namespace a { void f() {\n__shared__ int s[32];\ns[0] = 1; } }\n"
                               "namespace b { void f() {\n__shared__ int s[32];\ns[0] = 1; } }\n";
  bed *b = open_bed(SHARED("_ZZN1b1fEvE1s", 128) KERNEL("k", "", TOUCH("_ZZN1b1fEvE1s")), NULL);
  add_trace(b, false, "ld 4 1 0 @k:two_files.cu:6\n");
  declare(b, "two files.cu", source);
  assert_non_null(b->review.array[0].declared);
  assert_int_equal(b->review.source->token[b->review.array[0].declared->token].line, 5);
  close_bed(b);
}

static void test_no_source(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, NULL);
  add_trace(b, false, "ld 8 1 0 @k:a.cu:1\nld 4 1 8 @k:a.cu:1\nld 16 1 16 @k:a.cu:1\n");
  declare(b, NULL, NULL);
  patch(b, BF_SUGGEST_SWIZZLE);
  assert_string_equal(b->review.array[0].missing, "its source is not known");
  assert_int_equal(b->review.array[0].shared.element_bytes, 4); /* the narrowest access */
  assert_string_equal(b->review.array[0].macro, "BF_TILE");
  assert_string_equal(b->review.array[1].macro, "BF_TILE_SUMS");
  assert_int_equal(b->review.patch.edits, 0);
  close_bed(b);
}

/* ---- Patches ---- */

/* Instances of a template share a declaration. */
#define ROWS_32 "_ZZ4turnILi32EEvvE6square"
#define ROWS_16 "_ZZ4turnILi16EEvvE6square"
static const char turn[] = "template <int N> __device__ void turn() {\n"
                           "  __shared__ float square[N][N];\n"
                           "  square[y][x] = 1;\n"
                           "  out[x] = square[x]\n"
                           "                 [y];\n"
                           "}\n";
/* By columns: 31 conflicts in rows of 32. */
#define BY_COLUMN(kernel, line) "ld 4 ffffffff stride:32 @" kernel ":a.cu:" #line "\n"
#define BY_ROW(kernel, line) "st 4 ffffffff stride:1 @" kernel ":a.cu:" #line "\n"

/* The arrays of two instances of a template, of different sizes. */
static bed *open_instances(const char *trace) {
  bed *b = open_bed(SHARED(ROWS_32, 4096) SHARED(ROWS_16, 1024) KERNEL("k32", "", TOUCH(ROWS_32))
                        KERNEL("k16", "", TOUCH(ROWS_16)),
                    "k32");
  add_trace(b, false, trace);
  declare(b, "a.cu", turn);
  assert_ptr_equal(b->review.array[0].declared, b->review.array[1].declared);
  return b;
}

/* A swizzle is made for the instances of one size only; longer rows suit all, or those that they
 * are for. */
static void test_instances(void **state) {
  (void)state;
  bed *b = open_instances(BY_COLUMN("k32", 4) BY_ROW("k16", 3));
  const bf_review_array *array = b->review.array;
  patch(b, BF_SUGGEST_SWIZZLE);
  assert_true(array[0].is_patched && array[1].is_patched);
  assert_int_equal(array[0].patched.map.only_bytes, 4096);
  assert_int_equal(array[0].patched.conflicts, 0);
  assert_int_equal(array[1].patched.map.terms, 0);
  close_bed(b);
  /* Rows of 16 are read so that longer ones would conflict. */
  b = open_instances(BY_COLUMN("k32", 4) "ld 4 f 0 60 124 188 @k16:a.cu:4\n");
  patch(b, BF_SUGGEST_PADDING);
  assert_true(b->review.array[0].is_patched);
  assert_int_equal(b->review.array[0].patched.conflicts, 0);
  assert_int_equal(b->review.array[1].patched.conflicts, 0);
  close_bed(b);
  b = open_instances(BY_COLUMN("k32", 4) "ld 4 ffff stride:16 @k16:a.cu:4\n");
  patch(b, -1);
  assert_string_equal(b->review.array[0].problem, "");
  assert_true(b->review.array[0].is_patched && b->review.array[1].is_patched);
  assert_int_equal(b->review.array[0].patched.map.padded_by, 1);
  close_bed(b);
}

/* Makes a tentative patch of a source with a pointer to a row, and compares it with a patched
 * module that has these accesses. Whether the change stays. */
static bool stays(const char *source, const char *accesses) {
  static const char columns[] = "ld 4 ffffffff stride:32 @k:a.cu:4\n";
  bf_diagnostic diagnostic;
  bool is_fit, is_patched;
  bed *b =
      open_bed(SHARED("_ZZ1kvE6square", 4096) KERNEL("_Z1kv", "", TOUCH("_ZZ1kvE6square")), NULL);
  bed *after =
      open_bed(SHARED("_ZZ1kvE6square", 4224) KERNEL("_Z1kv", "", TOUCH("_ZZ1kvE6square")), NULL);
  add_trace(b, false, columns);
  add_trace(after, false, accesses);
  declare(b, "a.cu", source);
  b->review.can_verify = true;
  patch(b, BF_SUGGEST_PADDING);
  is_patched = b->review.array[0].is_patched && b->review.array[0].is_tentative;
  must(bf_review_verify(&b->review, &after->review, &is_fit), &diagnostic);
  assert_true(!is_patched || is_fit == !b->review.array[0].is_unfit);
  bf_review_take_back(&b->review);
  must(bf_review_patch(&b->review, BF_SUGGEST_PADDING, &diagnostic), &diagnostic);
  assert_int_equal(b->review.array[0].is_patched, is_patched && is_fit);
  close_bed(b);
  close_bed(after);
  return is_patched && is_fit;
}

/* Rows grow under pointers where accesses are then seen to be in their places. */
static void test_tentative(void **state) {
  (void)state;
  static const char pointed[] = "void k() {\n  __shared__ float square[32][32];\n"
                                "  float *own = &square[x][0];\n  out[x] = own[0];\n}\n";
  static const char passed[] = "void k() {\n  __shared__ float square[32][32];\n"
                               "  f(square);\n  out[x] = square[x][0];\n}\n";
  static const char moved[] = "ld 4 ffffffff stride:33 @k:a.cu:4\n";
  static const char halves[] = "ld 4 ffff stride:33 @k:a.cu:4\n";
  assert_true(stays(pointed, moved));
  assert_false(stays(pointed, "ld 4 ffffffff stride:32 @k:a.cu:4\n"));
  assert_false(stays(pointed, "st 4 ffffffff stride:33 @k:a.cu:4\n"));
  assert_false(stays(pointed, halves));
  assert_false(stays(passed, moved));
}

/* Two kernels with the same array: k reads it by columns, and other as its trace says. */
static bed *open_shared(const char *trace) {
  bed *b = open_bed(SHARED(ROWS_32, 4096) KERNEL("k", "", TOUCH(ROWS_32))
                        KERNEL("other", "", TOUCH(ROWS_32)),
                    "k");
  bf_text text = {0};
  bf_text_addf(&text, "%s%s", BY_COLUMN("k", 4), trace);
  add_trace(b, false, text.data);
  bf_text_free(&text);
  declare(b, "a.cu", turn);
  return b;
}

static void assert_patched(bed *b, int kind, const char *problem) {
  patch(b, kind);
  for (unsigned i = 0; i < 2; i++) {
    assert_string_equal(b->review.array[i].problem, problem);
    assert_int_equal(b->review.array[i].is_patched, !*problem);
  }
  assert_int_equal(b->review.patch.edits > 0, !*problem);
  close_bed(b);
}

static void test_shared(void **state) {
  (void)state;
  assert_patched(open_shared(BY_ROW("other", 3)), BF_SUGGEST_SWIZZLE, "");
  assert_patched(open_shared(BY_ROW("other", 3)), BF_SUGGEST_PADDING, "");
  assert_patched(open_shared(BY_ROW("other", 3)), -1, "");
  /* Along the diagonal nothing conflicts until rows are turned by their number, or padded by one,
   * as k alone would have it: another change suits both. */
  bf_text falling = {0}, rising = {0};
  for (unsigned i = 0; i < 32; i++) {
    bf_text_addf(&falling, " %u", 4 * (33 * i));
    bf_text_addf(&rising, " %u", 4 * (31 * i + 31));
  }
  bf_text lines = {0};
  bf_text_addf(&lines, "ld 4 ffffffff%s @other:a.cu:3\n", falling.data);
  assert_patched(open_shared(lines.data), BF_SUGGEST_SWIZZLE, "");
  lines.size = 0;
  bf_text_addf(&lines, "ld 4 ffffffff%s @other:a.cu:3\n", rising.data);
  assert_patched(open_shared(lines.data), BF_SUGGEST_PADDING, "");
  bf_text_free(&lines);
  bf_text_free(&falling);
  bf_text_free(&rising);
}

/* What the source does not show is not changed, in whichever kernel it is. */
static void test_hidden(void **state) {
  (void)state;
  assert_patched(open_shared(BY_ROW("k", 5)), BF_SUGGEST_SWIZZLE, ""); /* the same statement */
  assert_patched(open_shared(BY_ROW("k", 6)), BF_SUGGEST_SWIZZLE,
                 "the access at a.cu:6 does not name it");
  assert_patched(open_shared(BY_ROW("other", 6)), BF_SUGGEST_SWIZZLE,
                 "the access at a.cu:6 does not name it");
  assert_patched(open_shared(BY_ROW("k", 0)), BF_SUGGEST_SWIZZLE, ""); /* of several lines */
  assert_patched(open_shared("ld 4 1 0 @k:a.h:0\n"), BF_SUGGEST_SWIZZLE,
                 "the access at a.h:0 does not name it");
  assert_patched(open_shared("ld 4 1 0 @k:a.h:3\n"), BF_SUGGEST_SWIZZLE,
                 "the access at a.h:3 does not name it");
  assert_patched(open_shared("ld 4 1 0 @k:ptx:3\n"), BF_SUGGEST_SWIZZLE,
                 "no line information says where its accesses are (nvcc -lineinfo)");
}

/* What would need more than 48 KB is not made longer, and an XOR takes its place. */
static void test_large(void **state) {
  (void)state;
  static const char source[] = "__global__ void k() {\n  __shared__ float a[64][128], b[32][128];\n"
                               "  b[y][x] = 1;\n  out[x] = a[x][y];\n}\n";
  for (unsigned rows = 31; rows <= 32; rows++) {
    bf_text ptx = {0};
    bf_text_addf(&ptx,
                 ".shared .align 16 .b8 _ZZ1kvE1a[32768];\n"
                 ".shared .align 16 .b8 _ZZ1kvE1b[%u];\n",
                 rows * 512);
    bf_text_puts(&ptx, KERNEL("_Z1kv", "", TOUCH("_ZZ1kvE1a") TOUCH("_ZZ1kvE1b")));
    for (int kind = -1; kind <= BF_SUGGEST_PADDING; kind++) {
      bed *b = open_bed(ptx.data, NULL);
      add_trace(b, false, "ld 4 ffffffff stride:128 @_Z1kv:a.cu:4\n");
      declare(b, "a.cu", source);
      patch(b, kind);
      const bf_review_array *array = &b->review.array[0];
      bool is_wrong = rows == 32 && kind == BF_SUGGEST_PADDING;
      assert_string_equal(array->problem, is_wrong ? "it would have to grow, and k would need more "
                                                     "than 48 KB of shared memory"
                                                   : "");
      assert_int_equal(array->is_patched, !is_wrong);
      if (!is_wrong)
        assert_int_equal(array->patched.map.terms > 0, kind == BF_SUGGEST_SWIZZLE || rows == 32);
      close_bed(b);
    }
    bf_text_free(&ptx);
  }
}

/* Reasons that are told of one array only. */
static void test_refused(void **state) {
  (void)state;
  bed *b = open_bed(two_kernels, NULL);
  const bf_review_array *array = b->review.array;
  add_trace(b, false, "ld 4 ffffffff stride:32 @k:a.cu:1\nld 4 3 4096 4100 @k:a.cu:1\n");
  declare(b, "a.cu", "void other() {}\n");
  patch(b, BF_SUGGEST_PADDING);
  assert_non_null(strstr(array[0].problem, "no declaration found in "));
  assert_string_equal(array[1].problem, ""); /* it has no conflicts */
  assert_int_equal(array[2].suggestions.accesses, 0);
  close_bed(b);
}

/* What the patched source does is counted for arrays that were patched, by the names of kernel and
 * array. */
static void test_check(void **state) {
  (void)state;
  bf_diagnostic diagnostic;
  bed *b = open_shared(BY_ROW("other", 3));
  bed *after = open_bed(SHARED(ROWS_32, 4096) KERNEL("other", "", TOUCH(ROWS_32))
                            KERNEL("more", "", TOUCH(ROWS_32)),
                        NULL);
  add_trace(after, false, "ld 4 ffffffff stride:2 x3 @other:a.cu:3\n");
  const bf_review_array *array = b->review.array;
  must(bf_review_check(&b->review, &after->review, &diagnostic), &diagnostic);
  assert_false(array[1].is_checked); /* nothing is patched yet */
  patch(b, BF_SUGGEST_SWIZZLE);
  must(bf_review_check(&b->review, &after->review, &diagnostic), &diagnostic);
  assert_false(array[0].is_checked);
  assert_true(array[1].is_checked);
  assert_int_equal(array[1].checked_wavefronts, 6);
  assert_int_equal(array[1].checked_conflicts, 3);
  add_trace(after, true, "ld 4 ffffffff stride:1 x3 @other:a.cu:3\n");
  must(bf_review_check(&b->review, &after->review, &diagnostic), &diagnostic);
  assert_int_equal(array[1].checked_conflicts, 0); /* merged accesses are what counts */
  close_bed(after);
  close_bed(b);
}

/* ---- Memory whose size comes with the launch ---- */

/* Threads write the first and the last word of rows, of 32 words or of as many as a parameter says.
 */
#define UNSIZED(stride)                                                                            \
  ".extern " SHARED("s", ) ".entry _Z1kPfi(.param .u64 p, .param .u32 n)\n{\n.reg .b32 %r<5>;\n"   \
                           "ld.param.u32 %r3, [n];\nmov.u32 %r1, s;\nmov.u32 %r2, %tid.x;\n"       \
                           "mul.lo.u32 %r2, %r2, " stride ";\nshl.b32 %r2, %r2, 2;\n"              \
                           "add.u32 %r1, %r1, %r2;\n.loc 1 3 1\nst.shared.u32 [%r1], %r2;\n"       \
                           "st.shared.u32 [%r1+124], %r2;\nret;\n}\n.file 1 \"a.cu\"\n"

static const char flat[] = "  extern __shared__ int s[];\n"
                           "  s[threadIdx.x * n] = s[threadIdx.x * n + 31] = 1;\n";
static const char rows[] = "  extern __shared__ int s[][32];\n"
                           "  s[threadIdx.x * n / 32][0] = s[threadIdx.x * n / 32][31] = 1;\n";

/* Patches a kernel with such memory, for the launches that the source has. */
static void assert_unsized(const char *ptx, const char *body, const char *launches,
                           const char *problem) {
  static const uint32_t none[3] = {0, 1, 1};
  bf_diagnostic diagnostic;
  bf_text source = {0};
  char path[64];
  bed *b = open_bed(ptx, NULL);
  bf_text_addf(&source, "__global__ void k(float *p, int n) {\n%s}\n%s", body, launches);
  write_file(b, "a.cu", source.data, path);
  must(bf_review_read_source(&b->review, path, &diagnostic), &diagnostic);
  must(bf_review_add_analysis(&b->review, none, &diagnostic), &diagnostic);
  unlink(path);
  must(bf_review_find_declarations(&b->review, &diagnostic), &diagnostic);
  patch(b, BF_SUGGEST_SWIZZLE);
  assert_true(b->review.array[0].suggestions.conflicts > 0);
  assert_string_equal(b->review.array[0].problem, problem);
  assert_int_equal(b->review.array[0].is_patched, !*problem);
  bf_text_free(&source);
  close_bed(b);
}

/* An XOR may leave what another launch uses of it, unless it stays in rows of the source. */
static void test_unsized(void **state) {
  (void)state;
  static const char differ[] = "its size comes with the launch, and how much of it k uses may "
                               "differ between launches";
  static const char values[] = "its size comes with the launch, and how much of it k uses hangs on "
                               "values that are not known";
  static const char one[] = "void f(float *p) { k<<<1, 32, 4096>>>(p, 32); }\n";
  static const char any[] = "void f(float *p, int n) { k<<<1, 32, n * 128>>>(p, n); }\n";
  assert_unsized(UNSIZED("32"), flat, one, "");
  assert_unsized(UNSIZED("%r3"), flat, one, "");
  assert_unsized(UNSIZED("%r3"), flat, any, values);
  assert_unsized(UNSIZED("%r3"), rows, any, "");
  assert_unsized(UNSIZED("32"), flat, "", differ);
  assert_unsized(UNSIZED("32"), flat,
                 "void f(float *p, int t) { k<<<1, 32>>>(p, 32);\nk<<<1, t>>>(p, 32); }\n", differ);
  static const char two[] = "void f(float *p) { k<<<1, 32>>>(p, 32);\nk<<<1, 32>>>(p, 19); }\n";
  assert_unsized(UNSIZED("%r3"), flat, two, differ);
  assert_unsized(UNSIZED("32"), flat, two, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arrays),       cmocka_unit_test(test_no_kernel),
      cmocka_unit_test(test_trace),        cmocka_unit_test(test_bad_trace),
      cmocka_unit_test(test_one_kernel),   cmocka_unit_test(test_analysis),
      cmocka_unit_test(test_declarations), cmocka_unit_test(test_near),
      cmocka_unit_test(test_no_source),    cmocka_unit_test(test_instances),
      cmocka_unit_test(test_tentative),    cmocka_unit_test(test_shared),
      cmocka_unit_test(test_hidden),       cmocka_unit_test(test_refused),
      cmocka_unit_test(test_large),        cmocka_unit_test(test_check),
      cmocka_unit_test(test_unsized),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
