/* Streams and events. */
#include "driver.h"
#include "runtime/graph.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Streams ---- */

int dr_check_stream(void *stream) {
  int unused;
  return dr_result(cudaStreamGetDevice(stream, &unused));
}

API(cuStreamCreateWithPriority, void **stream, unsigned flags, int priority) {
  DR_CHECK();
  int error = dr_result(cudaStreamCreateWithPriority(stream, flags, priority));
  return dr_own(error, DR_STREAM, error ? NULL : *stream);
}

API(cuStreamCreate, void **stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

API(cuStreamDestroy_v2, void *stream) {
  DR_CHECK();
  dr_disown(stream);
  return dr_result(cudaStreamDestroy(stream));
}
DR_ALIAS(cuStreamDestroy_v2, cuStreamDestroy);

API(cuStreamSynchronize, void *stream) { DR_RETURN(cudaStreamSynchronize(stream)); }
PER_THREAD(cuStreamSynchronize, ptsz);

API(cuStreamQuery, void *stream) { DR_RETURN(cudaStreamQuery(stream)); }
PER_THREAD(cuStreamQuery, ptsz);

API(cuStreamWaitEvent, void *stream, void *event, unsigned flags) {
  DR_RETURN(cudaStreamWaitEvent(stream, event, flags));
}
PER_THREAD(cuStreamWaitEvent, ptsz);

API(cuStreamGetPriority, void *stream, int *priority) {
  DR_RETURN(cudaStreamGetPriority(stream, priority));
}
PER_THREAD(cuStreamGetPriority, ptsz);

API(cuStreamGetFlags, void *stream, unsigned *flags) {
  DR_RETURN(cudaStreamGetFlags(stream, flags));
}
PER_THREAD(cuStreamGetFlags, ptsz);

API(cuStreamGetId, void *stream, unsigned long long *number) {
  DR_RETURN(cudaStreamGetId(stream, number));
}
PER_THREAD(cuStreamGetId, ptsz);

API(cuStreamGetDevice, void *stream, int *device) {
  DR_RETURN(cudaStreamGetDevice(stream, device));
}
PER_THREAD(cuStreamGetDevice, ptsz);

/* All contexts have the same streams; the current one is as good as any. */
API(cuStreamGetCtx, void *stream, void **context) {
  DR_CHECK();
  int error = dr_check_stream(stream);
  if (error || !context)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  return cuCtxGetCurrent((dr_context **)context);
}
PER_THREAD(cuStreamGetCtx, ptsz);

API(cuStreamGetCtx_v2, void *stream, void **context, void **part) {
  if (part)
    *part = NULL;
  return cuStreamGetCtx(stream, context);
}
PER_THREAD(cuStreamGetCtx_v2, ptsz);

API(cuStreamAddCallback, void *stream, void (*function)(void *stream, int status, void *data),
    void *data, unsigned flags) {
  DR_RETURN(cudaStreamAddCallback(stream, function, data, flags));
}
PER_THREAD(cuStreamAddCallback, ptsz);

API(cuLaunchHostFunc, void *stream, void (*function)(void *), void *data) {
  DR_RETURN(cudaLaunchHostFunc(stream, function, data));
}
PER_THREAD(cuLaunchHostFunc, ptsz);

API(cuStreamAttachMemAsync, void *stream, dr_address address, size_t bytes, unsigned flags) {
  DR_RETURN(cudaStreamAttachMemAsync(stream, dr_pointer(address), bytes, flags));
}
PER_THREAD(cuStreamAttachMemAsync, ptsz);

API(cuStreamIsCapturing, void *stream, int *status) {
  DR_RETURN(cudaStreamIsCapturing(stream, status));
}
PER_THREAD(cuStreamIsCapturing, ptsz);

API(cuThreadExchangeStreamCaptureMode, int *mode) {
  DR_CHECK_ON();
  return dr_result(cudaThreadExchangeStreamCaptureMode(mode));
}

API(cuStreamSetAttribute, void *stream, int attribute, const void *value) {
  DR_RETURN(cudaStreamSetAttribute(stream, attribute, value));
}
PER_THREAD(cuStreamSetAttribute, ptsz);

API(cuStreamGetAttribute, void *stream, int attribute, void *value) {
  DR_RETURN(cudaStreamGetAttribute(stream, attribute, value));
}
PER_THREAD(cuStreamGetAttribute, ptsz);

API(cuStreamCopyAttributes, void *to, void *from) { DR_RETURN(cudaStreamCopyAttributes(to, from)); }
PER_THREAD(cuStreamCopyAttributes, ptsz);

/* ---- Values in memory, in the order of a stream ---- */

/* How a value is waited for, and what else may be asked for. */
enum { AT_LEAST, EQUAL, ANY_BIT, NOR, WAYS = 3, FLUSH = 1 << 30 };

/* Whether a stream and the value at an address can be used; a CUresult. */
static int check_value(void *stream, dr_address address, size_t bytes, const char *call) {
  DR_CHECK();
  int error = dr_check_stream(stream);
  if (error)
    return error;
  rt_context *context = rt_enter();
  bool is_fine =
      address && address % bytes == 0 && rt_holds(context, dr_pointer(address), bytes, call);
  return rt_leave(context, is_fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* A value that a stream waits for. */
typedef struct awaited {
  const rt_context *context;
  dr_address address;
  uint64_t wanted;
  size_t bytes;
  unsigned way;
} awaited;

static bool is_there(const awaited *what) {
  uint64_t mask = what->bytes == 8 ? UINT64_MAX : UINT32_MAX;
  const volatile void *at = dr_pointer(what->address);
  uint64_t value =
      what->bytes == 8 ? *(const volatile uint64_t *)at : *(const volatile uint32_t *)at;
  uint64_t difference = (value - what->wanted) & mask;
  return what->way == AT_LEAST  ? difference >> (8 * what->bytes - 1) == 0
         : what->way == EQUAL   ? difference == 0
         : what->way == ANY_BIT ? (value & what->wanted) != 0
                                : (~(value | what->wanted) & mask) != 0;
}

/* Waits for a value that the program, or a copy in another stream, will write. */
static void poll(void *given) {
  const struct timespec pause = {.tv_nsec = 50000};
  const awaited *what = given;
  while (!is_there(what) && !__atomic_load_n(&what->context->is_given_up, __ATOMIC_RELAXED))
    nanosleep(&pause, NULL);
  free(given);
}

/* Lets what follows in a stream wait for a value of so many bytes; a CUresult. */
static int wait_value(void *stream, dr_address address, uint64_t wanted, size_t bytes,
                      unsigned flags, const char *call) {
  int error = check_value(stream, address, bytes, call);
  if (error || (flags & ~(unsigned)(WAYS | FLUSH)))
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  rt_context *context = rt_enter();
  awaited what = {context, address, wanted, bytes, flags & WAYS};
  if (!rt_is_put_off(context, stream) && is_there(&what))
    return rt_leave(context, CUDA_SUCCESS);
  awaited *kept = malloc(sizeof *kept);
  if (!kept)
    return rt_leave(context, CUDA_ERROR_OUT_OF_MEMORY);
  *kept = what;
  rt_node node = {.kind = RT_NODE_HOST, .host = {poll, kept}};
  return dr_result(rt_leave(context, rt_wait_beside(context, stream, &node)));
}

API(cuStreamWaitValue32_v2, void *stream, dr_address address, uint32_t value, unsigned flags) {
  return wait_value(stream, address, value, 4, flags, "cuStreamWaitValue32");
}
PER_THREAD(cuStreamWaitValue32_v2, ptsz);
DR_ALIAS(cuStreamWaitValue32_v2, cuStreamWaitValue32);
DR_ALIAS(cuStreamWaitValue32_v2, cuStreamWaitValue32_ptsz);

API(cuStreamWaitValue64_v2, void *stream, dr_address address, uint64_t value, unsigned flags) {
  return wait_value(stream, address, value, 8, flags, "cuStreamWaitValue64");
}
PER_THREAD(cuStreamWaitValue64_v2, ptsz);
DR_ALIAS(cuStreamWaitValue64_v2, cuStreamWaitValue64);
DR_ALIAS(cuStreamWaitValue64_v2, cuStreamWaitValue64_ptsz);

static int write_value(void *stream, dr_address address, uint64_t value, size_t bytes,
                       unsigned flags, const char *call) {
  int error = check_value(stream, address, bytes, call);
  if (error || flags > 1)
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  enum { BY_POINTER = 4 };
  return dr_result(cudaMemcpyAsync(dr_pointer(address), &value, bytes, BY_POINTER, stream));
}

API(cuStreamWriteValue32_v2, void *stream, dr_address address, uint32_t value, unsigned flags) {
  return write_value(stream, address, value, 4, flags, "cuStreamWriteValue32");
}
PER_THREAD(cuStreamWriteValue32_v2, ptsz);
DR_ALIAS(cuStreamWriteValue32_v2, cuStreamWriteValue32);
DR_ALIAS(cuStreamWriteValue32_v2, cuStreamWriteValue32_ptsz);

API(cuStreamWriteValue64_v2, void *stream, dr_address address, uint64_t value, unsigned flags) {
  return write_value(stream, address, value, 8, flags, "cuStreamWriteValue64");
}
PER_THREAD(cuStreamWriteValue64_v2, ptsz);
DR_ALIAS(cuStreamWriteValue64_v2, cuStreamWriteValue64);
DR_ALIAS(cuStreamWriteValue64_v2, cuStreamWriteValue64_ptsz);

/* One of several operations in one call: CUstreamBatchMemOpParams. */
typedef struct operation {
  int kind;
  dr_address address;
  uint64_t value;
  unsigned flags;
  uint64_t unused[2];
} operation;

API(cuStreamBatchMemOp_v2, void *stream, unsigned count, const operation *list, unsigned flags) {
  enum { WAIT_32 = 1, WRITE_32, FLUSHES, WAIT_64, WRITE_64, FENCE };
  DR_CHECK();
  int error = !list || flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  for (unsigned i = 0; i < count && !error; i++) {
    const operation *one = &list[i];
    size_t bytes = one->kind == WAIT_32 || one->kind == WRITE_32 ? 4 : 8;
    if (one->kind == WAIT_32 || one->kind == WAIT_64)
      error = wait_value(stream, one->address, one->value, bytes, one->flags, "cuStreamBatchMemOp");
    else if (one->kind == WRITE_32 || one->kind == WRITE_64)
      error =
          write_value(stream, one->address, one->value, bytes, one->flags, "cuStreamBatchMemOp");
    else if (one->kind != FLUSHES && one->kind != FENCE) /* nothing is held back here */
      error = CUDA_ERROR_INVALID_VALUE;
  }
  return error;
}
PER_THREAD(cuStreamBatchMemOp_v2, ptsz);
DR_ALIAS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp);
DR_ALIAS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_ptsz);

/* ---- Events ---- */

API(cuEventCreate, void **event, unsigned flags) {
  DR_CHECK();
  int error = dr_result(cudaEventCreateWithFlags(event, flags));
  return dr_own(error, DR_EVENT, error ? NULL : *event);
}

API(cuEventDestroy_v2, void *event) {
  DR_CHECK();
  dr_disown(event);
  return dr_result(cudaEventDestroy(event));
}
DR_ALIAS(cuEventDestroy_v2, cuEventDestroy);

API(cuEventRecordWithFlags, void *event, void *stream, unsigned flags) {
  DR_RETURN(cudaEventRecordWithFlags(event, stream, flags));
}
PER_THREAD(cuEventRecordWithFlags, ptsz);

API(cuEventRecord, void *event, void *stream) {
  DR_RETURN(cudaEventRecordWithFlags(event, stream, 0));
}
PER_THREAD(cuEventRecord, ptsz);

API(cuEventSynchronize, void *event) { DR_RETURN(cudaEventSynchronize(event)); }

API(cuEventQuery, void *event) { DR_RETURN(cudaEventQuery(event)); }

API(cuEventElapsedTime, float *milliseconds, void *from, void *to) {
  DR_RETURN(cudaEventElapsedTime(milliseconds, from, to));
}
DR_ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2);
