/* Inside room ptx: LZ4 blocks, as nvcc -compress-mode=speed and older toolkits store them: without
 * a frame around.
 */
#ifndef BF_PTX_LZ4_H
#define BF_PTX_LZ4_H

#include <stdbool.h>
#include <stddef.h>

/* Decompresses the whole block in[0..in_size) into out, which it must fill exactly. On false, the
 * block is damaged at in[*fault]. */
bool bf_lz4_decode(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size,
                   size_t *fault);

#endif
