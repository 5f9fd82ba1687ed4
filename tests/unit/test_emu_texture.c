/* Textures and surfaces: reads by index and by coordinates, accesses outside, freed memory. */
#include "emu.h"

#include <string.h>

static const char source[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 t, .param .u64 out) {\n"
    ".reg .b64 %t, %o; .reg .b32 %i, %x, %y, %z, %w;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;\n"
    "mad.wide.u32 %o, %i, 4, %o; add.s32 %i, %i, -1;\n"
    "tex.1d.v4.s32.s32 {%x, %y, %z, %w}, [%t, {%i}];\n"
    "add.s32 %x, %x, %y; st.global.u32 [%o], %x; ret; }\n"
    ".visible .entry sample(.param .u64 t, .param .u64 out, .param .f32 step) {\n"
    ".reg .b64 %t, %o; .reg .b32 %i; .reg .f32 %f, %s, %x, %y, %z, %w;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; ld.param.f32 %s, [step]; mov.u32 %i, %tid.x;\n"
    "mad.wide.u32 %o, %i, 4, %o; cvt.rn.f32.u32 %f, %i; mul.f32 %f, %f, %s;\n"
    "tex.2d.v4.f32.f32 {%x, %y, %z, %w}, [%t, {%f, 0f3F000000}];\n"
    "st.global.f32 [%o], %x; ret; }\n"
    ".visible .entry zero(.param .u64 t, .param .u64 out) {\n"
    ".reg .b64 %t, %o; .reg .b32 %i, %x;\n"
    "ld.param.u64 %t, [t]; ld.param.u64 %o, [out]; mov.u32 %i, %tid.x;\n"
    "mad.wide.u32 %o, %i, 4, %o; shl.b32 %i, %i, 2;\n"
    "sust.b.1d.b32.zero [%t, {%i}], {%i}; suld.b.1d.b32.zero {%x}, [%t, {%i}];\n"
    "st.global.u32 [%o], %x; ret; }\n"
    ".visible .entry trap(.param .u64 t, .param .u64 out) {\n"
    ".reg .b64 %t; .reg .b32 %i;\n"
    "ld.param.u64 %t, [t]; mov.u32 %i, %tid.x; shl.b32 %i, %i, 2;\n"
    "sust.b.1d.b32.trap [%t, {%i}], {%i}; ret; }\n";

typedef struct arguments {
  uint64_t texture, out;
  float step;
} arguments;

/* A device with the kernels above, and room for what they write. */
static void open(bed *at, arguments *with) {
  bed_open_text(at, "texture.ptx", source, sizeof source - 1, NULL);
  *with = (arguments){.out = bed_alloc(at, 32 * 4, 0xff)};
}

static void add(bed *at, const bf_emu_texture *texture, arguments *with) {
  assert_int_equal(bf_emu_texture_add(at->emu, texture, &with->texture, NULL), BF_OK);
}

static bf_emu_result run(bed *at, const char *kernel, arguments *with) {
  size_t bytes = strcmp(kernel, "sample") == 0 ? 20 : 16;
  bf_emu_launch launch = bed_launch(at, kernel, 1, 8, with, bytes);
  return bed_run(at, &launch);
}

/* Two channels of 8 bits, with sign; what lies outside is 0. */
static void fetches_by_index(void **state) {
  (void)state;
  bed at;
  arguments with;
  open(&at, &with);
  uint64_t memory = bed_alloc(&at, 8, 0);
  memcpy((void *)(uintptr_t)memory, (int8_t[]){1, 2, -3, -4, 100, 27, -128, -128}, 8);
  add(&at,
      &(bf_emu_texture){.address = memory,
                        .width = 4,
                        .height = 1,
                        .depth = 1,
                        .kind = BF_EMU_TEXEL_SIGNED,
                        .channels = 2,
                        .channel_bits = 8,
                        .is_linear = true},
      &with);
  assert_int_equal(run(&at, "fetch", &with).fault.kind, BF_EMU_NO_FAULT);
  const int32_t expected[8] = {0, 3, -7, 127, -256, 0, 0, 0};
  assert_memory_equal((void *)(uintptr_t)with.out, expected, sizeof expected);
  bed_close(&at);
}

/* Halves between fractions of 16 bits, without sign, in one row. */
static void filters(void **state) {
  (void)state;
  bed at;
  arguments with;
  open(&at, &with);
  uint64_t memory = bed_alloc(&at, 8, 0);
  memcpy((void *)(uintptr_t)memory, (uint16_t[]){0, 65535, 0, 65535}, 8);
  bf_emu_texture texture = {.address = memory,
                            .pitch_bytes = 8,
                            .width = 4,
                            .height = 1,
                            .depth = 1,
                            .kind = BF_EMU_TEXEL_UNSIGNED,
                            .channels = 1,
                            .channel_bits = 16,
                            .outside = {BF_EMU_OUTSIDE_CLAMP, BF_EMU_OUTSIDE_CLAMP},
                            .is_filtered = true,
                            .reads_fraction = true};
  add(&at, &texture, &with);
  with.step = 0.75f;
  assert_int_equal(run(&at, "sample", &with).fault.kind, BF_EMU_NO_FAULT);
  const float clamped[8] = {0, 0.25f, 1, 0.25f, 0.5f, 1, 1, 1};
  assert_memory_equal((void *)(uintptr_t)with.out, clamped, sizeof clamped);
  texture.is_normalised = true;
  texture.outside[0] = BF_EMU_OUTSIDE_WRAP;
  add(&at, &texture, &with);
  with.step = 0.25f;
  assert_int_equal(run(&at, "sample", &with).fault.kind, BF_EMU_NO_FAULT);
  const float wrapped[8] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
  assert_memory_equal((void *)(uintptr_t)with.out, wrapped, sizeof wrapped);
  bed_close(&at);
}

/* What lies outside a surface reads as 0, or ends the launch. */
static void surfaces_have_ends(void **state) {
  (void)state;
  bed at;
  arguments with;
  open(&at, &with);
  bf_emu_texture surface = {.address = bed_alloc(&at, 20, 0),
                            .width = 5,
                            .height = 1,
                            .depth = 1,
                            .kind = BF_EMU_TEXEL_UNSIGNED,
                            .channels = 1,
                            .channel_bits = 32};
  add(&at, &surface, &with);
  assert_int_equal(run(&at, "zero", &with).fault.kind, BF_EMU_NO_FAULT);
  const uint32_t expected[8] = {0, 4, 8, 12, 16, 0, 0, 0};
  assert_memory_equal((void *)(uintptr_t)with.out, expected, sizeof expected);
  bf_emu_result result = run(&at, "trap", &with);
  assert_int_equal(result.fault.kind, BF_EMU_OUT_OF_BOUNDS);
  assert_int_equal(result.fault.thread[0], 5);
  assert_int_equal(bf_emu_release(at.emu, surface.address, NULL), BF_OK);
  assert_int_equal(run(&at, "zero", &with).fault.kind, BF_EMU_USE_AFTER_FREE);
  bed_close(&at);
}

/* Handles that nobody handed out, and texels that no texture has. */
static void refuses_what_is_none(void **state) {
  (void)state;
  bed at;
  arguments with;
  open(&at, &with);
  with.texture = 77;
  assert_int_equal(run(&at, "fetch", &with).fault.kind, BF_EMU_BAD_INSTRUCTION);
  assert_false(bf_emu_texture_remove(at.emu, 77));
  bf_emu_texture texture = {
      .address = with.out, .width = 4, .height = 1, .depth = 1, .channels = 3, .channel_bits = 8};
  assert_int_equal(bf_emu_texture_add(at.emu, &texture, &with.texture, NULL), BF_BAD_INPUT);
  texture.channels = 1;
  add(&at, &texture, &with);
  uint64_t first = with.texture;
  assert_true(bf_emu_texture_remove(at.emu, first));
  assert_int_equal(run(&at, "fetch", &with).fault.kind, BF_EMU_BAD_INSTRUCTION);
  add(&at, &texture, &with);
  assert_int_equal(with.texture, first);
  bed_close(&at);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fetches_by_index),
      cmocka_unit_test(filters),
      cmocka_unit_test(surfaces_have_ends),
      cmocka_unit_test(refuses_what_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
