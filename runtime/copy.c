/* Copies and fills. All end up as rows of bytes; every row is checked against what the emulator
 * knows before anything moves. */
#include "context.h"

#include <string.h>

typedef rt_side side;

/* ---- Checks ---- */

bool rt_holds(const rt_context *context, const void *address, uint64_t bytes, const char *call) {
  bf_emu_range range;
  uint64_t at = (uint64_t)(uintptr_t)address;
  if (!bf_emu_find(context->emu, at, &range)) {
    rt_say(context, "%s: %p is no device memory", call, address);
    return false;
  }
  if (bytes <= range.bytes - (at - range.address))
    return true;
  rt_say(context, "%s: %llu bytes at %p run past the end of an allocation of %llu bytes at 0x%llx",
         call, (unsigned long long)bytes, address, (unsigned long long)range.bytes,
         (unsigned long long)range.address);
  return false;
}

/* Whether address is memory that only the device may touch. */
static bool is_device_only(const rt_context *context, const void *address) {
  bf_emu_range range;
  return bf_emu_find(context->emu, (uint64_t)(uintptr_t)address, &range) &&
         (range.memory == BF_EMU_DEVICE || (range.flags & RT_MAPPED)) &&
         !(range.flags & RT_MANAGED);
}

/* Bytes from the first to the last one of a box; false where that is more than memory can hold. */
static bool span(const side *at, rt_extent box, uint64_t *bytes) {
  uint64_t rows, slices;
  return !__builtin_mul_overflow(box.height - 1, at->pitch_bytes, &rows) &&
         !__builtin_mul_overflow(box.depth - 1, at->slice_bytes, &slices) &&
         !__builtin_add_overflow(rows, slices, bytes) &&
         !__builtin_add_overflow(*bytes, box.width, bytes);
}

/* Checks one side of a copy: on_device where the direction says so, or where the pointer does. */
static int check_side(const rt_context *context, const side *at, rt_extent box, bool on_device,
                      bool by_pointer, const char *call) {
  uint64_t bytes;
  bf_emu_range range;
  if (!at->address || !span(at, box, &bytes))
    return cudaErrorInvalidValue;
  if (by_pointer)
    on_device = bf_emu_find(context->emu, (uint64_t)(uintptr_t)at->address, &range);
  if (on_device)
    return rt_holds(context, at->address, bytes, call) ? cudaSuccess : cudaErrorInvalidValue;
  if (!is_device_only(context, at->address))
    return cudaSuccess;
  rt_say(context, "%s: %p is device memory, but the direction says host", call,
         (void *)at->address);
  return cudaErrorInvalidValue;
}

/* ---- Copies ---- */

/* Moves the rows of a box, one by one; they may overlap. */
static void move_box(const side *to, const side *from, rt_extent box) {
  for (size_t z = 0; z < box.depth; z++)
    for (size_t y = 0; y < box.height; y++)
      memmove(to->address + z * to->slice_bytes + y * to->pitch_bytes,
              from->address + z * from->slice_bytes + y * from->pitch_bytes, box.width);
}

int rt_copy_box(rt_context *context, side to, side from, rt_extent box, int direction,
                const char *call) {
  if (direction < RT_HOST_TO_HOST || direction > RT_DEFAULT)
    return cudaErrorInvalidMemcpyDirection;
  if (box.width == 0 || box.height == 0 || box.depth == 0)
    return cudaSuccess;
  if ((box.height > 1 || box.depth > 1) &&
      (box.width > to.pitch_bytes || box.width > from.pitch_bytes))
    return cudaErrorInvalidPitchValue;
  bool to_device = direction == RT_HOST_TO_DEVICE || direction == RT_DEVICE_TO_DEVICE;
  bool from_device = direction == RT_DEVICE_TO_HOST || direction == RT_DEVICE_TO_DEVICE;
  bool by_pointer = direction == RT_DEFAULT;
  int error = check_side(context, &to, box, to_device, by_pointer, call);
  if (error == cudaSuccess)
    error = check_side(context, &from, box, from_device, by_pointer, call);
  if (error == cudaSuccess && context->pending == cudaSuccess)
    move_box(&to, &from, box);
  return error;
}

/* Copies bytes in a row. */
static int copy(rt_context *context, void *to, const void *from, size_t bytes, int direction,
                const char *call) {
  return rt_copy_box(context, (side){to, 0, 0}, (side){(char *)(uintptr_t)from, 0, 0},
                     (rt_extent){bytes, 1, 1}, direction, call);
}

