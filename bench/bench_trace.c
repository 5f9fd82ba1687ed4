/* Reading traces: a million accesses as text and packed, beside a loop of fgets and strtoul over
 * the same text that checks nothing; and counting them, one by one and by a sums. Prints one JSON
 * line with accesses per second of processor time, bytes on disk and the peak of memory. */
#include "memory/site_sums.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ACCESSES = 1000000 };

static void die(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_trace: %s\n", diagnostic->message);
  exit(2);
}

/* Processor time of all threads. */
static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void write_trace(const char *path, bool packed) {
  bf_trace_writer *writer;
  bf_diagnostic diagnostic;
  uint64_t random = 88172645463325252u;
  if (bf_trace_writer_open(path, packed, &writer, &diagnostic) != BF_OK)
    die(&diagnostic);
  for (unsigned a = 0; a < ACCESSES; a++) {
    bf_access access = {.op = BF_OP_LD, .width_bytes = 4, .mask = 0xffffffff, .count = 1};
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    uint32_t stride = (uint32_t)(random >> 20) % 64, base = (uint32_t)(random >> 40) % 1024;
    for (unsigned lane = 0; lane < 32; lane++)
      access.address[lane] = 4 * (base + lane * stride);
    if (bf_trace_writer_add(writer, &access, &diagnostic) != BF_OK)
      die(&diagnostic);
  }
  if (bf_trace_writer_commit(writer, &diagnostic) != BF_OK)
    die(&diagnostic);
  bf_trace_writer_close(writer);
}

/* Accesses per second; the sum keeps the work from being dropped. */
static double read_trace(const char *path, const bf_machine *machine, uint64_t *sum) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  bf_diagnostic diagnostic;
  bf_access access;
  double started = seconds();
  if (bf_trace_open(path, &limits, &trace, &diagnostic) != BF_OK)
    die(&diagnostic);
  int status;
  while ((status = bf_trace_next(trace, &access, &diagnostic)) == 1)
    *sum += access.address[31];
  if (status < 0)
    die(&diagnostic);
  bf_trace_close(trace);
  return ACCESSES / (seconds() - started);
}

static double read_plainly(const char *path, uint64_t *sum) {
  char line[4096];
  double started = seconds();
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    char *at = line + sizeof "ld 4 ffffffff" - 1;
    unsigned long address = 0;
    for (unsigned lane = 0; lane < 32; lane++)
      address = strtoul(at, &at, 10);
    *sum += address;
  }
  if (file)
    fclose(file);
  return ACCESSES / (seconds() - started);
}

static double count_all(const char *path, const bf_machine *machine, uint64_t *sum) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_trace *trace;
  bf_hash *none;
  bf_diagnostic diagnostic;
  bf_access access;
  bf_count count;
  double started = seconds();
  if (bf_hash_parse("none", &geometry, &none, &diagnostic) != BF_OK ||
      bf_trace_open(path, &limits, &trace, &diagnostic) != BF_OK)
    die(&diagnostic);
  while (bf_trace_next(trace, &access, &diagnostic) == 1 &&
         bf_memory_count(machine, none, &access, &count, &diagnostic) == BF_OK)
    *sum += count.conflicts;
  bf_trace_close(trace);
  bf_hash_free(none);
  return ACCESSES / (seconds() - started);
}

static double sum_all(const char *path, const bf_machine *machine, uint64_t *sum) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_site_sums_reading reading = {.threads = 1};
  bf_trace *trace;
  bf_site_sums *sums;
  bf_diagnostic diagnostic;
  double started = seconds();
  if (bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, &diagnostic) != BF_OK ||
      bf_trace_open(path, &limits, &trace, &diagnostic) != BF_OK ||
      bf_site_sums_read(sums, trace, path, &reading, &diagnostic) != BF_OK)
    die(&diagnostic);
  *sum = bf_site_sums_total(sums).conflicts;
  bf_trace_close(trace);
  bf_site_sums_free(sums);
  return ACCESSES / (seconds() - started);
}

