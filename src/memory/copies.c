/* Asynchronous copies of 16 bytes per lane (measured on an H200, tests/data/h200/cp16.csv and
 * atomics_copies.csv).
 *
 * Past the first-level cache (.cg) data come in lines of 128 bytes of four sectors. What one
 * wavefront writes lies in one line of shared memory and comes from one line of data; its sectors
 * have all moved by an even or all by an odd number of places; they are all whole, all whole with
 * their halves exchanged, or all the same half written to the same half; and no sector of data goes
 * to two places. Of lanes that write the same place the lowest counts. Traces hold no sources: they
 * are taken to follow each other lane by lane.
 *
 * Through the first-level cache (.ca) eight lanes go together, as in a store. Both sides have
 * banks: lanes take turns at the banks that they write, in each turn at those that they read. Where
 * both conflict in one group that is an estimate: right for half of what was measured, and off by
 * 0.6% in all. */
#include "memory/locks.h"

#include <string.h>

enum { CHUNK_BYTES = 16, LINE_CHUNKS = 8 };

/* The lanes that count, the chunk of 16 bytes that each writes, and the one that it reads. */
typedef struct writers {
  uint64_t lanes;
  uint64_t chunk[BF_MAX_LANES], source[BF_MAX_LANES];
} writers;

static uint64_t chunk_of(const bf_machine *machine, const bf_hash *hash, uint32_t address) {
  uint64_t word = address / machine->word_bytes;
  return bf_hash_place(hash, word) * machine->word_bytes / CHUNK_BYTES;
}

/* The lowest lane that writes the same address. */
static unsigned first_with_address(const bf_access *access, unsigned lane) {
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned other = (unsigned)__builtin_ctzll(left);
    if (access->address[other] == access->address[lane])
      return other;
  }
  return lane;
}

/* from: source addresses; NULL: lane by lane. */
static writers find_writers(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            const uint64_t *from) {
  writers w = {0};
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    w.chunk[lane] = chunk_of(machine, hash, access->address[lane]);
    w.source[lane] = from ? from[lane] / CHUNK_BYTES : lane;
    if (first_with_address(access, lane) == lane)
      w.lanes |= (uint64_t)1 << lane;
  }
  return w;
}

/* ---- Past the first-level cache ---- */

/* Whether another lane fills the other half of the sector from the other half of the same data. */
static bool is_whole(const writers *w, unsigned lane) {
  for (uint64_t left = w->lanes; left; left &= left - 1) {
    unsigned other = (unsigned)__builtin_ctzll(left);
    if (w->source[other] == (w->source[lane] ^ 1) && w->chunk[other] == (w->chunk[lane] ^ 1))
      return true;
  }
  return false;
}

/* Lanes go together if these numbers are equal. turn: of a sector of data that goes to several
 * places, which of them. */
typedef struct together {
  uint64_t data_line, shared_line, moved, kind, turn;
} together;

static bool is_together(const together *a, const together *b) {
  return a->data_line == b->data_line && a->shared_line == b->shared_line && a->moved == b->moved &&
         a->kind == b->kind;
}

static together key_of(const writers *w, unsigned lane) {
  uint64_t chunk = w->chunk[lane], source = w->source[lane];
  uint64_t exchanged = (source ^ chunk) & 1;
  uint64_t kind = is_whole(w, lane) ? exchanged : 2 + 2 * (source & 1) + (chunk & 1);
  return (together){.data_line = source / LINE_CHUNKS,
                    .shared_line = chunk / LINE_CHUNKS,
                    .moved = (chunk / 2 ^ source / 2) & 1,
                    .kind = kind};
}

/* The turn of a lane whose key is own, behind lanes before, whose keys are known. */
static uint64_t turn_of(const writers *w, const together *key, uint64_t before, unsigned lane,
                        const together *own) {
  uint64_t turn = 0;
  for (; before; before &= before - 1) {
    unsigned other = (unsigned)__builtin_ctzll(before);
    if (!is_together(&key[other], own) || w->source[other] / 2 != w->source[lane] / 2)
      continue;
    if (w->chunk[other] / 2 == w->chunk[lane] / 2)
      return key[other].turn;
    turn = key[other].turn + 1 > turn ? key[other].turn + 1 : turn;
  }
  return turn;
}

/* The number of wavefronts, and for each active lane which of them writes its bytes. */
static unsigned number_wavefronts(const writers *w, const bf_access *access, uint8_t *wavefront) {
  together key[BF_MAX_LANES], seen[BF_MAX_LANES];
  unsigned count = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    if (!(w->lanes >> lane & 1)) {
      wavefront[lane] = wavefront[first_with_address(access, lane)];
      continue;
    }
    uint64_t before = w->lanes & (((uint64_t)1 << lane) - 1);
    together own = key_of(w, lane);
    own.turn = turn_of(w, key, before, lane, &own);
    key[lane] = own;
    unsigned at = 0;
    while (at < count && !(is_together(&seen[at], &own) && seen[at].turn == own.turn))
      at++;
    if (at == count)
      seen[count++] = own;
    wavefront[lane] = (uint8_t)at;
  }
  return count;
}

