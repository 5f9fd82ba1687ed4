/* Forms of floating-point arithmetic: binary32 and binary64 here, the halves below. */
#include "cases.h"

#include <math.h>
#include <stdio.h>

static const char *const roundings[] = {"rn", "rz", "rm", "rp"};
static const char *const flushes[] = {"", ".ftz"};
static const char *const saturations[] = {"", ".sat"};

static void arithmetic32(case_list *list) {
  static const char *const operations[] = {"add", "sub", "mul"};
  EACH(rounding, roundings)
  EACH(flush, flushes) {
    EACH(saturation, saturations) {
      EACH(operation, operations)
      case_add(list, "f32 f32 > f32", "%s.%s%s%s.f32 %%r0, %%a, %%b;", operation, rounding, flush,
               saturation);
      case_add(list, "f32 f32 f32 > f32", "fma.%s%s%s.f32 %%r0, %%a, %%b, %%c;", rounding, flush,
               saturation);
      case_add(list, "f32 f32 f32 > f32", "mad.%s%s%s.f32 %%r0, %%a, %%b, %%c;", rounding, flush,
               saturation);
    }
    case_add(list, "f32 f32 > f32", "div.%s%s.f32 %%r0, %%a, %%b;", rounding, flush);
    case_add(list, "f32 > f32", "rcp.%s%s.f32 %%r0, %%a;", rounding, flush);
    case_add(list, "f32 > f32", "sqrt.%s%s.f32 %%r0, %%a;", rounding, flush);
  }
}

static void arithmetic64(case_list *list) {
  static const char *const operations[] = {"add", "sub", "mul", "div"};
  EACH(rounding, roundings) {
    EACH(operation, operations)
    case_add(list, "f64 f64 > f64", "%s.%s.f64 %%r0, %%a, %%b;", operation, rounding);
    case_add(list, "f64 f64 f64 > f64", "fma.%s.f64 %%r0, %%a, %%b, %%c;", rounding);
    case_add(list, "f64 f64 f64 > f64", "mad.%s.f64 %%r0, %%a, %%b, %%c;", rounding);
    case_add(list, "f64 > f64", "rcp.%s.f64 %%r0, %%a;", rounding);
    case_add(list, "f64 > f64", "sqrt.%s.f64 %%r0, %%a;", rounding);
  }
  static const char *const two[] = {"min", "max", "copysign"};
  static const char *const one[] = {"neg", "abs"};
  EACH(operation, two)
  case_add(list, "f64 f64 > f64", "%s.f64 %%r0, %%a, %%b;", operation);
  EACH(operation, one)
  case_add(list, "f64 > f64", "%s.f64 %%r0, %%a;", operation);
}

static void limits32(case_list *list) {
  static const char *const operations[] = {"min", "max"};
  static const char *const variants[] = {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"};
  static const char *const one[] = {"neg", "abs"};
  EACH(flush, flushes) {
    EACH(operation, operations)
    EACH(variant, variants)
    case_add(list, "f32 f32 > f32", "%s%s%s.f32 %%r0, %%a, %%b;", operation, flush, variant);
    EACH(operation, one)
    case_add(list, "f32 > f32", "%s%s.f32 %%r0, %%a;", operation, flush);
  }
  case_add(list, "f32 f32 > f32", "copysign.f32 %%r0, %%a, %%b;");
}

static void classes(case_list *list) {
  static const char *const tests[] = {"finite",     "infinite", "number",
                                      "notanumber", "normal",   "subnormal"};
  EACH(test, tests) {
    case_add(list, "f32 > pred", "testp.%s.f32 %%r0, %%a;", test);
    case_add(list, "f64 > pred", "testp.%s.f64 %%r0, %%a;", test);
  }
}

/* The bounds are those of the PTX ISA 8.5, section 9.7.3, in the ranges that it gives them for;
 * div.approx and the functions of binary64 are compared with the recorded results only. */
static void approximations(case_list *list) {
  static const struct {
    const char *name;
    case_bound bound;
  } functions[] = {
      {"rcp", {0x1p-23, 0}}, {"sqrt", {0x1p-22, 0}}, {"rsqrt", {0x1p-22, 0}},
      {"sin", {0, 0x1p-20}}, {"cos", {0, 0x1p-20}},  {"lg2", {0x1p-22, 0x1p-22}},
      {"ex2", {0x1p-22, 0}},
  };
  EACH(flush, flushes) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
      case_add_approximate(list, functions[i].bound, "f32 > f32", "%s.approx%s.f32 %%r0, %%a;",
                           functions[i].name, flush);
    case_add_approximate(list, (case_bound){0x1p-22, 0}, "f32 f32 > f32",
                         "div.approx%s.f32 %%r0, %%a, %%b;", flush);
    case_add_approximate(list, (case_bound){0x1p-22, 0}, "f32 f32 > f32",
                         "div.full%s.f32 %%r0, %%a, %%b;", flush);
  }
  case_add_approximate(list, (case_bound){0x1p-10, 0}, "f32 > f32", "tanh.approx.f32 %%r0, %%a;");
  case_add_approximate(list, (case_bound){0x1p-20, 0}, "f64 > f64",
                       "rcp.approx.ftz.f64 %%r0, %%a;");
  case_add_approximate(list, (case_bound){0x1p-20, 0}, "f64 > f64",
                       "rsqrt.approx.ftz.f64 %%r0, %%a;");
  case_add_approximate(list, (case_bound){0x1p-20, 0}, "f64 > f64", "rsqrt.approx.f64 %%r0, %%a;");
}