API(cudaMemcpy, void *to, const void *from, size_t bytes, int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy(context, to, from, bytes, direction, "cudaMemcpy"));
}
PER_THREAD(cudaMemcpy, ptds);

API(cudaMemcpyAsync, void *to, const void *from, size_t bytes, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_row(context, stream, to, from, bytes, direction));
  return rt_leave(context, copy(context, to, from, bytes, direction, "cudaMemcpyAsync"));
}
PER_THREAD(cudaMemcpyAsync, ptsz);

API(cudaMemcpyPeer, void *to, int to_device, const void *from, int from_device, size_t bytes) {
  RT_SYNCHRONISE_WITH(context, NULL);
  if (to_device != 0 || from_device != 0)
    return rt_leave(context, cudaErrorInvalidDevice);
  return rt_leave(context, copy(context, to, from, bytes, RT_DEVICE_TO_DEVICE, "cudaMemcpyPeer"));
}

API(cudaMemcpyPeerAsync, void *to, int to_device, const void *from, int from_device, size_t bytes,
    void *stream) {
  RT_ENTER_DEVICE(context);
  if (to_device != 0 || from_device != 0)
    return rt_leave(context, cudaErrorInvalidDevice);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_row(context, stream, to, from, bytes, RT_DEVICE_TO_DEVICE));
  return rt_leave(context,
                  copy(context, to, from, bytes, RT_DEVICE_TO_DEVICE, "cudaMemcpyPeerAsync"));
}

/* Copies rows; a cudaError. */
static int copy_2d(rt_context *context, void *to, size_t to_pitch, const void *from,
                   size_t from_pitch, size_t width_bytes, size_t rows, int direction) {
  if (width_bytes > to_pitch || width_bytes > from_pitch)
    return cudaErrorInvalidPitchValue;
  return rt_copy_box(context, (side){to, to_pitch, 0},
                     (side){(char *)(uintptr_t)from, from_pitch, 0},
                     (rt_extent){width_bytes, rows, 1}, direction, "cudaMemcpy2D");
}

API(cudaMemcpy2D, void *to, size_t to_pitch, const void *from, size_t from_pitch,
    size_t width_bytes, size_t rows, int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context,
                  copy_2d(context, to, to_pitch, from, from_pitch, width_bytes, rows, direction));
}
PER_THREAD(cudaMemcpy2D, ptds);

API(cudaMemcpy2DAsync, void *to, size_t to_pitch, const void *from, size_t from_pitch,
    size_t width_bytes, size_t rows, int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream)) {
    rt_copy_3d box = {.source = {(void *)(uintptr_t)from, from_pitch, width_bytes, rows},
                      .target = {to, to_pitch, width_bytes, rows},
                      .extent = {width_bytes, rows, 1},
                      .direction = direction};
    return rt_leave(context, rt_capture_copy(context, stream, &box));
  }
  return rt_leave(context,
                  copy_2d(context, to, to_pitch, from, from_pitch, width_bytes, rows, direction));
}
PER_THREAD(cudaMemcpy2DAsync, ptsz);

/* The place in pitched memory at a position, whose x counts bytes. */
static side pitched_side(const rt_pitched *memory, rt_position position) {
  size_t slice = memory->pitch * memory->height;
  char *base = memory->pointer;
  return (side){base ? base + position.z * slice + position.y * memory->pitch + position.x : NULL,
                memory->pitch, slice};
}

/* One side of a copy: a place in an array, or in pitched memory. The texels of an array set the
 * unit of the box. */
static int side_of(const rt_context *context, const void *array, const rt_pitched *memory,
                   rt_position position, side *at, size_t *unit_bytes) {
  if (array)
    return rt_array_side(context, array, position, at, unit_bytes) ? cudaSuccess
                                                                   : cudaErrorInvalidValue;
  *at = pitched_side(memory, position);
  return cudaSuccess;
}

