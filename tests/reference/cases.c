/* The list of forms, their inputs and their PTX. */
#include "cases.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Changes whenever inputs change, so that results recorded with others are not taken for these. */
enum { INPUT_VERSION = 1 };

static const struct {
  const char *name, *reg, *load;
  unsigned bytes;
} kinds[CASE_KIND_COUNT] = {
#define X(symbol, name, reg, load, bytes) {name, reg, load, bytes},
    CASE_KINDS(X)
#undef X
};

const char *case_kind_name(case_kind kind) { return kinds[kind].name; }
unsigned case_kind_bytes(case_kind kind) { return kinds[kind].bytes; }

/* ---- The list ---- */

void case_list_make(case_list *list) {
  *list = (case_list){0};
  case_integer_forms(list);
  case_bit_forms(list);
  case_compare_forms(list);
  case_float_forms(list);
  case_half_forms(list);
  case_convert_forms(list);
  case_memory_forms(list);
  case_atomic_forms(list);
  case_warp_forms(list);
  case_control_forms(list);
  case_video_forms(list);
  case_matrix_forms(list);
  case_lock_forms(list);
}

void case_list_free(case_list *list) {
  for (size_t i = 0; i < list->count; i++)
    free(list->form[i].body);
  free(list->form);
  *list = (case_list){0};
}

/* Room for one more form, zeroed, or NULL. */
static case_form *new_form(case_list *list) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 1024;
    case_form *form = realloc(list->form, capacity * sizeof *form);
    if (!form)
      return NULL;
    list->form = form;
    list->capacity = capacity;
  }
  case_form *form = &list->form[list->count];
  *form = (case_form){0};
  return form;
}

static case_kind find_kind(const char *name) {
  unsigned kind = 0;
  while (strcmp(name, kinds[kind].name) != 0)
    if (++kind == CASE_KIND_COUNT) {
      fprintf(stderr, "no kind '%s'\n", name);
      abort();
    }
  return kind;
}

/* Reads "input input > result ...". */
static void read_kinds(case_form *form, const char *text) {
  char word[16];
  bool behind = false;
  for (int used; sscanf(text, "%15s%n", word, &used) == 1; text += used)
    if (strcmp(word, ">") == 0)
      behind = true;
    else if (behind)
      form->result[form->results++] = find_kind(word);
    else
      form->input[form->inputs++] = find_kind(word);
}

static void add(case_list *list, case_bound bound, const char *text, const char *format,
                va_list arguments) {
  case_form *form = new_form(list);
  char body[4096];
  vsnprintf(body, sizeof body, format, arguments);
  if (form)
    form->body = strdup(body);
  if (!form || !form->body) {
    list->failed = true;
    return;
  }
  form->bound = bound;
  read_kinds(form, text);
  list->count++;
}

void case_add(case_list *list, const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add(list, (case_bound){0}, text, format, arguments);
  va_end(arguments);
}

void case_add_approximate(case_list *list, case_bound bound, const char *text, const char *format,
                          ...) {
  va_list arguments;
  va_start(arguments, format);
  add(list, bound, text, format, arguments);
  va_end(arguments);
}

uint64_t case_hash(uint64_t hash, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
  return hash;
}

uint64_t case_key(const case_form *form) {
  uint64_t hash = case_hash(CASE_HASH_START + INPUT_VERSION, form->body, strlen(form->body));
  for (unsigned i = 0; i < form->inputs; i++)
    hash = case_hash(hash, kinds[form->input[i]].name, strlen(kinds[form->input[i]].name) + 1);
  for (unsigned i = 0; i < form->results; i++)
    hash = case_hash(hash, kinds[form->result[i]].name, strlen(kinds[form->result[i]].name) + 1);
  return hash;
}

/* ---- Inputs ---- */

