/* Inside room emu: races between threads, found while a launch runs. */
#ifndef BF_EMU_RACE_H
#define BF_EMU_RACE_H

#include "emu/inner.h"

/* What is known of four bytes of memory. */
typedef struct bf_race_word bf_race_word;

/* Words for so many bytes of a block's shared memory; NULL: out of memory. They need no reset for
 * the next block. */
bf_race_word *bf_race_words(uint64_t bytes);
/* The same for lines, which stand for words that are accessed alike. */
typedef struct bf_race_line bf_race_line;
bf_race_line *bf_race_lines(uint64_t bytes);
typedef union bf_race_body bf_race_body;
bf_race_body *bf_race_bodies(uint64_t bytes);

/* Gets a launch ready that checks for races: flight->races. */
int bf_race_open(bf_emu_flight *flight, bf_diagnostic *diagnostic);
void bf_race_close(bf_emu_flight *flight);
/* Forgets what earlier launches did to global memory: of a device that ends, or loses code. */
void bf_race_forget(bf_emu *emu);

/* Whether some memory was not looked at, as records may take no more (race_bytes of launches). */
bool bf_race_has_left_out(const bf_emu_flight *flight);

/* Checks an access of the lanes in shared and in global (addresses in inside) and takes note of it;
 * false: it was a fault, which has been said. */
bool bf_race_access(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                    bool is_write, uint32_t shared, uint32_t global, const uint64_t *inside);
/* Takes note of a read of lanes in the block's own shared memory, made in this stretch between two
 * barriers, in which nobody has written there (deferred.c). order and time: those of then. */
void bf_race_note_read(bf_emu_warp *warp, unsigned site, unsigned width_bytes, uint32_t order,
                       uint32_t time, uint32_t mask, const uint64_t *offset);
/* Fences of the device so far. */
uint32_t bf_race_time(const bf_emu_flight *flight);
/* bf_race_access of lanes that access shared memory of other blocks of the cluster, by addresses
 * that have the rank of the block. */
bool bf_race_far(bf_emu_warp *warp, const bf_emu_op *op, bf_op kind, unsigned width_bytes,
                 bool is_write, uint32_t far, const uint64_t *address);
/* The same of data that a lane sends to bytes of a block (st.async, red.async: is_atomic). */
bool bf_race_sent(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                  uint64_t offset, unsigned bytes, bool is_atomic);
/* Whether a bulk copy of a lane may write to bytes of a block now: what threads did there before is
 * ordered before the lane. False: it was a fault, which has been said. */
bool bf_race_overwritten(bf_emu_warp *warp, const bf_emu_op *op, unsigned lane, bf_emu_block *owner,
                         uint64_t offset, uint64_t bytes);
/* A copy of a lane that was issued before is done: bytes in shared memory from offset on. */
void bf_race_copied(bf_emu_warp *warp, unsigned lane, uint64_t offset, unsigned bytes);
/* The launch lets those go that depend on it (griddepcontrol.launch_dependents). */
void bf_race_lets_go(bf_emu_flight *flight);
/* A fence in a block, or what orders it as one does: of the block, or of the whole device. */
void bf_race_fence(bf_emu_block *block, bool is_of_device);
/* Whether a fence of the first block, and what the second sees of others, put what the first did at
 * a time before what the second does now. */
bool bf_race_is_ordered(const bf_emu_block *first, uint32_t time, const bf_emu_block *second);
/* Whether a block can have seen that another one has made a fence. */
bool bf_race_has_heard(const bf_emu_block *block, const bf_emu_block *of);
/* What a warp did before is ordered before what another block of its cluster does from now on. */
void bf_race_release(bf_emu_warp *warp, bf_emu_block *to);

/* For what others say of races: an index of three numbers, and the line of a site. */
void bf_race_put_place(char *text, size_t bytes, uint32_t index, const uint32_t size[3]);
void bf_race_put_line(char *text, size_t bytes, const bf_emu_kernel *kernel, unsigned site);

#endif