int rt_copy(rt_context *context, const rt_copy_3d *how) {
  side to, from;
  size_t unit_bytes = 1;
  if (!how)
    return cudaErrorInvalidValue;
  int error =
      side_of(context, how->target_array, &how->target, how->target_position, &to, &unit_bytes);
  if (error == cudaSuccess)
    error =
        side_of(context, how->source_array, &how->source, how->source_position, &from, &unit_bytes);
  rt_extent box = how->extent;
  if (error != cudaSuccess || __builtin_mul_overflow(box.width, unit_bytes, &box.width))
    return cudaErrorInvalidValue;
  return rt_copy_box(context, to, from, box, how->direction, "cudaMemcpy3D");
}

API(cudaMemcpy3D, const rt_copy_3d *how) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, rt_copy(context, how));
}
PER_THREAD(cudaMemcpy3D, ptds);

API(cudaMemcpy3DAsync, const rt_copy_3d *how, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_copy(context, stream, how));
  return rt_leave(context, rt_copy(context, how));
}
PER_THREAD(cudaMemcpy3DAsync, ptsz);

/* The same copy between devices, of which there is one. */
static int copy_3d_peer(rt_context *context, const rt_copy_3d_peer *how, void *stream) {
  if (!how)
    return cudaErrorInvalidValue;
  if (how->source_device != 0 || how->target_device != 0)
    return cudaErrorInvalidDevice;
  rt_copy_3d plain = {how->source_array,    how->source_position, how->source, how->target_array,
                      how->target_position, how->target,          how->extent, RT_DEVICE_TO_DEVICE};
  return rt_is_recorded(context, stream) ? rt_capture_copy(context, stream, &plain)
                                         : rt_copy(context, &plain);
}

API(cudaMemcpy3DPeer, const rt_copy_3d_peer *how) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_3d_peer(context, how, NULL));
}
PER_THREAD(cudaMemcpy3DPeer, ptds);

API(cudaMemcpy3DPeerAsync, const rt_copy_3d_peer *how, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_3d_peer(context, how, stream));
}
PER_THREAD(cudaMemcpy3DPeerAsync, ptsz);

/* ---- Variables ---- */

/* The place of bytes at offset in a variable; a cudaError. */
static int in_symbol(rt_context *context, const void *symbol, size_t bytes, size_t offset,
                     char **place) {
  bf_emu_range range;
  int error = rt_locate(context, symbol, &range);
  if (error != cudaSuccess)
    return error;
  if (offset > range.bytes || bytes > range.bytes - offset)
    return cudaErrorInvalidValue;
  *place = (char *)(uintptr_t)range.address + offset;
  return cudaSuccess;
}

/* Copies into a variable; a cudaError. */
static int copy_to_symbol(rt_context *context, const void *symbol, const void *from, size_t bytes,
                          size_t offset, int direction, void *stream) {
  char *place;
  if (direction == RT_DEVICE_TO_HOST || direction == RT_HOST_TO_HOST)
    return cudaErrorInvalidMemcpyDirection;
  int error = in_symbol(context, symbol, bytes, offset, &place);
  if (error == cudaSuccess && rt_is_recorded(context, stream))
    return rt_capture_row(context, stream, place, from, bytes, direction);
  return error == cudaSuccess ? copy(context, place, from, bytes, direction, "cudaMemcpyToSymbol")
                              : error;
}

/* Copies out of a variable; a cudaError. */
static int copy_from_symbol(rt_context *context, void *to, const void *symbol, size_t bytes,
                            size_t offset, int direction, void *stream) {
  char *place;
  if (direction == RT_HOST_TO_DEVICE || direction == RT_HOST_TO_HOST)
    return cudaErrorInvalidMemcpyDirection;
  int error = in_symbol(context, symbol, bytes, offset, &place);
  if (error == cudaSuccess && rt_is_recorded(context, stream))
    return rt_capture_row(context, stream, to, place, bytes, direction);
  return error == cudaSuccess ? copy(context, to, place, bytes, direction, "cudaMemcpyFromSymbol")
                              : error;
}

API(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t bytes, size_t offset,
    int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_to_symbol(context, symbol, from, bytes, offset, direction, NULL));
}
PER_THREAD(cudaMemcpyToSymbol, ptds);

API(cudaMemcpyToSymbolAsync, const void *symbol, const void *from, size_t bytes, size_t offset,
    int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_to_symbol(context, symbol, from, bytes, offset, direction, stream));
}
PER_THREAD(cudaMemcpyToSymbolAsync, ptsz);

