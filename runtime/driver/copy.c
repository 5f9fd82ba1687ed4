/* Copies in all directions, and fills. */
#include "driver.h"

#include <string.h>

/* ---- Bytes in a row ---- */

API(cuMemcpyHtoD_v2, dr_address to, const void *from, size_t bytes) {
  DR_RETURN(cudaMemcpy(dr_pointer(to), from, bytes, RT_HOST_TO_DEVICE));
}
PER_THREAD(cuMemcpyHtoD_v2, ptds);

API(cuMemcpyDtoH_v2, void *to, dr_address from, size_t bytes) {
  DR_RETURN(cudaMemcpy(to, dr_pointer(from), bytes, RT_DEVICE_TO_HOST));
}
PER_THREAD(cuMemcpyDtoH_v2, ptds);

API(cuMemcpyDtoD_v2, dr_address to, dr_address from, size_t bytes) {
  DR_RETURN(cudaMemcpy(dr_pointer(to), dr_pointer(from), bytes, RT_DEVICE_TO_DEVICE));
}
PER_THREAD(cuMemcpyDtoD_v2, ptds);

API(cuMemcpy, dr_address to, dr_address from, size_t bytes) {
  DR_RETURN(cudaMemcpy(dr_pointer(to), dr_pointer(from), bytes, RT_DEFAULT));
}
PER_THREAD(cuMemcpy, ptds);

API(cuMemcpyPeer, dr_address to, void *to_context, dr_address from, void *from_context,
    size_t bytes) {
  (void)to_context, (void)from_context; /* all have the same memory */
  DR_RETURN(cudaMemcpy(dr_pointer(to), dr_pointer(from), bytes, RT_DEVICE_TO_DEVICE));
}
PER_THREAD(cuMemcpyPeer, ptds);

API(cuMemcpyHtoDAsync_v2, dr_address to, const void *from, size_t bytes, void *stream) {
  DR_RETURN(cudaMemcpyAsync(dr_pointer(to), from, bytes, RT_HOST_TO_DEVICE, stream));
}
PER_THREAD(cuMemcpyHtoDAsync_v2, ptsz);

API(cuMemcpyDtoHAsync_v2, void *to, dr_address from, size_t bytes, void *stream) {
  DR_RETURN(cudaMemcpyAsync(to, dr_pointer(from), bytes, RT_DEVICE_TO_HOST, stream));
}
PER_THREAD(cuMemcpyDtoHAsync_v2, ptsz);

API(cuMemcpyDtoDAsync_v2, dr_address to, dr_address from, size_t bytes, void *stream) {
  DR_RETURN(cudaMemcpyAsync(dr_pointer(to), dr_pointer(from), bytes, RT_DEVICE_TO_DEVICE, stream));
}
PER_THREAD(cuMemcpyDtoDAsync_v2, ptsz);

API(cuMemcpyAsync, dr_address to, dr_address from, size_t bytes, void *stream) {
  DR_RETURN(cudaMemcpyAsync(dr_pointer(to), dr_pointer(from), bytes, RT_DEFAULT, stream));
}
PER_THREAD(cuMemcpyAsync, ptsz);

API(cuMemcpyPeerAsync, dr_address to, void *to_context, dr_address from, void *from_context,
    size_t bytes, void *stream) {
  (void)to_context, (void)from_context;
  DR_RETURN(cudaMemcpyAsync(dr_pointer(to), dr_pointer(from), bytes, RT_DEVICE_TO_DEVICE, stream));
}
PER_THREAD(cuMemcpyPeerAsync, ptsz);

/* ---- Boxes ---- */

/* What a side of a copy is. */
enum { HOST = 1, DEVICE, ARRAY, UNIFIED };

/* Either side of a box: what it is, and where it begins. */
typedef struct place {
  int type;
  const void *host;
  dr_address device;
  void *array;
  size_t pitch_bytes, rows;    /* of memory; rows between slices */
  size_t x_bytes, y, z, level; /* where the box begins; level of a mipmap */
} place;

/* The bytes of a texel of an array; 0 where there is no such array. */
static size_t texel_bytes(const void *array) {
  rt_context *context = rt_enter();
  size_t bytes = 0;
  rt_side unused;
  if (!rt_array_side(context, array, (rt_position){0, 0, 0}, &unused, &bytes))
    bytes = 0;
  rt_leave(context, cudaSuccess);
  return bytes;
}

/* A side as the runtime wants it: positions in an array, and the width of a box with one, count
 * texels of *unit bytes. A CUresult. */
