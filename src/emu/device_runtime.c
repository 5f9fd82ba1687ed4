/* The device runtime (libcudadevrt), by which kernels launch kernels. Names begin with cuda, or
 * with
 * __cudaCDP2 as compilers write them since CUDA 12.
 *
 * What a kernel launches is handed to the device's parent and done when the launch has ended, in
 * the order of the calls: no kernel can wait for what it launches. Streams and events are therefore
 * numbers only. Errors are numbers of CUDA. */
#include "emu/builtin.h"
#include "emu/child.h"

#include <stdlib.h>

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_FUNCTION = 98,
  UNSUPPORTED = 801
};
enum { STREAM_NON_BLOCKING = 1, EVENT_NO_TIMING = 2 };

/* What stands before the parameters that a kernel fills in for a launch. */
typedef struct launch_head {
  uint64_t mark;
  const bf_ptx_function *function; /* NULL: said when it is launched */
  uint32_t grid[3], block[3];
  uint64_t dynamic_shared_bytes, parameter_bytes;
} launch_head;

static const uint64_t HEAD_MARK = UINT64_C(0x62616e6b666f6c64);
enum { HEAD_BYTES = 128 };

/* ---- Help ---- */

/* Notes an error as the last one, and gives it to the lane. */
static void give_error(bf_emu_warp *warp, const bf_emu_call *call, unsigned lane, int error) {
  if (error)
    __atomic_store_n(&warp->worker->flight->emu->device_error, error, __ATOMIC_RELAXED);
  bf_emu_give(warp, call, lane, (uint64_t)error);
}

/* Writes what a call returns through a pointer; false: a fault. */
static bool put(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address,
                uint64_t value, unsigned bytes) {
  uint8_t *to = bf_emu_reach_one(warp, op, lane, address, bytes, true);
  if (to)
    memcpy(to, &value, bytes);
  return to != NULL;
}

/* An argument of three words. */
static void dimensions(const bf_emu_warp *warp, const bf_emu_call *call, unsigned index,
                       unsigned lane, uint32_t size[3]) {
  const bf_emu_region *region = &call->argument[index];
  memcpy(size, warp->registers + region->place + lane * region->stride, 12);
}

/* The kernel that a pointer leads to, or NULL. */
static const bf_ptx_function *kernel_at(const bf_emu_warp *warp, uint64_t pointer) {
  const bf_ptx_module *ptx = warp->worker->flight->kernel->module->ptx;
  for (const bf_ptx_item *item = ptx->first; item; item = item->next)
    if (item->kind == BF_PTX_ITEM_FUNCTION && item->function->has_body &&
        item->function->is_entry && bf_emu_function_address(item->function) == pointer)
      return item->function;
  return NULL;
}

/* Bytes of the parameters of a kernel. */
static uint64_t parameter_bytes(const bf_ptx_function *kernel) {
  uint64_t at = 0;
  for (unsigned i = 0; i < kernel->parameters.count; i++) {
    const bf_ptx_variable *parameter = &kernel->parameters.item[i];
    at = bf_emu_align(at, bf_emu_alignment(parameter)) + parameter->bytes;
  }
  return at;
}

/* ---- Launches ---- */

/* Room for the parameters of a launch; 0 where there is none. */
static uint64_t make_buffer(bf_emu_warp *warp, const launch_head *head) {
  bf_emu_flight *flight = warp->worker->flight;
  uint64_t address;
  if (head->parameter_bytes > 1 << 20 ||
      bf_emu_alloc(flight->emu, HEAD_BYTES + head->parameter_bytes, 0, &address, NULL))
    return 0;
  memcpy((void *)(uintptr_t)address, head, sizeof *head);
  bf_emu_give_back(flight, address);
  return address + HEAD_BYTES;
}

/* void *GetParameterBufferV2(void *function, dim3 grid, dim3 block, unsigned shared) */
static int call_buffer_v2(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    launch_head head = {.mark = HEAD_MARK};
    uint64_t buffer = 0;
    head.function = kernel_at(warp, bf_emu_argument(warp, call, 0, lane));
    if (head.function && call->arguments == 4) {
      dimensions(warp, call, 1, lane, head.grid);
      dimensions(warp, call, 2, lane, head.block);
      head.dynamic_shared_bytes = bf_emu_argument(warp, call, 3, lane);
      head.parameter_bytes = parameter_bytes(head.function);
      buffer = make_buffer(warp, &head);
    }
    if (!buffer)
      __atomic_store_n(&warp->worker->flight->emu->device_error,
                       head.function ? OUT_OF_MEMORY : INVALID_FUNCTION, __ATOMIC_RELAXED);
    bf_emu_give(warp, call, lane, buffer);
  }
  return 0;
}

