/* Inside room emu: what goes wrong between threads and the hardware that copies and multiplies for
 * them (the async proxy), in shared memory. Looked for together with races:
 *   - bulk and tensor stores and wgmma read what a thread wrote without a fence.proxy.async of that
 *     thread behind it (what cp.async wrote needs none: code of compilers has none there, and is
 *     right on an H200);
 *   - a thread reads or writes where a bulk copy, st.async or red.async writes, or writes where a
 *     copy reads, before somebody has waited for it;
 *   - a warp reads or writes where a bulk copy has written for which another warp alone has waited,
 *     without hearing from it since: by a barrier, an mbarrier, a fence or a strong access;
 *   - a thread or a copy writes to operands of wgmma before wgmma.wait_group says that they were
 * read;
 *   - a tensor copy uses a map that its block has changed in global memory, without a
 *     fence.proxy.tensormap of the block that has acquired it since;
 *   - wgmma reads by another swizzle than the one with which a tensor copy has put the data there.
 */
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
/* wgmma of the warp reads 16 bytes at offset by a descriptor whose layout is so wide (16: no
 * swizzle); false: a fault, as above. */
bool bf_proxy_product(bf_emu_warp *warp, const bf_emu_op *op, uint64_t offset, unsigned width);
/* wgmma.commit_group, and wgmma.wait_group of all groups but the last ones. */
void bf_proxy_products_commit(const bf_emu_warp *warp);
void bf_proxy_products_wait(const bf_emu_warp *warp, uint64_t but);
/* A copy that reads or writes bytes of a block begins, or is done. width: of the rows that its
 * swizzle is for (16: none, 0: it is no tensor copy into shared memory). False: a fault, as above.
 */
bool bf_proxy_copy_begins(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                          bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write,
                          unsigned width);
/* A lane changes the tensor map at a global address, the block acquires it, a tensor copy uses it;
 * false: a fault, as above. */
void bf_proxy_map_changes(const bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                          uint64_t address);
void bf_proxy_map_acquired(bf_emu_block *block, uint64_t address);
bool bf_proxy_map_used(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, uint64_t address);
void bf_proxy_copy_ends(bf_emu_block *block, uint64_t offset, uint64_t bytes, bool is_write);
/* A lane tests an mbarrier of its block, for which copies are done that are on their way to it; and
 * a warp hears of what others of its block have seen. */
void bf_proxy_tests(const bf_emu_warp *warp, unsigned lane);
void bf_proxy_hears(const bf_emu_warp *warp);
/* All warps do, by a barrier. */
void bf_proxy_all_hear(const bf_emu_block *block);

#endif
