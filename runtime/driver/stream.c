/* Streams and events. */
#include "driver.h"

#include <string.h>

/* ---- Streams ---- */

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
  int error = dr_result(cudaStreamQuery(stream));
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

/* ---- Values in memory, in the order of a stream ---- */

/* How a value is waited for, and what else may be asked for. */
enum { AT_LEAST, EQUAL, ANY_BIT, NOR, WAYS = 3, FLUSH = 1 << 30 };

/* Whether a stream and the value at an address can be used; a CUresult. */
static int check_value(void *stream, dr_address address, size_t bytes, const char *call) {
  DR_CHECK();
  int error = dr_result(cudaStreamQuery(stream));
  if (error)
    return error;
  rt_context *context = rt_enter();
  bool is_fine =
      address && address % bytes == 0 && rt_holds(context, dr_pointer(address), bytes, call);
  return rt_leave(context, is_fine ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Waits for a value of so many bytes. All that was asked for before is done, and nothing else can
 * come: a value that is not there yet never will be. */
static int wait_value(void *stream, dr_address address, uint64_t wanted, size_t bytes,
                      unsigned flags, const char *call) {
  int error = check_value(stream, address, bytes, call);
  if (error || (flags & ~(unsigned)(WAYS | FLUSH)))
    return error ? error : CUDA_ERROR_INVALID_VALUE;
  uint64_t value = 0, mask = bytes == 8 ? UINT64_MAX : UINT32_MAX;
  memcpy(&value, dr_pointer(address), bytes);
  unsigned way = flags & WAYS;
  uint64_t difference = (value - wanted) & mask;
  bool is_there = way == AT_LEAST  ? difference >> (8 * bytes - 1) == 0
                  : way == EQUAL   ? difference == 0
                  : way == ANY_BIT ? (value & wanted) != 0
                                   : (~(value | wanted) & mask) != 0;
  if (is_there)
    return CUDA_SUCCESS;
  rt_context *context = rt_enter();
  rt_say(context, "%s: nothing before it writes the value that is waited for", call);
  return rt_leave(context, CUDA_ERROR_NOT_SUPPORTED);
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
  memcpy(dr_pointer(address), &value, bytes);
  return CUDA_SUCCESS;
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
