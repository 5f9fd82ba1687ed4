/* Traces of machine instructions: a kernel of PTX takes as long as a trace of it in which every
 * instruction of PTX is one of the machine, and what is wrong with a trace is said with its place.
 */
#include "sim_bed.h"

#include "sim/sass.h"

enum { GRID = 6, BLOCK = 96, WARPS = 3, FIRST_ADDRESS = 1 << 20 };

/* Loads, a loop with shared accesses that conflict, barriers, atomics, and stores. */
static const char lines[] =
    "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
    "mad.lo.s32 %r3, %r1, %r2, %r0;\n"
    "mul.wide.u32 %d1, %r3, 16;\nadd.s64 %d2, %d0, %d1;\n"
    "ld.global.u32 %r4, [%d2];\nld.global.v2.u32 {%r5, %r6}, [%d2+8];\n"
    "mov.u32 %r12, words;\nshl.b32 %r7, %r0, 5;\nadd.s32 %r7, %r7, %r12;\nmov.u32 %r9, 0;\nadd.s32 "
    "%r5, %r5, %r6;\n"
    "again:\n"
    "atom.shared.add.u32 %r8, [%r7], %r4;\n"
    "bar.sync 0;\n"
    "ld.shared.u32 %r10, [%r7];\n"
    "cvt.rn.f32.u32 %f1, %r10;\nadd.f32 %f2, %f1, %f1;\nst.shared.f32 [%r7+4], %f2;\n"
    "mad.lo.s32 %r4, %r10, 3, %r5;\n"
    "add.s32 %r9, %r9, 1;\nsetp.lt.s32 %p1, %r9, 5;\n"
    "@%p1 bra again;\n"
    "st.global.u32 [%d2], %r4;\n"
    "red.global.add.u32 [%d2+4], %r4;\n"
    "atom.global.add.u32 %r11, [%d2+8], %r4;\n"
    "st.global.u32 [%d2+12], %r11;\n"
    "ret;";

/* ---- Writing ---- */

typedef struct writer {
  uint64_t memory;
  bf_emu_event event; /* of the instruction that was stepped last; mask 0: none */
  uint64_t address[BF_EMU_LANES];
} writer;

static void note(void *context, const bf_emu_event *event) {
  writer *own = context;
  own->event = *event;
  for (unsigned i = 0; i < BF_EMU_LANES; i++)
    if (event->mask >> i & 1)
      own->address[i] = event->space == BF_PTX_SPACE_SHARED
                            ? event->shared_address[i]
                            : event->global_address[i] - own->memory + FIRST_ADDRESS;
}

/* The machine instruction that stands for one of PTX. */
static const char *opcode_of(const bf_ptx_instruction *from) {
  bool is_float = from->types && from->type[0] == BF_PTX_F32;
  bool is_shared = from->space == BF_PTX_SPACE_SHARED;
  switch (from->opcode) {
  case BF_PTX_OP_LD:
    return from->space == BF_PTX_SPACE_PARAM        ? "MOV"
           : is_shared                              ? "LDS"
           : from->operand[0].kind == BF_PTX_VECTOR ? "LDG.E.64"
                                                    : "LDG.E";
  case BF_PTX_OP_ST:
    return is_shared ? "STS" : "STG.E";
  case BF_PTX_OP_ATOM:
    return is_shared ? "ATOMS.ADD" : "ATOMG.E.ADD.STRONG.GPU";
  case BF_PTX_OP_RED:
    return "RED.E.ADD.STRONG.GPU";
  case BF_PTX_OP_ADD:
    return is_float ? "FADD" : "IADD3";
  case BF_PTX_OP_MAD:
  case BF_PTX_OP_MUL:
    return "IMAD";
  case BF_PTX_OP_CVT:
    return "I2F.U32";
  case BF_PTX_OP_SETP:
    return "ISETP.LT.AND";
  case BF_PTX_OP_BRA:
    return "BRA";
  case BF_PTX_OP_RET:
    return "EXIT";
  case BF_PTX_OP_BAR:
    return "BAR.SYNC.DEFER_BLOCKING";
  case BF_PTX_OP_SHL:
    return "SHF.L.U32";
  default:
    return "MOV";
  }
}

/* Adds the registers of an operand, two apart, so that pairs do not meet; predicates are not named.
 */
static void add_operand(const bf_ptx_operand *operand, unsigned *count, bf_text *text) {
  if (operand->kind == BF_PTX_REGISTER && operand->registers->type != BF_PTX_PRED) {
    bf_text_addf(text, " R%u", 2 * (operand->registers->first + operand->index));
    ++*count;
  }
  if (operand->kind == BF_PTX_ADDRESS || operand->kind == BF_PTX_VECTOR)
    for (uint32_t i = 0; i < operand->count; i++)
      add_operand(&operand->item[i], count, text);
}

