/* rtl: hash units as hardware. Verilog-2001 of units that can be configured for a family of hashes,
 * of fixed hashes, and of the bank and lock hashes for atomics; test benches whose vectors come
 * from the library's own hashes; and what a unit costs in a library of standard cells, as yosys
 * maps it. docs/rtl.md. */
#ifndef BF_RTL_H
#define BF_RTL_H

#include "base/base.h"
#include "hash/hash.h"
#include "memory/memory.h"

typedef enum bf_rtl_kind {
  BF_RTL_BIT_VECTOR_PERM, /* perm:K */
  BF_RTL_BIT_VECTOR_XOR,  /* xor:K1,K2,MASK */
  BF_RTL_BITWISE_PERM,    /* bits: one address bit per bank bit */
  BF_RTL_BITWISE_XOR,     /* bits: one or two address bits per bank bit */
  BF_RTL_FIXED,           /* one hash */
  BF_RTL_LOCKS,           /* bank and lock of an atomic operation (braak13, Table I) */
} bf_rtl_kind;

enum { BF_RTL_FAMILIES = 4 }; /* the first kinds */
/* "bit-vector-perm" ...; NULL ends the list. */
extern const char *const bf_rtl_families[];

enum {
  BF_RTL_NAME_MAX = 40,
  BF_RTL_MOST_ADDRESS_BITS = 32, /* of families and locks */
  BF_RTL_MOST_BANK_BITS = 10,
  BF_RTL_EVERY_WORD_BITS = 20, /* fixed units of no more are tested on every word */
  BF_RTL_MOST_VECTORS = 10 * 1000 * 1000,
  BF_RTL_DEFAULT_VECTORS = 100 * 1000,
};

typedef struct bf_rtl_unit {
  bf_rtl_kind kind;
  bool one_hot;         /* families: a wire per choice instead of its number in binary */
  unsigned word_copies; /* families: registers that hold the word in the clocked module, each for
                           some of the bank bits; 0 and 1: one for all */
  bf_geometry geometry;
  const bf_hash *hash;    /* fixed: the hash, of that geometry */
  bf_lock_hash lock_hash; /* locks: XOR or ADD */
  const char *name;       /* letters, digits and '_'; the names of modules start with it */
} bf_rtl_unit;

/* Whether the unit can be configured, for all hashes of a family. */
bool bf_rtl_is_family(const bf_rtl_unit *unit);

/* Whether there is such a unit; a diagnostic otherwise. The functions below expect that. */
int bf_rtl_check(const bf_rtl_unit *unit, bf_diagnostic *diagnostic);

/* ---- Ports ---- */

typedef enum bf_rtl_role { BF_RTL_CONFIGURATION, BF_RTL_WORD, BF_RTL_RESULT } bf_rtl_role;

typedef struct bf_rtl_port {
  const char *name;
  unsigned bits;
  bf_rtl_role role;
  const char *meaning;
} bf_rtl_port;

enum { BF_RTL_PORTS = 6 };
/* The ports of the unit's module: configuration, word, results. Returns their number. */
unsigned bf_rtl_ports(const bf_rtl_unit *unit, bf_rtl_port port[BF_RTL_PORTS]);
/* Bits of a number below choices; at least 1. */
unsigned bf_rtl_code_bits(unsigned choices);
/* The name of the unit's combinational module: NAME_unit, or NAME_place for a fixed hash. */
void bf_rtl_module_name(const bf_rtl_unit *unit, char name[BF_RTL_NAME_MAX + 16]);

/* ---- Verilog ---- */

/* The combinational module. */
int bf_rtl_write_module(const bf_rtl_unit *unit, bf_text *text, bf_diagnostic *diagnostic);
/* Families: a module NAME_clocked around it, with registers for configuration, word and bank. */
void bf_rtl_write_clocked(const bf_rtl_unit *unit, bf_text *text);
/* A module NAME_test that reads `vectors` vectors from NAME_vectors.hex and prints PASS or FAIL. */
void bf_rtl_write_bench(const bf_rtl_unit *unit, uint64_t vectors, bf_text *text);
/* Those vectors, a line each: all ports in hexadecimal, the first port in the highest bits. The
 * results are what the library's own hash gives. Families get `asked` random configurations and
 * words; fixed units every word up to BF_RTL_EVERY_WORD_BITS, else `asked` random words. *written
 * is their number. */
int bf_rtl_write_vectors(const bf_rtl_unit *unit, uint64_t asked, bf_text *text, uint64_t *written,
                         bf_diagnostic *diagnostic);

/* ---- One vector, for test benches and for simulation ---- */

enum { BF_RTL_VECTOR_WORDS = 16 }; /* of 64 bits */

/* All ports of a unit in a row, the last port in the lowest bits. */
typedef struct bf_rtl_vector {
  uint64_t word[BF_RTL_VECTOR_WORDS];
} bf_rtl_vector;

typedef struct bf_rtl_source bf_rtl_source;
/* Makes vectors; the same seed gives the same ones. */
int bf_rtl_source_open(const bf_rtl_unit *unit, uint64_t seed, bf_rtl_source **source,
                       bf_diagnostic *diagnostic);
/* A random configuration (families) and word, with the results. */
int bf_rtl_source_next(bf_rtl_source *source, bf_rtl_vector *vector, bf_diagnostic *diagnostic);
/* The given word with its results; fixed units and locks. */
void bf_rtl_source_word(bf_rtl_source *source, uint64_t word, bf_rtl_vector *vector);
void bf_rtl_source_close(bf_rtl_source *source);
/* Bit `bit` of port number `index` in a vector. */
bool bf_rtl_vector_bit(const bf_rtl_unit *unit, const bf_rtl_vector *vector, unsigned index,
                       unsigned bit);

/* ---- Pictures ---- */

/* The gates of a fixed XOR hash or of the bank and lock hashes, as SVG; BF_UNSUPPORTED for other
 * units. */
int bf_rtl_draw(const bf_rtl_unit *unit, bf_text *text, bf_diagnostic *diagnostic);

#endif
