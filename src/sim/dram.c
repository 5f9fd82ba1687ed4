/* Memory channels. Each has a bus, banks with one open row, and two queues: reads, of which the
 * first dram_queue are its window, and what nobody waits for.
 *
 * The reads in the window are those whose row is open, in the order of their age, and for each bank
 * a list of the others. A bank with reads in the window always has a row open, or on its way to
 * being open, that one of them wants. So the next read to serve is found among those whose row is
 * open. */
#include "sim/dram.h"
#include "sim/spread.h"

#include <assert.h>
#include <stdlib.h>

enum { CHUNK_LINES = 2 }; /* what follows in one channel: 256 bytes */
#define NO_ROW UINT64_MAX
#define NO_READ UINT32_MAX
#define CYCLE (UINT64_C(1) << BF_SIM_TICK_BITS)

/* First and last of reads that are linked by next: tickets, or places of a window. */
typedef struct read_list {
  uint32_t first, last; /* first NO_READ: empty */
} read_list;

/* Times are in ticks. */
typedef struct dram_bank {
  uint64_t open_row;  /* or NO_ROW */
  uint64_t ready;     /* when the row is open */
  uint64_t next_row;  /* when another row can begin to open */
  uint64_t last_used; /* end of its last transfer */
  unsigned wanted;    /* reads in the window that want the open row */
  unsigned passed;    /* reads of the open row that were served while others waited */
  bool is_unused;     /* nothing was transferred from the row yet */
  read_list others;   /* reads in the window that want other rows, in the order of their turns */
} dram_bank;

/* Rows of all banks of a channel are numbered together. */
typedef struct dram_place {
  uint64_t row;
  uint16_t bank;
} dram_place;

/* A read that waits. Those in the window of a channel lie side by side, so that choosing among them
 * stays in the host's cache. */
typedef struct dram_read {
  dram_place place;
  uint64_t age; /* reads of the channel that came before it */
  uint32_t next, ticket;
  uint8_t sectors;
} dram_read;

/* A read in the window whose row is open, when that is so (ready of its bank, which stays what it
 * is as long as the row is open), and where the read is. */
typedef struct open_read {
  uint64_t age, ready;
  uint32_t at;
  uint16_t bank;
} open_read;

/* Sectors that nobody waits for. */
typedef struct dram_later {
  dram_place place;
  uint64_t since; /* ticks */
  uint8_t sectors;
  bool is_write;
} dram_later;

typedef struct dram_channel {
  uint64_t bus_free; /* ticks */
  uint64_t reads;    /* that have come */
  /* Its refreshes begin where cycles and the shift are a multiple of the interval: the last one. */
  uint64_t refresh_shift, refreshed;
  dram_bank *bank;
  dram_read *window;
  uint16_t *free_at; /* places of the window that are free, behind window_count */
  open_read *open;   /* oldest first */
  dram_later *later;
  unsigned open_count, window_count, later_count;
  read_list behind; /* the window */
} dram_channel;

struct bf_sim_dram {
  unsigned channels, banks, queue;
  bf_sim_parts over_channels, over_banks, row_chunks;
  uint64_t sector_ticks, hit_ticks, open_ticks, bank_ticks;
  uint64_t refresh_cycles, refresh_interval;
  dram_channel *channel;
  dram_read *read; /* those behind a window, by ticket */
  uint32_t tickets;
  uint64_t row_hits, row_misses, sectors_read, sectors_written;
  bf_arena arena;
};

static uint64_t later_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

static const read_list no_reads = {NO_READ, NO_READ};

/* The tables of channel `number`; false: out of memory. */
static bool create_channel(bf_sim_dram *dram, dram_channel *made, unsigned number) {
  made->refresh_shift = number * dram->refresh_interval / dram->channels;
  made->bank = bf_arena_alloc(&dram->arena, dram->banks * sizeof *made->bank);
  made->window = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->window);
  made->free_at = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->free_at);
  made->open = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->open);
  made->later = bf_arena_alloc(&dram->arena, dram->queue * sizeof *made->later);
  made->behind = no_reads;
  for (unsigned i = 0; made->bank && i < dram->banks; i++)
    made->bank[i] = (dram_bank){.open_row = NO_ROW, .others = no_reads};
  for (unsigned i = 0; made->free_at && i < dram->queue; i++)
    made->free_at[i] = (uint16_t)i;
  return made->bank && made->window && made->free_at && made->open && made->later;
}