/* splitmix64 */
uint64_t case_mix(uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

/* Edge values: of each list all pairs of the first 16 are tried where there are two operands. */

static const uint64_t edges_integer[] = {0,
                                         1,
                                         2,
                                         3,
                                         0x7f,
                                         0x80,
                                         0xff,
                                         31,
                                         32,
                                         0x7fff,
                                         0x8000,
                                         0xffff,
                                         0x7fffffff,
                                         0x80000000,
                                         0xffffffff,
                                         0xfffffffffffffffe,
                                         0xffffffffffffffff,
                                         0x7fffffffffffffff,
                                         0x8000000000000000,
                                         0x5555555555555555,
                                         0xaaaaaaaaaaaaaaaa,
                                         0x0123456789abcdef,
                                         0xfedcba9876543210,
                                         0x10000,
                                         0x100000000,
                                         33,
                                         63,
                                         64,
                                         65,
                                         5,
                                         7,
                                         10,
                                         100,
                                         0xffffff,
                                         0x800000,
                                         0xff800000,
                                         0xfffffffd,
                                         0xffff8000,
                                         0xffff7fff,
                                         0xffffff80,
                                         0x7ffffffe,
                                         0x80000001,
                                         0x7ffffffffffffffe,
                                         0x8000000000000001,
                                         0x00ff00ff00ff00ff,
                                         0x8000800080008000,
                                         0x7fff80007fff8000,
                                         0x1000001,
                                         0x1000003,
                                         0x7fffff80,
                                         0xffffff7f,
                                         65519,
                                         65520,
                                         2049,
                                         2051};

static const uint64_t edges_b64[] = {0,
                                     1,
                                     2,
                                     0x7fffffffffffffff,
                                     0x8000000000000000,
                                     0xffffffffffffffff,
                                     0xfffffffffffffffe,
                                     0xffffffff,
                                     0x100000000,
                                     0x80000000,
                                     0x7fffffff,
                                     0xffffffff80000000,
                                     10,
                                     0xfffffffffffffff9,
                                     0x123456789abcdef0,
                                     63,
                                     0x8000000000000001,
                                     0x7ffffffffffffffe,
                                     3,
                                     5,
                                     100,
                                     0xff,
                                     0x8000,
                                     0xffff,
                                     0xffffffff7fffffff,
                                     0x5555555555555555,
                                     0xaaaaaaaaaaaaaaaa,
                                     0xfedcba9876543210,
                                     0xfffffffffffffff0,
                                     0x10000,
                                     64,
                                     32,
                                     0x20000000000000,
                                     0x20000000000001,
                                     0x3fffffffffffff,
                                     0x7ffffffffffffdff,
                                     0x7ffffffffffffe00,
                                     0xfffffffffffffbff,
                                     0xfffffffffffffc00,
                                     0x1000001,
                                     0x1000003,
                                     0x7fffff80,
                                     0xffffff7f,
                                     65519,
                                     65520,
                                     2049,
                                     2051};

static const uint64_t edges_byte[] = {0,    1,    2,    3,    0x7e, 0x7f, 0x80, 0x81,
                                      0xfe, 0xff, 0x55, 0xaa, 0x10, 0x40, 0xc0, 0x0f};

static const uint64_t edges_count[] = {
    0,   1,   2,          7,   8, 15, 16, 17, 24, 31, 32,  33,         63,      64,     65, 255,
    127, 128, 0xffffffff, 256, 3, 4,  5,  30, 34, 62, 100, 0x80000000, 0x10000, 0xff00, 20, 48};

static const uint64_t edges_f32[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
    0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3fc00000, 0x7f800001, 0x33800000,
    0x40200000, 0xc0200000, 0xbf000000, 0xbfc00000, 0x3effffff, 0x3f7fffff, 0x3f800001, 0x4b000000,
    0x4affffff, 0x4b7fffff, 0x4b800000, 0x4f000000, 0xcf000000, 0x4effffff, 0xcf000001, 0x4f800000,
    0x4f7fffff, 0x5f000000, 0xdf000000, 0x5effffff, 0x5f800000, 0x5f7fffff, 0x42fe0000, 0x42ff0000,
    0x43000000, 0xc3000000, 0xc3008000, 0x437f0000, 0x437f8000, 0x43800000, 0x46fffe00, 0x46ffff00,
    0x47000000, 0xc7000000, 0xc7000100, 0x477fff00, 0x477fff80, 0x477fe000, 0x477ff000, 0x477fefff,
    0x33000000, 0x33000001, 0x38800000, 0x387fc000, 0x387fe000, 0x38ffffff, 0xffffffff, 0x007fffff,
    0x00400000, 0x80000001, 0x7f000000, 0x7e800000, 0x00ffffff, 0x01000000, 0x43e00000, 0x43e80000,
    0x43f00000, 0x3c800000, 0x3a800000, 0x3b000000, 0x3b800000, 0x47600000, 0x47700000, 0x37800000,
    0x37000000, 0x37c00000, 0x7f7f7fff, 0x7f7f8000, 0x40490fdb, 0xc0490fdb, 0x3fc90fdb, 0x42c80000,
    0x43000000, 0xc2fc0000, 0xc3160000, 0x3dcccccd, 0x3eaaaaab, 0x7fa00000, 0xff812345, 0x3f804000,
    0x3f808000, 0x3f80c000, 0x3f801000, 0x3f803000, 0x3f801fff, 0x3f802001};

static const uint64_t edges_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x0000000000000001,
    0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
    0x3fe0000000000000, 0x3ff8000000000000, 0x7ff0000000000001, 0x3ca0000000000000,
    0x4004000000000000, 0xc004000000000000, 0xbfe0000000000000, 0xbff8000000000000,
    0x3fdfffffffffffff, 0x3fefffffffffffff, 0x3ff0000000000001, 0x4330000000000000,
    0x432fffffffffffff, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000,
    0xc1e0000000200000, 0x41dfffffffe00000, 0x41efffffffe00000, 0x41f0000000000000,
    0x43e0000000000000, 0xc3e0000000000000, 0x43dfffffffffffff, 0x43f0000000000000,
    0x43efffffffffffff, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000,
    0x47f0000000000000, 0x3810000000000000, 0x380fffffffffffff, 0x36a0000000000000,
    0x3690000000000000, 0x3690000000000001, 0x368fffffffffffff, 0x380ffffff0000000,
    0x40effc0000000000, 0x40effe0000000000, 0x40effdffffffffff, 0x3e70000000000000,
    0x3e60000000000000, 0x3e60000000000001, 0x3f10000000000000, 0x405fc00000000000,
    0x4060000000000000, 0xc060000000000000, 0x406fe00000000000, 0x4070000000000000,
    0x40dfffc000000000, 0x40e0000000000000, 0xc0e0000000000000, 0x40efffe000000000,
    0x3ff0000010000000, 0x3ff0000030000000, 0x3ff000000fffffff, 0x7fe0000000000000,
    0x001fffffffffffff, 0xfff0000000abcdef};

