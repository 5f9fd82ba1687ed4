/* Whatever the emulator runs is simulated on any GPU, with the same outcome: the same memory, or a
 * fault as well. Inputs are PTX; where they begin with a comment, its letters choose the GPU. Every
 * kernel is launched with one block, and ended when it takes long. Of two warps the order is not
 * the emulator's, so their memory is not compared. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LETTERS = 16, MOST_CYCLES = 20000, MOST_BYTES = 1 << 20, MOST_RANGES = 64 };

static bool stop(void *context, uint64_t done, uint64_t blocks) {
  (void)context, (void)done, (void)blocks;
  return false;
}

/* Number i that the comment of the input gives; 0 behind its end. */
static unsigned letter(const uint8_t *data, size_t size, unsigned i) {
  if (size < 2 || data[0] != '/' || data[1] != '/')
    return 0;
  for (size_t at = 2; at < size && data[at] != '\n'; at++)
    if (at == 2 + i)
      return data[at];
  return 0;
}

/* Gives a parameter one of its smaller values, which is refused where it cannot be. */
static void change(bf_sim_gpu *gpu, unsigned which, unsigned value) {
  size_t count = 0;
  while (bf_sim_parameters[count].name)
    count++;
  const bf_sim_parameter *parameter = &bf_sim_parameters[which % count];
  char text[160], words[120];
  bf_diagnostic diagnostic;
  if (parameter->kind == BF_SIM_CHOICE) {
    snprintf(words, sizeof words, "%s", parameter->words);
    char *rest = NULL, *word = strtok_r(words, " ", &rest);
    for (unsigned i = value % 5; i > 0 && word; i--)
      word = strtok_r(NULL, " ", &rest);
    snprintf(text, sizeof text, "%s=%s", parameter->name, word ? word : "");
  } else {
    const double values[] = {parameter->least, parameter->least + 1, parameter->value, 37};
    snprintf(text, sizeof text, "%s=%g", parameter->name, values[value % 4]);
  }
  bf_sim_gpu_set(gpu, text, &diagnostic);
}

static bf_sim_gpu *choose_gpu(const uint8_t *data, size_t size) {
  static const char *const names[] = {"h200", "gtx580", "elastic", "k20", "8800gt", "gtx750ti"};
  bf_sim_gpu *gpu;
  bf_diagnostic diagnostic;
  if (bf_sim_gpu_load(names[letter(data, size, 0) % 6], &gpu, &diagnostic) != BF_OK)
    abort();
  for (unsigned i = 1; i + 1 < LETTERS; i += 2)
    if (letter(data, size, i))
      change(gpu, letter(data, size, i), letter(data, size, i + 1));
  return gpu;
}

/* Device memory, copied. */
typedef struct snapshot {
  bf_emu_range range[MOST_RANGES];
  size_t ranges;
  uint8_t *bytes;
} snapshot;

static bool take(const bf_emu *emu, snapshot *own) {
  own->ranges = bf_emu_ranges(emu, own->range, MOST_RANGES);
  size_t bytes = 1, at = 0;
  for (size_t i = 0; i < own->ranges && own->ranges <= MOST_RANGES; i++)
    bytes += own->range[i].bytes;
  own->bytes = own->ranges <= MOST_RANGES && bytes <= 2 * MOST_BYTES ? malloc(bytes) : NULL;
  for (size_t i = 0; own->bytes && i < own->ranges; at += own->range[i++].bytes)
    memcpy(own->bytes + at, (void *)(uintptr_t)own->range[i].address, own->range[i].bytes);
  return own->bytes != NULL;
}

static void give_back(const snapshot *own) {
  size_t at = 0;
  for (size_t i = 0; i < own->ranges; at += own->range[i++].bytes)
    memcpy((void *)(uintptr_t)own->range[i].address, own->bytes + at, own->range[i].bytes);
}

static bool is_same(const snapshot *own) {
  size_t at = 0;
  for (size_t i = 0; i < own->ranges; at += own->range[i++].bytes)
    if (memcmp((void *)(uintptr_t)own->range[i].address, own->bytes + at, own->range[i].bytes) != 0)
      return false;
  return true;
}

/* Whether a kernel can see time, places of the host, or what else differs from run to run. */
static bool sees_its_host(const char *text) {
  static const char *const words[] = {"clock", "timer",  "smid",  "malloc", "cvta",   "local",
                                      "call",  "alloca", "stack", "async",  "envreg", NULL};
  for (unsigned i = 0; words[i]; i++)
    if (strstr(text, words[i]))
      return true;
  return false;
}

