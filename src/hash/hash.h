/* hash: maps from word addresses to banks, in every text form people use, and the one function
 * that computes a bank. An XOR hash is kept as an invertible matrix over the address bits whose
 * first bank_bits rows give the bank, so that it can always place and recover every word. Published
 * hashes whose bank bits depend on each other cannot do that: bf_hash_parse_banks takes them too,
 * for those who only count. */
#ifndef BF_HASH_H
#define BF_HASH_H

#include "base/base.h"
#include "gf2/gf2.h"

typedef enum bf_hash_kind {
  BF_HASH_LINEAR,
  BF_HASH_PAD,
  BF_HASH_ADD,
  BF_HASH_MOD,
  BF_HASH_SHARED /* an XOR hash whose bank bits depend on each other: words share places */
} bf_hash_kind;

enum { BF_HASH_CHUNKS = 5, BF_HASH_MAX_BANK_BITS = 16, BF_HASH_MAX_ADDRESS_BITS = 40 };

struct bf_hash {
  bf_hash_kind kind;
  bf_geometry geometry;
  bf_gf2_matrix forward, inverse; /* linear: word -> place and back, address_bits square;
                                     shared: forward has the rows of the bank bits only */
  uint64_t row_words, pad_words;  /* pad: after every row_words words, pad_words unused ones;
                                     mod:N is the same with N and banks - N */
  uint32_t most_block[3]; /* pad: holds for kernels whose blocks have no more threads in x, y and z;
                             0: any */
  char text[2048];
  uint32_t bank_of_byte[BF_HASH_CHUNKS][256]; /* linear, shared: bank = XOR over the
                                                 address's bytes */
};

/* The geometry a hash can live in; a diagnostic otherwise. */
int bf_hash_check_geometry(const bf_geometry *geometry, bf_diagnostic *diagnostic);

/* As bf_hash_parse, and takes XOR hashes whose bank bits depend on each other. Such a hash leaves
 * banks empty and puts several words in one place: it can be counted, drawn and simulated, and
 * serves for nothing that must find its words again. */
int bf_hash_parse_banks(const char *text, const bf_geometry *geometry, bf_hash **hash,
                        bf_diagnostic *diagnostic);
/* How a hash puts several words in one place. */
typedef struct bf_hash_sharing {
  unsigned rank;       /* independent bank bits */
  uint64_t banks_used; /* 2^rank */
  uint64_t word[2];    /* two words of one row that share a place */
  uint64_t words_each; /* at least that many words share a place, however rows are chosen */
} bf_hash_sharing;
/* False if every word has a place of its own; sharing may be NULL. */
bool bf_hash_find_sharing(const bf_hash *hash, bf_hash_sharing *sharing);

/* The forms `convert` knows, in the order they are tried; NULL ends the list. */
extern const char *const bf_hash_forms[];

/* Writes hash in the given form ("cute", "rows", ...) into text. BF_UNSUPPORTED and a diagnostic
 * when no hash of that form gives every word the same bank. */
int bf_hash_convert(const bf_hash *hash, const char *form, bf_text *text,
                    bf_diagnostic *diagnostic);

/* The banks of hash as an XOR hash: bank bit i = parity of (word & row[i]). False if no XOR hash
 * gives every word of the allocation the same bank. Arithmetic hashes can be XOR hashes too:
 * pad:32+16 on 32 banks flips bank bit 4 with address bit 5. */
bool bf_hash_bank_rows(const bf_hash *hash, uint64_t row[BF_HASH_MAX_BANK_BITS]);
/* The banks of hash as padding: bank = (word + word / *row_words * *pad_words) mod banks with the
 * smallest pad_words; row_words = banks and pad_words = 0 where bank = word mod banks. False if no
 * padding gives every word of the allocation the same bank. */
bool bf_hash_find_padding(const bf_hash *hash, uint64_t *row_words, uint64_t *pad_words);
/* The Swizzle<bits, base, shift> of fewest bits on byte offsets that gives every word the same
 * bank; false if there is none. */