static const uint64_t edges_f16[] = {
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff,
    0x3800, 0x3e00, 0x7c01, 0x1400, 0x4100, 0xc100, 0xb800, 0xbe00, 0x37ff, 0x3bff, 0x3c01, 0x6400,
    0x63ff, 0x57f0, 0x57f8, 0x5800, 0xd800, 0x5bf8, 0x5c00, 0x7800, 0x7801, 0xffff, 0x03ff, 0x0200,
    0x8001, 0x07ff, 0x0800, 0x5f00, 0x5f40, 0x5f80, 0x2400, 0x1c00, 0x2e66, 0x3555};

static const uint64_t edges_bf16[] = {
    0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x0001, 0x807f, 0x0080, 0x7f7f, 0xff7f,
    0x3f00, 0x3fc0, 0x7f81, 0x3b80, 0x4020, 0xc020, 0xbf00, 0xbfc0, 0x3eff, 0x3f7f, 0x3f81, 0x4300,
    0x42ff, 0x4f00, 0xcf00, 0x4eff, 0x4f80, 0x5f00, 0xdf00, 0x5eff, 0x5f80, 0xffff, 0x007f, 0x0040,
    0x8001, 0x00ff, 0x0100, 0x42fe, 0x437f, 0x4380, 0x46ff, 0x4700, 0xc700, 0x477f, 0x4780, 0x3dcd};

typedef struct edge_list {
  const uint64_t *value;
  unsigned count;
} edge_list;

#define EDGES(list) ((edge_list){list, sizeof(list) / sizeof *(list)})

