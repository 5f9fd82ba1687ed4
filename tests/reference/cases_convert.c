/* Forms of conversion, and of packing and unpacking. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const integers[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
static const char *const floats[] = {"f16", "bf16", "f32", "f64"};
static const char *const to_integer[] = {"rni", "rzi", "rmi", "rpi"};
static const char *const to_float[] = {"rn", "rz", "rm", "rp"};

/* The kind of a type in a register; 8-bit values lie in 32-bit registers. */
static const char *kind_of(const char *type) {
  if (type[0] == 'f' || type[0] == 'b')
    return type;
  return strchr("8", type[1]) ? "b32" : type[1] == '1' ? "b16" : type[1] == '3' ? "b32" : "b64";
}

/* cvt{modifiers}.to.from d, a */
static void convert(case_list *list, const char *modifiers, const char *to, const char *from) {
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s > %s", kind_of(from), kind_of(to));
  case_add(list, kinds, "cvt%s.%s.%s %%r0, %%a;", modifiers, to, from);
}

/* Whether to holds every value of from. */
static bool holds(const char *to, const char *from) {
  int to_bits = atoi(to + 1), from_bits = atoi(from + 1);
  if (to[0] == from[0])
    return to_bits >= from_bits;
  return to[0] == 's' && to_bits > from_bits;
}

/* bfloat16 is converted from and to integers of 16 bits and more. */
static bool too_short(const char *a, const char *b) {
  return strcmp(a, "bf16") == 0 && b[1] == '8';
}

static void between_integers(case_list *list) {
  EACH(from, integers)
  EACH(to, integers) {
    convert(list, "", to, from);
    if (!holds(to, from))
      convert(list, ".sat", to, from);
  }
}

static void float_to_integer(case_list *list) {
  char modifiers[24];
  EACH(from, floats)
  EACH(to, integers)
  EACH(rounding, to_integer) {
    if (too_short(from, to))
      continue;
    snprintf(modifiers, sizeof modifiers, ".%s", rounding);
    convert(list, modifiers, to, from);
    if (strcmp(from, "f32") != 0)
      continue;
    snprintf(modifiers, sizeof modifiers, ".%s.ftz", rounding);
    convert(list, modifiers, to, from);
    snprintf(modifiers, sizeof modifiers, ".%s.sat", rounding);
    convert(list, modifiers, to, from);
  }
}

static void integer_to_float(case_list *list) {
  char modifiers[24];
  EACH(to, floats)
  EACH(from, integers)
  EACH(rounding, to_float) {
    if (too_short(to, from))
      continue;
    snprintf(modifiers, sizeof modifiers, ".%s", rounding);
    convert(list, modifiers, to, from);
    if (strcmp(to, "bf16") == 0)
      continue;
    snprintf(modifiers, sizeof modifiers, ".%s.sat", rounding);
    convert(list, modifiers, to, from);
  }
}

/* Roundings to an integer of the same type. */
static void float_to_whole(case_list *list) {
  static const char *const same[] = {"f16", "f32", "f64"};
  char modifiers[24];
  EACH(type, same) {
    EACH(rounding, to_integer) {
      snprintf(modifiers, sizeof modifiers, ".%s", rounding);
      convert(list, modifiers, type, type);
      snprintf(modifiers, sizeof modifiers, ".%s.sat", rounding);
      convert(list, modifiers, type, type);
      snprintf(modifiers, sizeof modifiers, ".%s.ftz", rounding);
      if (type[1] == '3')
        convert(list, modifiers, type, type);
    }
    convert(list, "", type, type);
    convert(list, ".sat", type, type);
  }
  convert(list, ".ftz", "f32", "f32");
  convert(list, ".ftz.sat", "f32", "f32");
}

static void between_floats(case_list *list) {
  static const struct {
    const char *to, *from;
  } narrower[] = {{"f32", "f64"}, {"f16", "f32"}, {"f16", "f64"}};
  static const struct {
    const char *modifiers, *to, *from;
  } others[] = {
      {"", "f64", "f32"},
      {".sat", "f64", "f32"},
      {".ftz", "f64", "f32"},
      {"", "f32", "f16"},
      {".sat", "f32", "f16"},
      {".ftz", "f32", "f16"},
      {"", "f64", "f16"},
      {".sat", "f64", "f16"},
      {"", "f32", "bf16"},
      {"", "f64", "bf16"},
      {".rn.ftz", "f32", "f64"},
      {".rz.ftz", "f32", "f64"},
      {".rn.sat", "f32", "f64"},
      {".rn.ftz", "f16", "f32"},
      {".rn.sat", "f16", "f32"},
      {".rn.sat", "f16", "f64"},
      {".rz.ftz", "f16", "f32"},
      {".rn", "bf16", "f32"},
      {".rz", "bf16", "f32"},
      {".rm", "bf16", "f32"},
      {".rp", "bf16", "f32"},
      {".rn.relu", "bf16", "f32"},
      {".rz.relu", "bf16", "f32"},
      {".rn.relu", "f16", "f32"},
      {".rz.relu", "f16", "f32"},
      {".rn", "bf16", "f64"},
      {".rz", "bf16", "f64"},
      {".rm", "bf16", "f64"},
      {".rp", "bf16", "f64"},
      {".rn", "f16", "bf16"},
      {".rz", "f16", "bf16"},
      {".rn", "bf16", "f16"},
      {".rz", "bf16", "f16"},
      {".rm", "bf16", "f16"},
      {".rp", "bf16", "f16"},
      {".rm", "f16", "bf16"},
      {".rp", "f16", "bf16"},
      {".rn.satfinite", "f16", "f32"},
      {".rn.satfinite", "bf16", "f32"},
      {".rn.relu.satfinite", "f16", "f32"},
  };
  char modifiers[24];
  for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++)
    EACH(rounding, to_float) {
      snprintf(modifiers, sizeof modifiers, ".%s", rounding);
      convert(list, modifiers, narrower[i].to, narrower[i].from);
    }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    convert(list, others[i].modifiers, others[i].to, others[i].from);
}

