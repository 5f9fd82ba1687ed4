/* Machine instructions: which unit an opcode uses, and which registers it reads and writes. Opcodes
 * are those of NVIDIA's "CUDA binary utilities", chapter "Instruction set reference", for Maxwell
 * to Hopper. Traces name the first register of a pair or four, and neither predicates nor uniform
 * registers: widths follow from opcodes, and all predicates of a thread count as one register. */
#include "sim/sass_op.h"

#include <string.h>

/* Opcodes by what they are; names stand between blanks. */
static const struct {
  const char *names;
  uint8_t unit, space;
  uint16_t flags;
} rows[] = {
    {" IADD IADD3 IADD32I IABS IMNMX VIMNMX VIMNMX3 VIADD VIADDMNMX VHMNMX LEA LOP LOP3 LOP32I SHF "
     "SHL "
     "SHR BMSK SGXT PRMT MOV MOV32I VABSDIFF VABSDIFF4 ISCADD ISCADD32I ICMP ISET BFE BFI LEPC "
     "I2FP "
     "CS2R F2FP I2I I2IP BMOV GETLMEMBASE FSET HSET2 FCMP ",
     BF_SIM_UNIT_INT, 0, 0},
    {" SEL FSEL FMNMX FMNMX3 HMNMX2 P2R ", BF_SIM_UNIT_INT, 0, BF_SASS_ASKS_PREDICATES},
    {" ISETP FSETP HSETP2 FCHK R2P CSETP ", BF_SIM_UNIT_INT, 0, BF_SASS_SETS_PREDICATES},
    {" PLOP3 PSETP VOTE ", BF_SIM_UNIT_INT, 0, BF_SASS_SETS_PREDICATES | BF_SASS_ASKS_PREDICATES},
    {" IMAD IMUL IMUL32I XMAD IDP IDP4A IMADSP ", BF_SIM_UNIT_MUL, 0, 0},
    {" FADD FADD32I FFMA FFMA32I FMUL FMUL32I FSWZADD HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 "
     "HMUL2_32I ",
     BF_SIM_UNIT_FLOAT, 0, 0},
    {" DADD DFMA DMUL DMNMX DSET ", BF_SIM_UNIT_DOUBLE, 0, BF_SASS_PAIRS},
    {" DSETP ", BF_SIM_UNIT_DOUBLE, 0, BF_SASS_PAIRS | BF_SASS_SETS_PREDICATES},
    {" MUFU POPC FLO BREV RRO ", BF_SIM_UNIT_SPECIAL, 0, 0},
    {" F2F F2I I2F FRND F2IP ", BF_SIM_UNIT_CONVERT, 0, BF_SASS_CONVERTS},
    {" HMMA IMMA BMMA DMMA QMMA OMMA ", BF_SIM_UNIT_MATRIX, 0, 0},
    {" S2R S2UR B2R ", BF_SIM_UNIT_INT, 0, BF_SASS_SPECIAL_REGISTER},
    {" NOP BSSY BSYNC SSY SYNC PBK PCNT PRET WARPSYNC YIELD NANOSLEEP R2UR R2B RPCMOV BPT "
     "PMTRIG ERRBAR CCTL CCTLL CCTLT QSPC ELECT ENDCOLLECTIVE ACQBULK PREEXIT SETCTAID SETLMEMBASE "
     "UBMSK UBREV UCLEA UFLO UIADD3 UIMAD UISETP ULDC ULEA ULEPC ULOP ULOP3 ULOP32I UMOV UP2UR "
     "UPLOP3 "
     "UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR UF2FP UIABS UIMNMX VOTEU WARPGROUPSET "
     "USETMAXREG ",
     BF_SIM_UNIT_ISSUE, 0, 0},
    {" BRA BRX BRXU JMP JMX JMXU CALL CAL JCAL RET BREAK BRK CONT KILL RTT ", BF_SIM_UNIT_BRANCH, 0,
     BF_SASS_ASKS_PREDICATES},
    {" EXIT ", BF_SIM_UNIT_BRANCH, 0, BF_SASS_ASKS_PREDICATES | BF_SASS_EXITS},
    {" BAR ", BF_SIM_UNIT_BARRIER, 0, 0},
    {" MEMBAR FENCE ", BF_SIM_UNIT_INT, 0, BF_SASS_FENCE},
    {" LDGDEPBAR ", BF_SIM_UNIT_ISSUE, 0, BF_SASS_ENDS_GROUP},
    {" DEPBAR ", BF_SIM_UNIT_ISSUE, 0, BF_SASS_AWAITS_GROUP},
    {" LDG LDGMC LDU ", BF_SIM_UNIT_MEMORY, BF_SASS_GLOBAL, 0},
    {" STG ", BF_SIM_UNIT_MEMORY, BF_SASS_GLOBAL, BF_SASS_STORES},
    {" ATOMG ", BF_SIM_UNIT_MEMORY, BF_SASS_GLOBAL, BF_SASS_ATOMIC | BF_SASS_BEHIND},
    {" REDG ", BF_SIM_UNIT_MEMORY, BF_SASS_GLOBAL, BF_SASS_ATOMIC | BF_SASS_REDUCES},
    {" LDGSTS ", BF_SIM_UNIT_MEMORY, BF_SASS_GLOBAL, BF_SASS_COPIES},
    {" LDS LDSM ", BF_SIM_UNIT_MEMORY, BF_SASS_SHARED, 0},
    {" STS STSM ", BF_SIM_UNIT_MEMORY, BF_SASS_SHARED, BF_SASS_STORES},
    {" ATOMS ", BF_SIM_UNIT_MEMORY, BF_SASS_SHARED, BF_SASS_ATOMIC},
    {" LD ", BF_SIM_UNIT_MEMORY, BF_SASS_GENERIC, 0},
    {" ST ", BF_SIM_UNIT_MEMORY, BF_SASS_GENERIC, BF_SASS_STORES},
    {" ATOM ", BF_SIM_UNIT_MEMORY, BF_SASS_GENERIC, BF_SASS_ATOMIC | BF_SASS_BEHIND},
    {" RED ", BF_SIM_UNIT_MEMORY, BF_SASS_GENERIC, BF_SASS_ATOMIC | BF_SASS_REDUCES},
    {" LDL ", BF_SIM_UNIT_MEMORY, BF_SASS_LOCAL, 0},
    {" STL ", BF_SIM_UNIT_MEMORY, BF_SASS_LOCAL, BF_SASS_STORES},
    {" LDC MOVM MATCH REDUX ", BF_SIM_UNIT_MEMORY, 0, BF_SASS_CONSTANT},
    {" SHFL ", BF_SIM_UNIT_MEMORY, 0, BF_SASS_CONSTANT | BF_SASS_BEHIND},
};

