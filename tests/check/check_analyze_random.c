/* The analysis against the emulator on random kernels: integer arithmetic on the thread index, the
 * block index, parameters and what was read from shared memory, in branches and loops, some of
 * which end after a number of iterations that only the launch knows.
 *
 *   check_analyze_random [FIRST [COUNT]]    seeds */
#include "../unit/random.h"
#include "analyze_compare.h"

enum { REGISTERS = 12, SHARED_BYTES = 4096 };

typedef struct writer {
  bf_text text;
  test_random random;
  unsigned labels, loops, statements;
} writer;

static unsigned below(writer *w, unsigned bound) {
  return (unsigned)random_below(&w->random, bound);
}

static void write_operand(writer *w) {
  if (below(w, 3))
    bf_text_addf(&w->text, "%%r%u", below(w, REGISTERS));
  else
    bf_text_addf(&w->text, "%u", below(w, 2) ? below(w, 70) : 1u << below(w, 12));
}

/* One instruction from registers to a register. */
static void write_arithmetic(writer *w) {
  static const char *const two[] = {"add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32",
                                    "xor.b32", "min.s32", "max.u32",    "add.s32", "mul.lo.u32"};
  static const char *const shifts[] = {"shl.b32", "shr.u32", "shr.s32"};
  static const char *const divides[] = {"div.u32", "rem.u32", "div.s32", "rem.s32"};
  unsigned d = below(w, REGISTERS), kind = below(w, 12);
  if (below(w, 8) == 0)
    bf_text_addf(&w->text, "@%%p%u ", below(w, 2));
  if (kind < 6) {
    bf_text_addf(&w->text, "%s %%r%u, %%r%u, ", two[below(w, 10)], d, below(w, REGISTERS));
    write_operand(w);
  } else if (kind == 6) {
    bf_text_addf(&w->text, "%s %%r%u, %%r%u, %u", shifts[below(w, 3)], d, below(w, REGISTERS),
                 below(w, 9));
  } else if (kind == 7) {
    bf_text_addf(&w->text, "%s %%r%u, %%r%u, %u", divides[below(w, 4)], d, below(w, REGISTERS),
                 1 + below(w, 40));
  } else if (kind == 8) {
    bf_text_addf(&w->text, "mad.lo.s32 %%r%u, %%r%u, %u, ", d, below(w, REGISTERS), below(w, 40));
    write_operand(w);
  } else if (kind == 9) {
    bf_text_addf(&w->text, "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u", d, below(w, REGISTERS),
                 below(w, REGISTERS), below(w, 2));
  } else if (kind == 10) {
    bf_text_addf(&w->text, "bfe.u32 %%r%u, %%r%u, %u, %u", d, below(w, REGISTERS), below(w, 12),
                 below(w, 12));
  } else {
    bf_text_addf(&w->text, "lop3.b32 %%r%u, %%r%u, %%r%u, %%r%u, %u", d, below(w, REGISTERS),
                 below(w, REGISTERS), below(w, REGISTERS), below(w, 256));
  }
  bf_text_puts(&w->text, ";\n");
}

static void write_comparison(writer *w, const char *predicate) {
  static const char *const compares[] = {"lt.s32", "ge.u32", "eq.s32",
                                         "ne.s32", "gt.u32", "le.s32"};
  bf_text_addf(&w->text, "setp.%s %s, %%r%u, ", compares[below(w, 6)], predicate,
               below(w, REGISTERS));
  write_operand(w);
  bf_text_puts(&w->text, ";\n");
}

/* A load or store at an address computed from a register, or at a generic one. */
static void write_access(writer *w) {
  bf_text_addf(&w->text, "and.b32 %%a, %%r%u, %u;\n", below(w, REGISTERS), SHARED_BYTES - 4);
  bf_text_puts(&w->text, "add.u32 %a, %a, %base;\n");
  bf_text_puts(&w->text, "cvt.u64.u32 %w, %a;\ncvta.shared.u64 %w, %w;\n");
  if (below(w, 8) == 0)
    bf_text_addf(&w->text, "@%%p%u ", below(w, 2));
  switch (below(w, 4)) {
  case 0:
    bf_text_addf(&w->text, "ld.shared.u32 %%r%u, [%%a];\n", below(w, REGISTERS));
    break;
  case 1:
    bf_text_addf(&w->text, "atom.shared.add.u32 %%r%u, [%%a], 1;\n", below(w, REGISTERS));
    break;
  case 2:
    bf_text_addf(&w->text, "st.u32 [%%w], %%r%u;\n", below(w, REGISTERS));
    break;
  default:
    bf_text_addf(&w->text, "st.shared.u32 [%%a], %%r%u;\n", below(w, REGISTERS));
  }
}

