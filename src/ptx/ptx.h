/* ptx: PTX assembly as data. Text is cut into words (lexer.c), parsed into the structures below
 * (parse*.c), printed back (print.c), and its functions are cut into basic blocks (flow.c).
 * A module owns everything it points to; it is freed whole. Nothing here executes anything.
 *
 * Names are interned: equal texts inside a module are equal pointers. Lines and columns start at 1.
 */
#ifndef BF_PTX_H
#define BF_PTX_H

#include "base/base.h"

/* ---- Types, spaces, opcodes, special registers ---- */

/* Every type of PTX: enum, text, bytes (0: opaque or a predicate). */
#define BF_PTX_TYPES(X)                                                                            \
  X(B8, "b8", 1)                                                                                   \
  X(B16, "b16", 2)                                                                                 \
  X(B32, "b32", 4)                                                                                 \
  X(B64, "b64", 8)                                                                                 \
  X(B128, "b128", 16)                                                                              \
  X(U8, "u8", 1)                                                                                   \
  X(U16, "u16", 2)                                                                                 \
  X(U32, "u32", 4)                                                                                 \
  X(U64, "u64", 8)                                                                                 \
  X(S8, "s8", 1)                                                                                   \
  X(S16, "s16", 2)                                                                                 \
  X(S32, "s32", 4)                                                                                 \
  X(S64, "s64", 8)                                                                                 \
  X(U16X2, "u16x2", 4)                                                                             \
  X(S16X2, "s16x2", 4)                                                                             \
  X(F16, "f16", 2)                                                                                 \
  X(F16X2, "f16x2", 4)                                                                             \
  X(BF16, "bf16", 2)                                                                               \
  X(BF16X2, "bf16x2", 4)                                                                           \
  X(TF32, "tf32", 4)                                                                               \
  X(F32, "f32", 4)                                                                                 \
  X(F32X2, "f32x2", 8)                                                                             \
  X(F64, "f64", 8)                                                                                 \
  X(E4M3, "e4m3", 1)                                                                               \
  X(E5M2, "e5m2", 1)                                                                               \
  X(E4M3X2, "e4m3x2", 2)                                                                           \
  X(E5M2X2, "e5m2x2", 2)                                                                           \
  X(E4M3X4, "e4m3x4", 4)                                                                           \
  X(E5M2X4, "e5m2x4", 4)                                                                           \
  X(E2M1X2, "e2m1x2", 1)                                                                           \
  X(E2M3X2, "e2m3x2", 2)                                                                           \
  X(E3M2X2, "e3m2x2", 2)                                                                           \
  X(UE8M0X2, "ue8m0x2", 2)                                                                         \
  X(U4, "u4", 0)                                                                                   \
  X(S4, "s4", 0)                                                                                   \
  X(B1, "b1", 0)                                                                                   \
  X(PRED, "pred", 0)                                                                               \
  X(TEXREF, "texref", 0)                                                                           \
  X(SAMPLERREF, "samplerref", 0)                                                                   \
  X(SURFREF, "surfref", 0)

typedef enum bf_ptx_type {
  BF_PTX_TYPE_NONE,
#define X(symbol, name, bytes) BF_PTX_##symbol,
  BF_PTX_TYPES(X)
#undef X
      BF_PTX_TYPE_COUNT
} bf_ptx_type;

const char *bf_ptx_type_name(bf_ptx_type type);
unsigned bf_ptx_type_bytes(bf_ptx_type type);

#define BF_PTX_SPACES(X)                                                                           \
  X(REG, "reg")                                                                                    \
  X(CONST, "const")                                                                                \
  X(GLOBAL, "global")                                                                              \
  X(LOCAL, "local")                                                                                \
  X(PARAM, "param")                                                                                \
  X(SHARED, "shared")                                                                              \
  X(TEX, "tex")