int bf_sim_dram_create(const bf_sim_gpu *gpu, bf_sim_dram **dram, bf_diagnostic *diagnostic) {
  bf_sim_dram *made = calloc(1, sizeof *made);
  if (!made)
    return bf_no_memory(diagnostic);
  made->channels = (unsigned)gpu->dram_channels;
  made->banks = (unsigned)gpu->dram_banks;
  made->queue = (unsigned)gpu->dram_queue;
  made->over_channels = bf_sim_parts_of(made->channels);
  made->over_banks = bf_sim_parts_of(made->banks);
  made->row_chunks = bf_sim_parts_of(gpu->dram_row_bytes / (CHUNK_LINES * BF_SIM_LINE_BYTES));
  made->sector_ticks = bf_sim_ticks(gpu->dram_sector_cycles);
  made->hit_ticks = gpu->dram_hit_cycles * CYCLE;
  made->open_ticks = later_of(gpu->dram_miss_cycles * CYCLE, made->hit_ticks) - made->hit_ticks;
  made->bank_ticks = gpu->dram_bank_cycles * CYCLE;
  made->refresh_cycles = gpu->dram_refresh_cycles;
  made->refresh_interval = gpu->dram_refresh_interval;
  made->channel = bf_arena_alloc(&made->arena, made->channels * sizeof *made->channel);
  bool is_complete = made->channel;
  for (unsigned i = 0; is_complete && i < made->channels; i++)
    is_complete = create_channel(made, &made->channel[i], i);
  if (!is_complete) {
    bf_sim_dram_free(made);
    return bf_no_memory(diagnostic);
  }
  *dram = made;
  return BF_OK;
}

void bf_sim_dram_free(bf_sim_dram *dram) {
  if (!dram)
    return;
  free(dram->read);
  bf_arena_free(&dram->arena);
  free(dram);
}

int bf_sim_dram_reserve(bf_sim_dram *dram, uint32_t tickets) {
  if (tickets <= dram->tickets)
    return BF_OK;
  dram_read *made = realloc(dram->read, tickets * sizeof *made);
  if (!made)
    return BF_NO_MEMORY;
  dram->read = made;
  dram->tickets = tickets;
  return BF_OK;
}

/* Where a line is: its channel; *place is bank and row. */
static dram_channel *locate(const bf_sim_dram *dram, uint64_t line, dram_place *place) {
  uint64_t round, unused;
  uint64_t channel = bf_sim_parts_spread(&dram->over_channels, line / CHUNK_LINES, &round);
  place->row = bf_sim_parts_divide(&dram->row_chunks, round);
  place->bank = (uint16_t)bf_sim_parts_spread(&dram->over_banks, place->row, &unused);
  return &dram->channel[channel];
}

/* ---- Lists of reads ---- */

/* Puts a read of a table at the end of a list. */
static void append(dram_read *table, read_list *list, uint32_t at) {
  table[at].next = NO_READ;
  if (list->first == NO_READ)
    list->first = at;
  else
    table[list->last].next = at;
  list->last = at;
}

/* Takes all reads out of a list; returns the first, linked to the others. */
static uint32_t take_all(read_list *list) {
  uint32_t first = list->first;
  *list = no_reads;
  return first;
}

/* Puts a read among those whose row is open. */
static void insert_open(dram_channel *channel, uint32_t at) {
  const dram_read *read = &channel->window[at];
  dram_bank *bank = &channel->bank[read->place.bank];
  unsigned i = channel->open_count++;
  for (; i > 0 && channel->open[i - 1].age > read->age; i--)
    channel->open[i] = channel->open[i - 1];
  channel->open[i] =
      (open_read){.age = read->age, .ready = bank->ready, .at = at, .bank = read->place.bank};
  bank->wanted++;
}

/* Takes read i from those whose row is open. */
static void remove_open(dram_channel *channel, unsigned i) {
  channel->bank[channel->open[i].bank].wanted--;
  channel->open_count--;
  for (; i < channel->open_count; i++)
    channel->open[i] = channel->open[i + 1];
}

