/* Races: two threads at the same byte, one of them writing, with nothing that orders them.
 *
 * For every four bytes the last write and the last two reads, of different threads, are known: who,
 * where in the code, and when. Two accesses of which one writes race unless
 *   - both are strong: atomic, volatile, relaxed, acquire or release;
 *   - they are of one thread;
 *   - they are of one block, and a barrier of it, of whatever kind, or a fence of it came between;
 *   - they are of one warp, and its lanes have met between them (.sync);
 *   - they are of two blocks, in global memory or in shared memory of one of their cluster; that of
 *     the first made a fence of the device, or released, after it,
 *     and that of the second made a strong access or a fence after it;
 *   - they are of two launches of which the program waited for the first, or ordered the second
 *     behind it (who launches says so);
 *   - both write, and write what is there already.
 * Copies that were not waited for race with every access. So what is reported is not ordered; some
 * that is not ordered is not reported: fences count for all threads of a block, and of reads only
 * two are known. Bytes of one word share its records.
 *
 * Where all lanes of a warp access words in a row, one after the other or some words apart, one
 * record stands for those of a line of 32 words; another kind of access, or more rows than a line
 * has room for, spreads them to the words.
 *
 * Words of global memory lie in memory of their own for each allocation, which the host gives when
 * it is touched. They outlive launches, so that launches can race with each other. */
#include "emu/race.h"
#include "emu/cluster.h"
#include "emu/deferred.h"
#include "emu/device.h"
#include "emu/proxy.h"
#include "emu/race_memory.h"
#include "emu/transfer.h"
#include "emu/visit.h"
#include "ptx/demangle.h"
#include "ptx/site.h"

#include <stdlib.h>

enum { LOCKS = 4096, MOST_BLOCKS = 1 << 26 };

/* Of records, beside the thread and the bytes of the word: who. */
enum { THREAD = 0x3ff, STRONG = 0x400, COPY = 0x800, FIRST_BYTE = 12 };

/* Of a launch. */
struct bf_emu_races {
  struct bf_race_memory *memory;
  uint32_t number;
  uint32_t overlaps; /* the launch that has let this one go, or 0 */
  bool lets_go;      /* as in bf_race_launch */
  uint32_t clock;    /* fences of the device so far */
  uint32_t *released,
      *acquired;     /* per block: the clock at its last fence, at its last strong access */
  uint8_t *strength; /* per site */
  uint32_t followed; /* a launch before this one that it follows, the last that was asked for */
  uint8_t lock[LOCKS];
};
enum { WEAK, IS_STRONG, IS_RELEASE };

/* ---- A launch ---- */

/* How strong the accesses of an instruction are. */
static uint8_t strength_of(const bf_ptx_instruction *instruction) {
  if (bf_ptx_has(instruction, "release") || bf_ptx_has(instruction, "acq_rel"))
    return IS_RELEASE;
  bool is_strong = bf_ptx_has(instruction, "volatile") || bf_ptx_has(instruction, "relaxed") ||
                   bf_ptx_has(instruction, "acquire") || bf_ptx_has(instruction, "mmio") ||
                   instruction->opcode == BF_PTX_OP_ATOM || instruction->opcode == BF_PTX_OP_RED;
  return is_strong ? IS_STRONG : WEAK;
}

void bf_race_close(bf_emu_flight *flight) {
  struct bf_emu_races *races = flight->races;
  if (!races)
    return;
  for (size_t i = 0; races->memory && i < races->memory->launches; i++)
    if (races->memory->launch[i].number == races->number)
      races->memory->launch[i].lets_go = races->lets_go;
  free(races->released);
  free(races->acquired);
  free(races->strength);
  free(races);
  flight->races = NULL;
}

int bf_race_open(bf_emu_flight *flight, bf_diagnostic *diagnostic) {
  bf_emu *emu = flight->emu;
  const bf_emu_launch *launch = flight->launch;
  const bf_emu_kernel *kernel = flight->kernel;
  uint64_t blocks = flight->blocks < MOST_BLOCKS ? flight->blocks : MOST_BLOCKS;
  struct bf_emu_races *races = flight->races = calloc(1, sizeof *races);
  if (!emu->race_memory)
    emu->race_memory = calloc(1, sizeof *emu->race_memory);
  struct bf_race_memory *memory = emu->race_memory;
  if (!races || !memory)
    return bf_no_memory(diagnostic);
  races->memory = memory;
  races->released = calloc(blocks, sizeof *races->released);
  races->acquired = calloc(blocks, sizeof *races->acquired);
  races->strength = calloc(kernel->site_count + 1, 1);
  races->clock = 1;
  races->number = launch->number ? launch->number : ++memory->next_number;
  memory->next_number = races->number;
  if (!races->released || !races->acquired || !races->strength || !bf_race_renew(emu, memory) ||
      !bf_race_note_launch(memory, launch, races->number))
    return bf_no_memory(diagnostic);
  for (unsigned i = 0; i < kernel->site_count; i++)
    races->strength[i] = strength_of(kernel->sites[i].instruction);
  for (size_t i = 0; launch->overlaps && i < memory->launches; i++)
    if (memory->launch[i].number == launch->overlaps && memory->launch[i].lets_go)
      races->overlaps = launch->overlaps;
  return BF_OK;
}

void bf_race_lets_go(bf_emu_flight *flight) {
  if (flight->races)
    __atomic_store_n(&flight->races->lets_go, true, __ATOMIC_RELAXED);
}

void bf_race_fence(bf_emu_block *block, bool is_of_device) {
  struct bf_emu_races *races = block->worker->flight->races;
  if (!races)
    return;
  block->fences++;
  if (!is_of_device || block->index >= MOST_BLOCKS)
    return;
  uint32_t now = __atomic_add_fetch(&races->clock, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&races->released[block->index], now, __ATOMIC_RELAXED);
  __atomic_store_n(&races->acquired[block->index], now, __ATOMIC_RELAXED);
}

