/* Inside room emu: accesses to shared memory whose lanes lie in line, counted by one comparison.
 *
 * Lanes of most accesses lie at equal distances, or do so in each half of the warp: rows, columns,
 * one place, tiles of 16 columns. Five numbers tell all addresses of such an access. One that was
 * made before is found by them and only its times are counted; what it costs is added to the sums
 * of the profile when the launch ends, when another takes its place, and every so often, for
 * processes that are killed. */
#ifndef BF_EMU_LINED_H
#define BF_EMU_LINED_H

#include "emu/copied.h"
#include "emu/inner.h"

/* The lowest lane of mask is at address first, others are step bytes from lane to lane from there,
 * and those of the upper half jump bytes from those of the lower. */
struct bf_lined_key {
  uint32_t site, mask, first, step, jump;
};

typedef struct bf_lined_entry {
  bf_lined_key key; /* mask 0: none */
  uint32_t block;   /* accesses of this block and of later ones are not the worst anew */
  uint32_t times;   /* not yet added to the sums */
} bf_lined_entry;

/* What is added for each time, and what the observer was told: ptxas may have made the access wider
 * and have it begin elsewhere. */
typedef struct bf_lined_cost {
  bf_copied_cost cost;
  bf_op op;
  uint32_t width_bytes, first;
} bf_lined_cost;

enum {
  BF_LINED_SET_BITS = 10,
  BF_LINED_SETS = 1 << BF_LINED_SET_BITS,
  BF_LINED_WAYS = 2,
  BF_LINED_TURN = 1 << 13 /* accesses that are counted before they are added to the sums */
};

/* Of one worker. */
struct bf_lined {
  _Alignas(64) bf_lined_entry entry[BF_LINED_SETS][BF_LINED_WAYS];
  bf_lined_cost cost[BF_LINED_SETS][BF_LINED_WAYS];
  uint32_t left;             /* of the turn */
  uint32_t left_then, fills; /* when an entry was last filled; entries filled since one was found */
};

static inline unsigned bf_lined_set_of(const bf_lined_key *key) {
  uint64_t low = (uint64_t)key->first << 32 | key->mask;
  uint64_t high = (uint64_t)key->step << 32 | (key->jump ^ key->site << 16);
  return (unsigned)((low ^ high * UINT64_C(0xc2b2ae3d27d4eb4f)) * UINT64_C(0x9e3779b97f4a7c15) >>
                    (64 - BF_LINED_SET_BITS));
}

static inline bool bf_lined_is_same(const bf_lined_key *a, const bf_lined_key *b) {
  return ((a->site ^ b->site) | (a->mask ^ b->mask) | (a->first ^ b->first) | (a->step ^ b->step) |
          (a->jump ^ b->jump)) == 0;
}

/* Counts an access of a block that was made before; false: it was not, or the turn is over, and it
 * is to be told. */
static inline bool bf_lined_count(bf_lined *tally, const bf_lined_key *key, uint64_t block) {
  bf_lined_entry *set = tally->entry[bf_lined_set_of(key)];
  for (unsigned i = 0; i < BF_LINED_WAYS && tally->left; i++)
    if (bf_lined_is_same(&set[i].key, key) && block >= set[i].block) {
      set[i].times++;
      tally->left--;
      return true;
    }
  return false;
}

/* The numbers of an access whose lanes are at offsets, as the first lanes tell them; false: these
 * do not. */
static inline bool bf_lined_steps(uint32_t site, uint32_t mask, const uint32_t *offset,
                                  bf_lined_key *key) {
  unsigned first = BF_FIRST_LANE(mask);
  uint32_t own = offset[first], behind = mask >> first >> 1, step = 0, jump = 0;
  if (behind) {
    step = offset[(first + 1) % BF_EMU_LANES] - own;
    jump = behind >> 15 & 1 ? offset[(first + 16) % BF_EMU_LANES] - own : 16 * step;
  }
  *key = (bf_lined_key){site, mask, own, step, jump};
  return !behind || behind & 1;
}

/* Where lane 0 is, or would be. */
static inline uint32_t bf_lined_base(const bf_lined_key *key) {
  unsigned first = BF_FIRST_LANE(key->mask);
  return key->first - (first % 16) * key->step - first / 16 * key->jump;
}

/* The same for all lanes; false: they do not lie in line. */
static inline bool bf_lined_find(uint32_t site, uint32_t mask, const uint32_t *offset,
                                 bf_lined_key *key) {
  uint32_t apart = 0;
  if (!bf_lined_steps(site, mask, offset, key))
    return false;
  uint32_t base = bf_lined_base(key), step = key->step, jump = key->jump;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    apart |=
        (offset[lane] ^ (base + lane % 16 * step + lane / 16 * jump)) & (0 - (mask >> lane & 1));
  return apart == 0;
}

bf_lined *bf_lined_create(void);
/* bf_lined_count where the sets of an access are full: it may be in the set beside. */
bool bf_lined_count_beside(bf_lined *tally, const bf_lined_key *key, uint64_t block);
/* Where to remember an access that was not found, or NULL: what is never the same is not remembered
 * each time. The entry there may hold another, with times that are to be added first. */
bf_lined_entry *bf_lined_place(bf_lined *tally, const bf_lined_key *key, bf_lined_cost **cost);
/* The addresses that were told of an entry. */
void bf_lined_addresses(const bf_lined_entry *entry, const bf_lined_cost *cost,
                        uint32_t address[BF_EMU_LANES]);

#endif