/* Addresses in one of the three ways that there are. */
static void add_addresses(const writer *own, unsigned mode, bf_text *text) {
  uint64_t before = 0;
  bool is_first = true;
  bf_text_addf(text, " %u %u", own->event.width_bytes, mode);
  for (uint32_t left = own->event.mask; left; left &= left - 1) {
    uint64_t address = own->address[__builtin_ctz(left)];
    if (is_first || mode == 0)
      bf_text_addf(text, " 0x%llx", (unsigned long long)address);
    else if (mode == 2)
      bf_text_addf(text, " %lld", (long long)(address - before));
    if (mode == 1 && left != own->event.mask) {
      bf_text_addf(text, " %lld", (long long)(address - before));
      return;
    }
    before = address;
    is_first = false;
  }
}

/* The line of an instruction that was stepped. */
static void add_line(const writer *own, const bf_ptx_instruction *from, uint32_t number,
                     uint32_t active, unsigned mode, bf_text *text) {
  bool writes = bf_ptx_op_get(from->opcode)->operands[0] == 'd';
  unsigned counts[2] = {0, 0};
  bf_text lists[2] = {{0}, {0}};
  for (unsigned i = 0; i < from->operands; i++) {
    unsigned side = writes && i == 0 ? 0 : 1;
    add_operand(&from->operand[i], &counts[side], &lists[side]);
  }
  bf_text_addf(text, "%04x %08x %u%s %s %u%s", 16 * number, active, counts[0],
               lists[0].data ? lists[0].data : "", opcode_of(from), counts[1],
               lists[1].data ? lists[1].data : "");
  if (own->event.mask)
    add_addresses(own, mode, text);
  else
    bf_text_puts(text, " 0");
  bf_text_puts(text, " 0\n");
  bf_text_free(&lists[0]);
  bf_text_free(&lists[1]);
}

/* Steps a block to its end and writes what its warps have executed. */
static void write_block(writer *own, bf_emu_stepper *stepper, const bf_emu_kernel *kernel,
                        uint64_t index, bf_text *text) {
  bf_emu_block *block = bf_emu_stepper_begin(stepper, 0, index);
  bf_text of_warp[WARPS] = {{0}};
  unsigned count[WARPS] = {0}, ended = 0;
  while (ended < WARPS) {
    ended = 0;
    for (unsigned i = 0; i < WARPS; i++) {
      bf_emu_next next;
      bf_emu_turn turn = bf_emu_warp_peek(bf_emu_block_warp(block, i), &next);
      ended += turn == BF_EMU_TURN_ENDED;
      if (turn != BF_EMU_TURN_READY)
        continue;
      own->event.mask = 0;
      bf_emu_warp_step(bf_emu_block_warp(block, i));
      add_line(own, bf_emu_kernel_instruction(kernel, next.instruction).instruction,
               next.instruction, next.active, count[i]++ % 3, &of_warp[i]);
    }
  }
  bf_text_addf(text, "\n#BEGIN_TB\n\nthread block = %u,0,0\n", (unsigned)index);
  for (unsigned i = 0; i < WARPS; i++) {
    bf_text_addf(text, "\nwarp = %u\ninsts = %u\n%s", i, count[i], of_warp[i].data);
    bf_text_free(&of_warp[i]);
  }
  bf_text_puts(text, "\n#END_TB\n");
  bf_emu_stepper_end(stepper, 0, block);
}

static void write_trace(sim_bed *from, const bf_emu_launch *launch, bf_text *text) {
  bf_diagnostic diagnostic = {0};
  writer own = {.memory = from->memory};
  bf_emu_observer observer = {.access = note, .context = &own, .wants_global = true};
  bf_emu_launch stepped = *launch;
  stepped.observer = &observer;
  stepped.workers = 1;
  bf_emu_stepper *stepper;
  assert_int_equal(bf_emu_stepper_create(from->at.emu, &stepped, &stepper, &diagnostic), BF_OK);
  bf_text_addf(text,
               "-kernel name = made\n-grid dim = (%d,1,1)\n-block dim = (%d,1,1)\n-shmem = %u\n"
               "-nregs = %u\n",
               GRID, BLOCK, (unsigned)bf_emu_kernel_needs(launch->kernel)->shared_bytes,
               bf_emu_kernel_needs(launch->kernel)->registers);
  for (unsigned i = 0; i < GRID; i++)
    write_block(&own, stepper, launch->kernel, i, text);
  bf_emu_stepper_free(stepper);
}