static void write_statements(writer *w, unsigned depth);

static void write_branch(writer *w, unsigned depth) {
  unsigned label = w->labels++;
  write_comparison(w, "%q");
  bf_text_addf(&w->text, "@%s%%q bra else%u;\n", below(w, 2) ? "!" : "", label);
  write_statements(w, depth + 1);
  if (below(w, 2)) {
    bf_text_addf(&w->text, "bra end%u;\nelse%u:\n", label, label);
    write_statements(w, depth + 1);
    bf_text_addf(&w->text, "end%u:\n", label);
  } else {
    bf_text_addf(&w->text, "else%u:\n", label);
  }
}

/* A loop of a few iterations: their number is written down, a parameter, the thread index, or
 * something computed; sometimes it can also be left from the middle. */
static void write_loop(writer *w, unsigned depth) {
  unsigned loop = w->loops++;
  if (loop >= 8)
    return;
  switch (below(w, 4)) {
  case 0:
    bf_text_addf(&w->text, "ld.param.u32 %%n%u, [n];\n", loop);
    break;
  case 1:
    bf_text_addf(&w->text, "and.b32 %%n%u, %%r%u, 7;\n", loop, below(w, REGISTERS));
    break;
  default:
    bf_text_addf(&w->text, "mov.u32 %%n%u, %u;\n", loop, below(w, 6));
  }
  bf_text_addf(&w->text, "mov.u32 %%k%u, 0;\nloop%u:\n", loop, loop);
  bf_text_addf(&w->text, "setp.ge.u32 %%q, %%k%u, %%n%u;\n@%%q bra done%u;\n", loop, loop, loop);
  write_statements(w, depth + 1);
  if (below(w, 3) == 0) {
    write_comparison(w, "%q");
    bf_text_addf(&w->text, "@%%q bra done%u;\n", loop);
  }
  bf_text_addf(&w->text, "add.u32 %%r%u, %%r%u, %%k%u;\n", below(w, REGISTERS), below(w, REGISTERS),
               loop);
  bf_text_addf(&w->text, "add.u32 %%k%u, %%k%u, 1;\nbra loop%u;\ndone%u:\n", loop, loop, loop,
               loop);
}

static void write_statements(writer *w, unsigned depth) {
  for (unsigned count = 1 + below(w, 5); count > 0 && w->statements < 60;
       count--, w->statements++) {
    unsigned kind = below(w, 12);
    if (kind < 5 || depth > 3)
      write_arithmetic(w);
    else if (kind < 8)
      write_access(w);
    else if (kind == 8)
      write_comparison(w, below(w, 2) ? "%p0" : "%p1");
    else if (kind < 11)
      write_branch(w, depth);
    else
      write_loop(w, depth);
  }
}

static void write_kernel(writer *w) {
  bf_text_puts(&w->text, ".version 7.8\n.target sm_80\n.address_size 64\n"
                         ".visible .entry random(.param .u32 n, .param .u32 m)\n{\n"
                         ".reg .pred %p<2>; .reg .pred %q;\n.reg .b32 %a; .reg .b32 %base;\n"
                         ".reg .b64 %w;\n");
  bf_text_addf(&w->text, ".reg .b32 %%r<%d>; .reg .b32 %%k<8>; .reg .b32 %%n<8>;\n", REGISTERS);
  bf_text_addf(&w->text, ".shared .align 16 .b8 one[64]; .shared .align 16 .b8 all[%d];\n",
               SHARED_BYTES);
  bf_text_puts(&w->text, "mov.u32 %base, one;\nmov.u32 %base, all;\n"
                         "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %tid.y;\nmov.u32 %r2, %ctaid.x;\n"
                         "ld.param.u32 %r3, [m];\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %laneid;\n"
                         "shl.b32 %r6, %r0, 2;\nmad.lo.s32 %r7, %r1, 64, %r6;\n"
                         "mov.u32 %r8, 0;\nmov.u32 %r9, 128;\nxor.b32 %r10, %r0, %r1;\n"
                         "mov.u32 %r11, %nctaid.x;\nsetp.lt.u32 %p0, %r0, 5;\n"
                         "setp.eq.u32 %p1, %r3, 3;\n");
  while (w->statements < 30)
    write_statements(w, 0);
  bf_text_puts(&w->text, "ret;\n}\n");
}