API(cudaMemcpyFromSymbol, void *to, const void *symbol, size_t bytes, size_t offset,
    int direction) {
  RT_SYNCHRONISE_WITH(context, NULL);
  return rt_leave(context, copy_from_symbol(context, to, symbol, bytes, offset, direction, NULL));
}
PER_THREAD(cudaMemcpyFromSymbol, ptds);

API(cudaMemcpyFromSymbolAsync, void *to, const void *symbol, size_t bytes, size_t offset,
    int direction, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  return rt_leave(context, copy_from_symbol(context, to, symbol, bytes, offset, direction, stream));
}
PER_THREAD(cudaMemcpyFromSymbolAsync, ptsz);

/* ---- Fills ---- */

/* Fills a box with the low byte of value; a cudaError. */
static int fill_box(rt_context *context, side to, int value, rt_extent box, const char *call) {
  if (box.width == 0 || box.height == 0 || box.depth == 0)
    return cudaSuccess;
  if (box.height > 1 && box.width > to.pitch_bytes)
    return cudaErrorInvalidValue;
  int error = check_side(context, &to, box, true, false, call);
  if (error != cudaSuccess || context->pending != cudaSuccess)
    return error;
  for (size_t z = 0; z < box.depth; z++)
    for (size_t y = 0; y < box.height; y++)
      memset(to.address + z * to.slice_bytes + y * to.pitch_bytes, value, box.width);
  return cudaSuccess;
}

API(cudaMemset, void *to, int value, size_t bytes) {
  RT_ENTER_DEVICE(context);
  return rt_leave(
      context, fill_box(context, (side){to, 0, 0}, value, (rt_extent){bytes, 1, 1}, "cudaMemset"));
}
PER_THREAD(cudaMemset, ptds);

API(cudaMemsetAsync, void *to, int value, size_t bytes, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_fill(context, stream, (side){to, bytes, 0}, value,
                                             (rt_extent){bytes, 1, 1}));
  return rt_leave(context, fill_box(context, (side){to, 0, 0}, value, (rt_extent){bytes, 1, 1},
                                    "cudaMemsetAsync"));
}
PER_THREAD(cudaMemsetAsync, ptsz);

API(cudaMemset2D, void *to, size_t pitch, int value, size_t width_bytes, size_t rows) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, fill_box(context, (side){to, pitch, 0}, value,
                                    (rt_extent){width_bytes, rows, 1}, "cudaMemset2D"));
}
PER_THREAD(cudaMemset2D, ptds);

API(cudaMemset2DAsync, void *to, size_t pitch, int value, size_t width_bytes, size_t rows,
    void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(context, rt_capture_fill(context, stream, (side){to, pitch, 0}, value,
                                             (rt_extent){width_bytes, rows, 1}));
  return rt_leave(context, fill_box(context, (side){to, pitch, 0}, value,
                                    (rt_extent){width_bytes, rows, 1}, "cudaMemset2DAsync"));
}
PER_THREAD(cudaMemset2DAsync, ptsz);

API(cudaMemset3D, rt_pitched to, int value, rt_extent extent) {
  RT_ENTER_DEVICE(context);
  return rt_leave(context, fill_box(context, pitched_side(&to, (rt_position){0, 0, 0}), value,
                                    extent, "cudaMemset3D"));
}
PER_THREAD(cudaMemset3D, ptds);

API(cudaMemset3DAsync, rt_pitched to, int value, rt_extent extent, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  if (rt_is_recorded(context, stream))
    return rt_leave(
        context,
        rt_capture_fill(context, stream, pitched_side(&to, (rt_position){0, 0, 0}), value, extent));
  return rt_leave(context, fill_box(context, pitched_side(&to, (rt_position){0, 0, 0}), value,
                                    extent, "cudaMemset3DAsync"));
}
PER_THREAD(cudaMemset3DAsync, ptsz);

/* ---- Several copies in one call ---- */

/* Does them one after the other; *failed is the first that cannot be done. */
static int copy_all(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                    size_t *failed, void *stream) {
  int error = to && from && bytes && count && stream ? cudaSuccess : cudaErrorInvalidValue;
  for (size_t i = 0; i < count && error == cudaSuccess; i++) {
    error = cudaMemcpyAsync(to[i], from[i], bytes[i], RT_DEFAULT, stream);
    if (error != cudaSuccess && failed)
      *failed = i;
  }
  return error;
}