typedef enum bf_ptx_space {
  BF_PTX_SPACE_NONE, /* generic, where an instruction names none */
#define X(symbol, name) BF_PTX_SPACE_##symbol,
  BF_PTX_SPACES(X)
#undef X
      BF_PTX_SPACE_COUNT
} bf_ptx_space;

const char *bf_ptx_space_name(bf_ptx_space space);

/* How an opcode touches memory; which space it is says the instruction. */
typedef enum bf_ptx_access {
  BF_PTX_NO_ACCESS,
  BF_PTX_LOAD,
  BF_PTX_STORE,
  BF_PTX_ATOMIC,
  BF_PTX_COPY,   /* from one space to another */
  BF_PTX_MATRIX, /* wmma: load or store, said by a modifier */
} bf_ptx_access;

/* What kind of work an opcode is, for timing; the types of the instruction say the rest. */
typedef enum bf_ptx_work {
  BF_PTX_WORK_NOTHING,
  BF_PTX_WORK_MOVE,
  BF_PTX_WORK_LOGIC,      /* on integers, whatever the type says */
  BF_PTX_WORK_ARITHMETIC, /* addition and the like, and fused multiply-add of floats */
  BF_PTX_WORK_MULTIPLY,
  BF_PTX_WORK_DIVIDE,
  BF_PTX_WORK_SPECIAL, /* reciprocal, roots, sine, logarithm */
  BF_PTX_WORK_CONVERT, /* between types; counting bits */
  BF_PTX_WORK_VIDEO,
  BF_PTX_WORK_MATRIX,
  BF_PTX_WORK_EXCHANGE, /* between the lanes of a warp */
  BF_PTX_WORK_BRANCH,
  BF_PTX_WORK_BARRIER,
  BF_PTX_WORK_FENCE,
  BF_PTX_WORK_MEMORY,
} bf_ptx_work;

typedef enum bf_ptx_opcode {
#define X(symbol, name, access, work, operands, meaning) BF_PTX_OP_##symbol,
#include "ptx/ops.def"
#undef X
  BF_PTX_OPCODE_COUNT
} bf_ptx_opcode;

/* A row of ops.def. */
typedef struct bf_ptx_op {
  const char *name;
  bf_ptx_access access;
  bf_ptx_work work;
  const char *operands;
  const char *meaning;
} bf_ptx_op;

const bf_ptx_op *bf_ptx_op_get(bf_ptx_opcode opcode);
/* The opcode called name, or -1. */
int bf_ptx_op_find(const char *name);

/* Every special register: enum, text, whether it has components x, y, z (and w), and numbered ones
 * how many there are (else 0). */
