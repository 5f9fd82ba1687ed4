/* braak15, section 7.3.2: how many threads of a multiprocessor a GTX 470 needs for its bandwidth.
 *
 * Kernels that only move words run on the whole GPU with four blocks on each multiprocessor, whose
 * size is varied. The document says that 768 threads are the least with over 90% of what 1536
 * obtain, for a simple kernel that it does not give. One that copies a word by each thread is
 * compared; two others, and other latencies, show what the number depends on. */
#include "reproduce/reproduce.h"

#include "kernels/devices.h"
#include "kernels/sim_device.h"

enum { BLOCKS_PER_SM = 4, STEPS = 12, STEP_THREADS = 128, PUBLISHED = 768 };
enum { COPY, ADD, SUM, KERNELS };
enum { USUAL, FASTER, SLOWER, MEMORIES };

/* Words that a thread or the loop of one moves for each of `count`. */
static const struct {
  const char *name, *title;
  unsigned moved;
} kernels[KERNELS] = {{"copy", "copy: a word by each thread", 2},
                      {"add", "add: two words are read at once", 3},
                      {"sum", "sum: a thread reads one word after the other", 1}};
/* How long a request and its answer are under way, in cycles, is assumed in machines/gtx580.gpu. */
static const char *const memory_titles[MEMORIES] = {"as usual", "half as long under way",
                                                    "twice as long"};
static const char *const memory_changes[MEMORIES][2] = {
    {NULL}, {"request_cycles=70", "return_cycles=70"}, {"request_cycles=280", "return_cycles=280"}};

typedef struct bandwidth_work {
  uint32_t words;
  double rate[KERNELS][MEMORIES][STEPS]; /* bytes in a nanosecond, by threads */
} bandwidth_work;

static unsigned threads_of(unsigned step) { return (step + 1) * STEP_THREADS; }

/* ---- Running ---- */

/* Launches a kernel with so many threads on every multiprocessor. */
static int launch(const bf_device *device, unsigned kernel, uint64_t sms, unsigned threads,
                  uint32_t words, bf_diagnostic *diagnostic) {
  uint64_t from, to, bytes = (uint64_t)words * sizeof(uint32_t);
  uint32_t size = threads / BLOCKS_PER_SM;
  uint32_t blocks = kernel == SUM ? (uint32_t)sms * BLOCKS_PER_SM : (words + size - 1) / size;
  BF_TRY(bf_corpus_upload(device, NULL, 2 * bytes, &from, diagnostic));
  BF_TRY(bf_corpus_upload(device, NULL, bytes, &to, diagnostic));
  return BF_CORPUS_LAUNCH(device, kernels[kernel].name, blocks, 1, size, 1, diagnostic, &from, &to,
                          &words);
}

static int simulate(const bf_sim_gpu *gpu, unsigned kernel, unsigned threads, uint32_t words,
                    double *rate, bf_diagnostic *diagnostic) {
  bf_sim_ledger ledger = {.settings = {.gpu = gpu, .workers = 1}};
  bf_sim_launched total;
  bf_device device;
  BF_TRY(bf_sim_device_create("bandwidth.ptx", bf_reproduce_ptx("bandwidth"), &ledger, &device,
                              diagnostic));
  int error = launch(&device, kernel, gpu->sms, threads, words, diagnostic);
  if (!error)
    error = bf_sim_ledger_total(&ledger, &total, diagnostic);
  double bytes = (double)words * sizeof(uint32_t) * kernels[kernel].moved;
  *rate = error ? 0 : bytes / (1e9 * total.result.seconds);
  bf_sim_ledger_free(&ledger);
  bf_emu_device_free(&device);
  return error;
}

/* Task: one kernel with one memory and one number of threads. */
static int run_point(void *context, unsigned index, bf_diagnostic *diagnostic) {
  bandwidth_work *work = context;
  unsigned step = index % STEPS, memory = index / STEPS % MEMORIES;
  unsigned kernel = index / STEPS / MEMORIES;
  bf_sim_gpu *gpu;
  BF_TRY(bf_sim_gpu_load("gtx470", &gpu, diagnostic));
  gpu->blocks_per_sm = BLOCKS_PER_SM;
  int error = BF_OK;
  for (unsigned i = 0; i < 2 && memory_changes[memory][i] && !error; i++)
    error = bf_sim_gpu_set(gpu, memory_changes[memory][i], diagnostic);
  if (!error)
    error = simulate(gpu, kernel, threads_of(step), work->words, &work->rate[kernel][memory][step],
                     diagnostic);
  bf_sim_gpu_free(gpu);
  return error;
}