/* Simulates what was emulated, and compares. */
static void simulate(const bf_sim_gpu *gpu, bf_emu *emu, const bf_emu_launch *launch,
                     const bf_emu_result *emulated, const snapshot *after, bool compares) {
  const bf_sim_settings settings = {.gpu = gpu, .workers = 1, .most_cycles = MOST_CYCLES};
  bf_sim_result result;
  bf_diagnostic diagnostic;
  if (bf_sim_run(&settings, emu, launch, &result, &diagnostic) != BF_OK)
    return;
  bool was_long = result.timed_out || emulated->fault.kind == BF_EMU_INTERRUPTED;
  if (compares && !was_long) {
    if (result.emu.fault.kind != emulated->fault.kind)
      fprintf(stderr, "fault %d, not %d\n", (int)result.emu.fault.kind, (int)emulated->fault.kind),
          abort();
    if (emulated->fault.kind == BF_EMU_NO_FAULT && !is_same(after))
      fprintf(stderr, "other memory\n"), abort();
    if (emulated->fault.kind == BF_EMU_NO_FAULT &&
        result.emu.warp_instructions != emulated->warp_instructions)
      fprintf(stderr, "other instructions\n"), abort();
  }
  bf_arena_free(&result.arena);
}

static void run(const bf_sim_gpu *gpu, bf_emu *emu, bf_emu_module *module, const char *name,
                unsigned threads, bool compares) {
  bf_diagnostic diagnostic;
  const bf_emu_kernel *kernel;
  if (bf_emu_kernel_get(module, name, &kernel, &diagnostic) != BF_OK)
    return;
  const bf_emu_needs *needs = bf_emu_kernel_needs(kernel);
  if (needs->parameter_bytes > 1 << 16 || needs->shared_bytes > 1 << 18 ||
      needs->local_bytes > 1 << 16)
    return;
  uint8_t *parameters = calloc(1, needs->parameter_bytes + 1);
  bf_emu_result result;
  snapshot before = {0}, after = {0};
  bf_emu_launch launch = {.kernel = kernel,
                          .grid = {1, 1, 1},
                          .block = {threads, 1, 1},
                          .dynamic_shared_bytes = 256,
                          .parameters = parameters,
                          .parameter_bytes = needs->parameter_bytes,
                          .workers = 1,
                          .stack_bytes = 4096,
                          .progress = stop};
  if (parameters && take(emu, &before) && bf_emu_run(emu, &launch, &result, &diagnostic) == BF_OK &&
      take(emu, &after)) {
    give_back(&before);
    simulate(gpu, emu, &launch, &result, &after, compares);
  }
  free(before.bytes);
  free(after.bytes);
  free(parameters);
}

/* Runs all kernels of a module. */
static void run_all(const bf_sim_gpu *gpu, const bf_ptx_module *ptx, const char *text,
                    unsigned threads) {
  bf_diagnostic diagnostic;
  bf_emu *emu;
  bf_emu_module *module;
  bool compares = threads <= BF_EMU_LANES && !sees_its_host(text);
  if (bf_emu_create(&emu, &diagnostic) != BF_OK)
    return;
  if (bf_emu_load(emu, ptx, &module, &diagnostic) == BF_OK)
    for (const bf_ptx_item *item = ptx->first; item; item = item->next)
      if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->is_entry &&
          item->function->has_body)
        run(gpu, emu, module, item->function->name, threads, compares);
  bf_emu_free(emu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const unsigned threads[] = {32, 20, 40, 128};
  bf_diagnostic diagnostic;
  bf_ptx_module *ptx;
  if (bf_ptx_parse("fuzz.ptx", (const char *)data, size, &ptx, &diagnostic) != BF_OK)
    return 0;
  uint64_t bytes = 0;
  for (const bf_ptx_item *item = ptx->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_VARIABLE)
      bytes += item->variable->bytes < MOST_BYTES ? item->variable->bytes : MOST_BYTES;
  char *text = malloc(size + 1);
  if (bytes < MOST_BYTES && text) {
    memcpy(text, data, size);
    text[size] = 0;
    bf_sim_gpu *gpu = choose_gpu(data, size);
    run_all(gpu, ptx, text, threads[letter(data, size, LETTERS) % 4]);
    bf_sim_gpu_free(gpu);
  }
  free(text);
  bf_ptx_free(ptx);
  return 0;
}