#define BF_PTX_SPECIALS(X)                                                                         \
  X(TID, "%tid", true, 0)                                                                          \
  X(NTID, "%ntid", true, 0)                                                                        \
  X(CTAID, "%ctaid", true, 0)                                                                      \
  X(NCTAID, "%nctaid", true, 0)                                                                    \
  X(CLUSTERID, "%clusterid", true, 0)                                                              \
  X(NCLUSTERID, "%nclusterid", true, 0)                                                            \
  X(CLUSTER_CTAID, "%cluster_ctaid", true, 0)                                                      \
  X(CLUSTER_NCTAID, "%cluster_nctaid", true, 0)                                                    \
  X(CLUSTER_CTARANK, "%cluster_ctarank", false, 0)                                                 \
  X(CLUSTER_NCTARANK, "%cluster_nctarank", false, 0)                                               \
  X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", false, 0)                                         \
  X(LANEID, "%laneid", false, 0)                                                                   \
  X(WARPID, "%warpid", false, 0)                                                                   \
  X(NWARPID, "%nwarpid", false, 0)                                                                 \
  X(SMID, "%smid", false, 0)                                                                       \
  X(NSMID, "%nsmid", false, 0)                                                                     \
  X(GRIDID, "%gridid", false, 0)                                                                   \
  X(LANEMASK_EQ, "%lanemask_eq", false, 0)                                                         \
  X(LANEMASK_LE, "%lanemask_le", false, 0)                                                         \
  X(LANEMASK_LT, "%lanemask_lt", false, 0)                                                         \
  X(LANEMASK_GE, "%lanemask_ge", false, 0)                                                         \
  X(LANEMASK_GT, "%lanemask_gt", false, 0)                                                         \
  X(CLOCK, "%clock", false, 0)                                                                     \
  X(CLOCK_HI, "%clock_hi", false, 0)                                                               \
  X(CLOCK64, "%clock64", false, 0)                                                                 \
  X(GLOBALTIMER, "%globaltimer", false, 0)                                                         \
  X(GLOBALTIMER_LO, "%globaltimer_lo", false, 0)                                                   \
  X(GLOBALTIMER_HI, "%globaltimer_hi", false, 0)                                                   \
  X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin", false, 0)                                  \
  X(RESERVED_SMEM_END, "%reserved_smem_offset_end", false, 0)                                      \
  X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap", false, 0)                                      \
  X(RESERVED_SMEM, "%reserved_smem_offset_", false, 2)                                             \
  X(TOTAL_SMEM_SIZE, "%total_smem_size", false, 0)                                                 \
  X(AGGR_SMEM_SIZE, "%aggr_smem_size", false, 0)                                                   \
  X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", false, 0)                                             \
  X(CURRENT_GRAPH_EXEC, "%current_graph_exec", false, 0)                                           \
  X(ENVREG, "%envreg", false, 32)                                                                  \
  X(PM, "%pm", false, 8)                                                                           \
  X(PM64, "%pm_64", false, 8)                                                                      \
  X(WARP_SZ, "WARP_SZ", false, 0)

typedef enum bf_ptx_special {
#define X(symbol, name, vector, numbered) BF_PTX_SPECIAL_##symbol,
  BF_PTX_SPECIALS(X)
#undef X
      BF_PTX_SPECIAL_COUNT
} bf_ptx_special;

/* ---- Operands and initialisers ---- */

typedef enum bf_ptx_operand_kind {
  BF_PTX_REGISTER,  /* registers, index, component, negated */
  BF_PTX_INTEGER,   /* bits, as a 64-bit value */
  BF_PTX_FLOAT32,   /* bits of 0f... */
  BF_PTX_FLOAT64,   /* bits of 0d... */
  BF_PTX_DECIMAL,   /* bits of the double nearest to a decimal number */
  BF_PTX_SPECIAL,   /* special, index of numbered ones, component */
  BF_PTX_SYMBOL,    /* symbol + offset; generic, mask in initialisers */
  BF_PTX_ADDRESS,   /* [ item 0 + offset, item 1, ... ] */
  BF_PTX_VECTOR,    /* { item, ... } */
  BF_PTX_PAIR,      /* item 0 | item 1 */
  BF_PTX_ARGUMENTS, /* ( item, ... ) */
  BF_PTX_SINK,      /* _ */
} bf_ptx_operand_kind;

typedef struct bf_ptx_operand {
  bf_ptx_operand_kind kind;
  uint32_t line, column;
  bool negated;     /* !p */
  bool generic;     /* generic(symbol) */
  bool unified;     /* [...].unified */
  bool is_unsigned; /* INTEGER above the largest signed 64-bit value */
  bool minus;       /* -a, of vmad */
  char component;   /* x, y, z, w; 0: none */
  /* Video instructions: which bytes or halves of a register, "b0", "h1", "b3210"; else NULL. */
  const char *selector;
  union {
    uint64_t bits;
    const struct bf_ptx_registers *registers;
    bf_ptx_special special;
    const struct bf_ptx_symbol *symbol;
    const struct bf_ptx_operand *item;
  };
  uint32_t index; /* REGISTER: which of the declared range; SPECIAL: its number */
  uint32_t count; /* items */
  int64_t offset; /* ADDRESS, SYMBOL: bytes */
  uint64_t mask;  /* SYMBOL in an initialiser: mask(symbol) takes these bits of the address */
} bf_ptx_operand;

