/* Inside room emu: what goes wrong between threads and the hardware that copies and multiplies for
 * them (the async proxy), in shared memory. Looked for together with races:
 *   - bulk and tensor stores and wgmma read what a thread wrote without a fence.proxy.async of that
 *     thread behind it (what cp.async wrote needs none: code of compilers has none there, and is
 *     right on an H200);
 *   - a thread reads or writes where a bulk copy writes, or writes where one reads, before somebody
 *     has waited for the copy. */
#ifndef BF_EMU_PROXY_H
#define BF_EMU_PROXY_H

#include "emu/inner.h"

/* Whether a kernel has instructions of the async proxy. */
bool bf_proxy_is_used(const bf_emu_kernel *kernel);
/* For so many bytes of a block's shared memory; NULL: out of memory. */
struct bf_emu_proxy *bf_proxy_create(uint64_t bytes);
/* The next block begins. */
void bf_proxy_begin(bf_emu_block *block);

/* Accesses of threads to their block's shared memory; false: it was a fault, which has been said.
 */
bool bf_proxy_access(bf_emu_warp *warp, const bf_emu_op *op, unsigned width_bytes, bool is_write,
                     uint32_t lanes, const uint64_t *offset);
/* fence.proxy.async of lanes. */
void bf_proxy_fence(bf_emu_warp *warp, uint32_t lanes);
/* The hardware reads bytes for an instruction of a lane; false: a fault, as above. */
bool bf_proxy_read(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *block,
                   uint64_t offset, uint64_t bytes);
/* A copy that reads or writes bytes of a block begins, or is done. */
void bf_proxy_copy_begins(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                          bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write);
void bf_proxy_copy_ends(bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write);

#endif