/* void *GetParameterBuffer(size_t alignment, size_t bytes) */
static int call_buffer(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    launch_head head = {.mark = HEAD_MARK, .parameter_bytes = bf_emu_argument(warp, call, 1, lane)};
    bf_emu_give(warp, call, lane, make_buffer(warp, &head));
  }
  return 0;
}

/* The head of the buffer at an address that a kernel hands over; false where there is none. */
static bool find_head(bf_emu_warp *warp, uint64_t buffer, launch_head *head) {
  bf_emu_range range;
  if (!bf_emu_find(warp->worker->flight->emu, buffer - HEAD_BYTES, &range) ||
      range.address != buffer - HEAD_BYTES || range.bytes < HEAD_BYTES)
    return false;
  memcpy(head, (void *)(uintptr_t)range.address, sizeof *head);
  return head->mark == HEAD_MARK && head->parameter_bytes <= range.bytes - HEAD_BYTES;
}

/* Hands something over to the parent; an error of CUDA. */
static int take(const bf_emu_warp *warp, const bf_emu_child *child) {
  const bf_emu_parent *parent = warp->worker->flight->emu->parent;
  return parent ? parent->take(parent->context, child) : UNSUPPORTED;
}

/* Launches what a buffer says, for one lane. */
static int launch(bf_emu_warp *warp, const launch_head *head, uint64_t buffer, uint64_t stream) {
  bf_emu_child child = {.kind = BF_EMU_CHILD_KERNEL,
                        .stream = stream,
                        .function = head->function,
                        .dynamic_shared_bytes = head->dynamic_shared_bytes,
                        .parameters = (void *)(uintptr_t)buffer,
                        .parameter_bytes = head->parameter_bytes};
  if (!head->function)
    return INVALID_FUNCTION;
  if (head->parameter_bytes < parameter_bytes(head->function))
    return INVALID_VALUE;
  memcpy(child.grid, head->grid, sizeof child.grid);
  memcpy(child.block, head->block, sizeof child.block);
  return take(warp, &child);
}

/* LaunchDeviceV2(void *buffer, stream) */
static int call_launch_v2(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    launch_head head;
    uint64_t buffer = bf_emu_argument(warp, call, 0, lane);
    int error = find_head(warp, buffer, &head)
                    ? launch(warp, &head, buffer, bf_emu_argument(warp, call, 1, lane))
                    : INVALID_VALUE;
    give_error(warp, call, lane, error);
  }
  return 0;
}

/* LaunchDevice(void *function, void *buffer, dim3 grid, dim3 block, unsigned shared, stream) */
static int call_launch(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    launch_head head;
    uint64_t buffer = bf_emu_argument(warp, call, 1, lane);
    int error = INVALID_VALUE;
    if (call->arguments == 6 && find_head(warp, buffer, &head)) {
      head.function = kernel_at(warp, bf_emu_argument(warp, call, 0, lane));
      dimensions(warp, call, 2, lane, head.grid);
      dimensions(warp, call, 3, lane, head.block);
      head.dynamic_shared_bytes = bf_emu_argument(warp, call, 4, lane);
      error = launch(warp, &head, buffer, bf_emu_argument(warp, call, 5, lane));
    }
    give_error(warp, call, lane, error);
  }
  return 0;
}

/* ---- Copies and fills ---- */

/* MemcpyAsync(to, from, bytes, kind, stream), Memcpy2DAsync(to, pitch, from, pitch, width, rows,
 * kind, stream) */
static int call_copy(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  bool is_2d = call->arguments == 8;
  BF_EACH_LANE(mask, lane) {
    uint64_t given[8];
    for (unsigned i = 0; i < 8; i++)
      given[i] = bf_emu_argument(warp, call, i, lane);
    bf_emu_child child = {.kind = BF_EMU_CHILD_COPY,
                          .to = given[0],
                          .from = given[is_2d ? 2 : 1],
                          .to_pitch_bytes = is_2d ? given[1] : 0,
                          .from_pitch_bytes = is_2d ? given[3] : 0,
                          .width_bytes = given[is_2d ? 4 : 2],
                          .rows = is_2d ? given[5] : 1,
                          .stream = given[is_2d ? 7 : 4]};
    give_error(warp, call, lane, take(warp, &child));
  }
  return 0;
}