/* ---- Declarations ---- */

/* .reg .v2 .f32 %name or, with range, %name<count>. The registers of a function are numbered from
 * first on, without gaps. */
typedef struct bf_ptx_registers {
  const char *name;
  uint64_t line;
  bf_ptx_type type;
  unsigned vector; /* 0: none */
  bool range;
  uint32_t count;
  uint32_t first;
} bf_ptx_registers;

typedef enum bf_ptx_linkage {
  BF_PTX_PRIVATE,
  BF_PTX_EXTERN,
  BF_PTX_VISIBLE,
  BF_PTX_WEAK,
  BF_PTX_COMMON,
} bf_ptx_linkage;

enum { BF_PTX_MOST_DIMENSIONS = 8 };

/* A variable or parameter. bytes is 0 where the size is open ([]). */
typedef struct bf_ptx_variable {
  const char *name;
  uint64_t line;
  bf_ptx_linkage linkage;
  bf_ptx_space space;
  bf_ptx_type type;
  unsigned vector;          /* 0: none */
  unsigned alignment_bytes; /* 0: the type's own */
  const char *attribute;    /* what .attribute(...) holds, or NULL */
  bool is_pointer;          /* parameter with .ptr: */
  bf_ptx_space pointer_space;
  unsigned pointer_alignment_bytes;
  unsigned dimensions;
  uint64_t dimension[BF_PTX_MOST_DIMENSIONS]; /* 0: open */
  uint64_t bytes;
  const bf_ptx_operand *initialiser; /* or NULL */
  const bf_ptx_registers *registers; /* parameter in .reg, or NULL */
} bf_ptx_variable;

typedef struct bf_ptx_variables {
  bf_ptx_variable *item;
  unsigned count;
} bf_ptx_variables;

typedef enum bf_ptx_symbol_kind {
  BF_PTX_SYMBOL_REGISTERS,
  BF_PTX_SYMBOL_VARIABLE,
  BF_PTX_SYMBOL_FUNCTION,
  BF_PTX_SYMBOL_LABEL,
  BF_PTX_SYMBOL_TARGETS,   /* label of .branchtargets or .calltargets */
  BF_PTX_SYMBOL_PROTOTYPE, /* label of .callprototype */
} bf_ptx_symbol_kind;

/* What a name stands for in the scope that declares it. A name used before its declaration has a
 * copy of the symbol: compare what symbols lead to, not their addresses. */
typedef struct bf_ptx_symbol {
  const char *name;
  bf_ptx_symbol_kind kind;
  uint64_t line;
  union {
    const bf_ptx_registers *registers;
    const bf_ptx_variable *variable;
    const struct bf_ptx_function *function; /* its definition where the module has one */
    const struct bf_ptx_targets *targets;
    const struct bf_ptx_prototype *prototype;
    uint32_t instruction; /* LABEL: index of the instruction behind it in its function */
  };
} bf_ptx_symbol;

/* ---- Function bodies ---- */

/* .loc file line column[, function_name label [+ offset], inlined_at file line column] */
typedef struct bf_ptx_location {
  uint64_t file, line, column;
  const char *function_name; /* or NULL */
  uint64_t function_offset;
  uint64_t inlined_file, inlined_line, inlined_column; /* where inlined, with function_name */
} bf_ptx_location;

typedef struct bf_ptx_targets {
  const char *name;
  bool calls; /* .calltargets */
  const bf_ptx_operand *item;
  unsigned count;
} bf_ptx_targets;

typedef struct bf_ptx_directive {
  const char *name; /* without the dot */
  unsigned numbers;
  uint64_t number[3];
  const char *text; /* .pragma: what stands between the quotes */
} bf_ptx_directive;

