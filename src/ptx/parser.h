/* Inside room ptx: what the parser's files share: words, names and scopes, and the functions named
 * after the piece of grammar they parse. Inside room ptx only. */
#ifndef BF_PTX_PARSER_H
#define BF_PTX_PARSER_H

#include "ptx/parse.h"

enum {
  MOST_DEPTH = 64,          /* nested scopes, and nested operands or expressions */
  MOST_REGISTERS = 1 << 24, /* of one function */
  MOST_MODIFIERS = 32,
};

typedef enum token_kind {
  TOKEN_END,
  TOKEN_WORD,    /* identifier, also with % _ $ */
  TOKEN_DOTTED,  /* .word, the text without the dot */
  TOKEN_INTEGER, /* bits */
  TOKEN_FLOAT32,
  TOKEN_FLOAT64,
  TOKEN_DECIMAL,
  TOKEN_STRING, /* the text without quotes */
  TOKEN_SIGN,   /* punctuation: sign; << >> <= >= == != && || as two characters */
} token_kind;

typedef struct token {
  token_kind kind;
  const char *at; /* in the text */
  size_t size;    /* of the text; of WORD, DOTTED and STRING without dot and quotes: */
  const char *text;
  uint64_t bits;
  bool is_unsigned; /* INTEGER with suffix U or above the largest signed value */
  char sign[2];     /* second is 0 for single characters */
  uint64_t line;
  const char *line_start;
} token;

typedef struct lexer {
  const char *file;
  const char *cursor;
  const char *end;
  uint64_t line;
  const char *line_start;
  bf_diagnostic *diagnostic;
} lexer;

/* The next token, or a diagnostic. */
int bf_ptx_lex(lexer *lexer, token *token);

/* ---- Names ---- */

/* Interned texts and, per scope, symbols. */
typedef struct names {
  bf_arena *arena;
  struct text_entry **text; /* hash table with chains */
  size_t text_capacity, texts;
  struct symbol_entry **symbol;
  size_t symbol_capacity, symbols;
} names;

typedef struct name_scope {
  const struct name_scope *outer;
} name_scope;

const char *bf_ptx_intern(names *names, const char *text, size_t size);
/* Adds a symbol under key (interned) to scope. BF_BAD_INPUT: there is one already, in *existing. */
int bf_ptx_declare(names *names, const name_scope *scope, const char *key, bf_ptx_symbol *symbol,
                   bf_ptx_symbol **existing);
/* The symbol in scope itself, or NULL. */
bf_ptx_symbol *bf_ptx_lookup(const names *names, const name_scope *scope, const char *key);
void bf_ptx_names_free(names *names);

/* ---- Parser ---- */

/* What a name may stand for where it is used. */
typedef enum name_use { USE_ANY, USE_LABEL, USE_BRANCH_TARGETS } name_use;

/* A name that is resolved at the end of its function or of the module. */
typedef struct unresolved {
  struct unresolved *next;
  bf_ptx_symbol *symbol; /* receives a copy of what the name stands for */
  const name_scope *scope;
  token word;
  name_use use;
} unresolved;

typedef struct parser {
  lexer lexer;
  token token; /* the next token, not yet taken */
  bf_ptx_module *module;
  names names;
  name_scope *scope; /* innermost */
  name_scope *module_scope;
  unresolved *pending;
  bf_ptx_function *function; /* whose body is being parsed */
  const bf_ptx_location *location;
  bool is_video; /* the operands being parsed may have selectors and signs */
  bf_ptx_item **last_item;
  bf_ptx_statement **last_statement; /* of the innermost scope */
  unsigned depth;
  /* Stacks of parts whose number is not known yet. */
  bf_ptx_operand *operand;
  size_t operands, operand_capacity;
  const bf_ptx_instruction **instruction;
  size_t instructions, instruction_capacity;
} parser;

#define FAIL_TOKEN(word, ...)                                                                      \
  bf_fail_at(p->lexer.diagnostic, p->lexer.file, (word).line, (word).line_start, (word).at,        \
             __VA_ARGS__)
#define FAIL(...) FAIL_TOKEN(p->token, __VA_ARGS__)

int bf_ptx_no_memory(parser *p);
/* size zeroed bytes of the module, or NULL. */
void *bf_ptx_new(parser *p, size_t size);
/* count elements of size bytes, or NULL. */
void *bf_ptx_new_array(parser *p, size_t count, size_t size);

/* Takes the token and reads the next. */
int bf_ptx_next(parser *p);
bool bf_ptx_is_sign(const parser *p, const char *sign);
bool bf_ptx_is_word(const parser *p, const char *word);
bool bf_ptx_is_dotted(const parser *p, const char *word);
/* Takes the sign if it is there. */
int bf_ptx_accept(parser *p, const char *sign, bool *taken);
int bf_ptx_expect(parser *p, const char *sign);
/* Takes an identifier, interned. */
int bf_ptx_take_name(parser *p, const char *what, const char **name);
/* Takes an unsigned number, at most most. */
int bf_ptx_take_number(parser *p, const char *what, uint64_t most, uint64_t *value);
int bf_ptx_take_string(parser *p, const char **text);

int bf_ptx_open_scope(parser *p);
void bf_ptx_close_scope(parser *p);
/* Declares name in the innermost scope; the fault, if it is taken, is at word. */
int bf_ptx_add_symbol(parser *p, const token *word, const char *name, bf_ptx_symbol_kind kind,
                      const void *what, bf_ptx_symbol **symbol);
/* Resolves all pending names; those still unknown are faults. */
int bf_ptx_resolve(parser *p);

/* index.c: a module with room for its index, freed as one; and the index of what was parsed. */
bf_ptx_module *bf_ptx_new_module(void);
int bf_ptx_fill_index(bf_ptx_module *module, bf_diagnostic *diagnostic);

/* parse_operand.c */
int bf_ptx_parse_constant(parser *p, bf_ptx_operand *operand);
int bf_ptx_parse_operand(parser *p, name_use use, bf_ptx_operand *operand);
/* Operands separated by commas up to the sign close, which is taken too. */
int bf_ptx_parse_list(parser *p, const char *close, name_use use, const bf_ptx_operand **item,
                      uint32_t *count);
int bf_ptx_parse_initialiser(parser *p, bf_ptx_operand *operand);
/* Pushes on, and takes from, the stack of operands. */
int bf_ptx_push_operand(parser *p, const bf_ptx_operand *operand);
int bf_ptx_pop_operands(parser *p, size_t from, const bf_ptx_operand **item, uint32_t *count);

/* parse_declaration.c */
bf_ptx_type bf_ptx_type_find(const char *text, size_t size);
bf_ptx_space bf_ptx_space_find(const char *text, size_t size);
bool bf_ptx_at_declaration(const parser *p); /* at a state space */
/* Variables or registers, with the semicolon; each is handed to add. */
int bf_ptx_parse_declaration(parser *p, bf_ptx_linkage linkage,
                             int (*add_variable)(parser *, const bf_ptx_variable *),
                             int (*add_registers)(parser *, const bf_ptx_registers *));
/* ( parameter, ... ); declared in the innermost scope unless prototype. */
int bf_ptx_parse_parameters(parser *p, bool prototype, bf_ptx_variables *list);
int bf_ptx_parse_directives(parser *p, bf_ptx_directives *list);
int bf_ptx_parse_attribute(parser *p, const char **attribute);

/* parse_body.c: statements up to and with the closing brace. */
int bf_ptx_parse_body(parser *p, bf_ptx_function *function);

#endif