/* Results that are just below the smallest normal number, and are rounded to it: flushed or not? */
static void tiny(case_list *list) {
  EACH(rounding, roundings) {
    case_add(list, "f32 > f32", "mul.%s.ftz.f32 %%r0, %%a, 0f3F7FFFFF;", rounding);
    case_add(list, "f32 > f32", "mul.%s.ftz.f32 %%r0, %%a, 0fBF7FFFFE;", rounding);
    case_add(list, "f32 > f32", "fma.%s.ftz.f32 %%r0, %%a, 0f3F7FFFFF, 0f80000000;", rounding);
    case_add(list, "f32 > f32", "fma.%s.ftz.f32 %%r0, 0f20000000, 0f9EFFFFFF, %%a;", rounding);
    case_add(list, "f32 > f32", "div.%s.ftz.f32 %%r0, %%a, 0f3F800001;", rounding);
  }
  static const char *const factors[] = {"0x3bff", "0x3bfe", "0xbbff"};
  EACH(factor, factors) {
    case_add(list, "f16 > f16", "mov.b16 %%h0, %s;\nmul.rn.ftz.f16 %%r0, %%a, %%h0;", factor);
    case_add(list, "f16 > f16",
             "mov.b16 %%h0, %s;\nmov.b16 %%h1, 0;\nfma.rn.ftz.f16 %%r0, %%a, %%h0, %%h1;", factor);
    case_add(list, "f16 > f16",
             "mov.b16 %%h0, %s;\nmov.b16 %%h1, 0x8400;\nmov.b16 %%h2, 0x1000;\n"
             "fma.rn.ftz.f16 %%r0, %%h2, %%h1, %%a;",
             factor);
  }
}

/* NaN of all payloads through conversions; values that fma.oob may take for out of bounds. */
static void nans(case_list *list) {
  case_add(list, "b64 > f32", "or.b64 %%l0, %%a, 0x7ff0000000000000;\ncvt.rn.f32.f64 %%r0, %%l0;");
  case_add(list, "b64 > f16", "or.b64 %%l0, %%a, 0x7ff0000000000000;\ncvt.rn.f16.f64 %%r0, %%l0;");
  case_add(list, "b64 > bf16",
           "or.b64 %%l0, %%a, 0x7ff0000000000000;\ncvt.rn.bf16.f64 %%r0, %%l0;");
  case_add(list, "b32 > f32", "or.b32 %%t0, %%a, 0x7f800000;\ncvt.rna.tf32.f32 %%r0, %%t0;");
  case_add(list, "b32 > f32", "or.b32 %%t0, %%a, 0x7f800000;\ncvt.rzi.f32.f32 %%r0, %%t0;");
  case_add(list, "b16 > f32", "or.b16 %%h0, %%a, 0x7c00;\ncvt.f32.f16 %%r0, %%h0;");
  case_add(list, "b16 > f32", "or.b16 %%h0, %%a, 0x7f80;\ncvt.f32.bf16 %%r0, %%h0;");
  case_add(list, "b16 > b32", "or.b16 %%h0, %%a, 0x7c00;\ncvt.rni.s32.f16 %%r0, %%h0;");
  static const char *const values[] = {"0x7fff", "0xffff", "0x7e00", "0x7c01"};
  EACH(value, values) {
    case_add(list, "f16 f16 > f16", "mov.b16 %%h0, %s;\nfma.rn.oob.f16 %%r0, %%a, %%h0, %%b;",
             value);
    case_add(list, "bf16 bf16 > bf16", "mov.b16 %%h0, %s;\nfma.rn.oob.bf16 %%r0, %%a, %%h0, %%b;",
             value);
    case_add(list, "f16 f16 > f16", "mov.b16 %%h0, %s;\nfma.rn.oob.f16 %%r0, %%a, %%b, %%h0;",
             value);
  }
}