typedef struct bf_ptx_directives {
  bf_ptx_directive *item;
  unsigned count;
} bf_ptx_directives;

typedef struct bf_ptx_prototype {
  const char *name;
  bf_ptx_variables returns, parameters;
  bf_ptx_directives directives;
} bf_ptx_prototype;

enum { BF_PTX_MOST_TYPES = 6 };

/* Guard, opcode, modifiers and operands. modifier holds all modifiers in order, without dots; type,
 * space and vector repeat what some of them say. */
typedef struct bf_ptx_instruction {
  uint64_t line;
  uint32_t column;
  const bf_ptx_location *location; /* the .loc before it, or NULL */
  const bf_ptx_operand *guard;     /* register, perhaps negated, or NULL */
  bf_ptx_opcode opcode;
  unsigned modifiers;
  const char *const *modifier;
  unsigned types;
  bf_ptx_type type[BF_PTX_MOST_TYPES];
  bf_ptx_space space; /* the first space named */
  unsigned vector;    /* of .v2, .v4, .v8; else 1 */
  unsigned operands;
  const bf_ptx_operand *operand;
  const bf_ptx_operand *call_prototype; /* call through a register: prototype or targets, or NULL */
} bf_ptx_instruction;

/* Whether the instruction has the modifier (without dot). */
bool bf_ptx_has(const bf_ptx_instruction *instruction, const char *modifier);

typedef enum bf_ptx_statement_kind {
  BF_PTX_STATEMENT_REGISTERS,
  BF_PTX_STATEMENT_VARIABLE,
  BF_PTX_STATEMENT_LABEL,
  BF_PTX_STATEMENT_SCOPE,
  BF_PTX_STATEMENT_LOCATION,
  BF_PTX_STATEMENT_PRAGMA,
  BF_PTX_STATEMENT_TARGETS,
  BF_PTX_STATEMENT_PROTOTYPE,
  BF_PTX_STATEMENT_INSTRUCTION,
} bf_ptx_statement_kind;

typedef struct bf_ptx_statement {
  struct bf_ptx_statement *next;
  bf_ptx_statement_kind kind;
  union {
    const bf_ptx_registers *registers;
    const bf_ptx_variable *variable;
    const bf_ptx_symbol *label;
    struct bf_ptx_statement *scope; /* first statement inside, or NULL */
    const bf_ptx_location *location;
    const char *pragma;
    const bf_ptx_targets *targets;
    const bf_ptx_prototype *prototype;
    const bf_ptx_instruction *instruction;
  };
} bf_ptx_statement;

typedef struct bf_ptx_function {
  const char *name;
  uint64_t line;
  bool is_entry;
  bool has_body;
  bf_ptx_linkage linkage;
  const char *attribute; /* what .attribute(...) holds, or NULL */
  bf_ptx_variables returns, parameters;
  bf_ptx_directives directives;
  bf_ptx_statement *body;
  uint32_t registers;    /* in all scopes together */
  uint32_t instructions; /* in all scopes together, in order: */
  const bf_ptx_instruction *const *instruction;
} bf_ptx_function;

/* ---- Modules ---- */

typedef struct bf_ptx_file {
  uint64_t number;
  const char *name; /* as between the quotes */
  bool has_time;
  uint64_t time, size_bytes;
} bf_ptx_file;

/* Debug data, line by line without comments and outer blanks. */
typedef struct bf_ptx_section {
  const char *name; /* with its dot */
  unsigned lines;
  const char *const *text;
} bf_ptx_section;

typedef enum bf_ptx_item_kind {
  BF_PTX_ITEM_VARIABLE,
  BF_PTX_ITEM_FUNCTION,
  BF_PTX_ITEM_FILE,
  BF_PTX_ITEM_SECTION,
  BF_PTX_ITEM_ALIAS,
  BF_PTX_ITEM_PRAGMA,
} bf_ptx_item_kind;