void bf_race_release(bf_emu_warp *warp, bf_emu_block *to) {
  if (to == warp->block)
    return;
  bf_race_fence(warp->block, true);
  bf_race_fence(to, true);
  bf_visit_heard(to, warp->block->rank);
}

/* ---- Saying it ---- */

/* What a store writes, once somebody wants to know it: 16 bytes for each lane. */
typedef struct staged {
  uint32_t mask;
  bool is_known;
  const uint8_t *value; /* NULL: not known */
  uint8_t buffer[BF_EMU_LANES][16];
} staged;

/* An access in the making. */
typedef struct access {
  bf_emu_warp *warp;
  const bf_emu_op *op;
  struct bf_emu_races *races;
  bf_race_record now; /* but for thread and bytes */
  bool is_write, is_atomic, is_shared;
  bool is_clustered;         /* other blocks may have been at the same shared memory */
  const bf_emu_block *owner; /* of that memory */
  unsigned width_bytes;
  staged *staged;
} access;

void bf_race_put_place(char *text, size_t bytes, uint32_t index, const uint32_t size[3]) {
  snprintf(text, bytes, "(%u,%u,%u)", index % size[0], index / size[0] % size[1],
           index / size[0] / size[1]);
}

/* Of which kernel an access of another launch was. */
static void put_kernel(char *text, size_t bytes, const bf_emu_kernel *kernel, const char *how) {
  bf_text name = {0};
  bf_ptx_readable_name(kernel->function->name, &name);
  snprintf(text, bytes, " of kernel %.*s, %s,", name.failed ? 0 : (int)name.size,
           name.data ? name.data : "", how);
  bf_text_free(&name);
}

/* A source line, or one of the PTX, of a site. */
void bf_race_put_line(char *text, size_t bytes, const bf_emu_kernel *kernel, unsigned site) {
  if (site >= kernel->site_count)
    return;
  const bf_emu_site *at = &kernel->sites[site];
  const char *file;
  uint64_t source_line;
  bf_ptx_user_line(kernel->module->ptx, at->instruction, &file, &source_line);
  if (file && strlen(file) > 80)
    file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
  if (source_line)
    snprintf(text, bytes, " at %s:%llu", file ? file : "line", (unsigned long long)source_line);
  else
    snprintf(text, bytes, " at PTX line %llu", (unsigned long long)at->line);
}

/* Says who else was at the byte; false: the launch has ended. */
static bool report(const access *what, const bf_race_record *other, bool other_writes,
                   unsigned lane, uint64_t address) {
  const struct bf_race_memory *memory = what->races->memory;
  const bf_race_launch *launch = NULL;
  char thread[48] = "", block[48] = "", line[200] = "", text[600], name[160] = "", far[48] = "";
  for (size_t i = 0; i < memory->launches; i++)
    if (memory->launch[i].number == other->launch)
      launch = &memory->launch[i];
  if (launch) {
    bf_race_put_place(thread, sizeof thread, other->who & THREAD, launch->block);
    bf_race_put_place(block, sizeof block, other->block, launch->grid);
    bf_race_put_line(line, sizeof line, launch->kernel, other->site);
    if (other->launch != what->now.launch)
      put_kernel(name, sizeof name, launch->kernel,
                 other->launch == what->races->overlaps
                     ? "which this one may run beside until griddepcontrol.wait"
                     : "launched before in another stream");
  }
  if (what->is_shared && what->owner != what->warp->block)
    snprintf(far, sizeof far, "of block (%u,%u,%u): ", what->owner->id[0], what->owner->id[1],
             what->owner->id[2]);
  snprintf(text, sizeof text, "%sblock %s, thread %s%s %s it%s, %s", far, block, thread, name,
           other->who & COPY ? "copies asynchronously to"
           : other_writes    ? "wrote"
                             : "read",
           line, other->who & COPY ? "and has not waited for it" : "and nothing orders the two");
  return bf_emu_say_race(what->warp, what->op,
                         what->is_shared ? BF_PTX_SPACE_SHARED : BF_PTX_SPACE_GLOBAL, lane, address,
                         what->width_bytes, what->is_write, text);
}

/* ---- Checking ---- */

/* Whether an earlier access, of a launch of its own, may overlap with this one in time. */
static bool is_of_unordered_launch(const access *what, const bf_race_record *old) {
  const bf_emu_launch *launch = what->warp->worker->flight->launch;
  if (old->launch == what->races->overlaps)
    return !what->warp->block->has_waited;
  uint32_t *followed = &what->races->followed;
  if (!launch->follows || old->launch <= launch->settled ||
      old->launch == __atomic_load_n(followed, __ATOMIC_RELAXED))
    return false;
  if (!launch->follows(launch->follows_context, old->launch))
    return true;
  __atomic_store_n(followed, old->launch, __ATOMIC_RELAXED);
  return false;
}

/* Whether fences put an access of another block before this one. */
static bool is_ordered(const struct bf_emu_races *races, uint64_t first, uint32_t time,
                       uint64_t second) {
  if (first >= MOST_BLOCKS || second >= MOST_BLOCKS)
    return true;
  return __atomic_load_n(&races->released[first], __ATOMIC_RELAXED) > time &&
         __atomic_load_n(&races->acquired[second], __ATOMIC_RELAXED) > time;
}

bool bf_race_is_ordered(const bf_emu_block *first, uint32_t time, const bf_emu_block *second) {
  return is_ordered(first->worker->flight->races, first->index, time, second->index);
}

bool bf_race_has_heard(const bf_emu_block *block, const bf_emu_block *of) {
  return bf_race_is_ordered(of, 0, block);
}

/* Whether an earlier access to shared memory, of another block than this one, was of its cluster:
 * what is known of memory outlives the block that it belonged to. */
