/* Faults: the first one ends the launch. */
#include "emu/cluster.h"
#include "emu/device.h"
#include "ptx/site.h"

#include <stdarg.h>

static const char *const names[BF_EMU_FAULT_COUNT] = {
    [BF_EMU_NO_FAULT] = "no fault",
    [BF_EMU_OUT_OF_BOUNDS] = "out of bounds",
    [BF_EMU_USE_AFTER_FREE] = "use after free",
    [BF_EMU_MISALIGNED] = "misaligned",
    [BF_EMU_READ_ONLY] = "read-only memory",
    [BF_EMU_UNINITIALISED] = "uninitialised shared memory",
    [BF_EMU_RACE] = "race",
    [BF_EMU_TRAP] = "trap",
    [BF_EMU_ASSERT] = "assertion failed",
    [BF_EMU_STACK_OVERFLOW] = "stack overflow",
    [BF_EMU_BAD_CALL] = "bad call",
    [BF_EMU_BAD_BARRIER] = "bad barrier",
    [BF_EMU_BAD_INSTRUCTION] = "bad instruction",
    [BF_EMU_DEADLOCK] = "deadlock",
    [BF_EMU_INTERRUPTED] = "interrupted",
};

const char *bf_emu_fault_name(bf_emu_fault_kind kind) {
  return kind < BF_EMU_FAULT_COUNT ? names[kind] : "unknown fault";
}

void bf_emu_fault_explain(const bf_emu_fault *fault, bf_text *text) {
  bf_text_addf(text, "%s", bf_emu_fault_name(fault->kind));
  if (fault->width_bytes) {
    const char *space =
        fault->space == BF_PTX_SPACE_NONE ? "generic" : bf_ptx_space_name(fault->space);
    bf_text_addf(text, ": %s of %u byte%s at %s address 0x%llx", fault->is_write ? "write" : "read",
                 fault->width_bytes, fault->width_bytes == 1 ? "" : "s", space,
                 (unsigned long long)fault->address);
  }
  if (fault->text[0])
    bf_text_addf(text, ": %s", fault->text);
  if (fault->kernel)
    bf_text_addf(text, ", kernel %s", fault->kernel);
  if (fault->line)
    bf_text_addf(text, ", PTX line %llu", (unsigned long long)fault->line);
  if (fault->source_line)
    bf_text_addf(text, ", %s:%llu", fault->source_file ? fault->source_file : "source line",
                 (unsigned long long)fault->source_line);
  if (fault->calls[0])
    bf_text_addf(text, ", inlined at %s", fault->calls);
  if (fault->kind != BF_EMU_INTERRUPTED)
    bf_text_addf(text, ", block (%u,%u,%u), thread (%u,%u,%u)", fault->block[0], fault->block[1],
                 fault->block[2], fault->thread[0], fault->thread[1], fault->thread[2]);
}

/* The line of the source that an instruction comes from, and the calls that it was inlined at. */
static void find_line(const bf_emu_flight *flight, const bf_ptx_instruction *instruction,
                      bf_emu_fault *fault) {
  const bf_ptx_module *ptx = flight->kernel->module->ptx;
  bf_text calls = {0};
  bf_ptx_user_line(ptx, instruction, &fault->source_file, &fault->source_line);
  bf_ptx_write_calls(ptx, bf_ptx_call_of(ptx, instruction, fault->source_file, fault->source_line),
                     &calls);
  snprintf(fault->calls, sizeof fault->calls, "%s", calls.data ? calls.data : "");
  bf_text_free(&calls);
}

/* The code that an operation is of: that of the frame, or another of the kernel where what is told
 * of was done in a call that is over; NULL: none. */
static const bf_emu_code *code_of(const bf_emu_warp *warp, const bf_emu_op *op) {
  const bf_emu_code *code = warp->frame->code, *next = warp->worker->flight->kernel->code;
  uintptr_t at = (uintptr_t)op;
  while (code && (at < (uintptr_t)code->op || at >= (uintptr_t)(code->op + code->ops))) {
    code = next;
    next = next ? next->next : NULL;
  }
  return code;
}

/* What and where a fault is. */
static void describe(const bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind,
                     unsigned lane, bf_emu_fault *fault) {
  const bf_emu_flight *flight = warp->worker->flight;
  *fault = (bf_emu_fault){.kind = kind, .kernel = flight->kernel->function->name};
  const bf_emu_code *code = code_of(warp, op);
  uint32_t index = code ? code->instruction[op - code->op] : UINT32_MAX;
  if (code && index < code->function->instructions) {
    const bf_ptx_instruction *instruction = code->function->instruction[index];
    fault->line = instruction->line;
    find_line(flight, instruction, fault);
  }
  memcpy(fault->block, warp->block->id, sizeof fault->block);
  for (unsigned k = 0; k < 3; k++)
    fault->thread[k] = warp->tid[k][lane];
}

/* Claims the launch's fault; NULL where another came first. */
static bf_emu_fault *claim(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind,
                           unsigned lane) {
  bf_emu_flight *flight = warp->worker->flight;
  int none = 0;
  bool first = __atomic_compare_exchange_n(&flight->fault_taken, &none, 1, false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_SEQ_CST);
  __atomic_store_n(&flight->stop, 1, __ATOMIC_SEQ_CST);
  if (!first)
    return NULL;
  describe(warp, op, kind, lane, &flight->fault);
  return &flight->fault;
}

