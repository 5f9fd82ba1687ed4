/* Inside room emu: clusters of blocks.
 *
 * The blocks of a cluster run on one thread of the host, in turns, so that their shared memory
 * needs no locks. An address of shared memory has the rank of its block in the cluster above 24
 * bits, that of a block's own variables too (measured on an H200, gpu/hopper/addresses.cu). */
#ifndef BF_EMU_CLUSTER_H
#define BF_EMU_CLUSTER_H

#include "emu/inner.h"

enum { BF_EMU_MOST_CLUSTER = 16, BF_EMU_RANK_SHIFT = 24 };
#define BF_EMU_RANK_MASK ((UINT64_C(1) << BF_EMU_RANK_SHIFT) - 1)

typedef struct bf_emu_cluster {
  struct bf_emu_cluster *next; /* of the same worker */
  unsigned count, done;
  bf_emu_block *block[BF_EMU_MOST_CLUSTER];
  uint32_t arrived; /* threads at the barrier of this phase */
  uint32_t phase;
  uint64_t note[2]; /* of whoever steps its blocks */
} bf_emu_cluster;

/* The size of the clusters of a launch; false: nobody asked for clusters. */
bool bf_emu_cluster_size(const bf_emu_launch *launch, uint32_t *size);
/* Gives a block its rank, which the addresses of its variables then have. */
void bf_emu_block_rank(bf_emu_block *block, unsigned rank);
/* The same for what a frame holds. */
void bf_emu_frame_move(bf_emu_frame *frame, unsigned rank);
/* Blocks in a cluster of the launch. */
unsigned bf_emu_cluster_blocks(const bf_emu_flight *flight);
/* The number in the grid of block rank of cluster number index. */
uint64_t bf_emu_cluster_block_index(const bf_emu_flight *flight, uint64_t index, unsigned rank);
/* Ends the phase of the barrier if all threads that are alive have arrived. */
void bf_emu_cluster_check(bf_emu_cluster *cluster);
/* Whether a shared address is in a block of the cluster that has ended. */
bool bf_emu_cluster_has_left(const bf_emu_warp *warp, uint64_t address);
/* The block and the offset in its shared memory that an address of shared memory means; NULL: no
 * block of the cluster, or one that has ended. */
bf_emu_block *bf_emu_cluster_find(bf_emu_warp *warp, uint64_t address, uint64_t *offset);
/* The memory behind an address of shared memory; NULL: the launch has ended with a fault. */
uint8_t *bf_emu_cluster_reach(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane,
                              uint64_t address, uint64_t bytes, unsigned align_bytes, bool is_write,
                              bf_emu_block **block, uint64_t *offset);

/* Whether nothing can happen in a block (and its cluster) any more: all its threads wait at
 * barriers, or have failed in testing mbarriers for many turns in which none changed. */
bool bf_emu_is_dead(bf_emu_block *block);
/* Says who waits for whom in a block where nothing can happen. */
void bf_emu_fail_dead(bf_emu_block *block);

#endif