/* The edge values of one element of a kind. */
static edge_list edges_of(case_kind kind) {
  switch (kind) {
  case CASE_B8:
  case CASE_FP8X2:
    return EDGES(edges_byte);
  case CASE_B64:
    return EDGES(edges_b64);
  case CASE_COUNT:
    return EDGES(edges_count);
  case CASE_F32:
    return EDGES(edges_f32);
  case CASE_F64:
    return EDGES(edges_f64);
  case CASE_F16:
  case CASE_F16X2:
    return EDGES(edges_f16);
  case CASE_BF16:
  case CASE_BF16X2:
    return EDGES(edges_bf16);
  default:
    return EDGES(edges_integer);
  }
}

/* A random element: for floating point half of them have exponents near that of 1. */
static uint64_t random_element(case_kind kind, uint64_t bits) {
  bool near = bits >> 63;
  switch (kind) {
  case CASE_F32:
    return near ? (bits & 0x807fffff) | (118 + (bits >> 32) % 20) << 23 : bits & 0xffffffff;
  case CASE_F64:
    return near ? (bits & 0x800fffffffffffff) | (1010 + (bits >> 52) % 28) << 52 : bits;
  case CASE_F16:
  case CASE_F16X2:
    return near ? (bits & 0x83ff) | (10 + (bits >> 32) % 11) << 10 : bits & 0xffff;
  case CASE_BF16:
  case CASE_BF16X2:
    return near ? (bits & 0x807f) | (118 + (bits >> 32) % 20) << 7 : bits & 0xffff;
  case CASE_COUNT:
    return near ? bits & 63 : bits & 0xff;
  default: /* integers of all lengths */
    return near ? bits : bits >> (bits >> 52 & 63);
  }
}

/* Which element of a kind lane gets in operand, of operands. */
static uint64_t element(case_kind kind, unsigned operand, unsigned operands, unsigned lane) {
  edge_list edges = edges_of(kind);
  uint64_t bits = case_mix((uint64_t)kind << 40 | (uint64_t)operand << 32 | lane);
  if (operands == 1 && lane < edges.count)
    return edges.value[lane];
  if (operands > 1 && lane < 256) {
    unsigned third = (lane * 7 + lane / 16 * 3 + operand) % edges.count;
    return edges.value[operand == 0 ? lane % 16 : operand == 1 ? lane / 16 : third];
  }
  return bits & 1 ? edges.value[(bits >> 8) % edges.count] : random_element(kind, case_mix(bits));
}

/* A multiple of 1/2 between -2 and 2, so that sums of products are exact in any order. */
static double tame(uint64_t bits) { return ((double)(bits % 9) - 4) / 2; }

/* Bits of a tame number in binary16; all of them are normal or 0 there. */
static uint64_t tame_f16(uint64_t bits) {
  float value = (float)tame(bits);
  uint32_t f32;
  memcpy(&f32, &value, 4);
  return f32 == 0 ? 0
                  : (f32 >> 16 & 0x8000) | ((f32 >> 23 & 255) - 112) << 10 | (f32 >> 13 & 0x3ff);
}

/* The same in the upper half of binary32. */
static uint64_t tame_bf16(uint64_t bits) {
  float value = (float)tame(bits);
  uint32_t f32;
  memcpy(&f32, &value, 4);
  return f32 >> 16;
}

/* What lane gets in operand. */
static uint64_t input_value(case_kind kind, unsigned operand, unsigned operands, unsigned lane) {
  uint64_t bits = case_mix(case_mix((uint64_t)kind << 40 | (uint64_t)operand << 32 | lane) + 1);
  uint64_t first = element(kind, operand, operands, lane);
  uint64_t second = element(kind, operand, operands, CASE_LANES - 1 - lane);
  float f32 = (float)tame(bits);
  double f64 = tame(bits);
  switch (kind) {
  case CASE_F16X2:
  case CASE_BF16X2:
    return first | second << 16;
  case CASE_FP8X2:
    return operands == 1 ? (lane * 0x9d01u + 0x80) & 0xffff : (first & 0xff) | (second & 0xff) << 8;
  case CASE_PLACE:
    return bits & 31;
  case CASE_FEW:
    return bits & 3;
  case CASE_PRED:
    return lane >> operand & 1;
  case CASE_TAME16:
    return tame_f16(bits) | tame_f16(bits >> 32) << 16;
  case CASE_TAMEB16:
    return tame_bf16(bits) | tame_bf16(bits >> 32) << 16;
  case CASE_TAME32:
    bits = 0;
    memcpy(&bits, &f32, 4);
    return bits;
  case CASE_TAME64:
    memcpy(&bits, &f64, 8);
    return bits;
  default:
    return first;
  }
}