bool bf_hash_find_bank_swizzle(const bf_hash *hash, unsigned *bits, unsigned *base, int *shift);
/* The same, but if there is one that also puts every word where hash puts it, that one. */
bool bf_hash_find_swizzle(const bf_hash *hash, unsigned *bits, unsigned *base, int *shift);
/* The smallest k1, k2, mask with bank = (a >> k1) ^ ((a >> k2) & mask) and k1 != k2; false if there
 * is none. */
bool bf_hash_find_bit_vector(const bf_hash *hash, unsigned *k1, unsigned *k2, uint64_t *mask);
/* What to write in CUDA source for the same, with the array as one of words in a row; false where
 * there is no short way. */
bool bf_hash_write_code(const bf_hash *hash, bf_text *text);

/* One term of the map in software: place ^= (shift >= 0 ? word >> shift : word << -shift) & mask.
 */
typedef struct bf_hash_term {
  int shift;
  uint64_t mask;
} bf_hash_term;

/* The diagonals of matrix: word -> XOR of all terms. The term with shift 0, if any, comes first;
 * terms with equal masks are neighbours. Returns their number, at most 2*64-1. */
unsigned bf_hash_terms(const bf_gf2_matrix *matrix, bf_hash_term *terms);

/* True if place = word ^ L(word >> bank_bits) on the bank bits only: an XOR hash that keeps every
 * word in its row of banks and is its own inverse. (`add` keeps rows too but is no XOR hash.) */
bool bf_hash_is_row_preserving(const bf_hash *hash);

/* Aligned blocks of that many words are each mapped onto themselves; a power of two. 0 for pad and
 * mod, which map into a larger memory. */
uint64_t bf_hash_block_words(const bf_hash *hash);
/* Aligned groups of that many words stay together and in order; a power of two, at least 1. */
uint64_t bf_hash_granule_words(const bf_hash *hash);
/* Words of memory that hold the first `words` words of the allocation. */
uint64_t bf_hash_capacity_words(const bf_hash *hash, uint64_t words);

/* ---- Hashes of kernels ---- */

/* A file of lines "KERNEL HASH": the name of a kernel, and its hash as the last word. Names may
 * hold blanks inside brackets, reduce<int, 64>. "*" stands for all kernels without a line of their
 * own;
 * '#' starts a comment, unless it is in braces. "KERNEL[ARRAY] HASH" is for one shared array of a
 * kernel, which only rewriting can follow; all others read what kernels have. */
typedef struct bf_hash_list bf_hash_list;

int bf_hash_list_read(const char *path, bf_geometry geometry, bf_hash_list **list,
                      bf_diagnostic *diagnostic);
/* The same for text; file is its name in diagnostics. */
int bf_hash_list_parse(const char *file, const char *text, bf_geometry geometry,
                       bf_hash_list **list, bf_diagnostic *diagnostic);
/* Whether the kernel has a line of its own. */
bool bf_hash_list_has(const bf_hash_list *list, const char *kernel);
/* The hash of a kernel; NULL: the file has none for it. */
const bf_hash *bf_hash_list_find(const bf_hash_list *list, const char *kernel);
/* The hash of a line "KERNEL[ARRAY]" with just these names, which may be "*"; NULL: there is none.
 */
const bf_hash *bf_hash_list_find_array(const bf_hash_list *list, const char *kernel,
                                       const char *array);
/* The hashes one by one, in no order, with what they are for; NULL behind the last. */
const bf_hash *bf_hash_list_get(const bf_hash_list *list, size_t index, const char **kernel);
void bf_hash_list_free(bf_hash_list *list);

/* Where arrays of a kernel have hashes of their own, one text says all: "tile=fixed, other=none".
 * Adds an array to such a text; NULL: it has no hash. */
void bf_hash_add_array(const char *array, const bf_hash *hash, bf_text *text);
/* The lines of a kernel in a list, from the text of its hash, or of those of its arrays; NULL:
 * none. */
void bf_hash_list_write(const char *kernel, const char *hashes, bf_text *text);

#endif