/* ---- Rows ---- */

/* Begins to open a row at `time`, or when the bank can. */
static void open_row(const bf_sim_dram *dram, dram_bank *bank, uint64_t row, uint64_t time) {
  uint64_t begin = later_of(later_of(time, bank->last_used), bank->next_row);
  bank->open_row = row;
  bank->ready = begin + dram->open_ticks;
  bank->next_row = begin + dram->bank_ticks;
  bank->passed = 0;
  bank->is_unused = true;
}

/* Where no read in the window wants the open row of a bank, but some want others, opens the row of
 * the oldest. */
static void open_next(bf_sim_dram *dram, dram_channel *channel, dram_bank *bank, uint64_t time) {
  dram_read *window = channel->window;
  uint32_t at = bank->others.first, next;
  if (bank->wanted || at == NO_READ)
    return;
  if (window[at].place.row != bank->open_row)
    open_row(dram, bank, window[at].place.row, time);
  for (at = take_all(&bank->others); at != NO_READ; at = next) {
    next = window[at].next;
    if (window[at].place.row == bank->open_row)
      insert_open(channel, at);
    else
      append(window, &bank->others, at);
  }
}

/* The reads that want the open row of bank `number` have to wait behind the others of the bank
 * (is_last) or before them. */
static void close_row(dram_channel *channel, unsigned number, bool is_last) {
  dram_bank *bank = &channel->bank[number];
  uint32_t others = is_last ? NO_READ : take_all(&bank->others), next;
  for (unsigned i = 0; bank->wanted;)
    if (channel->open[i].bank == number) {
      append(channel->window, &bank->others, channel->open[i].at);
      remove_open(channel, i);
    } else {
      i++;
    }
  for (; others != NO_READ; others = next) {
    next = channel->window[others].next;
    append(channel->window, &bank->others, others);
  }
}

/* The bus carries sectors of the open row of a bank, at `time` at the earliest. */
static void carry(bf_sim_dram *dram, dram_channel *channel, dram_bank *bank, unsigned sectors,
                  uint64_t time) {
  uint64_t start = later_of(channel->bus_free, later_of(time, bank->ready));
  channel->bus_free = bank->last_used = start + sectors * dram->sector_ticks;
  *(bank->is_unused ? &dram->row_misses : &dram->row_hits) += 1;
  bank->is_unused = false;
}

/* ---- Reads ---- */

/* Puts a read into the window, as the youngest. */
static void admit(bf_sim_dram *dram, dram_channel *channel, const dram_read *read, uint64_t time) {
  dram_bank *bank = &channel->bank[read->place.bank];
  uint32_t at = channel->free_at[channel->window_count++];
  channel->window[at] = *read;
  if (bank->open_row == read->place.row) {
    insert_open(channel, at);
  } else {
    append(channel->window, &bank->others, at);
    open_next(dram, channel, bank, time);
  }
}

uint64_t bf_sim_dram_read(bf_sim_dram *dram, uint64_t line, uint8_t sectors, uint32_t ticket,
                          uint64_t cycle, unsigned *number) {
  assert(ticket < dram->tickets);
  dram_read read = {.ticket = ticket, .sectors = sectors};
  dram_channel *channel = locate(dram, line, &read.place);
  *number = (unsigned)(channel - dram->channel);
  read.age = channel->reads++;
  if (channel->window_count == dram->queue) {
    dram->read[ticket] = read;
    append(dram->read, &channel->behind, ticket);
    return UINT64_MAX;
  }
  admit(dram, channel, &read, cycle * CYCLE);
  const dram_bank *bank = &channel->bank[read.place.bank];
  if (bank->open_row != read.place.row)
    return UINT64_MAX;
  return later_of(cycle, later_of(bank->ready, channel->bus_free) / CYCLE);
}

/* The oldest read whose row is open before `end`; else open_count, and *ready is when the first row
 * that is wanted will be open. */
static unsigned choose(const dram_channel *channel, uint64_t end, uint64_t *ready) {
  uint64_t first = UINT64_MAX;
  unsigned i = 0;
  for (; i < channel->open_count && channel->open[i].ready >= end; i++)
    first = channel->open[i].ready < first ? channel->open[i].ready : first;
  *ready = first;
  return i;
}

