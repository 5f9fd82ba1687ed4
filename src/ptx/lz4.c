/* LZ4 block decoding, after the LZ4 block format description. A block is a list of sequences: a
 * token (high half: literals, low half: match length - 4; 15 continues in bytes that are added up
 * until one is not 255), the literals, then two bytes of distance back to the match. The last
 * sequence ends behind its literals.
 *
 * Written here rather than taken from liblz4: it is one page, every access is checked, and builders
 * of Bankfold need one library less. */
#include "ptx/lz4.h"

#include <stdint.h>
#include <string.h>

typedef struct decoder {
  const unsigned char *in;
  size_t in_size, read;
  unsigned char *out;
  size_t out_size, written;
} decoder;

/* A length whose first four bits are `half`. Fails at the end of input and beyond out_size. */
static bool read_length(decoder *d, unsigned half, size_t *length) {
  *length = half;
  if (half < 15)
    return true;
  unsigned byte;
  do {
    if (d->read == d->in_size || *length > d->out_size)
      return false;
    byte = d->in[d->read++];
    *length += byte;
  } while (byte == 255);
  return true;
}

static bool copy_literals(decoder *d, unsigned half) {
  size_t length;
  if (!read_length(d, half, &length) || length > d->in_size - d->read ||
      length > d->out_size - d->written)
    return false;
  memcpy(d->out + d->written, d->in + d->read, length);
  d->read += length;
  d->written += length;
  return true;
}

/* Copies what was written before; a match may reach into what it writes itself. */
static bool copy_match(decoder *d, unsigned half) {
  if (d->in_size - d->read < 2)
    return false;
  size_t distance = d->in[d->read] | (size_t)d->in[d->read + 1] << 8;
  d->read += 2;
  size_t length;
  if (distance == 0 || distance > d->written || !read_length(d, half, &length))
    return false;
  length += 4;
  if (length > d->out_size - d->written)
    return false;
  for (size_t i = 0; i < length; i++, d->written++)
    d->out[d->written] = d->out[d->written - distance];
  return true;
}

bool bf_lz4_decode(const unsigned char *in, size_t in_size, unsigned char *out, size_t out_size,
                   size_t *fault) {
  decoder d = {in, in_size, 0, out, out_size, 0};
  while (d.read < d.in_size) {
    *fault = d.read;
    unsigned token = d.in[d.read++];
    if (!copy_literals(&d, token >> 4))
      return false;
    if (d.read < d.in_size && !copy_match(&d, token & 15))
      return false;
  }
  *fault = d.read;
  return d.written == d.out_size;
}