static bool is_of_cluster(const access *what, const bf_race_record *old) {
  const bf_emu_cluster *cluster = what->warp->block->cluster;
  for (unsigned i = 0; what->is_clustered && i < cluster->count; i++)
    if ((uint32_t)cluster->block[i]->index == old->block)
      return true;
  return false;
}

/* Whether an earlier access and this one of who, at overlapping bytes, are not ordered. */
static inline bool is_unordered(const access *what, const bf_race_record *old, uint16_t who) {
  const bf_race_record *now = &what->now;
  if (!(old->who & who & 0xf000) || !old->launch)
    return false;
  if (old->launch != now->launch)
    return !what->is_shared && !(old->who & who & STRONG) && is_of_unordered_launch(what, old);
  if (old->block != now->block)
    return (!what->is_shared || is_of_cluster(what, old)) && !(old->who & who & STRONG) &&
           !is_ordered(what->races, old->block, old->time, what->warp->block->index);
  if (old->who & COPY)
    return !(who & COPY);
  if (old->epoch != now->epoch || (old->who & who & STRONG))
    return false;
  uint32_t differs = (old->who ^ who) & THREAD;
  if (differs == 0)
    return false;
  return differs >= BF_EMU_LANES || old->order == now->order;
}

/* Whether an earlier write may be of the same instruction: check_lanes has compared those. */
static inline bool is_of_same_store(const access *what, const bf_race_record *old) {
  return what->is_write && old->launch == what->now.launch && old->block == what->now.block &&
         old->site == what->now.site && old->order == what->now.order &&
         (old->who & THREAD) / BF_EMU_LANES == what->warp->index;
}

/* What a store writes, 16 bytes for each lane; NULL: not known. */
static const uint8_t *stage(const access *what, uint32_t mask, uint8_t buffer[BF_EMU_LANES][16]) {
  const bf_emu_kernel *kernel = what->warp->worker->flight->kernel;
  if (!what->is_write || what->is_atomic || what->width_bytes > 16 ||
      what->op->site >= kernel->site_count ||
      kernel->sites[what->op->site].instruction->opcode != BF_PTX_OP_ST)
    return NULL;
  unsigned plain = what->op->small[BF_EMU_PLAIN];
  if (plain) {
    const uint8_t *from = what->warp->registers + what->op->d;
    for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
      memcpy(buffer[lane], from + lane * plain, plain);
    return buffer[0];
  }
  const bf_emu_transfer *transfer = what->op->detail;
  uint8_t *pointer[BF_EMU_LANES];
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    pointer[lane] = buffer[lane];
  for (unsigned i = 0; i < transfer->count; i++)
    transfer->move[i](what->warp->registers + transfer->place[i], pointer, i * transfer->size,
                      mask);
  return buffer[0];
}

/* The same, computed once. */
static const uint8_t *value_of(const access *what) {
  if (!what->staged->is_known) {
    what->staged->value = stage(what, what->staged->mask, what->staged->buffer);
    what->staged->is_known = true;
  }
  return what->staged->value;
}

/* Whether what a lane writes to bytes of a word is there already. */
static bool writes_the_same(const access *what, const uint8_t *memory, unsigned lane,
                            unsigned first, unsigned bytes) {
  const uint8_t *value = value_of(what);
  return value && memcmp(memory, value + lane * 16 + first, bytes) == 0;
}

/* Which thread a lane is, and at which bytes of a word. */
static inline uint16_t who_of(const access *what, unsigned lane, unsigned bytes, unsigned shift) {
  return (uint16_t)(what->now.who | ((what->warp->index * BF_EMU_LANES + lane) & THREAD) |
                    ((1u << bytes) - 1) << shift << FIRST_BYTE);
}

/* Takes note of an access in halves of 16 and 8 bytes, as records are read: a host cannot hand what
 * was stored in smaller pieces to the next load. */
static inline void note(const access *what, bf_race_record *to, uint16_t who) {
  uint64_t tail = what->now.time | (uint64_t)what->now.site << 32 | (uint64_t)who << 48;
  memcpy(to, &what->now, offsetof(bf_race_record, time));
  memcpy(&to->time, &tail, sizeof tail);
}

/* Takes note of a read of a word. */
static inline void note_read(const access *what, bf_race_word *word, uint16_t who) {
  const bf_race_record *last = &word->read[0];
  if (last->block != what->now.block || last->launch != what->now.launch ||
      (last->who ^ who) & THREAD)
    word->read[1] = *last;
  note(what, &word->read[0], who);
}

/* Checks bytes of one word of a lane, and takes note; false: the launch has ended. first counts
 * bytes of the access before these, memory is where they are. */
static inline bool check_word(const access *what, bf_race_word *word, unsigned lane, unsigned bytes,
                              unsigned shift, unsigned first, uint64_t address,
                              const uint8_t *memory) {
  uint16_t who = who_of(what, lane, bytes, shift);
  bool fine = true;
  if (is_unordered(what, &word->write, who) && !is_of_same_store(what, &word->write) &&
      !(what->is_write && !what->is_atomic && !(word->write.who & (COPY | STRONG)) &&
        writes_the_same(what, memory, lane, first, bytes)))
    fine = report(what, &word->write, true, lane, address);
  if (what->is_write) {
    for (unsigned i = 0; i < 2 && fine; i++)
      if (is_unordered(what, &word->read[i], who))
        fine = report(what, &word->read[i], false, lane, address);
    note(what, &word->write, who);
  } else {
    note_read(what, word, who);
  }
  return fine;
}

/* The segment of a global address; NULL: it is not checked. The worker remembers it. */
static const bf_race_segment *find_segment(const access *what, uint64_t address) {
  const struct bf_race_memory *memory = what->races->memory;
  bf_emu_worker *worker = what->warp->worker;
  const bf_race_segment *at = worker->segment;
  if (!at || address < at->first || address >= at->end) {
    size_t low = 0, high = memory->segments;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (memory->segment[middle].end <= address)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == memory->segments || address < memory->segment[low].first)
      return NULL;
    worker->segment = at = &memory->segment[low];
  }
  return at->word ? at : NULL;
}

