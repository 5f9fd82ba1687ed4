/* Which of both versions of a kernel a launch gets. The answer is found once for each size of
 * launch and kept: later ones compare a few numbers.
 *
 * The second version is launched where it can be: with as many threads as the launch has, and, in a
 * cooperative launch, with all of its blocks at once. Where hashes are not the user's own wish but
 * a proposal, it must also not keep more of its registers in memory, and must be predicted to be
 * worth it, fewer blocks at once taken into account (foresee.c). In doubt the launch gets the first
 * version, which is the program's own.
 *
 * Where it is to learn, launches that can get either take turns, in an order that is drawn, until
 * one version is faster beyond noise, or noise has been measured for long enough; then the answer
 * holds for many launches before it is looked at again. Where an earlier run has learnt that the
 * first version serves, nothing is predicted until then, and the second is not loaded; nor is it
 * where an earlier run could not tell, and nothing is expected of it. */
#include "inject.h"

#include "lock.h"
#include "rewrite/rewrite.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  BUCKETS = 16,
  MOST_VALUES = 32,     /* of parameters of a kernel, each with a prediction of its own */
  MOST_DECISIONS = 256, /* of a kernel; launches of more sizes get the first version */
  MOST_REASON_BYTES = 256,
  FIRST_TURNS = 4,         /* that are not measured: first launches load code */
  HELD_LAUNCHES = 1 << 17, /* after which the answer is looked at again */
};

/* The size of a launch, as far as it matters. */
typedef struct size {
  unsigned block[3];
  unsigned rows;       /* of dynamic shared memory */
  unsigned grid_class; /* bits of the number of blocks */
  unsigned state;      /* of the settings of the kernel, when it was asked about */
  int device;          /* 0 where all devices are alike */
  uint64_t values;     /* tells values of parameters apart; 0: these are not looked at */
} size;

typedef struct inject_decision {
  struct inject_decision *next;
  _Atomic(struct inject_decision *) later; /* in its place, where it was looked at again */
  size of;
  atomic_bool is_beside;
  atomic_uint refused;  /* by the driver, with this error */
  uint64_t most_blocks; /* of the second version in a cooperative launch */
  bool fits_as_many;    /* as many of its blocks run at once as of the first version */
  char reason[MOST_REASON_BYTES];
  /* Where it is to learn, and launches can get either version: */
  inject_lesson *lesson;                /* under the lock; NULL: nothing is learnt */
  struct inject_decision *next_learner; /* in the list of all */
  atomic_bool is_learnt;                /* the answer holds */
  bool is_recalled;                     /* an earlier run has learnt that the first version serves,
                                           or could not tell; the second was not asked for */
  uint64_t seed;                        /* of the order of turns */
  atomic_uint turn;                     /* launches that were given out in turns */
  atomic_uint held;                     /* launches since the answer */
} inject_decision;

/* What is known of the launches of a kernel, through whatever handles. */
typedef struct inject_subject {
  inject_values values; /* parameters that decide what the kernel does to shared memory */
  atomic_uint valued;   /* decisions for values of these */
  _Atomic(inject_decision *) last; /* that was used */
  _Atomic(inject_decision *) own;  /* the last that gave launches the first version, where these are
                                      told apart by their size alone; NULL: none */
  _Atomic(inject_decision *) bucket[BUCKETS];
  atomic_uint decisions;
  atomic_uint state; /* counts settings that the program has changed: */
  atomic_int setting[INJECT_SETTINGS];
  atomic_uint is_set; /* a bit for each */
  atomic_bool is_out; /* the second version is not used any more */
} inject_subject;

struct inject_subject *inject_subjects_create(const inject_kernel *kernel, unsigned count) {
  inject_subject *made = calloc((size_t)count + 1, sizeof *made);
  for (unsigned i = 0; made && i < count; i++)
    inject_values_parse(kernel[i].values, &made[i].values);
  return made;
}

struct inject_subject *inject_subject_at(struct inject_subject *first, size_t index) {
  return first + index;
}