#if CUDART_MAJOR >= 13
API(cudaMemcpyBatchAsync, void *const *to, const void *const *from, const size_t *bytes,
    size_t count, const void *attributes, const size_t *attribute_of, size_t attribute_count,
    void *stream) {
  size_t *failed = NULL;
#else
API(cudaMemcpyBatchAsync, void *const *to, const void *const *from, const size_t *bytes,
    size_t count, const void *attributes, const size_t *attribute_of, size_t attribute_count,
    size_t *failed, void *stream) {
#endif
  (void)attributes;
  (void)attribute_of;
  (void)attribute_count;
  return copy_all(to, from, bytes, count, failed, stream);
}
PER_THREAD(cudaMemcpyBatchAsync, ptsz);

/* Operands of copies of boxes: cudaMemcpy3DOperand. Lengths of memory are in texels where the other
 * side is an array. */
enum { OPERAND_POINTER = 1, OPERAND_ARRAY = 2 };
typedef struct operand {
  int type;
  union {
    struct {
      void *address;
      size_t row, rows; /* 0: as long as the box */
      rt_location hint;
    } memory;
    struct {
      void *array;
      rt_position position;
    } texels;
  };
} operand;

typedef struct box_copy {
  operand source, target;
  rt_extent extent;
  int order;
  unsigned flags;
} box_copy;

/* Bytes of a texel of an array operand, and 1 of memory; 0 for what is neither. */
static size_t unit_of(const rt_context *context, const operand *of) {
  side at;
  size_t bytes = 1;
  if (of->type == OPERAND_ARRAY)
    return rt_array_side(context, of->texels.array, (rt_position){0, 0, 0}, &at, &bytes) ? bytes
                                                                                         : 0;
  return of->type == OPERAND_POINTER && of->memory.address ? 1 : 0;
}

/* One side of a copy: the array and the position in it, or memory with its pitch. */
static void read_operand(const operand *of, const rt_extent *box, size_t unit_bytes, void **array,
                         rt_position *position, rt_pitched *memory) {
  if (of->type == OPERAND_ARRAY) {
    *array = of->texels.array;
    *position = of->texels.position;
    return;
  }
  size_t row = of->memory.row ? of->memory.row : box->width;
  *memory = (rt_pitched){of->memory.address, row * unit_bytes, row * unit_bytes,
                         of->memory.rows ? of->memory.rows : box->height};
}

/* Does one copy of a batch; a cudaError. */
static int copy_one_box(rt_context *context, const box_copy *one, void *stream) {
  size_t from_bytes = unit_of(context, &one->source), to_bytes = unit_of(context, &one->target);
  size_t unit_bytes = from_bytes > to_bytes ? from_bytes : to_bytes;
  rt_copy_3d plain = {.extent = one->extent, .direction = RT_DEFAULT};
  if (!from_bytes || !to_bytes || !one->extent.width || !one->extent.height || !one->extent.depth)
    return cudaErrorInvalidValue;
  read_operand(&one->source, &one->extent, unit_bytes, &plain.source_array, &plain.source_position,
               &plain.source);
  read_operand(&one->target, &one->extent, unit_bytes, &plain.target_array, &plain.target_position,
               &plain.target);
  return rt_is_recorded(context, stream) ? rt_capture_copy(context, stream, &plain)
                                         : rt_copy(context, &plain);
}

/* Does copies of boxes one after the other; *failed is the first that cannot be done. */
static int copy_boxes(size_t count, const box_copy *list, size_t *failed, void *stream) {
  RT_ENTER_DEVICE(context);
  if (!rt_is_stream(context, stream))
    return rt_leave(context, cudaErrorInvalidResourceHandle);
  int error = list && count && stream ? cudaSuccess : cudaErrorInvalidValue;
  for (size_t i = 0; i < count && error == cudaSuccess; i++) {
    error = copy_one_box(context, &list[i], stream);
    if (error != cudaSuccess && failed)
      *failed = i;
  }
  return rt_leave(context, error);
}

#if CUDART_MAJOR >= 13
API(cudaMemcpy3DBatchAsync, size_t count, const void *list, unsigned long long flags,
    void *stream) {
  size_t *failed = NULL;
#else
API(cudaMemcpy3DBatchAsync, size_t count, const void *list, size_t *failed,
    unsigned long long flags, void *stream) {
#endif
  (void)flags;
  return copy_boxes(count, list, failed, stream);
}
PER_THREAD(cudaMemcpy3DBatchAsync, ptsz);