/* Two values into one register, and the 8-bit formats. */
static void packed(case_list *list) {
  static const char *const halves[] = {"f16x2", "bf16x2"};
  static const char *const eights[] = {"e4m3x2", "e5m2x2"};
  static const char *const modifiers[] = {"rn",      "rz",           "rn.relu",
                                          "rz.relu", "rn.satfinite", "rn.relu.satfinite"};
  static const char *const tensor[] = {"rna", "rn", "rz", "rn.relu", "rz.relu", "rna.satfinite"};
  EACH(to, halves)
  EACH(modifier, modifiers)
  case_add(list, "f32 f32 > b32", "cvt.%s.%s.f32 %%r0, %%a, %%b;", modifier, to);
  EACH(modifier, tensor)
  case_add(list, "f32 > b32", "cvt.%s.tf32.f32 %%r0, %%a;", modifier);
  EACH(eight, eights) {
    case_add(list, "f32 f32 > b16", "cvt.rn.satfinite.%s.f32 %%r0, %%a, %%b;", eight);
    case_add(list, "f32 f32 > b16", "cvt.rn.satfinite.relu.%s.f32 %%r0, %%a, %%b;", eight);
    case_add(list, "f16x2 > b16", "cvt.rn.satfinite.%s.f16x2 %%r0, %%a;", eight);
    case_add(list, "f16x2 > b16", "cvt.rn.satfinite.relu.%s.f16x2 %%r0, %%a;", eight);
    case_add(list, "fp8x2 > f16x2", "cvt.rn.f16x2.%s %%r0, %%a;", eight);
    case_add(list, "fp8x2 > f16x2", "cvt.rn.relu.f16x2.%s %%r0, %%a;", eight);
  }
  case_add(list, "b32 b32 > b32", "cvt.pack.sat.u16.s32 %%r0, %%a, %%b;");
  case_add(list, "b32 b32 > b32", "cvt.pack.sat.s16.s32 %%r0, %%a, %%b;");
  case_add(list, "b32 b32 b32 > b32", "cvt.pack.sat.u8.s32.b32 %%r0, %%a, %%b, %%c;");
  case_add(list, "b32 b32 b32 > b32", "cvt.pack.sat.s8.s32.b32 %%r0, %%a, %%b, %%c;");
}

/* mov: copies, packs, unpacks, and special registers. */
static void moves(case_list *list) {
  static const char *const types[] = {"b16", "b32", "b64", "u16", "u32", "u64",
                                      "s16", "s32", "s64", "f32", "f64"};
  static const char *const specials[] = {
      "tid.x",       "tid.y",       "tid.z",       "ntid.x",           "ntid.y",
      "ntid.z",      "ctaid.x",     "ctaid.y",     "ctaid.z",          "nctaid.x",
      "nctaid.y",    "nctaid.z",    "laneid",      "lanemask_eq",      "lanemask_le",
      "lanemask_lt", "lanemask_ge", "lanemask_gt", "dynamic_smem_size"};
  char kinds[40];
  EACH(type, types) {
    const char *kind = type[0] == 'f' ? type : kind_of(type[0] == 'b' ? type + 0 : type);
    snprintf(kinds, sizeof kinds, "%s > %s", kind, kind);
    case_add(list, kinds, "mov.%s %%r0, %%a;", type);
  }
  case_add(list, "pred > pred", "mov.pred %%r0, %%a;");
  case_add(list, "b16 b16 > b32", "mov.b32 %%r0, {%%a, %%b};");
  case_add(list, "b32 > b16 b16", "mov.b32 {%%r0, %%r1}, %%a;");
  case_add(list, "b32 b32 > b64", "mov.b64 %%r0, {%%a, %%b};");
  case_add(list, "b64 > b32 b32", "mov.b64 {%%r0, %%r1}, %%a;");
  case_add(list, "b64 > b32", "mov.b64 {_, %%r0}, %%a;");
  case_add(list, "b16 b16 b16 b16 > b64", "mov.b64 %%r0, {%%a, %%b, %%c, %%d};");
  case_add(list, "b64 > b16 b16 b16 b16", "mov.b64 {%%r0, %%r1, %%r2, %%r3}, %%a;");
  case_add(list, "b64 b64 > b64 b64",
           "{\n.reg .b128 %%q;\nmov.b128 %%q, {%%a, %%b};\nmov.b128 {%%r1, %%r0}, %%q;\n}");
  EACH(special, specials)
  case_add(list, "> b32", "mov.u32 %%r0, %%%s;", special);
  case_add(list, "> b32", "mov.u32 %%r0, WARP_SZ;");
  case_add(list, "> b16", "cvt.u16.u32 %%r0, %%tid.x;");
}

void case_convert_forms(case_list *list) {
  between_integers(list);
  float_to_integer(list);
  integer_to_float(list);
  float_to_whole(list);
  between_floats(list);
  packed(list);
  moves(list);
}
