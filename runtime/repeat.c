/* Launches that repeat another one. Programs that measure launch the same kernel hundreds of times
 * with the same data. What a kernel does is settled by its parameters and the memory it touches, so
 * that a launch whose parameters and memory are those of one before leaves what that one left: its
 * results are copied and its counts added once more.
 *
 * The first launch with its parameters says which memory is touched. Before the second the content
 * of that is summed up (128 bits for each range), and behind it what has changed is kept. A later
 * one whose memory has the same sums repeats it. Looking takes a small share of the time of the
 * launches that it may spare; where the content is always another, it is done ever less often. */
#include "context.h"

#include <stdlib.h>
#include <string.h>

/* Launches of a kernel that are known at a time, by their parameters and shapes. */
enum { MOST_KNOWN = 16 };
/* Bytes of results that are kept of all kernels. */
static const uint64_t most_kept_bytes = UINT64_C(1) << 30;
/* How fast sums are taken, at least, and the share of a launch's time that they may take. */
static const double bytes_a_second = 2e9, most_share = 0.25;
/* Launches that are shorter are run. */
static const double least_seconds = 200e-6;

/* ---- Sums ---- */

typedef struct digest {
  uint64_t word[2];
} digest;

enum { LANES = 8, PIECE = 8 * LANES };

/* Mixes a piece into the lanes; each step can be undone, so that one other word gives another sum.
 */
static void mix(uint64_t lane[LANES], const void *piece) {
  static const uint64_t odd[LANES] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9,
                                      0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
                                      0x8ebc6af09c88c6e3, 0x589965cc75374cc3};
  uint64_t word[LANES];
  memcpy(word, piece, PIECE);
  for (unsigned i = 0; i < LANES; i++) {
    uint64_t mixed = (lane[i] ^ word[i]) * odd[i];
    lane[i] = mixed << 29 | mixed >> 35;
  }
}