/* Launches the kernel in text on the emulator and compares. */
static int run_kernel(checker *c, writer *w, bf_diagnostic *diagnostic) {
  bf_ptx_module *ptx = NULL;
  bf_emu *emu = NULL;
  bf_emu_module *module = NULL;
  const uint32_t parameters[2] = {below(w, 5), below(w, 9)};
  bf_emu_launch launch = {.grid = {1 + below(w, 3), 1, 1}, .parameters = parameters};
  const uint32_t blocks[][3] = {{32, 1, 1}, {16, 4, 1}, {40, 1, 1}, {8, 3, 2}, {64, 2, 1}};
  memcpy(launch.block, blocks[below(w, 5)], sizeof launch.block);
  launch.parameter_bytes = sizeof parameters;
  bf_emu_result result = {0};
  int error = bf_ptx_parse(c->program, w->text.data, w->text.size, &ptx, diagnostic);
  if (error == BF_OK)
    error = bf_emu_create(&emu, diagnostic);
  if (error == BF_OK)
    error = bf_emu_load(emu, ptx, &module, diagnostic);
  if (error == BF_OK)
    error = bf_emu_kernel_get(module, "random", &launch.kernel, diagnostic);
  c->ptx = ptx;
  if (error == BF_OK) {
    watch(c, &launch);
    error = bf_emu_run(emu, &launch, &result, diagnostic);
  }
  if (error == BF_OK && result.fault.kind != BF_EMU_NO_FAULT)
    error = bf_fail(diagnostic, BF_BAD_INPUT, "fault: %s", bf_emu_fault_name(result.fault.kind));
  if (error == BF_OK)
    error = compare_launch(c, &launch, diagnostic);
  if (module)
    bf_emu_unload(module);
  if (emu)
    bf_emu_free(emu);
  bf_ptx_free(ptx);
  return error;
}

static void add_tally(tally *sum, const tally *own) {
  sum->sites += own->sites;
  sum->exact += own->exact;
  sum->partial += own->partial;
  sum->accesses += own->accesses;
  sum->settled += own->settled;
}

/* One random kernel; its text is printed where something is wrong. */
static unsigned check_seed(uint64_t seed, const bf_machine *machine, seen *event, tally *known,
                           tally *open, tally *cut) {
  char name[64];
  bf_diagnostic diagnostic = {0};
  checker c = {.program = name, .machine = machine, .event = event};
  writer w = {.random = {seed * 2 + 1}};
  snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
  write_kernel(&w);
  int error = w.text.failed ? BF_NO_MEMORY : run_kernel(&c, &w, &diagnostic);
  unsigned faults =
      c.known.faults + c.open.faults + c.assumed.faults + c.cut.faults + (error != BF_OK);
  if (faults)
    printf("%s: %s\n%s\n", name, diagnostic.message, w.text.data ? w.text.data : "");
  add_tally(known, &c.known);
  add_tally(open, &c.open);
  add_tally(cut, &c.cut);
  bf_text_free(&w.text);
  return faults;
}

int main(int argc, char **argv) {
  uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : argc > 1 ? 1 : 1000;
  unsigned faults = 0;
  tally known = {0}, open = {0}, cut = {0};
  bf_machine *machine;
  seen *event = malloc(MOST_EVENTS * sizeof *event);
  if (!event || bf_machine_load("hopper", NULL, &machine, NULL))
    return 1;
  for (uint64_t seed = first; seed < first + count && faults < 5; seed++)
    faults += check_seed(seed, machine, event, &known, &open, &cut);
  print_tally("known", &known);
  print_tally("open", &open);
  print_tally("cut short", &cut);
  printf("\n");
  bf_machine_free(machine);
  free(event);
  return faults ? 1 : 0;
}