void case_float_forms(case_list *list) {
  arithmetic32(list);
  arithmetic64(list);
  limits32(list);
  classes(list);
  approximations(list);
  tiny(list);
  nans(list);
}

/* ---- binary16 and bfloat16 ---- */

static void half_arithmetic(case_list *list, const char *type) {
  static const char *const operations[] = {"add", "sub", "mul"};
  char two[40], three[40];
  snprintf(two, sizeof two, "%s %s > %s", type, type, type);
  snprintf(three, sizeof three, "%s %s %s > %s", type, type, type, type);
  bool brain = type[0] == 'b';
  EACH(flush, flushes) {
    if (brain && *flush)
      continue;
    EACH(saturation, saturations) {
      if (brain && *saturation)
        continue;
      EACH(operation, operations)
      case_add(list, two, "%s.rn%s%s.%s %%r0, %%a, %%b;", operation, flush, saturation, type);
      case_add(list, three, "fma.rn%s%s.%s %%r0, %%a, %%b, %%c;", flush, saturation, type);
    }
    case_add(list, three, "fma.rn%s.relu.%s %%r0, %%a, %%b, %%c;", flush, type);
  }
  case_add(list, three, "fma.rn.oob.%s %%r0, %%a, %%b, %%c;", type);
  case_add(list, three, "fma.rn.oob.relu.%s %%r0, %%a, %%b, %%c;", type);
}

static void half_limits(case_list *list, const char *type) {
  static const char *const operations[] = {"min", "max"};
  static const char *const variants[] = {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"};
  static const char *const one[] = {"neg", "abs"};
  char kinds[40];
  bool brain = type[0] == 'b';
  EACH(flush, flushes) {
    if (brain && *flush)
      continue;
    snprintf(kinds, sizeof kinds, "%s %s > %s", type, type, type);
    EACH(operation, operations)
    EACH(variant, variants)
    case_add(list, kinds, "%s%s%s.%s %%r0, %%a, %%b;", operation, flush, variant, type);
    snprintf(kinds, sizeof kinds, "%s > %s", type, type);
    EACH(operation, one)
    case_add(list, kinds, "%s%s.%s %%r0, %%a;", operation, flush, type);
  }
}

static void half_functions(case_list *list, const char *type) {
  char kinds[40];
  bool brain = type[0] == 'b';
  snprintf(kinds, sizeof kinds, "%s > %s", type, type);
  case_add_approximate(list, (case_bound){brain ? 0x1p-7 : 0x1p-9, 0x1p-10}, kinds,
                       "tanh.approx.%s %%r0, %%a;", type);
  case_add_approximate(list, (case_bound){brain ? 0x1p-6 : 0x1p-9, brain ? 0 : 0x1p-24}, kinds,
                       "ex2.approx%s.%s %%r0, %%a;", brain ? ".ftz" : "", type);
}

void case_half_forms(case_list *list) {
  static const char *const types[] = {"f16", "f16x2", "bf16", "bf16x2"};
  EACH(type, types) {
    half_arithmetic(list, type);
    half_limits(list, type);
    half_functions(list, type);
  }
}