/* Opcodes that are known and cannot be simulated: what they touch is not in a trace. */
static const char *const refused_names =
    " TEX TLD TLD4 TMML TXD TXQ SUATOM SULD SURED SUST UTMACCTL UTMACMDFLUSH UTMALDG UTMAPF "
    "UTMAREDG "
    "UTMASTG UBLKCP UBLKPF UBLKRED SYNCS STAS REDAS HGMMA IGMMA QGMMA BGMMA WARPGROUP UCGABAR_ARV "
    "UCGABAR_WAIT CGAERRBAR LDTRAM ";

/* Whether the name of length bytes stands between blanks in names. */
static bool is_in(const char *names, const char *name, size_t length) {
  for (const char *at = names + 1; *at; at += strcspn(at, " ") + 1)
    if (strncmp(at, name, length) == 0 && at[length] == ' ')
      return true;
  return false;
}

/* ---- Registers ---- */

typedef struct listed {
  uint16_t list[2 * BF_SASS_REGISTERS * 4 + 4];
  unsigned count;
} listed;

/* Adds a register and those behind it that belong to the same value. */
static void add_registers(listed *own, unsigned first, unsigned width) {
  for (unsigned i = first; i < first + width && i < BF_SASS_NO_REGISTER; i++)
    own->list[own->count++] = (uint16_t)i;
}

/* Registers of a product: of its sums four, or two of half precision; of the first matrix four, of
 * the second two, and half of those where the product is half as deep. */
