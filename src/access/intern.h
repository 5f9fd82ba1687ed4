/* Inside room access: distinct strings, each kept once. Trace readers, trace writers and workloads
 * keep the sites of accesses here. */
#ifndef BF_ACCESS_INTERN_H
#define BF_ACCESS_INTERN_H

#include "base/base.h"

/* A site may not grow memory without bound: a trace with more distinct sites is refused. */
enum { BF_SITES_MAX = 1 << 20, BF_SITES_MAX_BYTES = 1 << 26, BF_SITE_MAX_BYTES = 4096 };

enum { BF_SITES_NEAR_BITS = 6 };

typedef struct bf_sites {
  bf_arena arena;
  struct bf_site *entries; /* by number, in the order of first use */
  uint32_t count, capacity;
  uint32_t *slots; /* open addressing: number + 1, or 0 */
  uint32_t slot_count;
  size_t bytes;
  uint32_t near[1 << BF_SITES_NEAR_BITS]; /* 1 + the number of a string, by where it stood */
} bf_sites;

/* Finds the number of the string of length bytes (no NUL among them), adding it if it is new.
 * BF_UNSUPPORTED when there are too many, BF_NO_MEMORY. */
int bf_sites_intern(bf_sites *sites, const char *bytes, size_t length, uint32_t *number);
/* Finds a string by where it stands; that the same stood there before is looked at. False: it is to
 * be interned, and then noted. */
bool bf_sites_find_near(const bf_sites *sites, const char *text, uint32_t *number);
void bf_sites_note_near(bf_sites *sites, const char *text, uint32_t number);
/* The string with that number, NUL-terminated; it stays until bf_sites_free. */
const char *bf_sites_text(const bf_sites *sites, uint32_t number);
void bf_sites_free(bf_sites *sites);

/* Why a site cannot be written in a trace (a site is 1 to BF_SITE_MAX_BYTES bytes, none of them
 * white space or another control character), or NULL; *at is the offset of the fault. */
const char *bf_site_fault(const char *bytes, size_t length, size_t *at);

/* 64 well-mixed bits of size bytes. */
uint64_t bf_mix(const void *bytes, size_t size, uint64_t seed);

#endif