/* MemsetAsync(to, value, bytes, stream), Memset2DAsync(to, pitch, value, width, rows, stream) */
static int call_fill(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  bool is_2d = call->arguments == 6;
  BF_EACH_LANE(mask, lane) {
    uint64_t given[6];
    for (unsigned i = 0; i < 6; i++)
      given[i] = bf_emu_argument(warp, call, i, lane);
    bf_emu_child child = {.kind = BF_EMU_CHILD_FILL,
                          .to = given[0],
                          .to_pitch_bytes = is_2d ? given[1] : 0,
                          .value = (uint8_t)given[is_2d ? 2 : 1],
                          .width_bytes = given[is_2d ? 3 : 2],
                          .rows = is_2d ? given[4] : 1,
                          .stream = given[is_2d ? 5 : 3]};
    give_error(warp, call, lane, take(warp, &child));
  }
  return 0;
}

/* ---- Streams and events ---- */

/* Makes a handle, where flags are those that the device runtime asks for. */
static int make_handle(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask, unsigned flags) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    bool fine = bf_emu_argument(warp, call, 1, lane) == flags;
    uint64_t handle =
        256 + __atomic_add_fetch(&warp->worker->flight->emu->device_handles, 1, __ATOMIC_RELAXED);
    if (fine && !put(warp, op, lane, bf_emu_argument(warp, call, 0, lane), handle, 8))
      return 1;
    give_error(warp, call, lane, fine ? SUCCESS : INVALID_VALUE);
  }
  return 0;
}

static int call_stream_create(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return make_handle(warp, op, mask, STREAM_NON_BLOCKING);
}

static int call_event_create(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return make_handle(warp, op, mask, EVENT_NO_TIMING);
}

/* What is done in the order of the calls needs no waiting. */
static int call_nothing(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane)
  give_error(warp, call, lane, SUCCESS);
  return 0;
}

/* ---- Memory, device, errors ---- */

/* Malloc(void **address, size_t bytes) */
static int call_malloc(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    uint64_t bytes = bf_emu_argument(warp, call, 1, lane);
    uint64_t address = bf_emu_heap_take(warp->worker->flight, bytes);
    if (!put(warp, op, lane, bf_emu_argument(warp, call, 0, lane), address, 8))
      return 1;
    give_error(warp, call, lane, address ? SUCCESS : OUT_OF_MEMORY);
  }
  return 0;
}

static int call_free(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    bf_emu_heap_give(warp->worker->flight, bf_emu_argument(warp, call, 0, lane));
    give_error(warp, call, lane, SUCCESS);
  }
  return 0;
}

/* A number of 32 bits through the pointer that is the first argument. */
static int give_number(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask, uint32_t number) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    if (!put(warp, op, lane, bf_emu_argument(warp, call, 0, lane), number, 4))
      return 1;
    give_error(warp, call, lane, SUCCESS);
  }
  return 0;
}

static int call_device_count(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return give_number(warp, op, mask, 1);
}

static int call_device(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return give_number(warp, op, mask, 0);
}

/* Asks the parent for one lane; an error of CUDA. */
static int ask(const bf_emu_warp *warp, bf_emu_question question, const bf_ptx_function *function,
               uint64_t first, uint64_t second, uint64_t *value) {
  const bf_emu_parent *parent = warp->worker->flight->emu->parent;
  const uint64_t given[2] = {first, second};
  return parent ? parent->answer(parent->context, question, function, given, value) : UNSUPPORTED;
}

/* A question whose answer goes through the pointer that is the first argument. */
static int call_question(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask,
                         bf_emu_question question, unsigned bytes) {
  const bf_emu_call *call = op->detail;
  bool is_occupancy = question == BF_EMU_ASK_OCCUPANCY;
  BF_EACH_LANE(mask, lane) {
    uint64_t value = 0, first = bf_emu_argument(warp, call, is_occupancy ? 2 : 1, lane);
    const bf_ptx_function *function =
        is_occupancy ? kernel_at(warp, bf_emu_argument(warp, call, 1, lane)) : NULL;
    int error = is_occupancy && !function ? INVALID_FUNCTION
                                          : ask(warp, question, function, first,
                                                bf_emu_argument(warp, call, 3, lane), &value);
    if (!error && !put(warp, op, lane, bf_emu_argument(warp, call, 0, lane), value, bytes))
      return 1;
    give_error(warp, call, lane, error);
  }
  return 0;
}

