/* Forms of the matrix instructions. Numbers are small and few-digit, so that every sum is exact and
 * the order in which a machine adds does not show. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

/* Rows of a warp's matrices are the places of its lanes, taken in an order of its own. */
static void rows(case_list *list) {
  static const char *const turns[] = {"", ".trans"};
  static const char *const counts[] = {"x1", "x2", "x4"};
  static const char *const registers[] = {"{%r0}", "{%r0, %r1}", "{%r0, %r1, %r2, %r3}"};
  static const char *const values[] = {"{%a}", "{%a, %b}", "{%a, %b, %c, %d}"};
  EACH(turn, turns)
  for (unsigned i = 0; i < 3; i++) {
    case_add(list, "b32 b32 b32 b32 > b32 b32 b32 b32",
             "st.shared.v4.b32 [%%s], {%%a, %%b, %%c, %%d};\nbar.warp.sync -1;\nmov.u32 %%r0, 0;\n"
             "mov.u32 %%r1, 0;\nmov.u32 %%r2, 0;\nmov.u32 %%r3, 0;\nxor.b32 %%t1, %%s, 80;\n"
             "ldmatrix.sync.aligned.m8n8.%s%s.shared.b16 %s, [%%t1];",
             counts[i], turn, registers[i]);
    case_add(list, "b32 b32 b32 b32 > b32 b32 b32 b32",
             "st.shared.v4.b32 [%%s], {%%d, %%c, %%b, %%a};\nbar.warp.sync -1;\n"
             "xor.b32 %%t1, %%s, 80;\nstmatrix.sync.aligned.m8n8.%s%s.shared.b16 [%%t1], %s;\n"
             "bar.warp.sync -1;\nld.shared.v4.b32 {%%r0, %%r1, %%r2, %%r3}, [%%s];",
             counts[i], turn, values[i]);
  }
  case_add(list, "b32 > b32", "movmatrix.sync.aligned.m8n8.trans.b16 %%r0, %%a;");
}

/* Values of other lanes, for the operands beyond the inputs: t4 to t7 from a to d, t8 to t11 all
 * from e. */
static const char others[] =
    "shfl.sync.bfly.b32 %t4, %a, 1, 0x1f, -1;\nshfl.sync.bfly.b32 %t5, %b, 3, 0x1f, -1;\n"
    "shfl.sync.bfly.b32 %t6, %c, 5, 0x1f, -1;\nshfl.sync.bfly.b32 %t7, %d, 9, 0x1f, -1;\n"
    "mov.b32 %t8, %e;\nshfl.sync.bfly.b32 %t9, %e, 2, 0x1f, -1;\n"
    "shfl.sync.bfly.b32 %t10, %e, 4, 0x1f, -1;\nshfl.sync.bfly.b32 %t11, %e, 31, 0x1f, -1;\n";

static const char *const of_a[] = {"", "{%a}", "{%a, %b}", "", "{%a, %b, %c, %d}"};
static const char *const of_b[] = {"", "{%t4}", "{%t4, %t5}", "", "{%t4, %t5, %t6, %t7}"};
static const char *const of_c[] = {"", "", "{%t8, %t9}", "", "{%t8, %t9, %t10, %t11}"};
static const char *const of_d[] = {"", "", "{%r0, %r1}", "", "{%r0, %r1, %r2, %r3}"};

/* mma with a, b, c registers of 32 bits each. */
static void product(case_list *list, const char *input, const char *sum, const char *shape,
                    const char *types, unsigned a, unsigned b, unsigned c, const char *end) {
  char kinds[100];
  snprintf(kinds, sizeof kinds, "%s %s %s %s %s > %s", input, input, input, input, sum,
           c == 2 ? "b32 b32" : "b32 b32 b32 b32");
  case_add(list, kinds, "%smma.sync.aligned.%s.row.col%s.%s%s %s, %s, %s, %s;", others, shape,
           strcmp(end, ".satfinite") == 0 ? end : "", types,
           strcmp(end, ".satfinite") == 0 ? "" : end, of_d[c], of_a[a], of_b[b], of_c[c]);
}