const bf_emu_op *bf_emu_fail(bf_emu_warp *warp, const bf_emu_op *op, bf_emu_fault_kind kind,
                             unsigned lane, const char *format, ...) {
  bf_emu_fault *fault = claim(warp, op, kind, lane);
  if (fault) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
  }
  return NULL;
}

/* Of an address in shared memory: leaves the offset in its block, and says in which one, if that is
 * another. */
static void say_block(const bf_emu_warp *warp, bf_emu_fault *fault) {
  uint64_t inside = fault->address >= BF_EMU_SHARED_WINDOW ? fault->address - BF_EMU_SHARED_WINDOW
                                                           : fault->address;
  uint64_t rank = inside >> BF_EMU_RANK_SHIFT, offset = inside & BF_EMU_RANK_MASK;
  unsigned blocks = bf_emu_cluster_blocks(warp->worker->flight);
  if (fault->space != BF_PTX_SPACE_SHARED || rank >= blocks)
    return;
  bool has_left = bf_emu_cluster_has_left(warp, inside);
  bool is_there = fault->kind == BF_EMU_OUT_OF_BOUNDS && offset < warp->block->shared_bytes;
  if (rank != warp->block->rank)
    snprintf(fault->text, sizeof fault->text, "block %llu of the cluster%s",
             (unsigned long long)rank,
             has_left   ? " has ended"
             : is_there ? ", which shared::cta does not reach"
                        : "");
  fault->address = offset;
}

const bf_emu_op *bf_emu_fail_access(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space,
                                    unsigned lane, uint64_t address, unsigned width_bytes,
                                    bool is_write, bf_emu_fault_kind kind) {
  bf_emu_fault *fault = claim(warp, op, kind, lane);
  if (fault) {
    fault->space = space;
    fault->address = address;
    fault->width_bytes = width_bytes;
    fault->is_write = is_write;
    say_block(warp, fault);
  }
  return NULL;
}

void bf_emu_add_reason(bf_emu_warp *warp, const bf_emu_op *op, const char *reason) {
  bf_emu_fault *fault = &warp->worker->flight->fault, own;
  describe(warp, op, fault->kind, 0, &own);
  bool is_own = fault->line == own.line && !memcmp(fault->block, own.block, sizeof own.block);
  if (is_own && !fault->text[0])
    snprintf(fault->text, sizeof fault->text, "%s", reason);
}

bool bf_emu_say_race(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, unsigned lane,
                     uint64_t address, unsigned width_bytes, bool is_write, const char *text) {
  bf_emu_flight *flight = warp->worker->flight;
  const bf_emu_launch *launch = flight->launch;
  bf_emu_fault own, *fault = &own;
  bool goes_on = launch->tolerate && op->site < flight->kernel->site_count;
  if (goes_on && __atomic_exchange_n(&launch->tolerated[op->site], 1, __ATOMIC_RELAXED))
    return true;
  if (goes_on)
    describe(warp, op, BF_EMU_RACE, lane, fault);
  else
    fault = claim(warp, op, BF_EMU_RACE, lane);
  if (!fault)
    return false;
  fault->space = space;
  fault->address = address;
  fault->width_bytes = width_bytes;
  fault->is_write = is_write;
  if (op->site < flight->kernel->site_count)
    find_line(flight, flight->kernel->sites[op->site].instruction, fault);
  snprintf(fault->text, sizeof fault->text, "%s", text);
  if (goes_on) {
    pthread_mutex_lock(&flight->lock);
    launch->tolerate(launch->tolerate_context, fault, op->site);
    pthread_mutex_unlock(&flight->lock);
  }
  return goes_on;
}

/* Whether such a fault is of the access alone, so that the kernel can go on without it. */
static bool is_tolerable(bf_emu_fault_kind kind) {
  return kind == BF_EMU_OUT_OF_BOUNDS || kind == BF_EMU_USE_AFTER_FREE ||
         kind == BF_EMU_MISALIGNED || kind == BF_EMU_READ_ONLY;
}

uint8_t *bf_emu_tolerate(bf_emu_warp *warp, const bf_emu_op *op, bf_ptx_space space, unsigned lane,
                         uint64_t address, unsigned width_bytes, bool is_write,
                         bf_emu_fault_kind kind) {
  static const uint8_t zeros[BF_EMU_TOLERATED_BYTES];
  bf_emu_flight *flight = warp->worker->flight;
  const bf_emu_launch *launch = flight->launch;
  if (!launch->tolerate || !is_tolerable(kind) || width_bytes > sizeof zeros ||
      op->site >= flight->kernel->site_count)
    return NULL;
  if (!__atomic_exchange_n(&launch->tolerated[op->site], 1, __ATOMIC_RELAXED)) {
    bf_emu_fault fault;
    describe(warp, op, kind, lane, &fault);
    fault.space = space;
    fault.address = address;
    fault.width_bytes = width_bytes;
    fault.is_write = is_write;
    pthread_mutex_lock(&flight->lock);
    launch->tolerate(launch->tolerate_context, &fault, op->site);
    pthread_mutex_unlock(&flight->lock);
  }
  if (!is_write)
    return (uint8_t *)(uintptr_t)zeros;
  return memset(warp->worker->sink[lane], 0, sizeof warp->worker->sink[lane]);
}
