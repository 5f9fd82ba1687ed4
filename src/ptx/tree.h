/* ptx/tree: PTX as data. A module holds items, a function statements, a statement an instruction,
 * and an instruction operands. A module owns everything it points to.
 *
 * Names are interned: equal texts inside a module are equal pointers. Lines and columns start at 1.
 */
#ifndef BF_PTX_TREE_H
#define BF_PTX_TREE_H

#include "ptx/ops.h"

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
  bool has_offset; /* ADDRESS: one is written, if only 0, which ptxas adds in code to be debugged */
  char component;  /* x, y, z, w; 0: none */
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
  BF_PTX_HIDDEN, /* parameters: passed by the driver, not by who launches */
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
  const struct bf_ptx_location *before;                /* the .loc before it in the body, or NULL */
  const struct bf_ptx_location *inside; /* that of the call, where it was inlined too, or NULL */
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

/* What instructions move into a register. */
typedef struct bf_ptx_moved {
  bool is_written;
  bool is_number; /* nothing but this: */
  uint64_t number;
} bf_ptx_moved;

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
  const bf_ptx_moved *moved; /* per register; NULL where no tile (ptx/tile.h) asks for it */
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

/* The function with a body called name, or NULL. */
const bf_ptx_function *bf_ptx_find(const bf_ptx_module *module, const char *name);
/* Whether name is that of a kernel of the PTX, as there or readable (ptx/demangle.h). */
bool bf_ptx_is_called(const char *kernel, const char *name);
/* Fails with a message that there is no kernel of that name in file, and which there are. */
int bf_ptx_no_kernel(const bf_ptx_module *module, const char *file, const char *name,
                     bf_diagnostic *diagnostic);

#endif
