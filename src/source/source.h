/* source: CUDA source as far as it must be understood to change the subscripts of shared
 * arrays: words, declarations of __shared__ arrays, and every use of their names. It is no parser
 * of C++: what it does not understand it says, and then nothing is changed. */
#ifndef BF_SOURCE_H
#define BF_SOURCE_H

#include "base/base.h"

/* ---- Words ---- */

typedef enum bf_source_kind {
  BF_SOURCE_WORD, /* identifier or keyword */
  BF_SOURCE_NUMBER,
  BF_SOURCE_LITERAL, /* string or character */
  BF_SOURCE_MARK,    /* operator or punctuation, longest first: "->", "<<" */
} bf_source_kind;

typedef struct bf_source_token {
  bf_source_kind kind;
  bool in_directive; /* part of a line that starts with # */
  uint32_t line;     /* from 1 */
  size_t at, size;   /* bytes of the text */
  size_t partner;    /* of a bracket: the one that closes or opens it; tokens: none */
} bf_source_token;

typedef struct bf_source {
  bf_arena arena;
  const char *file; /* borrowed, as is text */
  const char *text;
  size_t size;
  bf_source_token *token;
  size_t tokens;
  struct bf_source_family *families; /* that were asked for (family.h) */
} bf_source;

/* Whether a file is source by its name: .cu, .cuh, .cpp, .cc. */
bool bf_source_is_name(const char *path);
/* Cuts text into words; comments are passed over. BF_BAD_INPUT for NUL bytes and for a comment that
 * does not end. */
int bf_source_read(const char *file, const char *text, size_t size, bf_source **source,
                   bf_diagnostic *diagnostic);
void bf_source_free(bf_source *source);
/* Whether token index is there and reads so. */
bool bf_source_is(const bf_source *source, size_t index, const char *text);

/* ---- Declarations ---- */

enum { BF_SOURCE_MOST_DIMENSIONS = 8, BF_SOURCE_MOST_NAME = 256, BF_SOURCE_MOST_SKIPS = 16 };

/* A declaration `__shared__ type name[a][b]`. */
typedef struct bf_source_array {
  size_t token;     /* its name */
  size_t statement; /* the first token of the declaration */
  size_t end;       /* behind the last ] */
  size_t scope_end; /* the } of the block that it lives in, or the end of the file */
  size_t function;  /* the name of the function around it; tokens: none */
  bool is_open;     /* extern, [] */
  bool is_pointer;  /* into one that is open: `type *name = ...;` */
  unsigned skips;   /* tokens that are no uses: what pointers into it are declared with */
  size_t skip[BF_SOURCE_MOST_SKIPS][2]; /* the first, and behind the last */
  bool is_varying;                      /* a pointer that may lead elsewhere in other threads */
  bool has_open_scope;                  /* a { is not closed */
  bool is_alias;     /* its type has the dimensions, `typedef float tile[8][8];` */
  bool is_reference; /* a parameter of a function, `type (&name)[a][b]` */
  char name[BF_SOURCE_MOST_NAME];
  char owner[BF_SOURCE_MOST_NAME]; /* the object that it is a member of, `owner.name`; or empty */
  char type[BF_SOURCE_MOST_NAME];  /* without qualifiers */
  unsigned dimensions;
  size_t dimension[BF_SOURCE_MOST_DIMENSIONS]; /* the [ of each; tokens: the * of a parameter */
} bf_source_array;

/* The arrays of a source, in order; list belongs to the source. */
int bf_source_arrays(bf_source *source, bf_source_array **list, size_t *count,
                     bf_diagnostic *diagnostic);
/* The pointers of a function, by the token of its name, that lead into the open array `buffer`, in
 * order: as arrays of one dimension, up to `most`. */
int bf_source_carved(bf_source *source, size_t function, const char *buffer, bf_source_array *list,
                     size_t most, size_t *count);
/* The members of the object called `name` that a function, by the token of its name, declares in
 * shared memory, in order; those that are no arrays have no dimensions. False where they are not
 * understood, or the struct has other uses than that declaration. */
bool bf_source_members(const bf_source *source, size_t function, const char *name,
                       bf_source_array *list, size_t most, size_t *count);
/* Notes in an array that what the pointers of a list are declared with is no use of it. */
void bf_source_pass_over(const bf_source_array *list, size_t count, bf_source_array *own);
/* First and last line of the function around an array; false where it is outside functions. */
bool bf_source_function_lines(const bf_source *source, const bf_source_array *array,
                              uint32_t *first, uint32_t *last);

/* ---- Values ---- */

/* The number that the tokens first to end-1 stand for: literals, + - * / % << >>, parentheses,
 * macros, const and constexpr numbers, enumerators, and the template parameters of the array's
 * function, whose arguments are those of readable (reduce<int, 64>; NULL: not known). False where
 * it is not known. */
bool bf_source_value(const bf_source *source, const bf_source_array *array, const char *readable,
                     size_t first, size_t end, uint64_t *value);
/* Where argument number index stands in a name as C++ has it, reduce<int, 64>; NULL: nowhere. */
const char *bf_source_template_argument(const char *readable, unsigned index);
/* The same outside of kernels: also of variables that are never changed, and of the sides of a dim3
 * (block.x). */
bool bf_source_host_value(const bf_source *source, size_t first, size_t end, uint64_t *value);
/* Whether a token is a name that is declared as a dim3 there: `dim3 grid(4), block(32, 8);`. */
bool bf_source_is_dim3(const bf_source *source, size_t index);
/* Bytes of a type of C or CUDA; 0 for others. */
unsigned bf_source_type_bytes(const char *type);
/* Bytes of an element of an array: names of types are looked up in the source (using, typedef,
 * macros), template parameters in readable. 0: not known. */
unsigned bf_source_element_bytes(const bf_source *source, const bf_source_array *array,
                                 const char *readable);

/* ---- Uses ---- */

/* An element of an array: name[a][b] with all subscripts. */
typedef struct bf_source_use {
  size_t token;                                /* the name */
  size_t end;                                  /* behind the last ] */
  size_t subscript[BF_SOURCE_MOST_DIMENSIONS]; /* the [ of each */
  bool is_row; /* the last subscripts are missing: it is where a row begins */
  size_t home; /* by another name, as in a function that the array is passed to: the first token of
                * that function + 1; else 0 */
} bf_source_use;

/* The uses of an array. Where one of them is not an element, problem says what and where. The list
 * belongs to the source. */
int bf_source_uses(bf_source *source, const bf_source_array *array, bf_source_use **list,
                   size_t *count, char problem[200], bf_diagnostic *diagnostic);
/* The same where addresses of elements count as elements: &name[a][b]. */
int bf_source_pointed_uses(bf_source *source, const bf_source_array *array, bf_source_use **list,
                           size_t *count, char problem[200], bf_diagnostic *diagnostic);
/* Whether all that is wrong with uses of an array is that the addresses of elements are taken. */
bool bf_source_is_only_pointed_to(const bf_source *source, const bf_source_array *array);
/* First and last line of the statement that a use stands in. */
void bf_source_use_lines(const bf_source *source, const bf_source_use *use, uint32_t *first,
                         uint32_t *last);
/* Whether computing the tokens first to end-1 twice is the same as once, and a macro takes them as
 * one argument. */
bool bf_source_is_pure(const bf_source *source, size_t first, size_t end);
/* Whether they can be an operand of any operator as they are. */
bool bf_source_is_operand(const bf_source *source, size_t first, size_t end);

#endif
