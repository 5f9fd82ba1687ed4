/* braak13 and braak15 (chapter 5): atomic additions in shared memory, and hashes of its banks and
 * locks. docs/atomics.md explains what is run and how it came out. */
#include "reproduce/atomics/figures.h"

const bf_reproduction bf_reproduce_atomics[] = {
    {"atomic-latency", "latency of an atomic addition", "braak13, Fig. 5; braak15, Fig. 5.3",
     "One warp adds to words that share a word, a bank or a lock; the clock is read before and "
     "after, on the GTX 580, without a hash and with XOR and ADD.",
     bf_reproduce_atomic_latency},
    {"histogram-replication", "the best number of copies of a histogram",
     "braak13, Fig. 4; braak15, Fig. 5.4",
     "A histogram of 64 bins in 1 to 128 copies on the GTX 470.", bf_reproduce_replication},
    {"histogram-hash", "histograms with hashed banks and locks",
     "braak13, Fig. 7; braak15, Fig. 5.6",
     "Histograms of 32 to 4096 bins in 1 to 256 copies, in three layouts, on the GTX 580, without "
     "a hash and with XOR and ADD.",
     bf_reproduce_histogram_hash},
    {"hough-hash", "the Hough transform with hashed banks and locks",
     "braak13, Fig. 8; braak15, Fig. 5.7",
     "Voting for lines through the edges of a 640 x 480 picture in 1 to 6 copies on the GTX 580, "
     "without a hash and with XOR and ADD.",
     bf_reproduce_hough_hash},
    {NULL, NULL, NULL, NULL, NULL},
};
