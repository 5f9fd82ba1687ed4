/* Memory channels. Each has a bus, banks with one open row, and two queues: reads, of which the
 * first dram_queue are its window, and what nobody waits for.
 *
 * Every bank with reads in the window has a row open, or on its way to being open, that one of them
 * wants (settle). So a channel need only look for the first read in its window whose row is open.
 */
#include "sim/dram.h"
#include "sim/spread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_LINES = 2 }; /* what follows in one channel: 256 bytes */
#define NO_ROW UINT64_MAX
#define NO_TICKET UINT32_MAX
#define CYCLE (UINT64_C(1) << BF_SIM_TICK_BITS)

/* Times are in ticks. */
typedef struct dram_bank {
  uint64_t open_row;    /* or NO_ROW */
  uint64_t ready;       /* when the row is open */
  uint64_t next_row;    /* when another row can begin to open */
  uint64_t last_used;   /* end of its last transfer */
  unsigned wanted;      /* reads in the window that want the open row */
  bool is_newly_opened; /* nothing was transferred from the row yet */
} dram_bank;

/* Sectors to transfer. Rows of all banks of a channel are numbered together. */
typedef struct dram_transfer {
  uint64_t row;
  uint32_t ticket; /* of a read; else NO_TICKET */
  uint16_t bank;
  uint8_t sectors;
  bool is_write;
} dram_transfer;

/* A read that waits behind the window. */
typedef struct waiting_read {
  dram_transfer transfer;
  uint32_t next;
} waiting_read;

typedef struct dram_channel {
  uint64_t bus_free; /* ticks */
  dram_bank *bank;
  dram_transfer *window; /* oldest first */
  dram_transfer *later;  /* the same for what nobody waits for */
  uint64_t *later_since;
  unsigned window_count, later_count;
  unsigned passed;      /* reads served since the oldest became the oldest */
  uint32_t first, last; /* tickets of reads behind the window */
} dram_channel;

struct bf_sim_dram {
  unsigned channels, banks, queue, row_chunks;
  uint64_t sector_ticks, hit_ticks, open_ticks, bank_ticks;
  dram_channel *channel;
  waiting_read *waiting; /* by ticket */
  uint32_t tickets;
  uint64_t row_hits, row_misses, sectors_read, sectors_written;
  bf_arena arena;
};

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool create_channel(bf_sim_dram *dram, dram_channel *made) {
  made->bank = bf_arena_alloc(&dram->arena, dram->banks * sizeof *made->bank);
  made->window = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->window);
  made->later = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->later);
  made->later_since = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->later_since);
  made->first = made->last = NO_TICKET;
  for (unsigned i = 0; made->bank && i < dram->banks; i++)
    made->bank[i].open_row = NO_ROW;
  return made->bank && made->window && made->later && made->later_since;
}

int bf_sim_dram_create(const bf_sim_gpu *gpu, bf_sim_dram **dram, bf_diagnostic *diagnostic) {
  bf_sim_dram *made = calloc(1, sizeof *made);
  if (!made)
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  made->channels = (unsigned)gpu->dram_channels;
  made->banks = (unsigned)gpu->dram_banks;
  made->queue = (unsigned)gpu->dram_queue;
  made->row_chunks = (unsigned)gpu->dram_row_bytes / (CHUNK_LINES * BF_SIM_LINE_BYTES);
  made->sector_ticks = bf_sim_ticks(gpu->dram_sector_cycles);
  made->hit_ticks = gpu->dram_hit_cycles * CYCLE;
  made->open_ticks = later_of(gpu->dram_miss_cycles * CYCLE, made->hit_ticks) - made->hit_ticks;
  made->bank_ticks = gpu->dram_bank_cycles * CYCLE;
  made->channel = bf_arena_alloc(&made->arena, made->channels * sizeof *made->channel);
  bool is_complete = made->channel;
  for (unsigned i = 0; is_complete && i < made->channels; i++)
    is_complete = create_channel(made, &made->channel[i]);
  if (!is_complete) {
    bf_sim_dram_free(made);
    return bf_fail(diagnostic, BF_NO_MEMORY, "out of memory");
  }
  *dram = made;
  return BF_OK;
}

void bf_sim_dram_free(bf_sim_dram *dram) {
  if (!dram)
    return;
  free(dram->waiting);
  bf_arena_free(&dram->arena);
  free(dram);
}