unsigned bf_copy_wavefronts(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            uint8_t *wavefront) {
  writers w = find_writers(machine, hash, access, NULL);
  return number_wavefronts(&w, access, wavefront);
}

/* How often lanes read a chunk. */
static unsigned uses_of(const writers *w, uint64_t source) {
  unsigned uses = 0;
  for (uint64_t left = w->lanes; left; left &= left - 1)
    uses += w->source[__builtin_ctzll(left)] == source;
  return uses;
}

static unsigned larger(unsigned a, unsigned b) { return a > b ? a : b; }

/* The fewest wavefronts for one line of data: whole sectors together and what is left of their
 * halves apart, or all low halves and all high halves. */
static unsigned line_ideal(const writers *w, uint64_t line) {
  unsigned whole = 0, low_left = 0, high_left = 0, low_most = 0, high_most = 0;
  for (uint64_t sector = 0; sector < LINE_CHUNKS / 2; sector++) {
    uint64_t source = line * LINE_CHUNKS + 2 * sector;
    unsigned low = uses_of(w, source), high = uses_of(w, source + 1);
    unsigned both = low < high ? low : high;
    whole = larger(whole, both);
    low_left = larger(low_left, low - both);
    high_left = larger(high_left, high - both);
    low_most = larger(low_most, low);
    high_most = larger(high_most, high);
  }
  unsigned mixed = whole + low_left + high_left, apart = low_most + high_most;
  return mixed < apart ? mixed : apart;
}

static unsigned copy_ideal(const writers *w) {
  unsigned ideal = 0;
  for (uint64_t left = w->lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    uint64_t line = w->source[lane] / LINE_CHUNKS, before = w->lanes & (((uint64_t)1 << lane) - 1);
    bool is_new = true;
    for (; before && is_new; before &= before - 1)
      is_new = w->source[__builtin_ctzll(before)] / LINE_CHUNKS != line;
    ideal += is_new ? line_ideal(w, line) : 0;
  }
  return ideal;
}

void bf_copies_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                     bf_count *count) {
  uint8_t wavefront[BF_MAX_LANES];
  writers w = find_writers(machine, hash, access, NULL);
  count->wavefronts_store = number_wavefronts(&w, access, wavefront);
  count->ideal = copy_ideal(&w);
}

/* ---- Through the first-level cache ---- */

/* Wavefronts of eight lanes: turns at the banks that they write; in each, the lanes at the bank of
 * the cache that most of them read. */
static unsigned cached_group(const writers *w, uint64_t lanes, bool *is_estimated) {
  unsigned writes[LINE_CHUNKS] = {0}, reads[LINE_CHUNKS][LINE_CHUNKS] = {{0}};
  unsigned all_reads[LINE_CHUNKS] = {0}, total = 0, most_writes = 0, most_reads = 0;
  for (; lanes; lanes &= lanes - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(lanes);
    unsigned to = (unsigned)(w->chunk[lane] % LINE_CHUNKS);
    unsigned from = (unsigned)(w->source[lane] % LINE_CHUNKS);
    reads[writes[to]++][from]++;
    most_writes = larger(most_writes, writes[to]);
    most_reads = larger(most_reads, ++all_reads[from]);
  }
  for (unsigned turn = 0; turn < most_writes; turn++) {
    unsigned most = 0;
    for (unsigned bank = 0; bank < LINE_CHUNKS; bank++)
      most = larger(most, reads[turn][bank]);
    total += most;
  }
  *is_estimated |= most_writes > 1 && most_reads > 1;
  return total;
}

static void count_cached(const writers *w, const bf_access *access, bf_count *count) {
  bool is_estimated = false;
  for (unsigned first = 0; first < BF_MAX_LANES; first += LINE_CHUNKS) {
    uint64_t lanes = access->mask & ((uint64_t)0xff << first);
    count->wavefronts_store += cached_group(w, lanes, &is_estimated);
    count->ideal += lanes != 0;
  }
  count->estimated = is_estimated;
}

/* ---- With their sources ---- */

int bf_memory_count_copy(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                         const uint64_t *from, bool is_cached, bf_count *count,
                         bf_diagnostic *diagnostic) {
  const bf_op_rule *rule = &machine->op[access->op];
  if (access->op != BF_OP_CP16 || rule->rule != BF_RULE_SECTOR_COPY || !from)
    return bf_memory_count(machine, hash, access, count, diagnostic);
  memset(count, 0, sizeof *count);
  BF_TRY(bf_memory_check_hash(machine, hash, diagnostic));
  writers w = find_writers(machine, hash ? hash : machine->none, access, from);
  uint8_t wavefront[BF_MAX_LANES];
  if (is_cached) {
    count_cached(&w, access, count);
  } else {
    count->wavefronts_store = number_wavefronts(&w, access, wavefront);
    count->ideal = copy_ideal(&w);
  }
  count->estimated |= rule->estimated;
  count->conflicts =
      count->wavefronts_store > count->ideal ? count->wavefronts_store - count->ideal : 0;
  return BF_OK;
}