static unsigned matrix_width(const bf_sass *sass, bool is_result, unsigned source) {
  bool is_half = bf_sass_has(sass->opcode, sass->opcode_length, "F16");
  bool is_flat = bf_sass_has(sass->opcode, sass->opcode_length, "1688");
  if (is_result || source == 2)
    return is_half ? 2 : 4;
  return (source == 1 ? 2 : 4) / (is_flat ? 2 : 1);
}

/* Registers of the data of an access. */
static unsigned data_width(const bf_sass *sass, const bf_sass_op *op) {
  if (bf_sass_has(sass->opcode, sass->opcode_length, "M88") ||
      bf_sass_has(sass->opcode, sass->opcode_length, "MT88")) /* matrices of LDSM and STSM */
    return bf_sass_has(sass->opcode, sass->opcode_length, "4")   ? 4
           : bf_sass_has(sass->opcode, sass->opcode_length, "2") ? 2
                                                                 : 1;
  return op->width_bytes > 4 ? op->width_bytes / 4 : 1;
}

/* How many registers the value has whose first is the result, or source number `source`. */
static unsigned width_of(const bf_sass *sass, const bf_sass_op *op, bool is_result,
                         unsigned source) {
  if (op->space && !is_result && source == 0) /* the address */
    return bf_sass_has(sass->opcode, sass->opcode_length, "E") ? 2 : 1;
  if (op->space)
    return data_width(sass, op);
  if (op->unit == BF_SIM_UNIT_MATRIX)
    return matrix_width(sass, is_result, source);
  if (op->flags & BF_SASS_CONVERTS)
    return bf_sass_has(sass->opcode, sass->opcode_length, "F64") ||
                   bf_sass_has(sass->opcode, sass->opcode_length, "S64") ||
                   bf_sass_has(sass->opcode, sass->opcode_length, "U64")
               ? 2
               : 1;
  bool is_wide = bf_sass_has(sass->opcode, sass->opcode_length, "WIDE");
  return op->flags & BF_SASS_PAIRS || (is_wide && (is_result || source == 2)) ? 2 : 1;
}

/* Lists what an instruction reads and then what it writes; false: out of memory. */
static bool list_registers(const bf_sass *sass, bf_arena *arena, bf_sass_op *op) {
  listed own = {.count = 0};
  bool is_behind = op->flags & BF_SASS_BEHIND && !sass->results && sass->sources;
  for (unsigned i = is_behind; i < sass->sources; i++)
    add_registers(&own, sass->source[i], width_of(sass, op, false, i - is_behind));
  if (op->flags & BF_SASS_ASKS_PREDICATES)
    own.list[own.count++] = BF_SASS_PREDICATES;
  op->sources = own.count;
  if (is_behind)
    add_registers(&own, sass->source[0], width_of(sass, op, true, 0));
  for (unsigned i = 0; i < sass->results; i++)
    add_registers(&own, sass->result[i], width_of(sass, op, true, 0));
  if (op->flags & BF_SASS_SETS_PREDICATES)
    own.list[own.count++] = BF_SASS_PREDICATES;
  op->results = own.count - op->sources;
  op->source = bf_arena_alloc(arena, (own.count + 1) * sizeof *op->source);
  if (op->source)
    memcpy(op->source, own.list, own.count * sizeof *op->source);
  return op->source != NULL;
}

/* ---- Classes ---- */

/* What the accesses of an instruction are counted as. */
static void set_access(const bf_sass *sass, bf_sass_op *op) {
  op->op = op->flags & BF_SASS_REDUCES  ? BF_OP_RED
           : op->flags & BF_SASS_ATOMIC ? BF_OP_ATOM
           : op->flags & BF_SASS_STORES ? BF_OP_ST
                                        : BF_OP_LD;
  op->width_bytes = bf_sass_width(sass->opcode, sass->opcode_length);
  if (op->space == BF_SASS_SHARED)
    bf_sass_shared(sass->opcode, sass->opcode_length, &op->op, &op->width_bytes);
}