/* ---- Tests ---- */

static bf_sim_result simulate_trace(const sim_bed *own, const char *text, size_t size) {
  bf_diagnostic diagnostic = {0};
  bf_sim_sass *trace = NULL;
  bf_sim_result result;
  if (bf_sim_sass_parse("made.traceg", text, size, own->gpu->machine, &trace, &diagnostic))
    fail_msg("%s:%llu: %s", diagnostic.file, (unsigned long long)diagnostic.line,
             diagnostic.message);
  bf_emu_launch launch = bf_sim_sass_launch(trace);
  assert_int_equal(bf_sim_sass_run(&own->settings, trace, &launch, &result, &diagnostic), BF_OK);
  bf_sim_sass_free(trace);
  return result;
}

/* Both on several GPUs, in which PTX is taken as it is. */
static void takes_as_long_as_ptx(void **state) {
  (void)state;
  static const char *const gpus[] = {
      "moves=issue sms=2", "moves=issue sms=3 schedulers=4 blocks_per_sm=2 predicate_cycles=13",
      "moves=issue sms=1 l1_bytes=16384 l1_marked=past l2_atomics=words",
      "moves=issue sms=2 schedulers=2 dispatch=2 atomic_cycles=50 barrier_warp_cycles=2"};
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
    sim_bed own;
    sim_bed_make(&own, lines, gpus[i]);
    bf_emu_launch launch = bed_launch(&own.at, "made", GRID, BLOCK, &own.memory, sizeof own.memory);
    bf_text text = {0};
    write_trace(&own, &launch, &text);
    bf_sim_result ptx = sim_bed_simulate(&own, &launch);
    for (unsigned workers = 1; workers <= 2; workers++) {
      own.settings.workers = workers;
      bf_sim_result sass = simulate_trace(&own, text.data, text.size);
      assert_int_equal(sass.cycles, ptx.cycles);
      assert_int_equal(sass.issued, ptx.issued);
      assert_int_equal(sass.emu.thread_instructions, ptx.emu.thread_instructions);
      assert_int_equal(sass.shared_conflicts, ptx.shared_conflicts);
      assert_int_equal(sass.global_sectors, ptx.global_sectors);
      assert_int_equal(sass.l2_hits, ptx.l2_hits);
      assert_memory_equal(sass.stalls, ptx.stalls, sizeof ptx.stalls);
      bf_arena_free(&sass.arena);
    }
    bf_arena_free(&ptx.arena);
    bf_text_free(&text);
    sim_bed_close(&own);
  }
}

#define HEAD                                                                                       \
  "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-shmem base_addr = 0x10000000\n"  \
  "-local mem base_addr = 0x20000000\n"
#define WARP HEAD "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n"

/* The cycles of one warp with so many instructions. */
static uint64_t cycles_of(const sim_bed *own, const char *instructions) {
  bf_text text = {0};
  unsigned count = 0;
  for (const char *at = instructions; (at = strchr(at, '\n')); at++)
    count++;
  bf_text_addf(&text, HEAD "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = %u\n%s#END_TB\n",
               count, instructions);
  bf_sim_result result = simulate_trace(own, text.data, text.size);
  bf_arena_free(&result.arena);
  bf_text_free(&text);
  return result.cycles;
}

