/* Asynchronous copies of 16 bytes per lane that pass the first-level cache by (measured on an H200,
 * tests/data/h200/cp16.csv).
 *
 * Data come in lines of 128 bytes, one for each eight lanes whose sources follow each other, which
 * a trace does not tell and is taken for granted here. A line holds four sectors of two lanes each.
 * What one wavefront writes lies in one line of shared memory and comes from one line of data; its
 * sectors have all moved by an even or all by an odd number of places; and they are all whole, or
 * all the same half written to the same half. Of lanes that write the same place the lowest counts.
 */
#include "memory/locks.h"

enum { CHUNK_BYTES = 16, LINE_CHUNKS = 8 };

/* The lanes that count, and the chunk of 16 bytes that each writes. */
typedef struct writers {
  uint64_t lanes;
  uint64_t chunk[BF_MAX_LANES];
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

static writers find_writers(const bf_machine *machine, const bf_hash *hash,
                            const bf_access *access) {
  writers w = {0};
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left);
    w.chunk[lane] = chunk_of(machine, hash, access->address[lane]);
    if (first_with_address(access, lane) == lane)
      w.lanes |= (uint64_t)1 << lane;
  }
  return w;
}

/* Two lanes of a sector that fill a sector between them. */
static bool is_whole(const writers *w, unsigned lane) {
  unsigned partner = lane ^ 1;
  return (w->lanes >> partner & 1) && w->chunk[partner] == (w->chunk[lane] ^ 1);
}

/* Lanes go together if these numbers are equal. */
typedef struct together {
  uint64_t data_line, shared_line, moved, kind;
} together;

static together key_of(const writers *w, unsigned lane) {
  uint64_t chunk = w->chunk[lane], sector = chunk / 2;
  uint64_t kind = is_whole(w, lane) ? 0 : 1 + 2 * (lane & 1) + (chunk & 1);
  return (together){lane / LINE_CHUNKS, chunk / LINE_CHUNKS, (sector ^ lane / 2) & 1, kind};
}

unsigned bf_copy_wavefronts(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                            uint8_t *wavefront) {
  writers w = find_writers(machine, hash, access);
  together seen[BF_MAX_LANES];
  unsigned count = 0;
  for (uint64_t left = access->mask; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctzll(left), first = first_with_address(access, lane);
    if (first != lane) {
      wavefront[lane] = wavefront[first];
      continue;
    }
    together own = key_of(&w, lane);
    unsigned at = 0;
    while (at < count &&
           !(seen[at].data_line == own.data_line && seen[at].shared_line == own.shared_line &&
             seen[at].moved == own.moved && seen[at].kind == own.kind))
      at++;
    if (at == count)
      seen[count++] = own;
    wavefront[lane] = (uint8_t)at;
  }
  return count;
}

/* The fewest wavefronts for one line of data: one if all sectors are whole or all the same half,
 * else two, low and high halves apart. */
static unsigned line_ideal(uint64_t lanes) {
  uint64_t low = lanes & 0x55, high = lanes >> 1 & 0x55;
  if (low == 0 && high == 0)
    return 0;
  return low == high || low == 0 || high == 0 ? 1 : 2;
}

void bf_copies_count(const bf_machine *machine, const bf_hash *hash, const bf_access *access,
                     bf_count *count) {
  uint8_t wavefront[BF_MAX_LANES];
  count->wavefronts_store = bf_copy_wavefronts(machine, hash, access, wavefront);
  writers w = find_writers(machine, hash, access);
  for (unsigned line = 0; line < BF_MAX_LANES / LINE_CHUNKS; line++)
    count->ideal += line_ideal(w.lanes >> (line * LINE_CHUNKS) & 0xff);
}