static int call_attribute(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return call_question(warp, op, mask, BF_EMU_ASK_ATTRIBUTE, 4);
}

static int call_limit(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return call_question(warp, op, mask, BF_EMU_ASK_LIMIT, 8);
}

static int call_version(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return call_question(warp, op, mask, BF_EMU_ASK_VERSION, 4);
}

static int call_occupancy(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return call_question(warp, op, mask, BF_EMU_ASK_OCCUPANCY, 4);
}

static int call_last_error(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    int error = __atomic_exchange_n(&warp->worker->flight->emu->device_error, 0, __ATOMIC_RELAXED);
    bf_emu_give(warp, call, lane, (uint64_t)error);
  }
  return 0;
}

static int call_peek_error(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  const bf_emu_call *call = op->detail;
  BF_EACH_LANE(mask, lane) {
    int error = __atomic_load_n(&warp->worker->flight->emu->device_error, __ATOMIC_RELAXED);
    bf_emu_give(warp, call, lane, (uint64_t)error);
  }
  return 0;
}

/* A text about an error, in memory of the device. */
static int give_text(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask, bool is_name) {
  const bf_emu_call *call = op->detail;
  bf_emu_flight *flight = warp->worker->flight;
  BF_EACH_LANE(mask, lane) {
    const bf_emu_parent *parent = flight->emu->parent;
    const char *text =
        parent ? parent->error_text((int)bf_emu_argument(warp, call, 0, lane), is_name) : "";
    uint64_t address = 0;
    if (bf_emu_alloc(flight->emu, strlen(text) + 1, 0, &address, NULL) == BF_OK) {
      memcpy((void *)(uintptr_t)address, text, strlen(text) + 1);
      bf_emu_give_back(flight, address);
    }
    bf_emu_give(warp, call, lane, address);
  }
  return 0;
}

static int call_error_name(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return give_text(warp, op, mask, true);
}

static int call_error_string(bf_emu_warp *warp, const bf_emu_op *op, uint32_t mask) {
  return give_text(warp, op, mask, false);
}

/* ---- Names ---- */

const bf_emu_parent *bf_emu_set_parent(bf_emu *emu, const bf_emu_parent *parent) {
  const bf_emu_parent *before = emu->parent;
  emu->parent = parent;
  return before;
}

bf_emu_builtin bf_emu_device_runtime_find(const char *name) {
  static const struct {
    const char *name;
    bf_emu_builtin run;
  } known[] = {
      {"GetParameterBuffer", call_buffer},
      {"GetParameterBufferV2", call_buffer_v2},
      {"LaunchDevice", call_launch},
      {"LaunchDeviceV2", call_launch_v2},
      {"MemcpyAsync", call_copy},
      {"Memcpy2DAsync", call_copy},
      {"MemsetAsync", call_fill},
      {"Memset2DAsync", call_fill},
      {"StreamCreateWithFlags", call_stream_create},
      {"StreamDestroy", call_nothing},
      {"StreamWaitEvent", call_nothing},
      {"EventCreateWithFlags", call_event_create},
      {"EventRecord", call_nothing},
      {"EventRecordWithFlags", call_nothing},
      {"EventDestroy", call_nothing},
      {"Malloc", call_malloc},
      {"Free", call_free},
      {"GetDeviceCount", call_device_count},
      {"GetDevice", call_device},
      {"DeviceGetAttribute", call_attribute},
      {"DeviceGetLimit", call_limit},
      {"RuntimeGetVersion", call_version},
      {"OccupancyMaxActiveBlocksPerMultiprocessor", call_occupancy},
      {"OccupancyMaxActiveBlocksPerMultiprocessorWithFlags", call_occupancy},
      {"GetLastError", call_last_error},
      {"PeekAtLastError", call_peek_error},
      {"GetErrorName", call_error_name},
      {"GetErrorString", call_error_string},
  };
  size_t prefix = strncmp(name, "__cudaCDP2", 10) == 0 ? 10 : strncmp(name, "cuda", 4) == 0 ? 4 : 0;
  size_t length = strlen(name + prefix);
  if (length > 5 && strcmp(name + prefix + length - 5, "_ptsz") == 0)
    length -= 5;
  for (size_t i = 0; prefix && i < sizeof known / sizeof *known; i++)
    if (strlen(known[i].name) == length && strncmp(known[i].name, name + prefix, length) == 0)
      return known[i].run;
  return NULL;
}