static digest sum_up(const bf_emu_range *range) {
  const unsigned char *bytes = (const unsigned char *)(uintptr_t)range->address;
  uint64_t lane[LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, whole = range->bytes / PIECE * PIECE;
  unsigned char rest[PIECE] = {0};
  for (uint64_t at = 0; at < whole; at += PIECE)
    mix(lane, bytes + at);
  memcpy(rest, bytes + whole, range->bytes - whole);
  mix(lane, rest);
  digest sum = {{range->bytes, ~range->bytes}};
  for (unsigned round = 0; round < 2; round++)
    for (unsigned i = 0; i < LANES; i++) {
      uint64_t mixed = (sum.word[round] ^ lane[(i + 3 * round) % LANES]) * 0x9fb21c651e98df25;
      sum.word[round] = mixed ^ mixed >> 32;
    }
  return sum;
}

static bool is_same(digest a, digest b) { return memcmp(&a, &b, sizeof a) == 0; }

/* ---- What is known ---- */

typedef struct rt_repeated {
  struct rt_repeated *next; /* the latest first */
  /* What it was asked for. */
  uint32_t shape[9]; /* grid, block, cluster */
  bool cooperative;
  uint64_t dynamic_shared_bytes, stack_bytes, parameter_bytes;
  void *parameters;
  /* What it did. */
  bf_emu_touched touched;
  double seconds;        /* of the last one that ran */
  unsigned misses, wait; /* looks in vain, and launches until the next one */
  /* A launch that can be repeated. */
  bool is_kept;
  digest before[BF_EMU_TOUCHED];
  void *after[BF_EMU_TOUCHED]; /* NULL: as before */
  uint64_t after_bytes;
  bf_profile_part *part;
  bf_emu_result result;
} rt_repeated;

/* Forgets how to repeat a launch. */
static void forget(rt_context *context, rt_repeated *one) {
  for (unsigned i = 0; i < BF_EMU_TOUCHED; i++) {
    free(one->after[i]);
    one->after[i] = NULL;
  }
  bf_profile_part_free(one->part);
  context->repeat_bytes -= one->after_bytes;
  one->part = NULL;
  one->after_bytes = 0;
  one->is_kept = false;
}

static bool is_asked(const rt_repeated *one, const bf_emu_launch *launch, const uint32_t shape[9]) {
  return memcmp(one->shape, shape, sizeof one->shape) == 0 &&
         one->cooperative == launch->cooperative &&
         one->dynamic_shared_bytes == launch->dynamic_shared_bytes &&
         one->stack_bytes == launch->stack_bytes &&
         one->parameter_bytes == launch->parameter_bytes &&
         (launch->parameter_bytes == 0 ||
          memcmp(one->parameters, launch->parameters, launch->parameter_bytes) == 0);
}

/* Takes the launches behind the first most of a list out of it. */
static void cut(rt_context *context, rt_repeated **list, unsigned most) {
  for (; *list && most; most--)
    list = &(*list)->next;
  while (*list) {
    rt_repeated *gone = *list;
    *list = gone->next;
    forget(context, gone);
    free(gone->parameters);
    free(gone);
  }
}

/* What is known of launches like this one, moved to the front, or made; NULL: no memory. */
static rt_repeated *find(rt_context *context, rt_repeated **list, const bf_emu_launch *launch) {
  uint32_t shape[9];
  memcpy(shape, launch->grid, sizeof launch->grid);
  memcpy(shape + 3, launch->block, sizeof launch->block);
  memcpy(shape + 6, launch->cluster, sizeof launch->cluster);
  rt_repeated **at = list;
  while (*at && !is_asked(*at, launch, shape))
    at = &(*at)->next;
  rt_repeated *one = *at;
  if (one) {
    *at = one->next;
  } else {
    one = calloc(1, sizeof *one);
    void *parameters = malloc(launch->parameter_bytes + 1);
    if (!one || !parameters) {
      free(one);
      free(parameters);
      return NULL;
    }
    memcpy(one->shape, shape, sizeof shape);
    if (launch->parameter_bytes)
      memcpy(parameters, launch->parameters, launch->parameter_bytes);
    one->cooperative = launch->cooperative;
    one->dynamic_shared_bytes = launch->dynamic_shared_bytes;
    one->stack_bytes = launch->stack_bytes;
    one->parameter_bytes = launch->parameter_bytes;
    one->parameters = parameters;
    cut(context, list, MOST_KNOWN - 1);
  }
  one->next = *list;
  return *list = one;
}

/* ---- Looking ---- */

/* Whether all memory that was touched is still what it was made as; *bytes of it. Memory that the
 * program registered may be gone without a word. */
static bool is_there(const rt_context *context, const bf_emu_touched *touched, uint64_t *bytes) {
  *bytes = 0;
  for (unsigned i = 0; i < touched->ranges; i++) {
    bf_emu_range now;
    if (!bf_emu_find(context->emu, touched->range[i].address, &now) ||
        now.serial != touched->range[i].serial || now.flags & RT_REGISTERED)
      return false;
    *bytes += now.bytes;
  }
  return true;
}

/* Leaves what the launch that is repeated left. */
static void repeat(rt_tally *tally, const rt_repeated *one) {
  for (unsigned i = 0; i < one->touched.ranges; i++)
    if (one->after[i])
      memcpy((void *)(uintptr_t)one->touched.range[i].address, one->after[i],
             one->touched.range[i].bytes);
  if (tally->profile && one->part)
    bf_profile_repeat(tally->profile, one->part);
  tally->launches++;
  tally->warp_instructions += one->result.warp_instructions;
  tally->thread_instructions += one->result.thread_instructions;
  rt_keep_alive(tally, false);
}

/* Notes that a look was in vain: the next ones are ever rarer. */
static void miss(rt_context *context, rt_repeated *one) {
  forget(context, one);
  one->misses += one->misses < 10;
  one->wait = one->misses > 1 ? 1u << one->misses : 0;
}

/* Whether launches are run as they come: something wants to see each of them. */
static bool wants_all(const rt_context *context) {
  const bf_run_settings *settings = &context->settings;
  return settings->every_launch || context->besides || context->gpu || settings->trace ||
         settings->accesses || settings->keep_going || settings->sample || settings->check.races ||
         settings->check.uninitialised;
}

bool rt_repeat_begin(rt_context *context, rt_tally *tally, bf_emu_launch *launch,
                     rt_repeating *own) {
  *own = (rt_repeating){.begun = bf_seconds()};
  rt_repeated *one = wants_all(context) ? NULL : find(context, &tally->repeated, launch);
  uint64_t bytes;
  if (!one || one->touched.is_open)
    return false;
  own->one = one;
  if (one->wait) {
    one->wait--;
    own->one = NULL;
    return false;
  }
  launch->touched = &own->touched;
  if (!is_there(context, &one->touched, &bytes))
    forget(context, one);
  else if (one->touched.ranges && one->seconds >= least_seconds &&
           (double)bytes / bytes_a_second <= most_share * one->seconds) {
    digest before[BF_EMU_TOUCHED];
    bool is_known = one->is_kept;
    for (unsigned i = 0; i < one->touched.ranges; i++) {
      before[i] = sum_up(&one->touched.range[i]);
      is_known &= is_same(before[i], one->before[i]);
    }
    if (is_known) {
      one->misses = 0;
      repeat(tally, one);
      return true;
    }
    if (one->is_kept)
      miss(context, one);
    memcpy(one->before, before, sizeof before);
    own->part = tally->profile ? bf_profile_start(tally->profile) : NULL;
    own->keeps = !tally->profile || own->part;
  }
  own->begun = bf_seconds();
  return false;
}

/* ---- Keeping ---- */

/* Takes the workspace of a cooperative launch out: the next has another, which begins alike. */
static void leave_out_workspace(bf_emu_touched *touched) {
  for (unsigned i = 0; i < touched->ranges; i++)
    if (touched->range[i].flags & RT_WORKSPACE)
      touched->range[i--] = touched->range[--touched->ranges];
}

/* Whether the host may have changed what a launch looks at, because its call had returned: it would
 * not do so again. */
static bool is_meddled(const rt_context *context, const bf_emu_touched *touched) {
  if (!__atomic_load_n(&context->is_busy, __ATOMIC_ACQUIRE))
    return false;
  for (unsigned i = 0; i < touched->ranges; i++)
    if (rt_is_managed(&touched->range[i]) ||
        (touched->range[i].flags & (RT_PINNED | RT_REGISTERED)))
      return true;
  return __atomic_load_n(&context->is_meddled, __ATOMIC_RELAXED);
}

/* Whether a launch touched nothing but what was known. */
static bool is_within(const bf_emu_touched *touched, const bf_emu_touched *known) {
  for (unsigned i = 0; i < touched->ranges; i++) {
    unsigned at = 0;
    while (at < known->ranges && known->range[at].serial != touched->range[i].serial)
      at++;
    if (at == known->ranges)
      return false;
  }
  return true;
}

/* Keeps what the launch has changed; false where that is too much. */
static bool keep(rt_context *context, rt_repeated *one) {
  for (unsigned i = 0; i < one->touched.ranges; i++) {
    const bf_emu_range *range = &one->touched.range[i];
    if (is_same(sum_up(range), one->before[i]))
      continue;
    if (range->bytes > most_kept_bytes - context->repeat_bytes ||
        !(one->after[i] = malloc(range->bytes)))
      return false;
    memcpy(one->after[i], (const void *)(uintptr_t)range->address, range->bytes);
    one->after_bytes += range->bytes;
    context->repeat_bytes += range->bytes;
  }
  return true;
}

void rt_repeat_end(rt_context *context, rt_tally *tally, rt_repeating *own,
                   const bf_emu_result *result) {
  rt_repeated *one = own->one;
  if (!one)
    return;
  one->seconds = bf_seconds() - own->begun;
  leave_out_workspace(&own->touched);
  if (!result || result->fault.kind != BF_EMU_NO_FAULT || is_meddled(context, &own->touched))
    own->touched.is_open = true;
  bool keeps = own->keeps && !own->touched.is_open && is_within(&own->touched, &one->touched);
  if (own->keeps && !keeps)
    forget(context, one);
  if (!keeps)
    one->touched = own->touched;
  else if ((own->part && !bf_profile_since(tally->profile, own->part)) || !keep(context, one)) {
    forget(context, one);
    one->touched.is_open = true;
  } else {
    one->part = own->part;
    one->result = *result;
    one->is_kept = true;
    own->part = NULL;
  }
  bf_profile_part_free(own->part);
}
