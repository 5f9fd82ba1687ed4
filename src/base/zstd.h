/* base/zstd: zstd's functions as far as they are used here. With BF_OPEN_ZSTD they come from
 * libzstd.so.1, opened when the first of them is called, so that neither zstd's header nor its
 * library is needed to build; zstd_open.c has them. */
#ifndef BF_ZSTD_H
#define BF_ZSTD_H

#include <stdbool.h>
#include <stddef.h>

#ifndef BF_OPEN_ZSTD

#include <zstd.h>

/* Whether there is zstd at all. */
static inline bool bf_zstd_is_there(void) { return true; }

#else

/* As zstd's stable interface has them since version 1.4. */
typedef struct ZSTD_DCtx_s ZSTD_DStream;
typedef struct ZSTD_CCtx_s ZSTD_CStream;
typedef struct ZSTD_inBuffer {
  const void *src;
  size_t size, pos;
} ZSTD_inBuffer;
typedef struct ZSTD_outBuffer {
  void *dst;
  size_t size, pos;
} ZSTD_outBuffer;
typedef enum ZSTD_EndDirective {
  ZSTD_e_continue,
  ZSTD_e_flush,
  ZSTD_e_end,
} ZSTD_EndDirective;

typedef enum ZSTD_cParameter {
  ZSTD_c_compressionLevel = 100,
  ZSTD_c_targetLength = 106
} ZSTD_cParameter;

bool bf_zstd_is_there(void);
size_t ZSTD_decompress(void *to, size_t room, const void *from, size_t size);
unsigned ZSTD_isError(size_t result);
const char *ZSTD_getErrorName(size_t result);
ZSTD_DStream *ZSTD_createDStream(void);
size_t ZSTD_freeDStream(ZSTD_DStream *stream);
size_t ZSTD_decompressStream(ZSTD_DStream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from);
ZSTD_CStream *ZSTD_createCStream(void);
size_t ZSTD_freeCStream(ZSTD_CStream *stream);
size_t ZSTD_CCtx_setParameter(ZSTD_CStream *stream, ZSTD_cParameter parameter, int value);
size_t ZSTD_compressStream2(ZSTD_CStream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from,
                            ZSTD_EndDirective mode);

#endif
#endif