/* ---- Reporting ---- */

/* The least threads with more than 90% of what the most obtain. */
static unsigned least_threads(const double rate[STEPS]) {
  unsigned step = 0;
  while (rate[step] <= 0.9 * rate[STEPS - 1])
    step++;
  return threads_of(step);
}

/* Percent of what the most threads obtain that the published number does. */
static double share_of_published(const double rate[STEPS]) {
  return 100 * rate[PUBLISHED / STEP_THREADS - 1] / rate[STEPS - 1];
}

static void add_table(bf_reproduce_run *run, const bandwidth_work *work) {
  bf_reproduce_table *table = bf_reproduce_table_add(
      run, "bandwidth", "Bytes per nanosecond of a GTX 470 by threads of a multiprocessor",
      "kernel|memory|128|256|384|512|640|768|896|1024|1152|1280|1408|1536|least for 90%");
  for (unsigned i = 0; i < KERNELS * MEMORIES; i++) {
    const double *rate = work->rate[i / MEMORIES][i % MEMORIES];
    bf_reproduce_cell(table, "%s", kernels[i / MEMORIES].title);
    bf_reproduce_cell(table, "%s", memory_titles[i % MEMORIES]);
    for (unsigned step = 0; step < STEPS; step++)
      bf_reproduce_cell(table, "%.1f", rate[step]);
    bf_reproduce_cell(table, "%u", least_threads(rate));
  }
}

static void claim_threads(bf_reproduce_run *run, const bandwidth_work *work) {
  const double(*copy)[STEPS] = work->rate[COPY];
  char why[500];
  snprintf(why, sizeof why,
           "%d threads obtain %.0f%% here. The number depends on how long memory takes, which is "
           "assumed in part, with half and twice of it %u and %u threads are needed, and on how "
           "many words a thread of the kernel, which is not given, has under way: with two %u, in "
           "a loop with one %u.",
           PUBLISHED, share_of_published(copy[USUAL]), least_threads(copy[FASTER]),
           least_threads(copy[SLOWER]), least_threads(work->rate[ADD][USUAL]),
           least_threads(work->rate[SUM][USUAL]));
  bf_reproduce_claim_add(
      run,
      &(bf_reproduce_claim){.name = "threads of a multiprocessor for over 90% of the bandwidth",
                            .published = PUBLISHED,
                            .ours = least_threads(copy[USUAL]),
                            .why = why});
}

static int draw(bf_reproduce_run *run, const bandwidth_work *work, bf_diagnostic *diagnostic) {
  double x[STEPS];
  bf_chart_series series[KERNELS];
  for (unsigned step = 0; step < STEPS; step++)
    x[step] = threads_of(step);
  for (unsigned i = 0; i < KERNELS; i++)
    series[i] = (bf_chart_series){
        .name = kernels[i].name, .x = x, .y = work->rate[i][USUAL], .count = STEPS};
  return bf_reproduce_chart(run, "bandwidth",
                            &(bf_chart){.title = "Bandwidth of a GTX 470",
                                        .x_label = "threads of a multiprocessor",
                                        .y_label = "bytes per nanosecond",
                                        .from_zero = true,
                                        .series = series,
                                        .series_count = KERNELS},
                            diagnostic);
}

static int run_bandwidth(bf_reproduce_run *run, bf_diagnostic *diagnostic) {
  bandwidth_work work = {.words = bf_reproduce_is_quick(run) ? 1U << 16 : 1U << 21};
  BF_TRY(bf_reproduce_parallel(run, KERNELS * MEMORIES * STEPS, "threads", run_point, &work,
                               diagnostic));
  add_table(run, &work);
  if (!bf_reproduce_is_quick(run))
    claim_threads(run, &work);
  return draw(run, &work, diagnostic);
}

const bf_reproduction bf_reproduce_bandwidth[] = {
    {.name = "bandwidth",
     .title = "threads that a GPU needs for its bandwidth",
     .document = "braak15, section 7.3.2",
     .summary =
         "Three kernels that memory bounds on a whole GTX 470, with 128 to 1536 threads on each "
         "multiprocessor.",
     .run = run_bandwidth},
    {0},
};