static void float_products(case_list *list) {
  product(list, "tame16", "tame32", "m16n8k16", "f32.f16.f16.f32", 4, 2, 4, "");
  product(list, "tame16", "tame16", "m16n8k16", "f16.f16.f16.f16", 4, 2, 2, "");
  product(list, "tame16", "tame32", "m16n8k8", "f32.f16.f16.f32", 2, 1, 4, "");
  product(list, "tame16", "tame16", "m16n8k8", "f16.f16.f16.f16", 2, 1, 2, "");
  product(list, "tameb16", "tame32", "m16n8k16", "f32.bf16.bf16.f32", 4, 2, 4, "");
  product(list, "tameb16", "tame32", "m16n8k8", "f32.bf16.bf16.f32", 2, 1, 4, "");
  product(list, "tame32", "tame32", "m16n8k4", "f32.tf32.tf32.f32", 2, 1, 4, "");
  product(list, "tame32", "tame32", "m16n8k8", "f32.tf32.tf32.f32", 4, 2, 4, "");
  case_add(
      list, "tame64 tame64 tame64 tame64 > b64 b64",
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%%r0, %%r1}, {%%a}, {%%b}, {%%c, %%d};");
  case_add(list, "tame64 tame64 tame64 tame64 tame64 > b64 b64 b64 b64",
           "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%%r0, %%r1, %%r2, %%r3}, {%%a, %%b}, "
           "{%%c}, {%%d, %%e, %%a, %%b};");
  case_add(list, "tame64 tame64 tame64 tame64 tame64 > b64 b64 b64 b64",
           "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%%r0, %%r1, %%r2, %%r3}, "
           "{%%a, %%b, %%c, %%d}, {%%e, %%a}, {%%d, %%e, %%c, %%b};");
  case_add(list, "tame64 tame64 tame64 tame64 tame64 > b64 b64 b64 b64",
           "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%%r0, %%r1, %%r2, %%r3}, "
           "{%%a, %%b, %%c, %%d, %%e, %%d, %%c, %%b}, {%%e, %%a, %%d, %%b}, {%%d, %%e, %%c, %%b};");
}

static void integer_products(case_list *list) {
  static const char *const eights[] = {"u8", "s8"};
  static const char *const fours[] = {"u4", "s4"};
  static const char *const ends[] = {"", ".satfinite"};
  char types[40];
  EACH(x, eights)
  EACH(y, eights)
  EACH(end, ends) {
    snprintf(types, sizeof types, "s32.%s.%s.s32", x, y);
    product(list, "b32", "b32", "m8n8k16", types, 1, 1, 2, end);
    product(list, "b32", "b32", "m16n8k16", types, 2, 1, 4, end);
    product(list, "b32", "b32", "m16n8k32", types, 4, 2, 4, end);
  }
  EACH(x, fours)
  EACH(y, fours)
  EACH(end, ends) {
    snprintf(types, sizeof types, "s32.%s.%s.s32", x, y);
    product(list, "b32", "b32", "m8n8k32", types, 1, 1, 2, end);
    product(list, "b32", "b32", "m16n8k32", types, 2, 1, 4, end);
    product(list, "b32", "b32", "m16n8k64", types, 4, 2, 4, end);
  }
  static const char *const bits[] = {".xor.popc", ".and.popc"};
  EACH(end, bits) {
    product(list, "b32", "b32", "m8n8k128", "s32.b1.b1.s32", 1, 1, 2, end);
    product(list, "b32", "b32", "m16n8k128", "s32.b1.b1.s32", 2, 1, 4, end);
    product(list, "b32", "b32", "m16n8k256", "s32.b1.b1.s32", 4, 2, 4, end);
  }
}

/* Metadata of sparse products from other lanes' numbers, to t12: of tf32 4 or 14 in every 4 bits,
 * else any of 4, 8, 9, 12, 13, which name two places in rising order. */
static const char any_bits[] =
    "shfl.sync.bfly.b32 %t12, %a, 7, 0x1f, -1;\nxor.b32 %t12, %t12, %d;\n"
    "mul.lo.u32 %t12, %t12, 0x9e3779b1;\nshr.u32 %t13, %t12, 15;\n"
    "xor.b32 %t12, %t12, %t13;\nmul.lo.u32 %t12, %t12, 0x85ebca77;\n";
static const char of_halves[] = "and.b32 %t12, %t12, 0x11111111;\n"
                                "mad.lo.u32 %t12, %t12, 10, 0x44444444;\n";
static const char of_others[] =
    "shr.u32 %t13, %t12, 1;\nshr.u32 %t14, %t12, 2;\nand.b32 %t12, %t12, 0x11111111;\n"
    "not.b32 %t15, %t12;\nand.b32 %t14, %t14, %t15;\nand.b32 %t14, %t14, 0x11111111;\n"
    "or.b32 %t15, %t14, %t12;\nand.b32 %t13, %t13, %t15;\n"
    "mad.lo.u32 %t13, %t12, 4, %t13;\nmad.lo.u32 %t13, %t14, 8, %t13;\n"
    "add.u32 %t12, %t13, 0x44444444;\n";