unsigned inject_round(const inject_kernel *kernel, unsigned bytes) {
  uint64_t larger = bf_rewrite_dynamic_bytes(bytes, kernel->row_bytes, kernel->unused_bytes);
  uint64_t over = larger % INJECT_ROW_BYTES;
  if (kernel->rounds && over)
    larger += INJECT_ROW_BYTES - over;
  return larger <= UINT32_MAX ? (unsigned)larger : UINT32_MAX; /* which no GPU has */
}

uint64_t inject_launch_blocks(const inject_launch *launch) {
  return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

uint64_t inject_launch_threads(const inject_launch *launch) {
  return (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
}

/* ---- What the driver says ---- */

static struct {
  int (*function)(void **function, void *kernel);
  int (*attribute)(int *value, int attribute, void *function);
  int (*occupancy)(int *blocks, void *function, int threads, size_t bytes);
  int (*device)(int *device);
  int (*device_attribute)(int *value, int attribute, int device);
  int (*device_name)(char *name, int room, int device);
  int (*exchange_mode)(int *mode);
  bool differ; /* devices, in their architecture */
} driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_driver(void) {
  inject_devices devices;
  *(void **)&driver.function = inject_driver("cuKernelGetFunction");
  *(void **)&driver.attribute = inject_driver("cuFuncGetAttribute");
  *(void **)&driver.occupancy = inject_driver("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *(void **)&driver.device = inject_driver("cuCtxGetDevice");
  *(void **)&driver.device_attribute = inject_driver("cuDeviceGetAttribute");
  *(void **)&driver.device_name = inject_driver("cuDeviceGetName");
  *(void **)&driver.exchange_mode = inject_driver("cuThreadExchangeStreamCaptureMode");
  driver.differ = driver.device && (!inject_devices_ask(&devices) || devices.count > 1);
}

/* What the driver made of a version. */
typedef struct version {
  int most_threads; /* of a block */
  int registers;    /* of a thread */
  int local_bytes;  /* of a thread: registers that are kept in memory, among others */
  int blocks;       /* of the launch's size that a multiprocessor runs at once */
} version;

/* Asks about a version for launches with so many threads and bytes; false where the driver does not
 * say. */
static bool ask(void *handle, bool is_of_library, uint64_t threads, unsigned bytes, version *out) {
  void *function = handle;
  *out = (version){0};
  if (!driver.attribute || !driver.occupancy || threads > INT32_MAX)
    return false;
  if (is_of_library &&
      (!driver.function || driver.function(&function, handle) != CUDA_SUCCESS || !function))
    return false;
  if (driver.attribute(&out->most_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) !=
          CUDA_SUCCESS ||
      driver.attribute(&out->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function) != CUDA_SUCCESS ||
      driver.attribute(&out->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function) !=
          CUDA_SUCCESS)
    return false;
  return driver.occupancy(&out->blocks, function, (int)threads, bytes) == CUDA_SUCCESS;
}

/* Multiprocessors of the device at hand; 0: the driver does not say. */
static uint64_t count_multiprocessors(void) {
  int device = 0, count = 0;
  if (!driver.device || !driver.device_attribute || driver.device(&device) != CUDA_SUCCESS ||
      driver.device_attribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
          CUDA_SUCCESS)
    return 0;
  return count > 0 ? (uint64_t)count : 0;
}

/* ---- Decisions ---- */

/* Says why a launch gets the first version; returns false. */
__attribute__((format(printf, 2, 3))) static bool object(inject_decision *to, const char *format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to->reason, sizeof to->reason, format, arguments);
  va_end(arguments);
  return false;
}

/* Whether a launch can get the second version; else the decision says why not. */
static bool can_launch(const version *beside, uint64_t threads, inject_decision *to) {
  if ((uint64_t)beside->most_threads < threads)
    return object(to, "with %d registers, blocks of %llu threads cannot be launched",
                  beside->registers, (unsigned long long)threads);
  if (beside->blocks < 1)
    return object(to, "with %d registers, no block of %llu threads and its shared memory fits",
                  beside->registers, (unsigned long long)threads);
  return true;
}

/* Whether the second version keeps no more registers in memory; else the decision says so. */
static bool keeps_registers(const version *own, const version *beside, inject_decision *to) {
  if (beside->local_bytes > own->local_bytes)
    return object(to, "%d in place of %d bytes of registers are kept in memory",
                  beside->local_bytes, own->local_bytes);
  return true;
}

/* Whether the user has named a hash for the kernel. */
static bool is_named(const inject_pair *pair) {
  const inject_settings *settings = inject_settings_get();
  return settings && inject_is_named(settings, pair->kernel->name);
}

/* Whether the second version is expected to be faster in a launch that can get it. Hashes that the
 * user names are; a proposal is where nothing that the driver says speaks against it. *may_gain
 * becomes false where it cannot be faster: it has as many wavefronts. */
static bool expects_gain(const inject_pair *pair, const inject_launch *launch, const version *own,
                         const version *beside, inject_decision *to, bool *may_gain) {
  unsigned resident[2] = {(unsigned)own->blocks, (unsigned)beside->blocks};
  if (is_named(pair))
    return true;
  if (!keeps_registers(own, beside, to))
    return false;
  bool is_worth = inject_foresee(
      pair->image, pair->kernel, launch, (unsigned)count_multiprocessors(), resident,
      to->of.values ? &pair->subject->values : NULL, may_gain, to->reason, sizeof to->reason);
  if (resident[1] < resident[0]) {
    size_t length = strlen(to->reason);
    snprintf(to->reason + length, sizeof to->reason - length,
             "; %u in place of %u blocks fit into a multiprocessor", resident[1], resident[0]);
  }
  return is_worth;
}

/* ---- Lessons ---- */

static inject_decision *learners; /* under the lock */

/* A number for the order of turns: others for other kernels, sizes and numbers of earlier samples.
 */
static uint64_t seed_of(const inject_lesson *lesson) {
  uint64_t seed = lesson->grid_bits + 7 * lesson->rows + 131 * lesson->block[0] +
                  17 * lesson->learning.count[0] + lesson->learning.count[1];
  for (const char *at = lesson->pair->kernel->name; *at; at++)
    seed = 31 * seed + (unsigned char)*at;
  return seed;
}

/* Prepares to learn about launches that can get either version, where that is asked for. What
 * earlier runs have learnt is known, and all there is where times are taken, unless it is looked at
 * anew. */
static void start_learning(const inject_pair *pair, bool is_anew, inject_decision *to) {
  const inject_settings *settings = inject_settings_get();
  int device = 0;
  inject_lesson *made = settings && settings->recalls ? calloc(1, sizeof *made) : NULL;
  if (!made)
    return;
  *made = (inject_lesson){.pair = pair,
                          .block = {to->of.block[0], to->of.block[1], to->of.block[2]},
                          .rows = to->of.rows,
                          .grid_bits = to->of.grid_class};
  if (!driver.device || !driver.device_name || driver.device(&device) != CUDA_SUCCESS ||
      driver.device_name(made->gpu, sizeof made->gpu, device) != CUDA_SUCCESS)
    strcpy(made->gpu, "unknown");
  if (!is_anew)
    inject_memory_recall(made);
  to->seed = seed_of(made);
  to->lesson = made;
}

static void forget_lesson(inject_decision *of) {
  free(of->lesson);
  of->lesson = NULL;
}

/* Whether nothing is gained by the second version of a hash that nobody has asked for. */
static bool is_alike(const inject_lesson *lesson) {
  return inject_learn_are_alike(&lesson->learning) && !is_named(lesson->pair);
}

/* Whether earlier runs have learnt that the first version serves; the decision says so. */
static bool recalls_own(inject_decision *to) {
  const inject_lesson *lesson = to->lesson;
  bool is_faster = lesson && lesson->verdict == INJECT_OWN;
  to->is_recalled =
      is_faster || (lesson && lesson->verdict == INJECT_UNDECIDED && is_alike(lesson));
  if (to->is_recalled)
    object(to, is_faster ? "it is faster, as was learnt before"
                         : "both versions take as long, as was learnt before");
  return to->is_recalled;
}

/* ---- Second versions that are loaded apart ---- */

/* What is predicted of a second version of which nothing is known but its PTX: it is taken to need
 * what the first needs. */
typedef struct outlook {
  bool is_known, is_expected, may_gain;
} outlook;

/* Whether it may be worth it in a launch: it is compiled then. Else the decision says why not. */
static bool is_wanted(const inject_pair *pair, const inject_launch *launch, const version *own,
                      inject_decision *to, outlook *seen) {
  if (to->lesson && to->lesson->verdict == INJECT_BESIDE)
    return true;
  *seen = (outlook){.is_known = true, .may_gain = true};
  seen->is_expected = expects_gain(pair, launch, own, own, to, &seen->may_gain);
  if (seen->is_expected || !seen->may_gain || !to->lesson)
    return seen->is_expected;
  if (!inject_learn_is_over(&to->lesson->learning))
    return true;
  to->is_recalled = true;
  return object(to, "times do not tell both versions apart, as was learnt before");
}

/* Sets for the second version what the program has set so far. */
static void set_all(const inject_pair *pair) {
  unsigned is_set = atomic_load(&pair->subject->is_set);
  for (unsigned i = 0; i < INJECT_SETTINGS; i++)
    if (is_set >> i & 1 &&
        inject_set_beside(pair, i, atomic_load(&pair->subject->setting[i])) != CUDA_SUCCESS)
      atomic_store(&pair->subject->is_out, true);
}

/* Looks up the second version of a pair, where it is compiled. */
static bool complete(inject_pair *pair) {
  void *beside = inject_apart_handle(pair);
  if (!beside || !inject_handle_complete(pair, beside))
    return false;
  set_all(pair);
  return true;
}

/* Whether the pair has its second version, which is compiled where the launch may be worth it. Else
 * the decision says why not, and *is_late that it may have it later. */
static bool has_second(inject_pair *pair, const inject_launch *launch, const version *own,
                       inject_decision *to, outlook *seen, bool *is_late) {
  if (pair->beside)
    return true;
  *is_late = pair->kernel->is_doubtful && !inject_takes_times && inject_apart_prepare(pair);
  if (*is_late)
    return object(to, "predictions of its second version are being prepared");
  if (inject_apart_look(pair) == INJECT_APART_IDLE && !is_wanted(pair, launch, own, to, seen))
    return false;
  inject_apart_state state = inject_apart_get(pair, !seen->is_known || seen->is_expected);
  *is_late = state == INJECT_APART_BUSY || state == INJECT_APART_IDLE;
  if (*is_late)
    return object(to, "its second version is being compiled");
  return complete(pair) || object(to, "the driver refuses its second version");
}

/* Whether the second version is one for blocks of that size; else the decision says so. */
static bool suits_block(const inject_kernel *kernel, const inject_launch *launch,
                        inject_decision *to) {
  const uint64_t most[3] = {kernel->most_x, kernel->most_y, kernel->most_z};
  for (unsigned i = 0; i < 3; i++)
    if (most[i] && launch->block[i] > most[i])
      return object(to, "%s is for blocks with at most %llu threads in %c", kernel->hash,
                    (unsigned long long)most[i], "xyz"[i]);
  return true;
}

/* Whether a launch that can get the second version does so; *may_gain as for expects_gain. */
static bool prefers(const inject_pair *pair, const inject_launch *launch, const version *own,
                    const version *beside, const outlook *seen, inject_decision *to,
                    bool *may_gain) {
  if (to->lesson && to->lesson->verdict == INJECT_BESIDE) {
    object(to, "it is faster, as was learnt before");
    return true;
  }
  if (!seen->is_known || beside->blocks != own->blocks)
    return expects_gain(pair, launch, own, beside, to, may_gain);
  *may_gain = seen->may_gain;
  return seen->is_expected && (is_named(pair) || keeps_registers(own, beside, to));
}

/* Asks about both versions, and decides. *can_learn: launches can get either, and may gain.
 * *is_late: the answer holds for this launch only. */
static bool decide(inject_pair *pair, const inject_launch *launch, inject_decision *to,
                   bool *can_learn, bool *is_late) {
  uint64_t threads = inject_launch_threads(launch);
  version own, beside;
  outlook seen = {0};
  if (atomic_load(&pair->subject->is_out))
    return object(to, "what the program has set for it could not be set for the second version");
  if (!suits_block(pair->kernel, launch, to) || recalls_own(to))
    return false;
  if (!ask(pair->own, pair->is_of_library, threads, launch->bytes, &own))
    return object(to, "the driver does not say what it needs");
  if (!has_second(pair, launch, &own, to, &seen, is_late))
    return false;
  if (!ask(pair->beside, pair->is_of_library, threads, inject_round(pair->kernel, launch->bytes),
           &beside))
    return object(to, "the driver does not say what its second version needs");
  to->most_blocks = (uint64_t)beside.blocks * count_multiprocessors();
  to->fits_as_many = beside.blocks >= own.blocks;
  if (!can_launch(&beside, threads, to))
    return false;
  *can_learn = true;
  return prefers(pair, launch, &own, &beside, &seen, to, can_learn);
}

/* Logs what was decided. */
static void tell(const inject_pair *pair, const inject_launch *launch,
                 const inject_decision *made) {
  if (atomic_load(&made->is_beside))
    inject_log("%s, blocks of %llu threads: %s%s%s", pair->kernel->name,
               (unsigned long long)inject_launch_threads(launch), pair->kernel->hash,
               *made->reason ? ": " : "", made->reason);
  else
    inject_log("%s, blocks of %llu threads: as it is: %s", pair->kernel->name,
               (unsigned long long)inject_launch_threads(launch), made->reason);
}

/* ---- Sizes ---- */

/* Whether launches are told apart by values of parameters: predictions use them, times do not. */
static bool tells_values(void) {
  const inject_settings *settings = inject_settings_get();
  return settings && settings->is_auto && !settings->recalls;
}

/* Rows of dynamic shared memory, the last of which may be a part. */
static unsigned count_rows(unsigned bytes) {
  return bytes / INJECT_ROW_BYTES + (bytes % INJECT_ROW_BYTES != 0);
}

/* Bits of a number of blocks. */
static unsigned classify(uint64_t blocks) {
  return blocks ? 64 - (unsigned)__builtin_clzll(blocks) : 0;
}

static size size_of(const inject_pair *pair, const inject_launch *launch) {
  size made = {.block = {launch->block[0], launch->block[1], launch->block[2]},
               .rows = count_rows(launch->bytes),
               .grid_class = classify(inject_launch_blocks(launch)),
               .state = atomic_load_explicit(&pair->subject->state, memory_order_acquire)};
  if (driver.differ && driver.device(&made.device) != CUDA_SUCCESS)
    made.device = -1;
  if (pair->subject->values.count && tells_values())
    made.values = inject_values_key(&pair->subject->values, launch);
  return made;
}

/* Whether launches of a kernel are told apart by block, memory and grid alone. */
static bool has_plain_sizes(const inject_subject *subject) {
  return !driver.differ && !(subject->values.count && tells_values());
}

static bool is_same(const size *a, const size *b) {
  return a->block[0] == b->block[0] && a->block[1] == b->block[1] && a->block[2] == b->block[2] &&
         a->rows == b->rows && a->grid_class == b->grid_class && a->state == b->state &&
         a->device == b->device && a->values == b->values;
}

static _Atomic(inject_decision *) *bucket_of(inject_subject *subject, const size *of) {
  unsigned mixed = of->block[0] + 7 * of->block[1] + 13 * of->block[2] + of->grid_class +
                   (unsigned)(of->values >> 32);
  return &subject->bucket[(mixed ^ mixed >> 5) % BUCKETS];
}

/* The first decision about launches of that size; NULL: none yet. */
static inject_decision *find_first(inject_subject *subject, const size *of) {
  inject_decision *at = atomic_load_explicit(&subject->last, memory_order_acquire);
  if (at && is_same(&at->of, of))
    return at;
  at = atomic_load_explicit(bucket_of(subject, of), memory_order_acquire);
  while (at && !is_same(&at->of, of))
    at = at->next;
  if (at)
    atomic_store_explicit(&subject->last, at, memory_order_release);
  return at;
}

/* The decision that holds. */
static inject_decision *find(inject_subject *subject, const size *of) {
  inject_decision *found = find_first(subject, of);
  inject_decision *later = found ? atomic_load_explicit(&found->later, memory_order_acquire) : NULL;
  return later ? later : found;
}

/* Keeps a decision, in the place of an earlier one where there is one, unless another thread was
 * faster; the one that is kept. */
static inject_decision *keep(inject_subject *subject, inject_decision *earlier,
                             inject_decision *made) {
  _Atomic(inject_decision *) *bucket = bucket_of(subject, &made->of);
  inject_lock();
  inject_decision *known = find(subject, &made->of);
  known = known == earlier ? NULL : known;
  if (!known) {
    made->next = atomic_load(bucket);
    atomic_store_explicit(earlier ? &earlier->later : bucket, made, memory_order_release);
    atomic_fetch_add(&subject->decisions, 1);
    atomic_fetch_add(&subject->valued, made->of.values != 0);
    made->next_learner = learners;
    learners = made->lesson ? made : learners;
  }
  inject_unlock();
  if (known) {
    forget_lesson(made);
    free(made);
  }
  return known ? known : made;
}

/* Decides about a launch while the driver answers questions: they may load code, which is refused
 * to threads that are not relaxed about streams that are captured. */
static bool decide_relaxed(inject_pair *pair, const inject_launch *launch, inject_decision *to,
                           bool *is_late) {
  int mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool is_relaxed = driver.exchange_mode && driver.exchange_mode(&mode) == CUDA_SUCCESS;
  bool can_learn = false, is_beside = decide(pair, launch, to, &can_learn, is_late);
  if (is_relaxed)
    driver.exchange_mode(&mode);
  if (!can_learn)
    forget_lesson(to);
  return is_beside;
}

/* Decides about launches of that size for the first time, or anew in the place of an earlier
 * decision; NULL: there are too many, no memory, or nothing to decide about yet. */
static inject_decision *make(inject_pair *pair, const inject_launch *launch, const size *of,
                             inject_decision *earlier) {
  bool is_late = false;
  inject_decision *made = NULL;
  if (earlier || atomic_load(&pair->subject->decisions) < MOST_DECISIONS)
    made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->of = *of;
  start_learning(pair, earlier != NULL, made);
  bool is_beside = decide_relaxed(pair, launch, made, &is_late);
  if (is_late) {
    forget_lesson(made);
    free(made);
    return NULL;
  }
  if (made->lesson)
    atomic_init(&made->is_learnt, made->lesson->verdict != INJECT_UNDECIDED ||
                                      inject_learn_is_over(&made->lesson->learning));
  if (inject_takes_times)
    forget_lesson(made);
  atomic_init(&made->is_beside, is_beside);
  inject_decision *kept = keep(pair->subject, earlier, made);
  if (kept == made)
    tell(pair, launch, made);
  return kept;
}

/* ---- Launches ---- */

/* Whether all blocks of a launch run at once where they must: nodes of graphs may be made
 * cooperative later. */
static bool can_run_at_once(const inject_launch *launch, const inject_decision *decision) {
  if (!launch->is_cooperative && !launch->is_node)
    return true;
  return inject_launch_blocks(launch) <= decision->most_blocks || decision->fits_as_many;
}

/* Keeps all that was learnt so far for later runs. */
static void keep_lessons(void) {
  size_t count = 0, room = 0;
  inject_lock();
  for (const inject_decision *at = learners; at; at = at->next_learner)
    room++;
  inject_lesson *all = malloc((room + 1) * sizeof *all);
  for (const inject_decision *at = learners; all && at; at = at->next_learner)
    if (at->lesson->verdict != INJECT_UNDECIDED || at->lesson->learning.count[0])
      all[count++] = *at->lesson;
  inject_unlock();
  if (count)
    inject_memory_keep(all, count);
  free(all);
}

__attribute__((destructor)) static void keep_last(void) {
  if (learners)
    keep_lessons();
}

/* Logs what was learnt, and keeps it after ever more answers. */
static void tell_learnt(const inject_lesson *lesson) {
  static atomic_uint answers;
  const char *what = lesson->verdict == INJECT_BESIDE ? lesson->pair->kernel->hash
                     : lesson->verdict == INJECT_OWN  ? "as it is"
                                                      : "no difference beyond noise";
  unsigned count = atomic_fetch_add(&answers, 1) + 1;
  inject_log("%s, blocks of %u threads, %u bits of blocks: learnt from %u and %u launches: %s",
             lesson->pair->kernel->name, lesson->block[0] * lesson->block[1] * lesson->block[2],
             lesson->grid_bits, lesson->learning.count[0], lesson->learning.count[1], what);
  if ((count & (count - 1)) == 0 || count % 64 == 0)
    keep_lessons();
}

/* Adds the time of a launch to a lesson; true where there is an answer now. */
static bool add_sample(inject_decision *to, bool is_beside, float ns) {
  inject_learning *learning = &to->lesson->learning;
  if (atomic_load(&to->is_learnt) || learning->count[is_beside] == INJECT_MOST_SAMPLES)
    return false;
  learning->ns[is_beside][learning->count[is_beside]++] = ns;
  inject_verdict verdict = inject_learn_judge(learning);
  if (verdict == INJECT_UNDECIDED && !inject_learn_is_over(learning))
    return false;
  to->lesson->verdict = verdict;
  if (verdict != INJECT_UNDECIDED)
    atomic_store(&to->is_beside, verdict == INJECT_BESIDE);
  else if (is_alike(to->lesson))
    atomic_store(&to->is_beside, false);
  atomic_store(&to->held, 0);
  atomic_store(&to->is_learnt, true);
  return true;
}

static void file_sample(void *owner, bool is_beside, float ns) {
  inject_decision *to = owner;
  inject_lock();
  bool is_new = add_sample(to, is_beside, ns);
  inject_lesson copy = *to->lesson;
  inject_unlock();
  if (is_new)
    tell_learnt(&copy);
}

/* Begins anew with a lesson whose answer has held for long. */
static void look_again(inject_decision *decision) {
  inject_lock();
  if (atomic_load(&decision->is_learnt)) {
    memset(decision->lesson->learning.count, 0, sizeof decision->lesson->learning.count);
    atomic_store(&decision->is_learnt, false);
  }
  inject_unlock();
}

/* Counts a launch since the answer; whether there have been so many that it is looked at again. A
 * few that other threads count meanwhile do not matter. */
static bool is_old(inject_decision *decision) {
  unsigned held = atomic_load_explicit(&decision->held, memory_order_relaxed);
  if (held < HELD_LAUNCHES)
    atomic_store_explicit(&decision->held, held + 1, memory_order_relaxed);
  return held + 1 >= HELD_LAUNCHES;
}

/* The version that a launch gets where something is learnt from it; is_beside is what is known. */
static bool take_turn(inject_launch *launch, inject_decision *decision, bool is_beside) {
  if (atomic_load_explicit(&decision->is_learnt, memory_order_relaxed)) {
    if (is_old(decision))
      look_again(decision);
    return is_beside;
  }
  inject_learn_poll(file_sample);
  if (atomic_load(&decision->refused) || inject_is_capturing(launch->stream) ||
      !can_run_at_once(launch, decision))
    return atomic_load(&decision->is_beside);
  unsigned turn = atomic_fetch_add(&decision->turn, 1);
  if (turn >= FIRST_TURNS)
    inject_learn_begin(launch, decision);
  if (turn >= FIRST_TURNS && !launch->sample) {
    atomic_fetch_sub(&decision->turn, 1);
    return is_beside;
  }
  return inject_learn_turn(decision->seed, turn);
}

/* The decision about a launch, which is made where there is none, or none that holds any more. */
static inject_decision *find_or_make(inject_pair *pair, const inject_launch *launch) {
  size of = size_of(pair, launch);
  inject_decision *found = find(pair->subject, &of), *made;
  if (!found && of.values && atomic_load(&pair->subject->valued) >= MOST_VALUES) {
    of.values = 0; /* there are too many to look at each */
    found = find(pair->subject, &of);
  }
  if (found && !(found->is_recalled && is_old(found)))
    return found;
  made = make(pair, launch, &of, found);
  return made ? made : found;
}

/* Whether a decision gives all launches of its size the first version, and nothing is learnt from
 * them. */
static bool is_settled_own(const inject_decision *decision) {
  return !atomic_load_explicit(&decision->is_beside, memory_order_acquire) &&
         (!decision->lesson || atomic_load_explicit(&decision->is_learnt, memory_order_acquire));
}

/* Remembers a decision for inject_is_own, where it is one for that. */
static void note_own(inject_pair *pair, inject_decision *decision) {
  inject_subject *subject = pair->subject;
  if (!is_settled_own(decision) || !has_plain_sizes(subject))
    return;
  atomic_store_explicit(&subject->own, decision, memory_order_release);
  __atomic_store_n(&pair->has_own, true, __ATOMIC_RELAXED);
}

bool inject_is_own(const inject_pair *pair, const unsigned grid[3], const unsigned block[3],
                   unsigned bytes) {
  inject_subject *subject = pair->subject;
  inject_decision *at = atomic_load_explicit(&subject->own, memory_order_acquire);
  if (!at || at->of.block[0] != block[0] || at->of.block[1] != block[1] ||
      at->of.block[2] != block[2] || at->of.rows != count_rows(bytes) ||
      at->of.grid_class != classify((uint64_t)grid[0] * grid[1] * grid[2]) ||
      at->of.state != atomic_load_explicit(&subject->state, memory_order_acquire))
    return false;
  return is_settled_own(at) && !((at->lesson || at->is_recalled) && is_old(at));
}

void inject_choose(inject_pair *pair, inject_launch *launch) {
  pthread_once(&once, find_driver);
  void *beside = __atomic_load_n(&pair->beside, __ATOMIC_ACQUIRE);
  if (!beside && !inject_takes_times && inject_apart_look(pair) == INJECT_APART_BUSY)
    return;
  inject_decision *found = find_or_make(pair, launch);
  launch->decision = found;
  if (found)
    note_own(pair, found);
  bool is_beside = found && atomic_load_explicit(&found->is_beside, memory_order_relaxed);
  if (!is_beside && !(found && found->lesson))
    return;
  /* It may have been loaded by now, and another handle of the kernel may have been decided about.
   */
  beside = __atomic_load_n(&pair->beside, __ATOMIC_ACQUIRE);
  if (!beside && complete(pair))
    beside = __atomic_load_n(&pair->beside, __ATOMIC_ACQUIRE);
  if (!beside)
    return;
  if (found->lesson && !launch->is_node)
    is_beside = take_turn(launch, found, is_beside);
  /* A program reads the size of a node's dynamic memory, and may give it back. */
  bool is_read = launch->is_node && pair->kernel->row_bytes;
  if (!is_beside || is_read || !can_run_at_once(launch, found))
    return;
  launch->is_beside = true;
  launch->chosen = beside;
  launch->chosen_bytes = inject_round(pair->kernel, launch->bytes);
}

void inject_choice_refused(const inject_launch *launch) {
  inject_decision *decision = launch->decision;
  const inject_pair *pair = launch->pair;
  atomic_store(&decision->is_beside, false);
  if (atomic_exchange(&decision->refused, (unsigned)launch->refusal) == 0 && pair)
    inject_log("%s, blocks of %llu threads: as it is: the driver refuses the second version "
               "(error %d)",
               pair->kernel->name, (unsigned long long)inject_launch_threads(launch),
               launch->refusal);
}

void inject_choice_changed(const inject_pair *pair, unsigned setting, int value, int result) {
  inject_subject *subject = pair->subject;
  bool is_new =
      setting >= INJECT_SETTINGS || atomic_exchange(&subject->setting[setting], value) != value;
  if (setting < INJECT_SETTINGS)
    atomic_fetch_or(&subject->is_set, 1u << setting);
  else if (!pair->beside)
    atomic_store(&subject->is_out, true); /* it could not be set later */
  if (result != CUDA_SUCCESS)
    is_new |= !atomic_exchange(&subject->is_out, true);
  if (is_new)
    atomic_fetch_add(&subject->state, 1);
}

const char *inject_choice_reason(const inject_launch *launch) {
  const inject_decision *decision = launch->decision;
  if (!decision || launch->is_beside)
    return NULL;
  if (atomic_load(&decision->refused))
    return "the driver refuses the second version";
  return *decision->reason ? decision->reason : "its blocks cannot all run at once";
}