typedef struct bf_ptx_item {
  struct bf_ptx_item *next;
  bf_ptx_item_kind kind;
  union {
    const bf_ptx_variable *variable;
    const bf_ptx_function *function;
    const bf_ptx_file *file;
    const bf_ptx_section *section;
    const char *alias[2]; /* alias, aliasee */
    const char *pragma;
  };
} bf_ptx_item;

typedef struct bf_ptx_module {
  bf_arena arena;
  const char *file;
  unsigned version_major, version_minor;
  unsigned targets;
  const char **target;   /* sm_90, debug, ... */
  unsigned address_bits; /* 0: not said */
  bf_ptx_item *first;
} bf_ptx_module;

/* Parses size bytes of text; file is for diagnostics. */
int bf_ptx_parse(const char *file, const char *text, size_t size, bf_ptx_module **module,
                 bf_diagnostic *diagnostic);
void bf_ptx_free(bf_ptx_module *module);
/* Appends PTX that parses to the same module. Check text->failed. */
void bf_ptx_print(const bf_ptx_module *module, bf_text *text);
void bf_ptx_print_instruction(const bf_ptx_instruction *instruction, bf_text *text);

/* What is printed differently. Called in the order of the module; what they return is printed
 * before the next call. */
typedef struct bf_ptx_print_hooks {
  void *context;
  /* Lines at the start of a body, each ending with a line feed; or NULL. */
  const char *(*body)(void *context, const bf_ptx_function *function);
  /* What stands in the place of an instruction, perhaps itself; *before: lines before it. */
  const bf_ptx_instruction *(*instruction)(void *context, const bf_ptx_instruction *instruction,
                                           const char **before);
  /* What stands in the place of a variable in shared memory. */
  bf_ptx_variable (*variable)(void *context, const bf_ptx_variable *variable);
  /* The name of copy `index` of a function, which is printed behind it and the copies before, as a
   * private function, with calls of body and instruction of its own; NULL: no more. May be NULL. */
  const char *(*copy)(void *context, const bf_ptx_function *function, unsigned index);
} bf_ptx_print_hooks;

/* The same with changes; hooks NULL: none. */
void bf_ptx_print_hooked(const bf_ptx_module *module, const bf_ptx_print_hooks *hooks,
                         bf_text *text);
/* Whether both modules hold the same, lines and columns aside; BF_NO_MEMORY where it cannot say. */
int bf_ptx_equal(const bf_ptx_module *a, const bf_ptx_module *b, bool *equal);
/* The function with a body called name, or NULL. */
const bf_ptx_function *bf_ptx_find(const bf_ptx_module *module, const char *name);
/* Appends the name that a mangled C++ name (Itanium ABI) stands for, as c++filt prints it, but
 * without return type and parameters: ns::reduce<int, 64>. Of a variable inside a function its own
 * name remains. Names that are not mangled, or too long for people, are left as they are. Check
 * text->failed. */
void bf_ptx_readable_name(const char *mangled, bf_text *text);
/* Appends the name, just as readable, of the function that a variable is inside of; nothing where
 * it is inside none. */
void bf_ptx_enclosing_name(const char *mangled, bf_text *text);

/* ---- Summaries ---- */

/* Shared memory counts what the function declares and the module's variables that its instructions
 * name, each at its alignment; open arrays ([]) make has_dynamic_shared true and count nothing.
 * shared_accesses counts instructions that say .shared; generic ones are not known here. */
typedef struct bf_ptx_summary {
  uint32_t parameters;
  uint64_t parameter_bytes;
  uint64_t shared_bytes;
  bool has_dynamic_shared;
  uint32_t instructions;
  uint32_t shared_loads, shared_stores, shared_atomics, shared_copies;
  uint32_t shared_accesses; /* the four together */
} bf_ptx_summary;

bf_ptx_summary bf_ptx_summarise(const bf_ptx_module *module, const bf_ptx_function *function);

/* ---- What accesses are called ---- */