void case_fill_input(const case_form *form, uint8_t *input) {
  memset(input, 0, CASE_INPUT_BYTES);
  for (unsigned operand = 0; operand < form->inputs; operand++)
    for (unsigned lane = 0; lane < CASE_LANES; lane++) {
      uint64_t value = input_value(form->input[operand], operand, form->inputs, lane);
      memcpy(input + (operand * CASE_LANES + lane) * 8, &value, 8);
    }
}

size_t case_output_offset(const case_form *form, unsigned index) {
  size_t bytes = 0;
  for (unsigned i = 0; i < index; i++)
    bytes += (size_t)CASE_LANES * kinds[form->result[i]].bytes;
  return bytes;
}

size_t case_output_bytes(const case_form *form) { return case_output_offset(form, form->results); }

/* ---- PTX ---- */

void case_put(case_text *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int size = out->data
                 ? vsnprintf(out->data + out->size, out->capacity - out->size, format, arguments)
                 : 0;
  va_end(arguments);
  if (out->size + (size_t)size < out->capacity || !out->data) {
    out->size += (size_t)size;
    return;
  }
  size_t capacity = 2 * (out->capacity + (size_t)size);
  char *data = realloc(out->data, capacity);
  if (!data)
    free(out->data);
  out->data = data;
  out->capacity = capacity;
  va_start(arguments, format);
  if (data)
    out->size += (size_t)vsnprintf(data + out->size, capacity - out->size, format, arguments);
  va_end(arguments);
}

/* What bodies may call and read. */
static const char prelude[] =
    ".version 8.5\n.target sm_90\n.address_size 64\n"
    ".const .align 16 .b8 table[64] = {0, 1, 2, 3, 4, 5, 6, 7, 128, 129, 130, 131, 132, 133, 134, "
    "135, 255, 254, 253, 252, 251, 250, 249, 248, 127, 126, 125, 124, 123, 122, 121, 120, 16, 32, "
    "48, 64, 80, 96, 112, 128, 17, 34, 51, 68, 85, 102, 119, 136, 1, 0, 0, 128, 255, 255, 127, 0, "
    "0, 0, 192, 127, 0, 0, 128, 63};\n"
    ".global .align 8 .u64 answer = 0x123456789abcdef0;\n"
    ".func (.reg .b32 %result) add_registers(.reg .b32 %x, .reg .b32 %y)\n"
    "{\nadd.u32 %result, %x, %y;\nret;\n}\n"
    ".func (.param .b32 result) sum_of_bytes(.param .align 4 .b8 four[4], .param .b64 scale)\n"
    "{\n.reg .b32 %v<6>;\n.reg .b64 %w;\nld.param.u8 %v0, [four];\nld.param.u8 %v1, [four+1];\n"
    "ld.param.s8 %v2, [four+2];\nld.param.u8 %v3, [four+3];\nld.param.u64 %w, [scale];\n"
    "add.u32 %v0, %v0, %v1;\nadd.u32 %v2, %v2, %v3;\nadd.u32 %v0, %v0, %v2;\ncvt.u32.u64 %v4, %w;\n"
    "mul.lo.u32 %v5, %v0, %v4;\nst.param.b32 [result], %v5;\nret;\n}\n"
    ".func (.param .b32 result) factorial(.param .b32 n)\n"
    "{\n.reg .b32 %v<4>;\n.reg .pred %q;\nld.param.u32 %v0, [n];\nsetp.gt.u32 %q, %v0, 1;\n"
    "@%q bra more;\nst.param.b32 [result], 1;\nret;\nmore:\nsub.u32 %v1, %v0, 1;\n{\n"
    ".param .b32 argument;\n.param .b32 value;\nst.param.b32 [argument], %v1;\n"
    "call (value), factorial, (argument);\nld.param.b32 %v2, [value];\n}\n"
    "mul.lo.u32 %v3, %v2, %v0;\nst.param.b32 [result], %v3;\nret;\n}\n"
    ".func (.param .b32 result) twice(.param .b32 n)\n"
    "{\n.reg .b32 %v;\nld.param.b32 %v, [n];\nshl.b32 %v, %v, 1;\nst.param.b32 [result], "
    "%v;\nret;\n}\n"
    ".func (.param .b32 result) square(.param .b32 n)\n"
    "{\n.reg .b32 %v;\nld.param.b32 %v, [n];\nmul.lo.u32 %v, %v, %v;\nst.param.b32 [result], %v;\n"
    "ret;\n}\n";