int bf_sim_dram_reserve(bf_sim_dram *dram, uint32_t tickets) {
  if (tickets <= dram->tickets)
    return BF_OK;
  waiting_read *made = realloc(dram->waiting, tickets * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  dram->waiting = made;
  dram->tickets = tickets;
  return BF_OK;
}

/* Where a line is: its channel; bank and row are written to *place. */
static unsigned locate(const bf_sim_dram *dram, uint64_t line, dram_transfer *place) {
  uint64_t round, unused;
  uint64_t number = bf_sim_spread(line / CHUNK_LINES, dram->channels, &round);
  place->row = round / dram->row_chunks;
  place->bank = (uint16_t)bf_sim_spread(place->row, dram->banks, &unused);
  return (unsigned)number;
}

/* ---- Rows ---- */

/* Begins to open a row at `time`, or when the bank can. */
static void open_row(const bf_sim_dram *dram, dram_bank *bank, uint64_t row, uint64_t time) {
  uint64_t begin = later_of(time, bank->next_row);
  bank->open_row = row;
  bank->ready = begin + dram->open_ticks;
  bank->next_row = begin + dram->bank_ticks;
  bank->is_newly_opened = true;
}

/* Reads in the window that want the open row of a bank. */
static unsigned count_wanted(const dram_channel *channel, const dram_bank *bank) {
  unsigned wanted = 0;
  for (unsigned i = 0; i < channel->window_count; i++)
    wanted += channel->window[i].row == bank->open_row;
  return wanted;
}

/* Where no read in the window wants the open row of bank `number`, opens that of the oldest. */
static void settle(const bf_sim_dram *dram, dram_channel *channel, unsigned number, uint64_t time) {
  dram_bank *bank = &channel->bank[number];
  bank->wanted = count_wanted(channel, bank);
  for (unsigned i = 0; !bank->wanted && i < channel->window_count; i++)
    if (channel->window[i].bank == number) {
      open_row(dram, bank, channel->window[i].row, time);
      bank->wanted = count_wanted(channel, bank);
    }
}

/* The bus carries a transfer, from `start` on at the earliest. */
static void carry(bf_sim_dram *dram, dram_channel *channel, const dram_transfer *transfer,
                  uint64_t start) {
  dram_bank *bank = &channel->bank[transfer->bank];
  unsigned sectors = (unsigned)__builtin_popcount(transfer->sectors);
  channel->bus_free = later_of(channel->bus_free, later_of(start, bank->ready));
  channel->bus_free += sectors * dram->sector_ticks;
  bank->last_used = channel->bus_free;
  *(bank->is_newly_opened ? &dram->row_misses : &dram->row_hits) += 1;
  bank->is_newly_opened = false;
  *(transfer->is_write ? &dram->sectors_written : &dram->sectors_read) += sectors;
}

/* ---- Reads ---- */

/* Puts a read at the end of the window. */
static void admit(const bf_sim_dram *dram, dram_channel *channel, const dram_transfer *read,
                  uint64_t time) {
  dram_bank *bank = &channel->bank[read->bank];
  channel->window[channel->window_count++] = *read;
  if (bank->open_row == read->row) {
    bank->wanted++;
  } else if (!bank->wanted) {
    open_row(dram, bank, read->row, later_of(time, bank->last_used));
    bank->wanted = 1;
  }
}

uint64_t bf_sim_dram_read(bf_sim_dram *dram, uint64_t line, uint8_t sectors, uint32_t ticket,
                          uint64_t cycle, unsigned *number) {
  dram_transfer read = {.ticket = ticket, .sectors = sectors};
  *number = locate(dram, line, &read);
  dram_channel *channel = &dram->channel[*number];
  if (channel->window_count == dram->queue) {
    assert(ticket < dram->tickets);
    dram->waiting[ticket] = (waiting_read){.transfer = read, .next = NO_TICKET};
    if (channel->first == NO_TICKET)
      channel->first = ticket;
    else
      dram->waiting[channel->last].next = ticket;
    channel->last = ticket;
    return UINT64_MAX;
  }
  admit(dram, channel, &read, cycle * CYCLE);
  const dram_bank *bank = &channel->bank[read.bank];
  if (bank->open_row != read.row)
    return UINT64_MAX;
  return later_of(cycle, later_of(bank->ready, channel->bus_free) / CYCLE);
}

/* The oldest read whose row is open before `end`; else window_count, and *ready is when the first
 * row that is wanted will be open. A read that dram_queue others have passed is the only one. */
static unsigned choose(const bf_sim_dram *dram, dram_channel *channel, uint64_t end,
                       uint64_t *ready) {
  unsigned count = channel->window_count;
  if (channel->passed >= dram->queue) {
    dram_bank *bank = &channel->bank[channel->window[0].bank];
    if (bank->open_row != channel->window[0].row) {
      open_row(dram, bank, channel->window[0].row, later_of(end - CYCLE, bank->last_used));
      bank->wanted = count_wanted(channel, bank);
    }
    count = 1;
  }
  *ready = UINT64_MAX;
  for (unsigned i = 0; i < count; i++) {
    const dram_bank *bank = &channel->bank[channel->window[i].bank];
    if (bank->open_row != channel->window[i].row)
      continue;
    if (bank->ready < end)
      return i;
    *ready = bank->ready < *ready ? bank->ready : *ready;
  }
  return channel->window_count;
}

/* Takes read i out of the window; the first read behind it moves up. */
static void leave_window(bf_sim_dram *dram, dram_channel *channel, unsigned i, uint64_t time) {
  unsigned number = channel->window[i].bank;
  channel->window_count--;
  memmove(&channel->window[i], &channel->window[i + 1],
          (channel->window_count - i) * sizeof *channel->window);
  channel->passed = i == 0 ? 0 : channel->passed + 1;
  if (--channel->bank[number].wanted == 0)
    settle(dram, channel, number, channel->bus_free);
  if (channel->first != NO_TICKET) {
    const waiting_read *next = &dram->waiting[channel->first];
    channel->first = next->next;
    admit(dram, channel, &next->transfer, time);
  }
}

bool bf_sim_dram_serve(bf_sim_dram *dram, unsigned number, uint64_t cycle, uint32_t *ticket,
                       uint64_t *ready) {
  dram_channel *channel = &dram->channel[number];
  uint64_t end = (cycle + 1) * CYCLE;
  *ready = channel->window_count ? channel->bus_free / CYCLE : UINT64_MAX;
  if (channel->window_count == 0 || channel->bus_free >= end)
    return false;
  unsigned i = choose(dram, channel, end, ready);
  if (i == channel->window_count) {
    *ready /= CYCLE;
    return false;
  }
  *ticket = channel->window[i].ticket;
  carry(dram, channel, &channel->window[i], cycle * CYCLE);
  *ready = bf_sim_cycle_after(channel->bus_free + dram->hit_ticks);
  leave_window(dram, channel, i, cycle * CYCLE);
  return true;
}

/* ---- What nobody waits for ---- */

/* Carries the oldest transfer and all others of its row, in the time since the bus and the bank
 * were last used, or now if there was none. */
static void carry_row(bf_sim_dram *dram, dram_channel *channel) {
  dram_transfer oldest = channel->later[0];
  dram_bank *bank = &channel->bank[oldest.bank];
  bool was_open = bank->open_row == oldest.row;
  unsigned kept = 0;
  if (!was_open)
    open_row(dram, bank, oldest.row, later_of(channel->later_since[0], bank->last_used));
  for (unsigned i = 0; i < channel->later_count; i++)
    if (channel->later[i].row == oldest.row) {
      carry(dram, channel, &channel->later[i], channel->later_since[i]);
    } else {
      channel->later_since[kept] = channel->later_since[i];
      channel->later[kept++] = channel->later[i];
    }
  channel->later_count = kept;
  if (!was_open)
    settle(dram, channel, oldest.bank, channel->bus_free);
}

void bf_sim_dram_later(bf_sim_dram *dram, uint64_t line, uint8_t sectors, bool is_write,
                       uint64_t cycle) {
  dram_transfer made = {.ticket = NO_TICKET, .sectors = sectors, .is_write = is_write};
  dram_channel *channel = &dram->channel[locate(dram, line, &made)];
  if (channel->later_count == dram->queue)
    carry_row(dram, channel);
  channel->later_since[channel->later_count] = cycle * CYCLE;
  channel->later[channel->later_count++] = made;
}

uint64_t bf_sim_dram_free_at(const bf_sim_dram *dram) {
  uint64_t latest = 0;
  for (unsigned i = 0; i < dram->channels; i++)
    latest = later_of(latest, dram->channel[i].bus_free);
  return bf_sim_cycle_after(latest);
}

void bf_sim_dram_count(const bf_sim_dram *dram, bf_sim_result *result) {
  result->dram_read_bytes += dram->sectors_read * BF_SIM_SECTOR_BYTES;
  result->dram_written_bytes += dram->sectors_written * BF_SIM_SECTOR_BYTES;
  result->dram_row_hits += dram->row_hits;
  result->dram_row_misses += dram->row_misses;
}
