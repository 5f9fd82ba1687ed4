/* search/align: how conflicts depend on the base address of a pattern.
 *
 * An XOR hash H satisfies H(a ^ c) = H(a) ^ H(c): XORing all words of a pattern with one constant
 * renames the banks and keeps the conflicts. If the pattern, whose last word is `extent` after its
 * base, lies in an aligned block of 2^K words, two such constants move it: one that changes bits
 * from K on (the pattern goes to another block) and 2^K - 1 (it is mirrored inside its block).
 * So all bases fall into few zones, one per K: the bases whose smallest enclosing aligned block
 * has 2^K words. In each zone conflicts repeat with period 2^K and are mirrored about the zone's
 * centre, and half of one copy says everything (docs/alignment.md). */
#ifndef BF_SEARCH_ALIGN_H
#define BF_SEARCH_ALIGN_H

#include "hash/hash.h"

/* The bases b with low <= b mod period <= high. Conflicts are the same at b and b mod period, and,
 * if mirrored, at b mod period and low + high - b mod period. The representative of b is the
 * smaller of the two. */
typedef struct bf_align_zone {
  uint64_t period; /* 0: the bases themselves, no repetition */
  uint64_t low, high;
  uint64_t split; /* the power of two between first and last word of every pattern; 0: none */
  bool mirrored;
  bool needed;          /* first and last are set */
  uint64_t first, last; /* representatives whose conflicts are needed */
  uint32_t *conflicts;  /* of representative first + i */
} bf_align_zone;

enum { BF_ALIGN_MAX_ZONES = BF_HASH_MAX_ADDRESS_BITS + 2 };

/* Zones that together hold every base once. */
typedef struct bf_align_zones {
  unsigned count;
  bf_align_zone zone[BF_ALIGN_MAX_ZONES];
} bf_align_zones;

/* The zones of patterns of the given extent. Without symmetry (a hash that is not an XOR hash, or
 * wanted so) there is one zone in which every base stands for itself. */
bf_align_zones bf_align_find_zones(const bf_hash *hash, uint64_t extent, bool use_symmetry);
/* Marks the representatives of the bases from..to as needed. */
void bf_align_need(bf_align_zones *zones, uint64_t from, uint64_t to);
/* Number of representatives needed. */
uint64_t bf_align_needed(const bf_align_zones *zones);
/* Gives every zone room for the conflicts of its needed representatives, all 0. */
int bf_align_zones_allocate(bf_align_zones *zones);
void bf_align_zones_free(bf_align_zones *zones);
/* The zone of a base. */
const bf_align_zone *bf_align_zone_of(const bf_align_zones *zones, uint64_t base);
/* base mod period. */
uint64_t bf_align_residue(const bf_align_zone *zone, uint64_t base);
/* The last residue of the lower half, which holds the representatives. */
uint64_t bf_align_middle(const bf_align_zone *zone);
/* out[i] = conflicts at base + i for i < length, all of which must have been marked as needed. */
void bf_align_read(const bf_align_zones *zones, uint64_t base, uint64_t length, uint32_t *out);

/* Fills the conflicts of all needed representatives for the pattern of count words, stride apart.
 * The zones must be those of extent stride * (count - 1). */
int bf_align_count_strided(const bf_hash *hash, uint64_t stride, uint64_t count,
                           bf_align_zones *zones);

/* bf_align; with use_symmetry false every base of the range is evaluated, as a check. */
int bf_align_search(const bf_hash *hash, const bf_align_pattern *pattern, uint64_t from,
                    uint64_t to, bool use_symmetry, bf_alignment *alignment,
                    bf_diagnostic *diagnostic);

/* True if both found the same bases and conflicts, in whatever way. */
bool bf_align_same(const bf_alignment *a, const bf_alignment *b);

/* Offset of the last word of the pattern from its base; UINT64_MAX if 2^62 or more. */
uint64_t bf_align_extent(const bf_align_pattern *pattern);

/* "RxC": rows and columns of a row-major matrix of R rows and C columns. */
int bf_align_parse_matrix(const char *text, bf_align_pattern *pattern, bf_diagnostic *diagnostic);
/* "A:B": the bases from A to B, both included. */
int bf_align_parse_range(const char *text, uint64_t *from, uint64_t *to, bf_diagnostic *diagnostic);

#endif