/* The line of an address, and its words. */
typedef struct place {
  bf_race_line *line;
  bf_race_word *word;       /* of the address */
  bf_race_word *first_word; /* of the line, or of the memory where that begins inside the line */
  unsigned first;           /* the number of that in its line */
} place;

static place place_of(bf_race_line *lines, bf_race_word *words, uint64_t first, uint64_t address) {
  uint64_t line = address / BF_RACE_LINE_BYTES - first / BF_RACE_LINE_BYTES;
  uint64_t begin = address / BF_RACE_LINE_BYTES * BF_RACE_LINE_BYTES;
  begin = begin < first ? first : begin;
  return (place){&lines[line], &words[(address - first) / BF_RACE_WORD_BYTES],
                 &words[(begin - first) / BF_RACE_WORD_BYTES],
                 (unsigned)(begin % BF_RACE_LINE_BYTES / BF_RACE_WORD_BYTES)};
}

/* Whether launches up to this number are over for this one and all that come. */
static inline bool is_past(const access *what, uint32_t launch) {
  const bf_emu_launch *now = what->warp->worker->flight->launch;
  if (what->races->overlaps && launch >= what->races->overlaps)
    return false;
  return launch != what->now.launch && (!now->follows || launch <= now->settled);
}

static inline uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* The thread of a word of a part, with its flags. */
static inline uint16_t who_at(const bf_race_part *part, unsigned word) {
  return (uint16_t)(part->record.who + ((word - part->first) >> part->shift));
}

/* Takes note of a read of a word, of the last two threads that read it. */
static inline void push_read(bf_race_word *word, const bf_race_record *now) {
  const bf_race_record *last = &word->read[0];
  if (last->block != now->block || last->launch != now->launch || (last->who ^ now->who) & THREAD)
    word->read[1] = *last;
  word->read[0] = *now;
}

/* Hands what is known of a line to its words. */
static void spread_line(bf_race_line *line, const place *at) {
  memset(at->first_word, 0, (BF_EMU_LANES - at->first) * sizeof *at->first_word);
  line->launch = 0;
  for (unsigned i = 0; i < line->parts; i++) {
    const bf_race_part *part = &line->part[i];
    bf_race_record record = part->record;
    line->launch = later(line->launch, record.launch);
    BF_EACH_LANE(part->mask, word) {
      record.who = who_at(part, word);
      if (part->is_write)
        at->first_word[word - at->first].write = record;
      else
        push_read(&at->first_word[word - at->first], &record);
    }
  }
  line->parts = 0;
}

/* The words of a line are accessed one by one. */
static inline void spread(const access *what, const place *at) {
  bf_race_line *line = at->line;
  if (!line->is_in_words && (line->parts || line->was_in_words))
    spread_line(line, at);
  line->is_in_words = true;
  line->block = what->now.block;
  line->epoch = what->now.epoch;
  line->launch = later(line->launch, what->now.launch);
  line->has_copies |= (what->now.who & COPY) != 0;
}

/* Whether an access may race with an earlier one of words of the same line. Which threads they are
 * counts between two barriers of a block only; there, of two that lie by the same shift, it is the
 * same for all words. */
static inline bool may_meet(const access *what, const bf_race_part *old, const bf_race_part *now) {
  uint32_t common = old->mask & now->mask;
  if (!common || !(old->is_write || now->is_write))
    return false;
  unsigned word = (unsigned)__builtin_ctz(common);
  bf_race_record at = old->record;
  at.who = who_at(old, word);
  bool is_close =
      at.launch == what->now.launch && at.block == what->now.block && at.epoch == what->now.epoch;
  return (is_close && old->shift != now->shift) || is_unordered(what, &at, who_at(now, word));
}

/* Whether two reads are of the same threads. */
static inline bool is_again(const bf_race_part *old, const bf_race_part *now) {
  uint32_t common = old->mask & now->mask;
  unsigned word = (unsigned)__builtin_ctz(common | 1u << 31);
  return common && old->shift == now->shift && old->record.block == now->record.block &&
         old->record.launch == now->record.launch &&
         !((who_at(old, word) ^ who_at(now, word)) & THREAD);
}

/* Whether nothing that comes can race with an earlier access: behind a barrier none does with what
 * a block did to its shared memory. */
static inline bool is_over(const access *what, const bf_race_record *old) {
  const bf_race_record *now = &what->now;
  if (!what->is_shared)
    return is_past(what, old->launch);
  return !what->is_clustered &&
         (old->launch != now->launch || old->block != now->block || old->epoch != now->epoch);
}

/* Leaves out what words need not know once there is another access: what is over, of each word all
 * writes but the last, and all reads but those of the last two threads. */
static void make_room(const access *what, bf_race_line *line, const bf_race_part *now) {
  uint32_t once = now->mask, twice = 0;
  unsigned kept = 0;
  for (unsigned i = line->parts; i-- > 0;) {
    bf_race_part *old = &line->part[i];
    if (is_over(what, &old->record))
      old->mask = 0;
    if (old->is_write != now->is_write)
      continue;
    old->mask &= ~(old->is_write || is_again(old, now) ? now->mask : twice);
    twice |= old->mask & once;
    once |= old->mask;
  }
  for (unsigned i = 0; i < line->parts; i++)
    if (line->part[i].mask)
      line->part[kept++] = line->part[i];
  line->parts = (uint8_t)kept;
}

