/* Inside room access: the first bytes of a packed trace's records, for both ways of reading them.
 */
#ifndef BF_ACCESS_PACKED_H
#define BF_ACCESS_PACKED_H

#include "access/trace.h"

enum {
  TAG_END = 0x00,
  TAG_SITE = 0x01,
  TAG_ACCESS = 0x80, /* and some of these bits: */
  HAS_OP = 0x01,
  HAS_MASK = 0x02,
  HAS_COUNT = 0x04,
  HAS_SITE = 0x08,
  ADDRESSES = 0x30, /* one of: */
  ADDRESSES_SAME = 0x00,
  ADDRESSES_MOVED = 0x10,
  ADDRESSES_LISTED = 0x20,
  ADDRESSES_RECALLED = 0x30,
  EQUAL_LENGTH = 0x40, /* how they are listed */
};

/* Reads a record that lists the addresses of up to 32 lanes and changes no more than these, their
 * mask and the site, where it is right; false: nothing is changed but addresses that are read
 * again. */
bool bf_packed_list(bf_trace *trace);

#endif