/* The operation of traces that an instruction is when it goes to shared memory, and the bytes that
 * are accessed for each lane: from the lane's address on, rounded down to a multiple of them. An
 * atomic whose result nobody uses becomes a reduction. False: no access, or none that a trace can
 * hold. */
bool bf_ptx_access_kind(const bf_ptx_instruction *instruction, bool is_result_used, bf_op *op,
                        unsigned *width_bytes);

/* ---- Origins of addresses ---- */

/* An instruction on shared memory, and the variables from whose addresses its own is computed: bit
 * i stands for variable[i] of bf_ptx_origins; 0 where that cannot be proven. */
typedef struct bf_ptx_origin {
  uint32_t instruction;
  uint64_t variables;
} bf_ptx_origin;

typedef struct bf_ptx_origins {
  bf_arena arena;
  uint32_t accesses;
  bf_ptx_origin *access; /* in the order of instructions */
  unsigned variables;
  const bf_ptx_variable **variable;
  /* Per instruction: the same for the first address among its operands, whatever its space, where
   * 0 means that no shared variable is behind it; BF_PTX_ORIGIN_UNKNOWN: anything may be. */
  uint64_t *of_address;
  uint64_t loaded; /* what a value that was loaded may be computed from */
} bf_ptx_origins;

#define BF_PTX_ORIGIN_UNKNOWN ((uint64_t)1 << 63)

/* The shared accesses of a function and what they can address; origin.c says how it is known. */
int bf_ptx_origins_create(const bf_ptx_module *module, const bf_ptx_function *function,
                          bf_ptx_origins **origins, bf_diagnostic *diagnostic);
void bf_ptx_origins_free(bf_ptx_origins *origins);

/* ---- Control flow ---- */

/* Instructions first to end-1; control enters at first and leaves behind end-1. */
typedef struct bf_ptx_block {
  uint32_t first, end;
  uint32_t successors;
  const uint32_t *successor; /* blocks, without repetition; the number of blocks stands for exit */
  uint32_t post_dominator;   /* the nearest block that every way to the exit passes, or exit */
  bool is_reachable;         /* from the first block */
} bf_ptx_block;

typedef struct bf_ptx_flow {
  bf_arena arena;
  uint32_t blocks; /* also stands for the exit */
  bf_ptx_block *block;
  const uint32_t *block_of; /* per instruction */
} bf_ptx_flow;

/* Blocks that cannot reach the exit (endless loops) are treated as if they could leave from their
 * last block. */
int bf_ptx_flow_create(const bf_ptx_function *function, bf_ptx_flow **flow,
                       bf_diagnostic *diagnostic);
void bf_ptx_flow_free(bf_ptx_flow *flow);

/* ---- Merging by ptxas ---- */

/* What becomes of a shared load or store when ptxas merges neighbours into wider accesses and drops
 * what is redundant (docs/merging.md). Elsewhere all is 0 and leader the instruction itself. */
typedef struct bf_ptx_merged {
  uint32_t leader;      /* the instruction at which the access happens; itself where it stays */
  bool dropped;         /* redundant: no access at all */
  int64_t offset_bytes; /* leader: start of the merged access relative to its own address */
  unsigned width_bytes; /* leader: bytes per lane of the merged access; others: their own */
  unsigned times;       /* leader: accesses of this width; more than 1 where a vector falls apart */
} bf_ptx_merged;

typedef struct bf_ptx_merges {
  bf_arena arena;
  uint32_t instructions;
  bf_ptx_merged *instruction;
} bf_ptx_merges;

/* architecture is that of the binary, 90 for sm_90; 0 leaves every access as written. */
int bf_ptx_merges_create(const bf_ptx_module *module, const bf_ptx_function *function,
                         unsigned architecture, bf_ptx_merges **merges, bf_diagnostic *diagnostic);
void bf_ptx_merges_free(bf_ptx_merges *merges);

#endif