/* An access to words of a line: whether it is in order, and noted. */
static bool pass_part(const access *what, bf_race_line *line, const bf_race_part *now) {
  /* Behind a barrier nothing that a block did to its shared memory before matters. */
  if (line->is_in_words &&
      (what->is_shared ? !line->has_copies && !what->is_clustered &&
                             (line->block != what->now.block || line->epoch != what->now.epoch)
                       : is_past(what, line->launch))) {
    line->is_in_words = line->has_copies = false;
    line->was_in_words = true;
  }
  if (line->is_in_words)
    return false;
  for (unsigned i = 0; i < line->parts; i++)
    if (may_meet(what, &line->part[i], now))
      return false;
  make_room(what, line, now);
  if (line->parts == BF_RACE_PARTS)
    return false;
  line->part[line->parts++] = *now;
  return true;
}

/* How many bytes lanes are apart that access words in a row, a power of two; 0: they do not. */
static unsigned row_step(const access *what, uint32_t mask, const uint64_t *address) {
  unsigned width = what->width_bytes;
  uint64_t step = address[1] - address[0], wrong = address[0] % BF_RACE_WORD_BYTES;
  if (mask != UINT32_MAX || width % BF_RACE_WORD_BYTES || step < width || width > 16 ||
      step > BF_RACE_LINE_BYTES / 2 || step & (step - 1) || what->now.who & COPY)
    return 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= address[lane] ^ (address[0] + lane * step);
  return wrong ? 0 : (unsigned)step;
}

/* Words of a line, from first on: count times width words, step words apart. */
static inline uint32_t row_mask(unsigned first, unsigned count, unsigned width, unsigned step) {
  uint64_t mask = 0, unit = (UINT64_C(1) << width) - 1;
  if (step == width)
    return (uint32_t)((((UINT64_C(1) << width * count) - 1)) << first);
  for (unsigned i = 0; i < count; i++)
    mask |= unit << (first + i * step);
  return (uint32_t)mask;
}

/* The lanes of such a row, whose first line is given, that are left to check one by one. */
static uint32_t pass_row(const access *what, bf_race_line *line, uint64_t address, unsigned step) {
  unsigned words = step / BF_RACE_WORD_BYTES, width = what->width_bytes / BF_RACE_WORD_BYTES;
  uint32_t left = 0;
  bf_race_part now = {
      .record = what->now, .shift = (uint8_t)__builtin_ctz(words), .is_write = what->is_write};
  for (unsigned lane = 0, count; lane < BF_EMU_LANES; lane += count, line++) {
    unsigned first =
        (unsigned)((address + lane * (uint64_t)step) % BF_RACE_LINE_BYTES) / BF_RACE_WORD_BYTES;
    count = (BF_EMU_LANES - first + words - 1) / words;
    count = count < BF_EMU_LANES - lane ? count : BF_EMU_LANES - lane;
    now.first = (uint8_t)first;
    now.mask = row_mask(first, count, width, words);
    now.record.who = who_of(what, lane, BF_RACE_WORD_BYTES, 0);
    if (!pass_part(what, line, &now))
      left |= (uint32_t)((UINT64_C(1) << count) - 1) << lane;
  }
  return left;
}

/* The lanes that read what two lanes before them read: two readers are all that is kept. */
static uint32_t read_again(const access *what, uint32_t mask, const uint64_t *address) {
  uint32_t again = 0;
  if (what->is_write)
    return 0;
  for (unsigned lane = 2; lane < BF_EMU_LANES; lane++)
    again |= (uint32_t)((address[lane] == address[lane - 1]) & (address[lane] == address[lane - 2]))
             << lane;
  /* Two halves that read the same, as in tiles of 16 columns. */
  uint64_t differs = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES / 2; lane++)
    differs |= address[lane] ^ address[lane + BF_EMU_LANES / 2];
  if (differs == 0)
    again |= 0xffff0000;
  return again & (mask == UINT32_MAX ? UINT32_MAX : 0);
}

/* Checks all bytes of a lane, which lie in one line or begin the next. */
static inline bool check_lane(const access *what, const place *at, unsigned lane, uint64_t address,
                              const uint8_t *memory) {
  bf_race_word *word = at->word;
  spread(what, at);

  unsigned width = what->width_bytes, shift = (unsigned)(address % BF_RACE_WORD_BYTES);
  for (unsigned first = 0; first < width; word++) {
    unsigned bytes =
        BF_RACE_WORD_BYTES - shift < width - first ? BF_RACE_WORD_BYTES - shift : width - first;
    if (!check_word(what, word, lane, bytes, shift, first, address, memory + first))
      return false;
    first += bytes;
    shift = 0;
  }
  return true;
}

/* Whether all lanes read bytes or halves one behind the other, from the begin of a word on. */
static bool is_narrow_row(const access *what, uint32_t mask, const uint64_t *address) {
  uint64_t wrong = address[0] % BF_RACE_WORD_BYTES;
  if (mask != UINT32_MAX || what->is_write || what->width_bytes >= BF_RACE_WORD_BYTES)
    return false;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    wrong |= address[lane] ^ (address[0] + (uint64_t)lane * what->width_bytes);
  return wrong == 0;
}

/* The reads of one word by lanes of such a row, from lane on, which are all in order, as check_lane
 * does them one by one: the last two remain. False: one may not be in order, and nothing is noted.
 */
static inline bool pass_narrow(const access *what, bf_race_word *word, unsigned lane) {
  unsigned width = what->width_bytes, last = BF_RACE_WORD_BYTES / width - 1;
  if (word->write.launch)
    for (unsigned i = 0; i <= last; i++)
      if (is_unordered(what, &word->write, who_of(what, lane + i, width, i * width)))
        return false;
  note(what, &word->read[1], who_of(what, lane + last - 1, width, (last - 1) * width));
  note(what, &word->read[0], who_of(what, lane + last, width, last * width));
  return true;
}

