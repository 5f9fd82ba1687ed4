/* Writes what benchmarks of the corpus do to shared memory in the order in which the emulator does
 * it, each execution by itself, as tracers on a GPU record it (the traces that `exec` and `corpus`
 * write have each distinct access once): bench_in_order FILE ACCESSES NAME... The benchmarks have
 * equal shares and are repeated, with other data, until there are so many. Prints how many accesses
 * each gave. */
#include "kernels/corpus.h"
#include "kernels/devices.h"

#include "emu/emu.h"
#include "ptx/site.h"

#include <stdlib.h>
#include <string.h>

typedef struct recorder {
  bf_trace_writer *writer;
  bf_emu_observer observer;
  const bf_emu_kernel *kernel;
  bf_text site;
  uint64_t written, share; /* by this benchmark */
} recorder;

static void die(const bf_diagnostic *diagnostic) {
  fprintf(stderr, "bench_in_order: %s\n", diagnostic->message);
  exit(2);
}

static void write_access(void *context, const bf_emu_event *event) {
  recorder *own = context;
  bf_diagnostic diagnostic;
  if (own->written == own->share || !event->shared_address)
    return;
  bf_emu_site site = bf_emu_kernel_site(own->kernel, event->site);
  own->site.size = 0;
  bf_site_write(bf_emu_kernel_name(own->kernel), site.source_file, site.source_line, site.line,
                &own->site);
  bf_access access = {.op = event->op,
                      .width_bytes = event->width_bytes,
                      .mask = event->mask,
                      .count = 1,
                      .site = own->site.data};
  for (unsigned lane = 0; lane < BF_EMU_LANES; lane++)
    access.address[lane] = event->mask >> lane & 1 ? event->shared_address[lane] : 0;
  if (bf_trace_writer_add(own->writer, &access, &diagnostic) != BF_OK)
    die(&diagnostic);
  own->written++;
}

static int before_launch(void *context, struct bf_emu_launch *launch, bf_diagnostic *diagnostic) {
  recorder *own = context;
  (void)diagnostic;
  own->kernel = launch->kernel;
  launch->observer = own->written < own->share ? &own->observer : NULL;
  return BF_OK;
}

/* Runs a benchmark until it has given its share. */
static void record(recorder *own, const char *name) {
  const bf_corpus_benchmark *benchmark = bf_corpus_find(name);
  bf_emu_device_options options = {.workers = 1, .before = before_launch, .context = own};
  bf_corpus_outcome outcome;
  bf_device device;
  bf_diagnostic diagnostic;
  uint64_t before = 0;
  own->written = 0;
  if (!benchmark) {
    fprintf(stderr, "bench_in_order: no benchmark '%s'\n", name);
    exit(2);
  }
  for (unsigned seed = 0; own->written < own->share; seed++) {
    if (bf_emu_device_create(benchmark->folder, bf_corpus_ptx(benchmark->folder), &options, &device,
                             &diagnostic) != BF_OK ||
        bf_corpus_execute(benchmark, &device, 1, seed, &outcome, &diagnostic) != BF_OK)
      die(&diagnostic);
    bf_emu_device_free(&device);
    if (own->written == before) {
      fprintf(stderr, "bench_in_order: '%s' has no shared accesses\n", name);
      exit(2);
    }
    before = own->written;
  }
  printf("{\"bench\": \"in_order\", \"benchmark\": \"%s\", \"accesses\": %llu}\n", name,
         (unsigned long long)own->written);
}

int main(int count, char **arguments) {
  bf_diagnostic diagnostic;
  recorder own = {.observer = {.access = write_access, .as_merged = true}};
  own.observer.context = &own;
  if (count < 4) {
    fputs("usage: bench_in_order FILE ACCESSES NAME...\n", stderr);
    return 2;
  }
  own.share = strtoull(arguments[2], NULL, 10) / (unsigned)(count - 3);
  if (bf_trace_writer_open(arguments[1], true, &own.writer, &diagnostic) != BF_OK)
    die(&diagnostic);
  for (int i = 3; i < count; i++)
    record(&own, arguments[i]);
  if (bf_trace_writer_commit(own.writer, &diagnostic) != BF_OK)
    die(&diagnostic);
  bf_trace_writer_close(own.writer);
  bf_text_free(&own.site);
  return 0;
}
