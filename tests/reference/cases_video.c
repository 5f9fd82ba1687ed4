/* Forms of the video instructions. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

static const char *const signs[] = {"u32", "s32"};
static const char *const seconds[] = {"add", "min", "max"};

/* d = op(a, b), saturated or not, and combined with c. */
static void scalars(case_list *list, const char *operation) {
  unsigned turn = 0;
  EACH(d, signs)
  EACH(a, signs)
  EACH(b, signs) {
    case_add(list, "b32 b32 > b32", "%s.%s.%s.%s %%r0, %%a, %%b;", operation, d, a, b);
    case_add(list, "b32 b32 > b32", "%s.%s.%s.%s.sat %%r0, %%a, %%b;", operation, d, a, b);
    case_add(list, "b32 b32 b32 > b32", "%s.%s.%s.%s.%s %%r0, %%a, %%b, %%c;", operation, d, a, b,
             seconds[turn++ % 3]);
    case_add(list, "b32 b32 b32 > b32", "%s.%s.%s.%s.sat.%s %%r0, %%a, %%b, %%c;", operation, d, a,
             b, seconds[turn % 3]);
  }
}

static void shifts(case_list *list) {
  static const char *const operations[] = {"vshl", "vshr"};
  static const char *const modes[] = {"clamp", "wrap"};
  EACH(operation, operations)
  EACH(mode, modes)
  EACH(d, signs)
  EACH(a, signs) {
    case_add(list, "b32 count > b32", "%s.%s.%s.u32.%s %%r0, %%a, %%b;", operation, d, a, mode);
    case_add(list, "b32 count > b32", "%s.%s.%s.u32.sat.%s %%r0, %%a, %%b;", operation, d, a, mode);
    case_add(list, "b32 count b32 > b32", "%s.%s.%s.u32.%s.add %%r0, %%a, %%b, %%c;", operation, d,
             a, mode);
  }
}

static void products(case_list *list) {
  static const char *const scales[] = {"", ".shr7", ".shr15"};
  static const char *const ends[] = {"", ".sat"};
  EACH(d, signs)
  EACH(a, signs)
  EACH(b, signs)
  EACH(scale, scales)
  EACH(end, ends)
  case_add(list, "b32 b32 b32 > b32", "vmad.%s.%s.%s%s%s %%r0, %%a, %%b, %%c;", d, a, b, end,
           scale);
}

static void comparisons(case_list *list) {
  static const char *const comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  unsigned turn = 0;
  EACH(comparison, comparisons)
  EACH(a, signs)
  EACH(b, signs) {
    case_add(list, "b32 b32 > b32", "vset.%s.%s.%s %%r0, %%a, %%b;", a, b, comparison);
    case_add(list, "b32 b32 b32 > b32", "vset.%s.%s.%s.%s %%r0, %%a, %%b, %%c;", a, b, comparison,
             seconds[turn++ % 3]);
    case_add(list, "b32 b32 b32 > b32", "vset2.%s.%s.%s %%r0, %%a, %%b, %%c;", a, b, comparison);
    case_add(list, "b32 b32 b32 > b32", "vset4.%s.%s.%s %%r0, %%a, %%b, %%c;", a, b, comparison);
    case_add(list, "b32 b32 b32 > b32", "vset4.%s.%s.%s.add %%r0, %%a, %%b, %%c;", a, b,
             comparison);
  }
}

/* Two halves or four bytes at once; with .add their sum goes to c. */
static void parts(case_list *list, const char *operation) {
  EACH(d, signs)
  EACH(a, signs)
  EACH(b, signs)
  for (unsigned width = 2; width <= 4; width += 2) {
    case_add(list, "b32 b32 b32 > b32", "%s%u.%s.%s.%s %%r0, %%a, %%b, %%c;", operation, width, d,
             a, b);
    case_add(list, "b32 b32 b32 > b32", "%s%u.%s.%s.%s.sat %%r0, %%a, %%b, %%c;", operation, width,
             d, a, b);
    case_add(list, "b32 b32 b32 > b32", "%s%u.%s.%s.%s.add %%r0, %%a, %%b, %%c;", operation, width,
             d, a, b);
  }
}

void case_video_forms(case_list *list) {
  static const char *const one[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
  static const char *const many[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax", "vavrg"};
  EACH(operation, one)
  scalars(list, operation);
  shifts(list);
  products(list);
  comparisons(list);
  EACH(operation, many)
  parts(list, operation);
}