/* The lanes of such a row in a segment that are left to check one by one. */
static uint32_t pass_narrow_row(const access *what, const bf_race_segment *of,
                                const uint64_t *address) {
  unsigned lanes = BF_RACE_WORD_BYTES / what->width_bytes;
  uint32_t left = 0;
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane += lanes) {
    place at = place_of(of->line, of->word, of->first, address[lane]);
    spread(what, &at);
    if (!pass_narrow(what, at.word, lane))
      left |= ((UINT32_C(1) << lanes) - 1) << lane;
  }
  return left;
}

/* Keeps others away from the words of a page of memory while they are checked. */
static void lock_page(struct bf_emu_races *races, uint64_t page) {
  while (__atomic_test_and_set(&races->lock[page % LOCKS], __ATOMIC_ACQUIRE))
    ;
}
static void unlock_page(struct bf_emu_races *races, uint64_t page) {
  __atomic_clear(&races->lock[page % LOCKS], __ATOMIC_RELEASE);
}

/* Has the host fetch what the next warp mostly wants; it may lie behind the end of it. */
static inline void fetch_ahead(const void *memory, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)memory + i, 1);
}

/* Checks a row of all lanes at once where one segment and, with several workers, one page hold it;
 * returns the lanes that are left to check one by one. */
static uint32_t check_row(const access *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone;
  unsigned step = row_step(what, mask, address);
  uint64_t last = address[BF_EMU_LANES - 1] + what->width_bytes - 1, page = address[0] >> 12;
  if (!step && !is_narrow_row(what, mask, address))
    return mask & ~read_again(what, mask, address);
  const bf_race_segment *of = find_segment(what, address[0]);
  if (!of || last >= of->end || (!alone && last >> 12 != page))
    return mask;
  uint32_t left = UINT32_MAX;
  if (!alone)
    lock_page(what->races, page);
  place at = place_of(of->line, of->word, of->first, address[0]);
  if (step) {
    size_t lines = BF_EMU_LANES * step / BF_RACE_LINE_BYTES;
    fetch_ahead(at.line + lines, lines * sizeof *at.line);
    left = pass_row(what, at.line, address[0], step);
  } else {
    size_t words = BF_EMU_LANES * what->width_bytes / BF_RACE_WORD_BYTES;
    fetch_ahead(at.word + words, words * sizeof *at.word);
    left = pass_narrow_row(what, of, address);
  }
  if (!alone)
    unlock_page(what->races, page);
  return left;
}

/* Checks bytes of a word where all is in order, and takes note; false: it may not be. */
static inline bool pass_word(const access *what, bf_race_word *word, uint16_t who) {
  if (is_unordered(what, &word->write, who) ||
      (what->is_write &&
       (is_unordered(what, &word->read[0], who) || is_unordered(what, &word->read[1], who))))
    return false;
  if (what->is_write)
    note(what, &word->write, who);
  else
    note_read(what, word, who);
  return true;
}

/* The same for all words of a lane. */
static inline bool pass_lane(const access *what, const place *at, unsigned lane, uint64_t address) {
  unsigned width = what->width_bytes;
  if (!at->line->is_in_words || at->line->launch < what->now.launch)
    spread(what, at);
  if (width <= BF_RACE_WORD_BYTES)
    return pass_word(what, at->word,
                     who_of(what, lane, width, (unsigned)(address % BF_RACE_WORD_BYTES)));
  for (unsigned i = 0; i < width / BF_RACE_WORD_BYTES; i++)
    if (!pass_word(what, &at->word[i], who_of(what, lane, BF_RACE_WORD_BYTES, 0)))
      return false;
  return true;
}

/* The segment that all lanes access; NULL: they access several, or some that is not checked. */
static const bf_race_segment *one_segment(const access *what, uint32_t mask,
                                          const uint64_t *address) {
  uint64_t least = UINT64_MAX, most = 0;
  BF_EACH_LANE(mask, lane) {
    least = address[lane] < least ? address[lane] : least;
    most = address[lane] > most ? address[lane] : most;
  }
  const bf_race_segment *of = mask ? find_segment(what, least) : NULL;
  return of && most + what->width_bytes <= of->end ? of : NULL;
}

/* Whether the host fetches what is known of the lanes' words by itself, as they lie side by side.
 */
static inline bool are_near(uint32_t mask, const uint64_t *address) {
  unsigned first = (unsigned)__builtin_ctz(mask), last = 31 - (unsigned)__builtin_clz(mask);
  return address[last] - address[first] < 2 * BF_RACE_LINE_BYTES;
}

/* Checks lanes of one segment, as check_lane does where all is in order; returns those from the
 * first on that may race, which are left. What is known of their words is fetched for all of them
 * before the first is looked at. */
static uint32_t pass_global(const access *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone;
  const bf_race_segment *of = what->now.who & COPY ? NULL : one_segment(what, mask, address);
  if (!of)
    return mask;
  place at[BF_EMU_LANES];
  bool is_near = are_near(mask, address);
  BF_EACH_LANE(mask, lane) {
    at[lane] = place_of(of->line, of->word, of->first, address[lane]);
    if (is_near)
      continue;
    __builtin_prefetch(at[lane].line, 1);
    fetch_ahead(at[lane].word, sizeof *at[lane].word + 1);
  }
  BF_EACH_LANE(mask, lane) {
    if (!alone)
      lock_page(what->races, address[lane] >> 12);
    bool fine = pass_lane(what, &at[lane], lane, address[lane]);
    if (!alone)
      unlock_page(what->races, address[lane] >> 12);
    if (!fine)
      return mask & UINT32_MAX << lane;
  }
  return 0;
}