/* Takes read i of those whose row is open out of the window; the first behind it moves up. The bank
 * goes on to its next row when nobody wants this one any more, or when dram_queue reads have passed
 * the others. */
static void leave_window(bf_sim_dram *dram, dram_channel *channel, unsigned i, uint64_t time) {
  unsigned number = channel->open[i].bank;
  dram_bank *bank = &channel->bank[number];
  channel->free_at[--channel->window_count] = (uint16_t)channel->open[i].at;
  remove_open(channel, i);
  if (bank->others.first != NO_READ && ++bank->passed > dram->queue)
    close_row(channel, number, true);
  open_next(dram, channel, bank, time);
  uint32_t next = channel->behind.first;
  if (next != NO_READ) {
    channel->behind.first = dram->read[next].next;
    if (channel->behind.first != NO_READ)
      __builtin_prefetch(&dram->read[channel->behind.first]);
    admit(dram, channel, &dram->read[next], time);
  }
}

/* Cycles for which a channel goes on to refresh its banks. */
static uint64_t refresh_left(const bf_sim_dram *dram, dram_channel *channel, uint64_t cycle) {
  if (!dram->refresh_cycles)
    return 0;
  uint64_t since = cycle + channel->refresh_shift - channel->refreshed;
  if (since >= dram->refresh_interval) {
    channel->refreshed += since / dram->refresh_interval * dram->refresh_interval;
    since %= dram->refresh_interval;
  }
  return since < dram->refresh_cycles ? dram->refresh_cycles - since : 0;
}

bool bf_sim_dram_serve(bf_sim_dram *dram, unsigned number, uint64_t cycle, uint32_t *ticket,
                       uint64_t *ready) {
  dram_channel *channel = &dram->channel[number];
  uint64_t end = (cycle + 1) * CYCLE;
  *ready = channel->window_count ? channel->bus_free / CYCLE : UINT64_MAX;
  if (channel->window_count == 0 || channel->bus_free >= end)
    return false;
  uint64_t refresh = refresh_left(dram, channel, cycle);
  if (refresh) {
    *ready = cycle + refresh;
    return false;
  }
  unsigned i = choose(channel, end, ready);
  if (i == channel->open_count) {
    *ready /= CYCLE;
    return false;
  }
  const dram_read *read = &channel->window[channel->open[i].at];
  *ticket = read->ticket;
  unsigned sectors = bf_sim_sectors(read->sectors);
  carry(dram, channel, &channel->bank[channel->open[i].bank], sectors, cycle * CYCLE);
  dram->sectors_read += sectors;
  *ready = bf_sim_cycle_after(channel->bus_free + dram->hit_ticks);
  leave_window(dram, channel, i, cycle * CYCLE);
  return true;
}

/* ---- What nobody waits for ---- */

/* Carries the oldest and all others of its row, in the time since the bus and the bank were last
 * used, or now if there was none. */
static void carry_row(bf_sim_dram *dram, dram_channel *channel) {
  dram_later oldest = channel->later[0];
  dram_bank *bank = &channel->bank[oldest.place.bank];
  unsigned kept = 0;
  if (bank->open_row != oldest.place.row) {
    close_row(channel, oldest.place.bank, false);
    open_row(dram, bank, oldest.place.row, oldest.since);
  }
  for (unsigned i = 0; i < channel->later_count; i++) {
    const dram_later *later = &channel->later[i];
    if (later->place.row == oldest.place.row) {
      unsigned sectors = bf_sim_sectors(later->sectors);
      carry(dram, channel, bank, sectors, later->since);
      *(later->is_write ? &dram->sectors_written : &dram->sectors_read) += sectors;
    } else {
      channel->later[kept++] = *later;
    }
  }
  channel->later_count = kept;
  open_next(dram, channel, bank, channel->bus_free);
}

void bf_sim_dram_later(bf_sim_dram *dram, uint64_t line, uint8_t sectors, bool is_write,
                       uint64_t cycle) {
  dram_later made = {.since = cycle * CYCLE, .sectors = sectors, .is_write = is_write};
  dram_channel *channel = locate(dram, line, &made.place);
  if (channel->later_count == dram->queue)
    carry_row(dram, channel);
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