/* Registers that traces do not name, or name in the wrong place, hold instructions back. */
static void registers_of_machine_instructions(void **state) {
  (void)state;
  static const struct {
    const char *waits, *goes_on; /* the second instruction needs the first; does not */
  } rows[] = {
      /* the second register of a pair */
      {"0 1 1 R2 LDS.64 1 R8 8 0 0x0\n10 1 1 R5 FADD 1 R3 0\n",
       "0 1 1 R2 LDS.64 1 R8 8 0 0x0\n10 1 1 R5 FADD 1 R4 0\n"},
      {"0 1 1 R2 IMAD.WIDE 2 R8 R9 0\n10 1 1 R5 FADD 1 R3 0\n",
       "0 1 1 R2 IMAD 2 R8 R9 0\n10 1 1 R5 FADD 1 R3 0\n"},
      {"0 1 1 R2 DADD 2 R8 R10 0\n10 1 1 R5 FADD 1 R3 0\n",
       "0 1 1 R2 DADD 2 R8 R10 0\n10 1 1 R5 FADD 1 R6 0\n"},
      /* a result behind a predicate */
      {"0 1 0 SHFL.DOWN 2 R2 R8 0\n10 1 1 R5 FADD 1 R2 0\n",
       "0 1 0 SHFL.DOWN 2 R2 R8 0\n10 1 1 R5 FADD 1 R8 0\n"},
      /* predicates */
      {"0 1 0 ISETP.LT.AND 1 R2 0\n10 1 0 BRA 0 0\n", "0 1 1 R3 IADD3 1 R2 0\n10 1 0 BRA 0 0\n"},
      /* RZ is never written */
      {"0 1 1 R2 MUFU.RCP 1 R8 0\n10 1 1 R5 FADD 1 R2 0\n",
       "0 1 1 R255 MUFU.RCP 1 R8 0\n10 1 1 R5 FADD 1 R255 0\n"},
      /* copies and their groups */
      {"0 1 0 LDGSTS.E 2 R2 R4 4 0 0x40 0\n10 1 0 LDGDEPBAR 0 0 0\n20 1 0 DEPBAR.LE 0 0 0\n"
       "28 1 1 R6 LDG.E 1 R8 4 0 0x4000 0\n",
       "0 1 0 LDGSTS.E 2 R2 R4 4 0 0x40 0\n10 1 0 LDGDEPBAR 0 0 0\n20 1 0 DEPBAR.LE 0 0 1\n"
       "28 1 1 R6 LDG.E 1 R8 4 0 0x4000 0\n"},
  };
  sim_bed own;
  sim_bed_make(&own, "ret;", "sms=1 predicate_cycles=13");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_text waits = {0}, goes_on = {0};
    bf_text_addf(&waits, "%s30 1 0 EXIT 0 0\n", rows[i].waits);
    bf_text_addf(&goes_on, "%s30 1 0 EXIT 0 0\n", rows[i].goes_on);
    uint64_t slow = cycles_of(&own, waits.data), fast = cycles_of(&own, goes_on.data);
    if (slow <= fast)
      fail_msg("row %zu: %llu cycles, %llu without", i, (unsigned long long)slow,
               (unsigned long long)fast);
    bf_text_free(&waits);
    bf_text_free(&goes_on);
  }
  sim_bed_close(&own);
}

/* Generic addresses lie in the window that they lie in. */
static void generic_addresses(void **state) {
  (void)state;
  static const struct {
    const char *line;
    unsigned shared, global;
  } rows[] = {{"0 3 1 R2 LD.E 1 R4 4 1 0x10000000 128\n", 1, 0},
              {"0 3 1 R2 LD.E 1 R4 4 1 0x20000000 128\n", 0, 0},
              {"0 3 1 R2 LD.E 1 R4 4 1 0x30000000 128\n", 0, 1}};
  sim_bed own;
  sim_bed_make(&own, "ret;", "sms=1");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_text text = {0};
    bf_text_addf(&text, WARP "%s#END_TB\n", rows[i].line);
    bf_sim_result result = simulate_trace(&own, text.data, text.size);
    assert_int_equal(result.shared_instructions, rows[i].shared);
    assert_int_equal(result.shared_conflicts, rows[i].shared);
    assert_int_equal(result.global_instructions, rows[i].global);
    bf_arena_free(&result.arena);
    bf_text_free(&text);
  }
  sim_bed_close(&own);
}

/* Lines as tracers of versions 3 to 5 end them: with a blank, with an immediate, with addresses of
 * all three modes, and of instructions of which no lane is active. */
static void forms_of_tracers(void **state) {
  (void)state;
  static const char lines_of_three[] =
      "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 \n"
      "0010 00000000 0 SHFL.IDX 4 R255 R255 R255 R255 0 \n"
      "0020 0000000f 1 R24 LDG.E.128.CONSTANT.SYS 1 R44 16 2 "
      "0x7efe7b60c300 16 16 2000 \n"
      "0030 00000000 1 R4 LDG.E 1 R2 4 1 0x0 0 \n"
      "0040 ffffffff 0 STG.E.128 2 R2 R6 16 1 0x7efe7b600000 16 0\n"
      "0050 00000003 1 R3 LDG.E 1 R6 4 0 0x7efe7b600000 "
      "0x7efe7b60c300 \n"
      "0060 ffffffff 1 R8 FFMA 3 R4 R6 R8 0 64\n"
      "0070 ffffffff 0 EXIT 0 0 \n#END_TB\n";
  sim_bed own;
  bf_text text = {0};
  sim_bed_make(&own, "ret;", "sms=1");
  bf_text_addf(&text,
               "%.*s-accelsim tracer version = 3\n\n#traces format = PC mask ...\n#BEGIN_TB\n"
               "thread block = 0,0,0\nwarp = 0\ninsts = 8\n%s",
               (int)(sizeof HEAD - 1), HEAD, lines_of_three);
  bf_sim_result result = simulate_trace(&own, text.data, text.size);
  assert_int_equal(result.global_instructions, 3);
  assert_int_equal(result.global_sectors, 3 + 16 + 2);
  bf_arena_free(&result.arena);
  bf_text_free(&text);
  sim_bed_close(&own);
}

