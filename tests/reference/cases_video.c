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

/* Bytes and halves of operands, and results that replace a part of c. */
static void selections(case_list *list) {
  static const char *const one[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax"};
  static const char *const parts_of_one[] = {"b0", "b1", "b2", "b3", "h0", "h1"};
  unsigned turn = 0;
  EACH(operation, one)
  EACH(part, parts_of_one) {
    const char *other = parts_of_one[(turn + 2) % 6], *d = signs[turn & 1],
               *a = signs[turn >> 1 & 1];
    turn++;
    case_add(list, "b32 b32 > b32", "%s.%s.%s.s32 %%r0, %%a.%s, %%b.%s;", operation, d, a, part,
             other);
    case_add(list, "b32 b32 b32 > b32", "%s.%s.%s.u32 %%r0.%s, %%a.%s, %%b.h0, %%c;", operation, d,
             a, part, other);
    case_add(list, "b32 b32 b32 > b32", "%s.%s.%s.s32.sat %%r0.%s, %%a, %%b.%s, %%c;", operation, d,
             a, part, other);
  }
  case_add(list, "b32 b32 b32 > b32", "vmad.s32.s32.s32 %%r0, %%a.h0, %%b.h1, %%c;");
  case_add(list, "b32 b32 b32 > b32", "vmad.u32.u32.u32.shr7 %%r0, %%a.b0, %%b.b3, %%c;");
  case_add(list, "b32 count > b32", "vshl.u32.u32.u32.clamp %%r0, %%a.b1, %%b;");
  case_add(list, "b32 b32 b32 > b32", "vset.s32.u32.lt %%r0.b1, %%a.h1, %%b.b0, %%c;");
  static const char *const two[] = {"vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2"};
  static const char *const four[] = {"vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4"};
  EACH(operation, two) {
    case_add(list, "b32 b32 b32 > b32", "%s.s32.s32.u32.sat %%r0.h1, %%a.h03, %%b.h20, %%c;",
             operation);
    case_add(list, "b32 b32 b32 > b32", "%s.u32.u32.s32 %%r0.h0, %%a.h10, %%b.h32, %%c;",
             operation);
    case_add(list, "b32 b32 b32 > b32", "%s.s32.s32.s32.add %%r0.h0, %%a.h21, %%b.h33, %%c;",
             operation);
  }
  EACH(operation, four) {
    case_add(list, "b32 b32 b32 > b32", "%s.s32.s32.u32.sat %%r0.b20, %%a.b7531, %%b.b0246, %%c;",
             operation);
    case_add(list, "b32 b32 b32 > b32", "%s.u32.u32.s32 %%r0.b3, %%a.b3210, %%b.b7654, %%c;",
             operation);
    case_add(list, "b32 b32 b32 > b32", "%s.s32.s32.s32.add %%r0.b310, %%a.b1111, %%b.b4567, %%c;",
             operation);
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
  selections(list);
}
