/* Forms of integer arithmetic and of bit manipulation. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

static const char *const integers[] = {"u16", "s16", "u32", "s32", "u64", "s64"};
static const char *const wide_integers[] = {"u32", "s32", "u64", "s64"};
static const char *const bits[] = {"b16", "b32", "b64"};

/* "b32" for any 32-bit type. */
static const char *bits_of(const char *type) {
  return type[1] == '1' ? "b16" : type[1] == '3' ? "b32" : "b64";
}

/* The kind of twice the width. */
static const char *twice(const char *type) { return type[1] == '1' ? "b32" : "b64"; }

/* A form OP.TYPE d, a, b. */
static void binary(case_list *list, const char *operation, const char *type) {
  const char *kind = bits_of(type);
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s %s > %s", kind, kind, kind);
  case_add(list, kinds, "%s.%s %%r0, %%a, %%b;", operation, type);
}

static void unary(case_list *list, const char *operation, const char *type) {
  const char *kind = bits_of(type);
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s > %s", kind, kind);
  case_add(list, kinds, "%s.%s %%r0, %%a;", operation, type);
}

static void ternary(case_list *list, const char *operation, const char *type) {
  const char *kind = bits_of(type);
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s %s %s > %s", kind, kind, kind, kind);
  case_add(list, kinds, "%s.%s %%r0, %%a, %%b, %%c;", operation, type);
}

/* mul.wide, mad.wide: the result has twice the bits. */
static void wide(case_list *list, const char *type) {
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s %s > %s", bits_of(type), bits_of(type), twice(type));
  case_add(list, kinds, "mul.wide.%s %%r0, %%a, %%b;", type);
  snprintf(kinds, sizeof kinds, "%s %s %s > %s", bits_of(type), bits_of(type), twice(type),
           twice(type));
  case_add(list, kinds, "mad.wide.%s %%r0, %%a, %%b, %%c;", type);
}

/* Additions and subtractions of two words each, with the carry of the last one. */
static void carries(case_list *list, const char *type) {
  char kinds[60];
  const char *kind = bits_of(type);
  snprintf(kinds, sizeof kinds, "%s %s %s %s > %s %s %s", kind, kind, kind, kind, kind, kind, kind);
  static const char *const operations[] = {"add", "sub"};
  EACH(operation, operations)
  case_add(list, kinds, "%s.cc.%s %%r0, %%a, %%b;\n%sc.cc.%s %%r1, %%c, %%d;\n%sc.%s %%r2, 0, 0;",
           operation, type, operation, type, operation, type);
  case_add(list, kinds,
           "add.cc.%s %%r0, %%a, %%b;\naddc.%s %%r1, %%c, %%d;\naddc.%s %%r2, %%a, %%d;", type,
           type, type);
  case_add(list, kinds,
           "mad.lo.cc.%s %%r0, %%a, %%b, %%c;\nmadc.hi.cc.%s %%r1, %%a, %%b, %%d;\n"
           "addc.%s %%r2, 0, 0;",
           type, type, type);
  case_add(list, kinds,
           "mad.hi.cc.%s %%r0, %%a, %%b, %%c;\nmadc.lo.cc.%s %%r1, %%c, %%d, %%b;\n"
           "madc.hi.%s %%r2, %%c, %%d, %%a;",
           type, type, type);
  case_add(list, kinds,
           "mad.lo.cc.%s %%r0, %%a, %%b, %%c;\nmadc.lo.%s %%r1, %%c, %%d, %%b;\n"
           "subc.%s %%r2, %%a, %%b;",
           type, type, type);
}

