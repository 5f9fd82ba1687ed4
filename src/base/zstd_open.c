/* zstd's functions from libzstd.so.1, where the program was built without it. Where the library is
 * missing too, streams can be made but not used, so that what is wrong is said where data is. */
#include "base/zstd.h"

#ifdef BF_OPEN_ZSTD

#include <dlfcn.h>
#include <pthread.h>

#define NAMES                                                                                      \
  X(ZSTD_decompress)                                                                               \
  X(ZSTD_isError)                                                                                  \
  X(ZSTD_getErrorName)                                                                             \
  X(ZSTD_createDStream)                                                                            \
  X(ZSTD_freeDStream)                                                                              \
  X(ZSTD_decompressStream)                                                                         \
  X(ZSTD_createCStream)                                                                            \
  X(ZSTD_freeCStream)                                                                              \
  X(ZSTD_CCtx_setParameter)                                                                        \
  X(ZSTD_compressStream2)

/* The library's functions, found once; all or none. */
static struct {
#define X(name) __typeof__(&name) name;
  NAMES
#undef X
  bool is_there;
} zstd;

static const size_t missing = (size_t)-1; /* zstd's code for errors without a name */
static char no_stream;

static void open_library(void) {
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return;
  zstd.is_there = true;
#define X(name)                                                                                    \
  *(void **)&zstd.name = dlsym(library, #name);                                                    \
  zstd.is_there = zstd.is_there && zstd.name;
  NAMES
#undef X
}

bool bf_zstd_is_there(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_library);
  return zstd.is_there;
}

size_t ZSTD_decompress(void *to, size_t room, const void *from, size_t size) {
  return bf_zstd_is_there() ? zstd.ZSTD_decompress(to, room, from, size) : missing;
}

unsigned ZSTD_isError(size_t result) {
  return bf_zstd_is_there() ? zstd.ZSTD_isError(result) : result == missing;
}

const char *ZSTD_getErrorName(size_t result) {
  return bf_zstd_is_there() ? zstd.ZSTD_getErrorName(result) : "there is no libzstd.so.1";
}

ZSTD_DStream *ZSTD_createDStream(void) {
  return bf_zstd_is_there() ? zstd.ZSTD_createDStream() : (ZSTD_DStream *)(void *)&no_stream;
}

size_t ZSTD_freeDStream(ZSTD_DStream *stream) {
  return bf_zstd_is_there() ? zstd.ZSTD_freeDStream(stream) : 0;
}

size_t ZSTD_decompressStream(ZSTD_DStream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from) {
  return bf_zstd_is_there() ? zstd.ZSTD_decompressStream(stream, to, from) : missing;
}

ZSTD_CStream *ZSTD_createCStream(void) {
  return bf_zstd_is_there() ? zstd.ZSTD_createCStream() : (ZSTD_CStream *)(void *)&no_stream;
}

size_t ZSTD_freeCStream(ZSTD_CStream *stream) {
  return bf_zstd_is_there() ? zstd.ZSTD_freeCStream(stream) : 0;
}

size_t ZSTD_CCtx_setParameter(ZSTD_CStream *stream, ZSTD_cParameter parameter, int value) {
  return bf_zstd_is_there() ? zstd.ZSTD_CCtx_setParameter(stream, parameter, value) : missing;
}

size_t ZSTD_compressStream2(ZSTD_CStream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from,
                            ZSTD_EndDirective mode) {
  return bf_zstd_is_there() ? zstd.ZSTD_compressStream2(stream, to, from, mode) : missing;
}

#endif
