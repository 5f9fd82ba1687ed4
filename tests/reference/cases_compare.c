/* Forms of comparison and selection. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

/* The comparisons of a type, blank behind each. */
typedef struct compared {
  const char *type, *kind, *comparisons, *flush;
} compared;

#define FLOAT_COMPARISONS "eq ne lt le gt ge equ neu ltu leu gtu geu num nan "
static const compared all[] = {
    {"b16", "b16", "eq ne ", ""},
    {"b32", "b32", "eq ne ", ""},
    {"b64", "b64", "eq ne ", ""},
    {"u16", "b16", "eq ne lt le gt ge lo ls hi hs ", ""},
    {"u32", "b32", "eq ne lt le gt ge lo ls hi hs ", ""},
    {"u64", "b64", "eq ne lt le gt ge lo ls hi hs ", ""},
    {"s16", "b16", "eq ne lt le gt ge ", ""},
    {"s32", "b32", "eq ne lt le gt ge ", ""},
    {"s64", "b64", "eq ne lt le gt ge ", ""},
    {"f32", "f32", FLOAT_COMPARISONS, ""},
    {"f32", "f32", FLOAT_COMPARISONS, ".ftz"},
    {"f64", "f64", FLOAT_COMPARISONS, ""},
    {"f16", "f16", FLOAT_COMPARISONS, ""},
    {"f16", "f16", FLOAT_COMPARISONS, ".ftz"},
    {"bf16", "bf16", FLOAT_COMPARISONS, ""},
};
static const compared packed[] = {
    {"f16x2", "f16x2", FLOAT_COMPARISONS, ""},
    {"f16x2", "f16x2", FLOAT_COMPARISONS, ".ftz"},
    {"bf16x2", "bf16x2", FLOAT_COMPARISONS, ""},
};

static const char *const combinations[] = {"and", "or", "xor"};

/* Calls add for every comparison of a row; number counts them. */
static void for_each(case_list *list, const compared *row,
                     void (*add)(case_list *, const compared *, const char *, unsigned)) {
  const char *text = row->comparisons;
  unsigned number = 0;
  char comparison[8];
  for (int used; sscanf(text, "%7s%n", comparison, &used) == 1; text += used)
    add(list, row, comparison, number++);
}

/* setp with both predicates (halves have one only), alone and combined with a third. */
static void setp_forms(case_list *list, const compared *row, const char *comparison,
                       unsigned number) {
  char kinds[40];
  const char *combination = combinations[number % 3], *negation = number & 1 ? "!" : "";
  bool two = strstr(row->type, "f16") == NULL;
  const char *results = two ? "pred pred" : "pred", *second = two ? "|%r1" : "";
  snprintf(kinds, sizeof kinds, "%s %s > %s", row->kind, row->kind, results);
  case_add(list, kinds, "setp.%s%s.%s %%r0%s, %%a, %%b;", comparison, row->flush, row->type,
           second);
  snprintf(kinds, sizeof kinds, "%s %s pred > %s", row->kind, row->kind, results);
  case_add(list, kinds, "setp.%s.%s%s.%s %%r0%s, %%a, %%b, %s%%c;", comparison, combination,
           row->flush, row->type, second, negation);
}

static void set_forms(case_list *list, const compared *row, const char *comparison,
                      unsigned number) {
  static const char *const results[] = {"u32", "s32", "f32"};
  char kinds[40];
  const char *combination = combinations[number % 3], *negation = number & 1 ? "!" : "";
  bool half = row->kind[0] == 'f' && row->kind[1] == '1';
  const char *result = half || row->kind[0] == 'b' ? results[number % 2] : results[number % 3];
  if (row->kind[0] == 'b' && row->kind[1] != 'f')
    result = results[number % 3];
  snprintf(kinds, sizeof kinds, "%s %s > b32", row->kind, row->kind);
  case_add(list, kinds, "set.%s%s.%s.%s %%r0, %%a, %%b;", comparison, row->flush, result,
           row->type);
  snprintf(kinds, sizeof kinds, "%s %s pred > b32", row->kind, row->kind);
  case_add(list, kinds, "set.%s.%s%s.%s.%s %%r0, %%a, %%b, %s%%c;", comparison, combination,
           row->flush, result, row->type, negation);
}

static void packed_setp_forms(case_list *list, const compared *row, const char *comparison,
                              unsigned number) {
  char kinds[40];
  snprintf(kinds, sizeof kinds, "%s %s > pred pred", row->kind, row->kind);
  case_add(list, kinds, "setp.%s%s.%s %%r0|%%r1, %%a, %%b;", comparison, row->flush, row->type);
  snprintf(kinds, sizeof kinds, "%s %s pred > pred pred", row->kind, row->kind);
  case_add(list, kinds, "setp.%s.%s%s.%s %%r0|%%r1, %%a, %%b, %%c;", comparison,
           combinations[number % 3], row->flush, row->type);
}

/* set with packed halves: 1.0 or 0 in each, or all bits or none. */
static void packed_set_forms(case_list *list, const compared *row, const char *comparison,
                             unsigned number) {
  char kinds[40];
  const char *result = number & 1 ? "u32" : row->type;
  snprintf(kinds, sizeof kinds, "%s %s > b32", row->kind, row->kind);
  case_add(list, kinds, "set.%s%s.%s.%s %%r0, %%a, %%b;", comparison, row->flush, result,
           row->type);
}

/* set.f16.f16 and set.bf16.bf16: 1.0 or 0; u16 and s16: all bits or none. */
static void half_set_forms(case_list *list, const compared *row, const char *comparison,
                           unsigned number) {
  char kinds[40];
  const char *results[] = {row->type, "u16", "s16"};
  snprintf(kinds, sizeof kinds, "%s %s > b16", row->kind, row->kind);
  case_add(list, kinds, "set.%s%s.%s.%s %%r0, %%a, %%b;", comparison, row->flush,
           results[number % 3], row->type);
}

static void select_forms(case_list *list) {
  static const char *const types[] = {"b16", "b32", "b64", "u16", "u32", "u64",
                                      "s16", "s32", "s64", "f32", "f64"};
  char kinds[40];
  EACH(type, types) {
    const char *kind = type[0] == 'f'   ? type
                       : type[1] == '1' ? "b16"
                       : type[1] == '3' ? "b32"
                                        : "b64";
    snprintf(kinds, sizeof kinds, "%s %s pred > %s", kind, kind, kind);
    case_add(list, kinds, "selp.%s %%r0, %%a, %%b, %%c;", type);
    snprintf(kinds, sizeof kinds, "b32 %s %s > %s", kind, kind, kind);
    case_add(list, kinds, "slct.%s.s32 %%r0, %%b, %%c, %%a;", type);
    snprintf(kinds, sizeof kinds, "f32 %s %s > %s", kind, kind, kind);
    case_add(list, kinds, "slct.%s.f32 %%r0, %%b, %%c, %%a;", type);
    case_add(list, kinds, "slct.ftz.%s.f32 %%r0, %%b, %%c, %%a;", type);
  }
}

void case_compare_forms(case_list *list) {
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    for_each(list, &all[i], setp_forms);
    for_each(list, &all[i], set_forms);
  }
  for (size_t i = 12; i < sizeof all / sizeof *all; i++)
    for_each(list, &all[i], half_set_forms);
  for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
    for_each(list, &packed[i], packed_setp_forms);
    for_each(list, &packed[i], packed_set_forms);
  }
  select_forms(list);
}