/* Loads operand index, named 'a' + index, of a kind. */
static void put_load(case_text *out, case_kind kind, unsigned index) {
  unsigned offset = index * CASE_LANES * 8;
  if (kind == CASE_PRED)
    case_put(out, "ld.global.u8 %%t0, [%%in+%u];\nsetp.ne.u32 %%%c, %%t0, 0;\n", offset,
             'a' + index);
  else
    case_put(out, "ld.global.%s %%%c, [%%in+%u];\n", kinds[kind].load, 'a' + index, offset);
}

/* Stores result index of a form. */
static void put_store(case_text *out, const case_form *form, unsigned index) {
  case_kind kind = form->result[index];
  case_put(out, "mad.wide.u32 %%l15, %%lane, %u, %%out;\n", kinds[kind].bytes);
  if (kind == CASE_PRED)
    case_put(out, "selp.b32 %%t15, 1, 0, %%r%u;\nst.global.u8 [%%l15+%zu], %%t15;\n", index,
             case_output_offset(form, index));
  else
    case_put(out, "st.global.%s [%%l15+%zu], %%r%u;\n", kinds[kind].load,
             case_output_offset(form, index), index);
}

static void put_kernel(case_text *out, const case_form *form, size_t number) {
  case_put(out, ".visible .entry k%zu(.param .u64 in, .param .u64 out, .param .u64 scratch)\n{\n",
           number);
  case_put(out, ".reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n.reg .b32 %%t<16>;\n.reg .b64 %%l<16>;\n"
                ".reg .b32 %%lane, %%s;\n.reg .b64 %%in, %%out, %%m;\n");
  for (unsigned i = 0; i < form->inputs; i++)
    case_put(out, ".reg .%s %%%c;\n", kinds[form->input[i]].reg, 'a' + i);
  for (unsigned i = 0; i < form->results; i++)
    case_put(out, ".reg .%s %%r%u;\n", kinds[form->result[i]].reg, i);
  case_put(out, ".shared .align 128 .b8 sh[%u];\n", CASE_SCRATCH_BYTES);
  case_put(
      out,
      "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\nld.param.u64 %%m, [scratch];\n"
      "mov.u32 %%lane, %%tid.x;\nmad.wide.u32 %%in, %%lane, 8, %%in;\n"
      "mad.wide.u32 %%m, %%lane, %u, %%m;\nmov.u32 %%t0, sh;\nmad.lo.u32 %%s, %%lane, %u, %%t0;\n",
      CASE_PLACE_BYTES, CASE_PLACE_BYTES);
  for (unsigned i = 0; i < form->inputs; i++)
    put_load(out, form->input[i], i);
  case_put(out, "%s\n", form->body);
  for (unsigned i = 0; i < form->results; i++)
    put_store(out, form, i);
  case_put(out, "ret;\n}\n");
}

char *case_module(const case_list *list, size_t first, size_t count) {
  case_text out = {malloc(4096), 0, 4096};
  case_put(&out, "%s", prelude);
  for (size_t i = first; i < first + count && i < list->count; i++)
    put_kernel(&out, &list->form[i], i);
  return out.data;
}