static void faults_are_located(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
  } rows[] = {
      {"", 0, 0, "the trace holds no block"},
      {"#BEGIN_TB\n", 1, 1,
       "expected '-kernel name', '-grid dim' and '-block dim' before the first block"},
      {"-grid dim = (1,2)\n", 1, 17, "expected three numbers, as in (1,1,1)"},
      {"-grid dim = (0,1,1)\n", 1, 1, "a grid has 1 to 67108864 blocks"},
      {"-block dim = (2048,1,1)\n", 1, 1, "a block has 1 to 1024 threads"},
      {"-nregs = many\n", 1, 10, "expected registers of a thread"},
      {"-accelsim tracer version = 2\n", 1, 28,
       "traces of version 3 of the tracer and later are read"},
      {"-accelsim tracer version = x\n", 1, 28, "expected the version of the tracer"},
      {HEAD "0000 1 0 EXIT 0 0\n", 6, 1,
       "an instruction outside of #BEGIN_TB and #END_TB: the tracer's post-processing makes a "
       ".traceg, grouped by block, of a .trace"},
      {HEAD "#BEGIN_TB\nthread block = 1,0,0\n", 7, 1, "the grid has no such block"},
      {HEAD "#BEGIN_TB\nthread block = 0,0,0\nwarp = 1\n", 8, 1, "a block has 1 warps"},
      {HEAD "#BEGIN_TB\n0000 1 0 EXIT 0 0\n", 7, 1, "expected 'warp =' before instructions"},
      {WARP "0000 1 0 FROB.X 0 0\n", 10, 10, "unknown machine instruction 'FROB.X'"},
      {WARP "0000 1 0 HGMMA.64x8x16 0 0\n", 10, 10,
       "HGMMA.64x8x16: what it touches is not in a trace, so it cannot be simulated"},
      {WARP "0000 1 1 Q0 EXIT 0 0\n", 10, 10, "expected a register, R0 to R255"},
      {WARP "0000 1 1 R300 EXIT 0 0\n", 10, 10, "expected a register, R0 to R255"},
      {WARP "0000 1 9\n", 10, 9, "no instruction names more than 8 registers"},
      {WARP "0000 1 0 LDS 1 R2 0\n", 10, 20, "expected addresses"},
      {WARP "0000 1 0 LDS 1 R2 4 3 0x0\n", 10, 21, "addresses are listed as 0, 1 or 2"},
      {WARP "0000 1 0 LDS 1 R2 4 0 0x10000002\n", 10, 23, "address 2 is not aligned to 4 bytes"},
      {WARP "0000 3 0 LDS 1 R2 4 2 0x0\n", 10, 26, "expected a difference"},
      {WARP "0000 1 0 EXIT 0 0 0 0\n", 10, 21, "more than an instruction has"},
      {WARP "0000 1 0 EXIT 0 0\n0010 1 0 EXIT 0 0\n#END_TB\n", 12, 1,
       "the warp before this line has 2 instructions, not 1"},
      {WARP "0000 1 0 EXIT 0 0\n", 0, 0, "the last block has no #END_TB"},
      {WARP "0000 1 0 EXIT 0 0\n#END_TB\n#BEGIN_TB\nthread block = 0,0,0\n", 13, 1,
       "the block was there before"},
  };
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_sim_gpu_load("h200", &gpu, &diagnostic), BF_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bf_sim_sass *trace;
    diagnostic = (bf_diagnostic){0};
    assert_int_equal(bf_sim_sass_parse("bad.traceg", rows[i].text, strlen(rows[i].text),
                                       gpu->machine, &trace, &diagnostic),
                     BF_BAD_INPUT);
    assert_string_equal(diagnostic.message, rows[i].message);
    assert_int_equal(diagnostic.line, rows[i].line);
    assert_int_equal(diagnostic.column, rows[i].column);
    assert_null(trace);
  }
  bf_sim_gpu_free(gpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(takes_as_long_as_ptx), cmocka_unit_test(registers_of_machine_instructions),
      cmocka_unit_test(generic_addresses), cmocka_unit_test(forms_of_tracers),
      cmocka_unit_test(faults_are_located)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