/* mma.sp with as many registers for a and b, for all selectors. */
static void sparse_product(case_list *list, const char *input, const char *sum, const char *shape,
                           const char *types, unsigned registers, unsigned c, unsigned selectors) {
  static const char *const words[] = {"sp", "sp::ordered_metadata"};
  char kinds[100];
  snprintf(kinds, sizeof kinds, "%s %s %s %s %s > %s", input, input, input, input, sum,
           c == 2 ? "b32 b32" : "b32 b32 b32 b32");
  for (unsigned selector = 0; selector < selectors; selector++)
    EACH(word, words)
  case_add(list, kinds, "%s%s%smma.%s.sync.aligned.%s.row.col.%s %s, %s, %s, %s, %%t12, %u;",
           others, any_bits, strstr(types, "tf32") ? of_halves : of_others, word, shape, types,
           of_d[c], of_a[registers], of_b[registers], of_c[c], selector);
}

static void sparse_products(case_list *list) {
  static const char *const eights[] = {"u8", "s8"};
  static const char *const fours[] = {"u4", "s4"};
  char types[40];
  sparse_product(list, "tame16", "tame32", "m16n8k16", "f32.f16.f16.f32", 2, 4, 4);
  sparse_product(list, "tame16", "tame16", "m16n8k32", "f16.f16.f16.f16", 4, 2, 2);
  sparse_product(list, "tame16", "tame32", "m16n8k32", "f32.f16.f16.f32", 4, 4, 2);
  sparse_product(list, "tameb16", "tame32", "m16n8k16", "f32.bf16.bf16.f32", 2, 4, 4);
  sparse_product(list, "tameb16", "tame32", "m16n8k32", "f32.bf16.bf16.f32", 4, 4, 2);
  sparse_product(list, "tame32", "tame32", "m16n8k8", "f32.tf32.tf32.f32", 2, 4, 4);
  sparse_product(list, "tame32", "tame32", "m16n8k16", "f32.tf32.tf32.f32", 4, 4, 2);
  EACH(x, eights)
  EACH(y, eights) {
    snprintf(types, sizeof types, "s32.%s.%s.s32", x, y);
    sparse_product(list, "b32", "b32", "m16n8k32", types, 2, 4, 2);
    sparse_product(list, "b32", "b32", "m16n8k64", types, 4, 4, 1);
  }
  EACH(x, fours)
  EACH(y, fours) {
    snprintf(types, sizeof types, "s32.%s.%s.s32", x, y);
    sparse_product(list, "b32", "b32", "m16n8k64", types, 2, 4, 2);
    sparse_product(list, "b32", "b32", "m16n8k128", types, 4, 4, 1);
  }
}

/* wmma: both factors come from the 512 bytes of the warp's places, the sum too; the product goes
 * back there. */
static void warp_products(case_list *list) {
  static const char *const orders[] = {"row", "col"};
  static const char fill[] = "st.shared.v4.b32 [%s], {%a, %b, %c, %d};\nbar.warp.sync -1;\n"
                             "and.b32 %t0, %lane, 0x3e0;\nmov.u32 %t1, sh;\n"
                             "mad.lo.u32 %t0, %t0, 16, %t1;\n";
  static const char read[] = "bar.warp.sync -1;\nld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%s];";
  for (unsigned x = 0; x < 2; x++)
    for (unsigned y = 0; y < 2; y++)
      case_add(
          list, "tame16 tame16 tame16 tame16 > b32 b32 b32 b32",
          "{\n%s.reg .b32 %%x<8>, %%y<8>, %%z<4>;\n"
          "wmma.load.a.sync.aligned.%s.m16n16k16.shared.f16 "
          "{%%x0, %%x1, %%x2, %%x3, %%x4, %%x5, %%x6, %%x7}, [%%t0], 16;\n"
          "wmma.load.b.sync.aligned.%s.m16n16k16.shared.f16 "
          "{%%y0, %%y1, %%y2, %%y3, %%y4, %%y5, %%y6, %%y7}, [%%t0], 16;\n"
          "wmma.load.c.sync.aligned.%s.m16n16k16.shared.f16 {%%z0, %%z1, %%z2, %%z3}, [%%t0], 16;\n"
          "wmma.mma.sync.aligned.%s.%s.m16n16k16.f16.f16 {%%z0, %%z1, %%z2, %%z3}, "
          "{%%x0, %%x1, %%x2, %%x3, %%x4, %%x5, %%x6, %%x7}, "
          "{%%y0, %%y1, %%y2, %%y3, %%y4, %%y5, %%y6, %%y7}, {%%z0, %%z1, %%z2, %%z3};\n"
          "wmma.store.d.sync.aligned.%s.m16n16k16.shared.f16 [%%t0], {%%z0, %%z1, %%z2, %%z3}, "
          "16;\n"
          "}\n%s",
          fill, orders[x], orders[y], orders[x], orders[x], orders[y], orders[y], read);
}

void case_matrix_forms(case_list *list) {
  rows(list);
  float_products(list);
  integer_products(list);
  sparse_products(list);
  warp_products(list);
}