static bool check_global(const access *what, uint32_t mask, const uint64_t *address) {
  bool alone = what->warp->worker->flight->alone, fine = true;
  uint64_t locked = UINT64_MAX;
  uint32_t left = check_row(what, mask, address);
  BF_EACH_LANE(pass_global(what, left, address), lane) {
    const bf_race_segment *of = fine ? find_segment(what, address[lane]) : NULL;
    if (!of)
      continue;
    uint64_t page = address[lane] >> 12;
    if (!alone && page != locked) {
      if (locked != UINT64_MAX)
        unlock_page(what->races, locked);
      lock_page(what->races, page);
      locked = page;
    }
    place at = place_of(of->line, of->word, of->first, address[lane]);
    fine = check_lane(what, &at, lane, address[lane], (const uint8_t *)(uintptr_t)address[lane]);
  }
  if (locked != UINT64_MAX)
    unlock_page(what->races, locked);
  return fine;
}

/* Whether an access to the block's own shared memory may race with an earlier one to the same word:
 * is_unordered for the usual cases, which are that nobody was there since the last barrier, or the
 * same thread. */
static inline bool may_race(const access *what, const bf_race_record *old, uint16_t who) {
  const bf_race_record *now = &what->now;
  bool is_recent = old->launch == now->launch &&
                   (old->block == now->block ? old->epoch == now->epoch && (old->who ^ who) & THREAD
                                             : what->is_clustered);
  return (old->who & COPY) ||
         (is_recent && (old->who & who & 0xf000) && !(old->who & who & STRONG));
}

/* Checks shared memory in up to a word for each lane, as check_lane does where all is in order;
 * returns the lanes that are left, from the first on that may race, of which nothing is noted. */
static uint32_t pass_words(const access *what, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = what->warp->block;
  const bf_race_record *now = &what->now;
  if (what->width_bytes > BF_RACE_WORD_BYTES || now->who & COPY)
    return mask;
  BF_EACH_LANE(mask, lane) {
    place at = place_of(block->lines, block->words, 0, offset[lane]);
    uint16_t who =
        who_of(what, lane, what->width_bytes, (unsigned)(offset[lane] % BF_RACE_WORD_BYTES));
    const bf_race_record *last = &at.word->read[0];
    if (!at.line->is_in_words || at.line->block != now->block || at.line->epoch != now->epoch)
      spread(what, &at);
    if (may_race(what, &at.word->write, who) ||
        (what->is_write && (may_race(what, last, who) || may_race(what, last + 1, who))))
      return mask & UINT32_MAX << lane;
    if (what->is_write)
      note(what, &at.word->write, who);
    else
      note_read(what, at.word, who);
  }
  return 0;
}

static bool check_shared(const access *what, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = what->warp->block;
  unsigned step = row_step(what, mask, offset);
  if (step && offset[BF_EMU_LANES - 1] + what->width_bytes <= block->shared_bytes)
    mask = pass_row(what, place_of(block->lines, block->words, 0, offset[0]).line, offset[0], step);
  if (!mask)
    return true;
  BF_EACH_LANE(pass_words(what, mask & ~read_again(what, mask, offset), offset), lane) {
    place at = place_of(block->lines, block->words, 0, offset[lane]);
    if (!check_lane(what, &at, lane, offset[lane], block->shared + offset[lane]))
      return false;
  }
  return true;
}

/* Whether each lane's address is at least some bytes above that of the lane before it. */
static bool do_grow(uint32_t mask, unsigned width_bytes, const uint64_t *address) {
  uint64_t least = 0, wrong = 0;
  bool grows = true;
  if (mask == UINT32_MAX) {
    for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
      wrong |= address[lane] - address[lane - 1] - width_bytes;
    return wrong >> 63 == 0;
  }
  BF_EACH_LANE(mask, lane) {
    grows &= address[lane] >= least;
    least = address[lane] + width_bytes;
  }
  return grows;
}

/* Two lanes of one store at the same bytes; false: the launch has ended. Lanes whose addresses grow
 * by their width cannot meet. */
static bool check_lanes(const access *what, uint32_t mask, const uint64_t *address) {
  if (do_grow(mask, what->width_bytes, address))
    return true;
  const uint8_t *value = value_of(what);
  for (unsigned lane = 1; lane < BF_EMU_LANES; lane++)
    for (unsigned other = 0; mask >> lane & 1 && other < lane; other++) {
      if (!(mask >> other & 1) || address[lane] - address[other] + what->width_bytes - 1 >=
                                      2 * (uint64_t)what->width_bytes - 1)
        continue;
      if (value && address[lane] == address[other] &&
          memcmp(value + 16 * lane, value + 16 * other, what->width_bytes) == 0)
        continue;
      bf_race_record writer = what->now;
      writer.who |= (uint16_t)((what->warp->index * BF_EMU_LANES + other) & THREAD);
      return report(what, &writer, true, lane, address[lane]);
    }
  return true;
}

/* A strong access may see what others did until it is made, which is after it is checked: the time
 * up to which a block sees is noted once more at its next access. */
static void acquire(struct bf_emu_races *races, bf_emu_block *block, bool is_strong, uint32_t now) {
  if ((is_strong || block->has_acquired) && block->index < MOST_BLOCKS)
    __atomic_store_n(&races->acquired[block->index], now, __ATOMIC_RELAXED);
  block->has_acquired = is_strong;
}

/* An access of a warp, and how strong it is; what it writes goes to written. */
static access describe(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                       bool is_write, staged *written) {
  const bf_emu_kernel *kernel = warp->worker->flight->kernel;
  struct bf_emu_races *races = warp->worker->flight->races;
  bf_emu_block *block = warp->block;
  unsigned strength = op->site < kernel->site_count ? races->strength[op->site] : WEAK;
  bool is_copy = op->site < kernel->site_count && is_write &&
                 kernel->sites[op->site].instruction->opcode == BF_PTX_OP_CP;
  written->is_known = false;
  access what = {.warp = warp,
                 .op = op,
                 .staged = written,
                 .races = races,
                 .is_write = is_write,
                 .is_atomic = bf_op_side(kind) == BF_SIDE_ATOMIC,
                 .is_clustered = block->cluster && block->cluster->count > 1,
                 .owner = block,
                 .width_bytes = width_bytes};
  if (strength == IS_RELEASE)
    bf_race_fence(warp->block, true);
  what.now = (bf_race_record){
      races->number,
      (uint32_t)block->index,
      (uint32_t)(block->epoch + block->fences),
      warp->order,
      __atomic_load_n(&races->clock, __ATOMIC_RELAXED),
      op->site < UINT16_MAX ? (uint16_t)op->site : UINT16_MAX,
      (uint16_t)((strength != WEAK || what.is_atomic ? STRONG : 0) | (is_copy ? COPY : 0))};
  acquire(races, block, strength != WEAK || what.is_atomic, what.now.time);
  if (strength != WEAK || what.is_atomic)
    bf_proxy_hears(warp);
  return what;
}