static void arithmetic(case_list *list) {
  static const char *const two[] = {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"};
  static const char *const three[] = {"mad.lo", "mad.hi", "sad"};
  EACH(type, integers) {
    EACH(operation, two)
    binary(list, operation, type);
    EACH(operation, three)
    ternary(list, operation, type);
    if (type[1] != '6')
      wide(list, type);
    if (type[0] == 's') {
      unary(list, "abs", type);
      unary(list, "neg", type);
    }
  }
  binary(list, "add.sat", "s32");
  binary(list, "sub.sat", "s32");
  ternary(list, "mad.hi.sat", "s32");
  EACH(type, wide_integers)
  carries(list, type);
}

static void packed_and_short(case_list *list) {
  static const char *const packed[] = {"u16x2", "s16x2"};
  static const char *const packed_two[] = {"add", "min", "max"};
  static const char *const words[] = {"u32", "s32"};
  static const char *const halves[] = {"lo", "hi"};
  static const char *const limits[] = {"min.relu", "max.relu"};
  EACH(type, packed)
  EACH(operation, packed_two)
  case_add(list, "b32 b32 > b32", "%s.%s %%r0, %%a, %%b;", operation, type);
  EACH(operation, limits) {
    case_add(list, "b32 b32 > b32", "%s.s16x2 %%r0, %%a, %%b;", operation);
    case_add(list, "b32 b32 > b32", "%s.s32 %%r0, %%a, %%b;", operation);
  }
  EACH(type, words)
  EACH(half, halves) {
    case_add(list, "b32 b32 > b32", "mul24.%s.%s %%r0, %%a, %%b;", half, type);
    case_add(list, "b32 b32 b32 > b32", "mad24.%s.%s %%r0, %%a, %%b, %%c;", half, type);
  }
  case_add(list, "b32 b32 b32 > b32", "mad24.hi.sat.s32 %%r0, %%a, %%b, %%c;");
  EACH(x, words)
  EACH(y, words) {
    case_add(list, "b32 b32 b32 > b32", "dp4a.%s.%s %%r0, %%a, %%b, %%c;", x, y);
    EACH(half, halves)
    case_add(list, "b32 b32 b32 > b32", "dp2a.%s.%s.%s %%r0, %%a, %%b, %%c;", half, x, y);
  }
}

/* Constants in place of registers, as compilers write them. */
static void immediates(case_list *list) {
  case_add(list, "b32 > b32", "add.s32 %%r0, %%a, -1;");
  case_add(list, "b64 > b64", "add.s64 %%r0, %%a, -4096;");
  case_add(list, "b16 > b16", "add.s16 %%r0, %%a, -128;");
  case_add(list, "b32 > b32", "sub.u32 %%r0, 7, %%a;");
  case_add(list, "b64 > b64", "mul.lo.u64 %%r0, %%a, 0x100000001;");
  case_add(list, "b32 > b64", "mul.wide.s32 %%r0, %%a, -3;");
  case_add(list, "b32 > b32", "mad.lo.u32 %%r0, %%a, 31, 17;");
  case_add(list, "b64 > b64", "and.b64 %%r0, %%a, -256;");
  case_add(list, "b32 > b32", "xor.b32 %%r0, %%a, -1;");
  case_add(list, "b32 > b32", "div.u32 %%r0, %%a, 10;");
  case_add(list, "b32 > b32", "rem.s32 %%r0, %%a, -7;");
  case_add(list, "b64 > b64", "div.s64 %%r0, %%a, 1000;");
  case_add(list, "b64 > b64", "shr.s64 %%r0, %%a, 33;");
  case_add(list, "b32 > b32", "shl.b32 %%r0, %%a, 5;");
  case_add(list, "b32 > b32", "min.s32 %%r0, %%a, 100;");
  case_add(list, "f32 > f32", "mul.f32 %%r0, %%a, 0f3F000000;");
  case_add(list, "f32 > f32", "fma.rn.f32 %%r0, %%a, 0f40000000, 0fBF800000;");
  case_add(list, "f64 > f64", "add.f64 %%r0, %%a, 0d3FF8000000000000;");
  case_add(list, "f64 > f64", "mul.rn.f64 %%r0, %%a, 2.5;");
}

void case_integer_forms(case_list *list) {
  arithmetic(list);
  packed_and_short(list);
  immediates(list);
}

static void logic(case_list *list) {
  static const char *const operations[] = {"and", "or", "xor"};
  static const unsigned char tables[] = {0x00, 0xff, 0x80, 0xfe, 0x96, 0xe8, 0xca,
                                         0xd8, 0x0f, 0x33, 0x55, 0xf0, 0xcc, 0xaa,
                                         0x1b, 0x6c, 0x40, 0x02, 0xb1, 0x78};
  EACH(operation, operations) {
    EACH(type, bits)
    binary(list, operation, type);
    case_add(list, "pred pred > pred", "%s.pred %%r0, %%a, %%b;", operation);
    case_add(list, "b32 b32 b32 pred > b32 pred",
             "lop3.%s.b32 %%r0|%%r1, %%a, %%b, %%c, 0x6a, %%d;",
             strcmp(operation, "xor") ? operation : "or");
  }
  EACH(type, bits) {
    unary(list, "not", type);
    unary(list, "cnot", type);
  }
  case_add(list, "pred > pred", "not.pred %%r0, %%a;");
  for (size_t i = 0; i < sizeof tables; i++)
    case_add(list, "b32 b32 b32 > b32", "lop3.b32 %%r0, %%a, %%b, %%c, 0x%02x;", tables[i]);
}

static void shifts(case_list *list) {
  static const char *const widths[] = {"16", "32", "64"};
  static const char *const signs[] = {"b", "u", "s"};
  static const char *const sides[] = {"l", "r"};
  static const char *const modes[] = {"wrap", "clamp"};
  char kinds[40];
  EACH(width, widths) {
    snprintf(kinds, sizeof kinds, "b%s count > b%s", width, width);
    case_add(list, kinds, "shl.b%s %%r0, %%a, %%b;", width);
    EACH(sign, signs)
    case_add(list, kinds, "shr.%s%s %%r0, %%a, %%b;", sign, width);
  }
  EACH(side, sides)
  EACH(mode, modes)
  case_add(list, "b32 b32 count > b32", "shf.%s.%s.b32 %%r0, %%a, %%b, %%c;", side, mode);
  EACH(mode, modes) {
    case_add(list, "count count > b32", "bmsk.%s.b32 %%r0, %%a, %%b;", mode);
    case_add(list, "b32 count > b32", "szext.%s.u32 %%r0, %%a, %%b;", mode);
    case_add(list, "b32 count > b32", "szext.%s.s32 %%r0, %%a, %%b;", mode);
  }
}

static void fields(case_list *list) {
  static const char *const permutations[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  char kinds[60];
  EACH(type, wide_integers) {
    const char *kind = bits_of(type);
    snprintf(kinds, sizeof kinds, "%s > b32", kind);
    case_add(list, kinds, "bfind.%s %%r0, %%a;", type);
    case_add(list, kinds, "bfind.shiftamt.%s %%r0, %%a;", type);
    snprintf(kinds, sizeof kinds, "%s count count > %s", kind, kind);
    case_add(list, kinds, "bfe.%s %%r0, %%a, %%b, %%c;", type);
  }
  static const char *const words[] = {"b32", "b64"};
  EACH(type, words) {
    snprintf(kinds, sizeof kinds, "%s > b32", type);
    case_add(list, kinds, "popc.%s %%r0, %%a;", type);
    case_add(list, kinds, "clz.%s %%r0, %%a;", type);
    unary(list, "brev", type);
    snprintf(kinds, sizeof kinds, "%s %s count count > %s", type, type, type);
    case_add(list, kinds, "bfi.%s %%r0, %%a, %%b, %%c, %%d;", type);
  }
  case_add(list, "b32 place count > b32", "fns.b32 %%r0, %%a, %%b, %%c;");
  case_add(list, "b32 place count > b32", "neg.s32 %%t0, %%c;\nfns.b32 %%r0, %%a, %%b, %%t0;");
  case_add(list, "b32 place > b32", "fns.b32 %%r0, %%a, %%b, 0;");
  EACH(mode, permutations) {
    case_add(list, "b32 b32 b32 > b32", "prmt.b32%s %%r0, %%a, %%b, %%c;", mode);
    case_add(list, "b32 b32 few > b32", "prmt.b32%s %%r0, %%a, %%b, %%c;", mode);
  }
  case_add(list, "b32 b32 > b32", "prmt.b32 %%r0, %%a, %%b, 0x7531;");
}

void case_bit_forms(case_list *list) {
  logic(list);
  shifts(list);
  fields(list);
}