static int translate(const place *from, void **array, rt_pitched *memory, rt_position *position,
                     size_t *unit) {
  *array = NULL;
  *memory = (rt_pitched){NULL, from->pitch_bytes, from->pitch_bytes, from->rows};
  *position = (rt_position){from->x_bytes, from->y, from->z};
  switch (from->type) {
  case HOST:
    memory->pointer = (void *)(uintptr_t)from->host;
    return memory->pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  case DEVICE:
  case UNIFIED:
    memory->pointer = dr_pointer(from->device);
    return memory->pointer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  case ARRAY:
    *array = from->array;
    *unit = texel_bytes(from->array);
    if (*unit == 0)
      return CUDA_ERROR_INVALID_HANDLE;
    position->x /= *unit;
    return from->level || from->x_bytes % *unit ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

/* The direction of a copy between two kinds of memory. */
static int direction_of(const place *to, const place *from) {
  if (to->type == UNIFIED || from->type == UNIFIED)
    return RT_DEFAULT;
  return from->type == HOST ? (to->type == HOST ? RT_HOST_TO_HOST : RT_HOST_TO_DEVICE)
                            : (to->type == HOST ? RT_DEVICE_TO_HOST : RT_DEVICE_TO_DEVICE);
}

/* A copy of a box whose width counts bytes, as the runtime wants it; a CUresult. */
static int describe_box(const place *to, const place *from, rt_extent box, rt_copy_3d *how) {
  size_t to_unit = 1, from_unit = 1;
  *how = (rt_copy_3d){.extent = box, .direction = direction_of(to, from)};
  int error = translate(from, &how->source_array, &how->source, &how->source_position, &from_unit);
  if (!error)
    error = translate(to, &how->target_array, &how->target, &how->target_position, &to_unit);
  if (error)
    return error;
  size_t unit = to_unit > 1 ? to_unit : from_unit;
  if (box.width % unit || (how->source_array && how->target_array && to_unit != from_unit))
    return CUDA_ERROR_INVALID_VALUE;
  how->extent.width /= unit;
  return CUDA_SUCCESS;
}

/* Copies a box in a stream or, where it is not asynchronous, at once; a CUresult. */
static int copy_box(const place *to, const place *from, rt_extent box, bool is_asynchronous,
                    void *stream) {
  rt_copy_3d how;
  DR_CHECK();
  int error = describe_box(to, from, box, &how);
  if (error)
    return error;
  return dr_result(is_asynchronous ? cudaMemcpy3DAsync(&how, stream) : cudaMemcpy3D(&how));
}

/* Rows: CUDA_MEMCPY2D. */
typedef struct side_2d {
  size_t x_bytes, y;
  int type;
  const void *host;
  dr_address device;
  void *array;
  size_t pitch_bytes;
} side_2d;
typedef struct copy_2d {
  side_2d from, to;
  size_t width_bytes, rows;
} copy_2d;

/* A pitch of 0 stands for rows without gaps. */
static place place_2d(const side_2d *side, const copy_2d *how) {
  return (place){.type = side->type,
                 .host = side->host,
                 .device = side->device,
                 .array = side->array,
                 .pitch_bytes = side->pitch_bytes ? side->pitch_bytes : how->width_bytes,
                 .rows = how->rows,
                 .x_bytes = side->x_bytes,
                 .y = side->y};
}

static int copy_rows(const copy_2d *how, bool is_asynchronous, void *stream) {
  DR_CHECK();
  if (!how)
    return CUDA_ERROR_INVALID_VALUE;
  place to = place_2d(&how->to, how), from = place_2d(&how->from, how);
  return copy_box(&to, &from, (rt_extent){how->width_bytes, how->rows, 1}, is_asynchronous, stream);
}

API(cuMemcpy2D_v2, const copy_2d *how) { return copy_rows(how, false, NULL); }
PER_THREAD(cuMemcpy2D_v2, ptds);
DR_ALIAS(cuMemcpy2D_v2, cuMemcpy2DUnaligned_v2);
DR_ALIAS(cuMemcpy2D_v2, cuMemcpy2DUnaligned_v2_ptds);

API(cuMemcpy2DAsync_v2, const copy_2d *how, void *stream) { return copy_rows(how, true, stream); }
PER_THREAD(cuMemcpy2DAsync_v2, ptsz);

/* Boxes. */
static place place_3d(const dr_side_3d *side, const dr_copy_3d *how) {
  return (place){.type = side->type,
                 .host = side->host,
                 .device = side->device,
                 .array = side->array,
                 .pitch_bytes = side->pitch_bytes ? side->pitch_bytes : how->width_bytes,
                 .rows = side->rows ? side->rows : how->rows,
                 .x_bytes = side->x_bytes,
                 .y = side->y,
                 .z = side->z,
                 .level = side->level};
}

int dr_copy_to_runtime(const dr_copy_3d *given, rt_copy_3d *how) {
  if (!given)
    return CUDA_ERROR_INVALID_VALUE;
  place to = place_3d(&given->to, given), from = place_3d(&given->from, given);
  rt_extent box = {given->width_bytes, given->rows, given->slices};
  return describe_box(&to, &from, box, how);
}

/* A side of a copy of the runtime; the unit of positions in an array is a texel. */
static dr_side_3d side_of(void *array, const rt_pitched *memory, rt_position at, bool is_host,
                          bool is_unified) {
  dr_side_3d side = {.x_bytes = at.x * (array ? texel_bytes(array) : 1), .y = at.y, .z = at.z};
  side.type = array ? ARRAY : is_unified ? UNIFIED : is_host ? HOST : DEVICE;
  side.array = array;
  if (array)
    return side;
  if (side.type == HOST)
    side.host = memory->pointer;
  else
    side.device = (uintptr_t)memory->pointer;
  side.pitch_bytes = memory->pitch;
  side.rows = memory->height;
  return side;
}

int dr_copy_from_runtime(const rt_copy_3d *how, dr_copy_3d *given) {
  int way = how->direction;
  const void *array = how->source_array ? how->source_array : how->target_array;
  bool is_unified = way == RT_DEFAULT;
  *given =
      (dr_copy_3d){.from = side_of(how->source_array, &how->source, how->source_position,
                                   way == RT_HOST_TO_HOST || way == RT_HOST_TO_DEVICE, is_unified),
                   .to = side_of(how->target_array, &how->target, how->target_position,
                                 way == RT_HOST_TO_HOST || way == RT_DEVICE_TO_HOST, is_unified),
                   .width_bytes = how->extent.width * (array ? texel_bytes(array) : 1),
                   .rows = how->extent.height,
                   .slices = how->extent.depth};
  return CUDA_SUCCESS;
}

static int copy_slices(const dr_copy_3d *given, bool is_asynchronous, void *stream) {
  rt_copy_3d how;
  DR_CHECK();
  int error = dr_copy_to_runtime(given, &how);
  if (error)
    return error;
  return dr_result(is_asynchronous ? cudaMemcpy3DAsync(&how, stream) : cudaMemcpy3D(&how));
}

API(cuMemcpy3D_v2, const dr_copy_3d *how) { return copy_slices(how, false, NULL); }
PER_THREAD(cuMemcpy3D_v2, ptds);
DR_ALIAS(cuMemcpy3D_v2, cuMemcpy3DPeer);
DR_ALIAS(cuMemcpy3D_v2, cuMemcpy3DPeer_ptds);

API(cuMemcpy3DAsync_v2, const dr_copy_3d *how, void *stream) {
  return copy_slices(how, true, stream);
}
PER_THREAD(cuMemcpy3DAsync_v2, ptsz);
DR_ALIAS(cuMemcpy3DAsync_v2, cuMemcpy3DPeerAsync);
DR_ALIAS(cuMemcpy3DAsync_v2, cuMemcpy3DPeerAsync_ptsz);

/* ---- Arrays of one dimension ---- */

/* Bytes in memory, and bytes in an array. */
static place bytes_at(int type, const void *host, dr_address device) {
  return (place){.type = type, .host = host, .device = device};
}
static place bytes_in(void *array, size_t offset_bytes) {
  return (place){.type = ARRAY, .array = array, .x_bytes = offset_bytes};
}

static int copy_bytes(place to, place from, size_t bytes, bool is_asynchronous, void *stream) {
  return copy_box(&to, &from, (rt_extent){bytes, 1, 1}, is_asynchronous, stream);
}

API(cuMemcpyDtoA_v2, void *array, size_t offset_bytes, dr_address from, size_t bytes) {
  return copy_bytes(bytes_in(array, offset_bytes), bytes_at(DEVICE, NULL, from), bytes, false,
                    NULL);
}
PER_THREAD(cuMemcpyDtoA_v2, ptds);

API(cuMemcpyAtoD_v2, dr_address to, void *array, size_t offset_bytes, size_t bytes) {
  return copy_bytes(bytes_at(DEVICE, NULL, to), bytes_in(array, offset_bytes), bytes, false, NULL);
}
PER_THREAD(cuMemcpyAtoD_v2, ptds);

API(cuMemcpyHtoA_v2, void *array, size_t offset_bytes, const void *from, size_t bytes) {
  return copy_bytes(bytes_in(array, offset_bytes), bytes_at(HOST, from, 0), bytes, false, NULL);
}
PER_THREAD(cuMemcpyHtoA_v2, ptds);

API(cuMemcpyAtoH_v2, void *to, void *array, size_t offset_bytes, size_t bytes) {
  return copy_bytes(bytes_at(HOST, to, 0), bytes_in(array, offset_bytes), bytes, false, NULL);
}
PER_THREAD(cuMemcpyAtoH_v2, ptds);

API(cuMemcpyAtoA_v2, void *to, size_t to_offset_bytes, void *from, size_t from_offset_bytes,
    size_t bytes) {
  return copy_bytes(bytes_in(to, to_offset_bytes), bytes_in(from, from_offset_bytes), bytes, false,
                    NULL);
}
PER_THREAD(cuMemcpyAtoA_v2, ptds);

API(cuMemcpyHtoAAsync_v2, void *array, size_t offset_bytes, const void *from, size_t bytes,
    void *stream) {
  return copy_bytes(bytes_in(array, offset_bytes), bytes_at(HOST, from, 0), bytes, true, stream);
}
PER_THREAD(cuMemcpyHtoAAsync_v2, ptsz);

API(cuMemcpyAtoHAsync_v2, void *to, void *array, size_t offset_bytes, size_t bytes, void *stream) {
  return copy_bytes(bytes_at(HOST, to, 0), bytes_in(array, offset_bytes), bytes, true, stream);
}
PER_THREAD(cuMemcpyAtoHAsync_v2, ptsz);

/* ---- Fills ---- */

/* Fills rows of elements of 1, 2 or 4 bytes; a CUresult. Elements whose bytes are all the same are
 * a fill of the runtime; others are filled in the first row as a pattern, which is then copied. */
static int fill(dr_address to, size_t pitch, unsigned value, unsigned element_bytes, size_t width,
                size_t rows, bool is_asynchronous, void *stream) {
  DR_CHECK();
  size_t width_bytes;
  uint64_t span;
  if (to % element_bytes || pitch % element_bytes ||
      __builtin_mul_overflow(width, (size_t)element_bytes, &width_bytes) ||
      (rows > 1 && pitch < width_bytes) || (rows && __builtin_mul_overflow(rows - 1, pitch, &span)))
    return CUDA_ERROR_INVALID_VALUE;
  if (rows <= 1)
    pitch = width_bytes;
  unsigned char bytes[4];
  memcpy(bytes, &value, 4);
  bool is_plain = true;
  for (unsigned i = 1; i < element_bytes; i++)
    is_plain &= bytes[i] == bytes[0];
  int capturing = 0;
  if (!is_plain && is_asynchronous && cudaStreamIsCapturing(stream, &capturing) == cudaSuccess &&
      capturing)
    return rt_refuse("a captured fill with elements whose bytes differ");
  int error = dr_result(
      is_asynchronous
          ? cudaMemset2DAsync(dr_pointer(to), pitch, (int)value & 255, width_bytes, rows, stream)
          : cudaMemset2D(dr_pointer(to), pitch, (int)value & 255, width_bytes, rows));
  if (error || is_plain)
    return error;
  RT_ENTER_DEVICE(context);
  rt_await(context, stream);
  for (size_t y = 0; y < rows && context->pending == cudaSuccess; y++) {
    char *row = (char *)dr_pointer(to) + y * pitch;
    for (size_t x = 0; x < width_bytes; x += element_bytes)
      memcpy(row + x, &value, element_bytes);
  }
  return rt_leave(context, cudaSuccess);
}

/* The six forms of a fill with elements of a type. */
#define FILLS(bits, type)                                                                          \
  API(cuMemsetD##bits##_v2, dr_address to, type value, size_t count) {                             \
    return fill(to, 0, value, sizeof(type), count, 1, false, NULL);                                \
  }                                                                                                \
  PER_THREAD(cuMemsetD##bits##_v2, ptds);                                                          \
  API(cuMemsetD2D##bits##_v2, dr_address to, size_t pitch, type value, size_t width,               \
      size_t rows) {                                                                               \
    return fill(to, pitch, value, sizeof(type), width, rows, false, NULL);                         \
  }                                                                                                \
  PER_THREAD(cuMemsetD2D##bits##_v2, ptds);                                                        \
  API(cuMemsetD##bits##Async, dr_address to, type value, size_t count, void *stream) {             \
    return fill(to, 0, value, sizeof(type), count, 1, true, stream);                               \
  }                                                                                                \
  PER_THREAD(cuMemsetD##bits##Async, ptsz);                                                        \
  API(cuMemsetD2D##bits##Async, dr_address to, size_t pitch, type value, size_t width,             \
      size_t rows, void *stream) {                                                                 \
    return fill(to, pitch, value, sizeof(type), width, rows, true, stream);                        \
  }                                                                                                \
  PER_THREAD(cuMemsetD2D##bits##Async, ptsz)

FILLS(8, unsigned char);
FILLS(16, unsigned short);
FILLS(32, unsigned);