static bool has(const bf_sass *sass, const char *part) {
  return bf_sass_has(sass->opcode, sass->opcode_length, part);
}

bool bf_sass_classify(const bf_sass *sass, bf_arena *arena, bf_sass_op *op, const char **refused) {
  size_t length = 0, row = 0, count = sizeof rows / sizeof *rows;
  while (length < sass->opcode_length && sass->opcode[length] != '.')
    length++;
  *refused = is_in(refused_names, sass->opcode, length)
                 ? "what it touches is not in a trace, so it cannot be simulated"
                 : NULL;
  while (row < count && !is_in(rows[row].names, sass->opcode, length))
    row++;
  if (row == count)
    return *refused != NULL;
  op->unit = rows[row].unit;
  op->space = rows[row].space;
  op->flags = rows[row].flags;
  op->waits = op->unit == BF_SIM_UNIT_BARRIER && (has(sass, "SYNC") || has(sass, "RED"));
  if (op->unit == BF_SIM_UNIT_BARRIER && !op->waits) /* arrives, and goes on */
    op->unit = BF_SIM_UNIT_ISSUE;
  op->is_past_l1 = has(sass, "STRONG") && !has(sass, "SM") && !has(sass, "CTA");
  op->is_wide_fence = op->flags & BF_SASS_FENCE && !has(sass, "CTA");
  bool leaves = op->flags & BF_SASS_AWAITS_GROUP && sass->immediate < BF_SIM_GROUPS;
  op->groups_left = leaves ? (uint8_t)sass->immediate : 0;
  op->site = UINT32_MAX;
  if (op->space)
    set_access(sass, op);
  if (!list_registers(sass, arena, op))
    *refused = "out of memory";
  return true;
}

/* ---- Time ---- */

/* Cycles to the result beyond those of its unit. */
static uint64_t more_cycles(const bf_sim_gpu *gpu, const bf_sass_op *from) {
  uint64_t to = from->flags & BF_SASS_SPECIAL_REGISTER  ? gpu->special_register_cycles
                : from->flags & BF_SASS_SETS_PREDICATES ? gpu->predicate_cycles
                                                        : 0;
  return to > gpu->int_cycles ? to - gpu->int_cycles : 0;
}

int bf_sass_time(const bf_sim_gpu *gpu, const bf_sass_op *from, bf_arena *arena, bf_sim_op *op) {
  uint32_t *list = bf_arena_alloc(arena, (from->sources + from->results + 1) * sizeof *list);
  if (!list)
    return BF_NO_MEMORY;
  for (unsigned i = 0; i < from->sources + from->results; i++)
    list[i] = from->source[i];
  *op = (bf_sim_op){.unit = from->unit,
                    .slots = 1,
                    .more_cycles = (uint16_t)more_cycles(gpu, from),
                    .is_memory = from->space != BF_SASS_NO_SPACE,
                    .is_shared = from->space == BF_SASS_SHARED,
                    .may_free_others = from->waits || from->flags & BF_SASS_EXITS,
                    .is_copy = from->flags & BF_SASS_COPIES,
                    .ends_group = from->flags & BF_SASS_ENDS_GROUP,
                    .awaits_copies = from->flags & BF_SASS_AWAITS_GROUP,
                    .groups_left = from->groups_left,
                    .is_past_l1 = gpu->l1_marked && from->is_past_l1,
                    .is_fence = gpu->fence_cycles > 0 && from->is_wide_fence,
                    .sources = (uint16_t)from->sources,
                    .results = (uint16_t)from->results,
                    .source = list,
                    .site = from->site};
  return BF_OK;
}

bf_sass_space bf_sass_space_of(const bf_sim_sass *trace, const bf_sass_op *op, uint64_t address) {
  const uint64_t window = UINT64_C(1) << 24; /* bytes of shared and of local memory's window */
  if (op->space != BF_SASS_GENERIC)
    return (bf_sass_space)op->space;
  if (trace->shared_base && address - trace->shared_base < window)
    return BF_SASS_SHARED;
  return trace->local_base && address - trace->local_base < window ? BF_SASS_LOCAL : BF_SASS_GLOBAL;
}