/* As sum_all, but every access is put together and counted by itself, as it was before repeats were
 * counted by the reader. */
static double sum_each(const char *path, const bf_machine *machine, uint64_t *sum) {
  bf_trace_limits limits = bf_machine_limits(machine);
  bf_trace *trace;
  bf_site_sums *sums;
  bf_diagnostic diagnostic;
  const bf_access *access;
  double started = seconds();
  if (bf_site_sums_create(machine, NULL, BF_LOCK_PLAIN, &sums, &diagnostic) != BF_OK ||
      bf_trace_open(path, &limits, &trace, &diagnostic) != BF_OK)
    die(&diagnostic);
  while (bf_trace_step(trace, &access, &diagnostic) == 1)
    if (bf_site_sums_add(sums, access, NULL, &diagnostic) != BF_OK)
      die(&diagnostic);
  *sum = bf_site_sums_total(sums).conflicts;
  bf_trace_close(trace);
  bf_site_sums_free(sums);
  return ACCESSES / (seconds() - started);
}

/* What solve reads: accesses merged into a workload. */
static double merge_all(const char *path, const bf_machine *machine, uint64_t *accesses) {
  bf_workload *workload;
  bf_diagnostic diagnostic;
  double started = seconds();
  if (bf_workload_read(path, machine, &workload, &diagnostic) != BF_OK)
    die(&diagnostic);
  *accesses = 0;
  for (size_t i = 0; i < bf_workload_size(workload); i++)
    *accesses += bf_workload_get(workload, i)->count;
  bf_workload_free(workload);
  return ACCESSES / (seconds() - started);
}

int main(void) {
  char text[] = "bench_text_XXXXXX", packed[] = "bench_packed_XXXXXX";
  bf_machine *machine;
  bf_diagnostic diagnostic;
  uint64_t plain = 0, parsed = 0, unpacked = 0, conflicts = 0, of_text, of_packed, of_each, merged;
  if (bf_machine_load("hopper", NULL, &machine, &diagnostic) != BF_OK)
    die(&diagnostic);
  int first = mkstemp(text), second = mkstemp(packed);
  if (first < 0 || second < 0)
    return 2;
  write_trace(text, false);
  write_trace(packed, true);
  struct stat text_file, packed_file;
  stat(text, &text_file);
  stat(packed, &packed_file);
  double plain_rate = read_plainly(text, &plain), text_rate = read_trace(text, machine, &parsed);
  double packed_rate = read_trace(packed, machine, &unpacked);
  double count_rate = count_all(packed, machine, &conflicts);
  double text_sum_rate = sum_all(text, machine, &of_text);
  double each_rate = sum_each(packed, machine, &of_each);
  double sum_rate = sum_all(packed, machine, &of_packed);
  double merge_rate = merge_all(packed, machine, &merged);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("{\"bench\": \"trace\", \"accesses\": %d, \"unit\": \"million accesses per second\", "
         "\"fgets_strtoul\": %.2f, \"text\": %.2f, \"packed\": %.2f, \"packed_and_counted\": %.2f, "
         "\"text_summed\": %.2f, \"packed_summed_each\": %.2f, \"packed_summed\": %.2f, "
         "\"packed_merged\": %.2f, "
         "\"text_bytes\": %lld, \"packed_bytes\": %lld, \"peak_memory_kib\": %ld, \"agree\": %s}\n",
         ACCESSES, plain_rate / 1e6, text_rate / 1e6, packed_rate / 1e6, count_rate / 1e6,
         text_sum_rate / 1e6, each_rate / 1e6, sum_rate / 1e6, merge_rate / 1e6,
         (long long)text_file.st_size, (long long)packed_file.st_size, usage.ru_maxrss,
         plain == parsed && parsed == unpacked && conflicts == of_text && conflicts == of_packed &&
                 conflicts == of_each && merged == ACCESSES
             ? "true"
             : "false");
  unlink(text);
  unlink(packed);
  close(first);
  close(second);
  bf_machine_free(machine);
  return 0;
}