bool bf_race_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                    bool is_write, uint32_t shared, uint32_t global, const uint64_t *inside) {
  bf_emu_block *block = warp->block;
  staged written;
  if (shared)
    bf_race_reads_settle(block);
  access what = describe(warp, op, kind, width_bytes, is_write, &written);
  if (shared && is_write)
    block->written = bf_race_stretch(block);
  written.mask = shared | global;
  bool checks_lanes = is_write && !(what.now.who & STRONG);
  if (global && ((checks_lanes && !check_lanes(&what, global, inside)) ||
                 !check_global(&what, global, inside)))
    return false;
  what.is_shared = true;
  if (shared && checks_lanes && !check_lanes(&what, shared, inside))
    return false;
  return !shared ||
         (check_shared(&what, shared, inside) &&
          (!block->proxy || bf_proxy_access(warp, op, width_bytes, is_write, shared, inside)));
}

void bf_race_note_read(bf_emu_warp *warp, unsigned site, unsigned width_bytes, uint32_t order,
                       uint32_t time, uint32_t mask, const uint64_t *offset) {
  const bf_emu_block *block = warp->block;
  struct bf_emu_races *races = warp->worker->flight->races;
  access what = {.warp = warp,
                 .races = races,
                 .is_shared = true,
                 .owner = block,
                 .width_bytes = width_bytes,
                 .now = {races->number, (uint32_t)block->index,
                         (uint32_t)(block->epoch + block->fences), order, time,
                         site < UINT16_MAX ? (uint16_t)site : UINT16_MAX, 0}};
  check_shared(&what, mask, offset);
}

uint32_t bf_race_time(const bf_emu_flight *flight) {
  return __atomic_load_n(&flight->races->clock, __ATOMIC_RELAXED);
}

bool bf_race_far(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                 bool is_write, uint32_t far, const uint64_t *address) {
  staged written;
  access what = describe(warp, op, kind, width_bytes, is_write, &written);
  written.mask = far;
  what.is_shared = true;
  if (is_write && !(what.now.who & STRONG)) {
    what.owner = bf_emu_cluster_find(warp, address[__builtin_ctz(far)], &(uint64_t){0});
    if (!check_lanes(&what, far, address))
      return false;
  }
  BF_EACH_LANE(far, lane) {
    uint64_t offset;
    bf_emu_block *owner = bf_emu_cluster_find(warp, address[lane], &offset);
    if (!owner)
      continue;
    what.owner = owner;
    place at = place_of(owner->lines, owner->words, 0, offset);
    if (!bf_visit_note(warp, op, lane, owner, address[lane], width_bytes, is_write) ||
        !check_lane(&what, &at, lane, offset, owner->shared + offset))
      return false;
  }
  return true;
}

bool bf_race_sent(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                  uint64_t offset, unsigned bytes, bool is_atomic) {
  staged written;
  if (!warp->worker->flight->races)
    return true;
  bf_race_reads_settle(owner);
  owner->written = bf_race_stretch(owner);
  access what = describe(warp, op, is_atomic ? BF_OP_RED : BF_OP_ST, bytes, true, &written);
  written.is_known = true;
  written.value = NULL;
  what.is_shared = true;
  what.owner = owner;
  place at = place_of(owner->lines, owner->words, 0, offset);
  return check_lane(&what, &at, lane, offset, owner->shared + offset);
}

bool bf_race_overwritten(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                         uint64_t offset, uint64_t bytes) {
  staged written;
  if (!warp->worker->flight->races)
    return true;
  bf_race_reads_settle(owner);
  access what = describe(warp, op, BF_OP_ST, BF_RACE_WORD_BYTES, true, &written);
  what.now.who &= (uint16_t)~COPY;
  what.is_shared = true;
  what.owner = owner;
  uint16_t who = who_of(&what, lane, BF_RACE_WORD_BYTES, 0);
  for (uint64_t at = offset; at < offset + bytes; at += BF_RACE_WORD_BYTES) {
    place in = place_of(owner->lines, owner->words, 0, at);
    spread(&what, &in);
    const bf_race_record *known[] = {&in.word->write, &in.word->read[0], &in.word->read[1]};
    for (unsigned i = 0; i < 3; i++)
      if (is_unordered(&what, known[i], who) && !report(&what, known[i], i == 0, lane, at))
        return false;
  }
  return true;
}

void bf_race_copied(bf_emu_warp *warp, unsigned lane, uint64_t offset, unsigned bytes) {
  const bf_emu_block *block = warp->block;
  if (offset >= block->shared_bytes || bytes > block->shared_bytes - offset)
    return;
  for (unsigned i = 0; i < bytes; i += BF_RACE_WORD_BYTES) {
    bf_race_record *write = &block->words[(offset + i) / BF_RACE_WORD_BYTES].write;
    if (!(write->who & COPY) || write->block != (uint32_t)block->index ||
        ((write->who ^ (warp->index * BF_EMU_LANES + lane)) & THREAD))
      continue;
    write->who &= (uint16_t)~COPY;
    write->epoch = (uint32_t)(block->epoch + block->fences);
    write->order = warp->order;
  }
}
