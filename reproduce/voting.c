/* braak15, chapters 3 and 4: histograms and Hough transforms on four GPUs. */
#include "reproduce/reproduce.h"
#include "reproduce/voting/tables.h"

const bf_reproduction bf_reproduce_voting[] = {
    {"histogram-tables", "histograms in four ways on four GPUs",
     "braak15, Tables 3.3-3.7, Fig. 3.11",
     "Histograms of a 12-bit picture of 1536 x 1024 pixels, 256 bins (64 where every thread has "
     "its "
     "own), by the kernels of gpu/vote: many configurations on a part of the picture, then the "
     "best "
     "of them and the published one on all of it.",
     bf_voting_histograms},
    {"histogram-pictures", "histograms of pictures of several kinds",
     "braak15, Figs. 3.5, 3.6, 3.8",
     "Histograms for every thread and for every warp of two photographs, a picture of one value "
     "and one of random values, on a GTX 470; those for every thread in three layouts and several "
     "sizes of blocks on four GPUs.",
     bf_voting_kinds},
    {"hough-tables", "the Hough transform in two ways on four GPUs",
     "braak15, Tables 4.1-4.3, Fig. 4.10",
     "Polar Hough transforms of 120 angles of a picture of 1536 x 1024 pixels, 21% of them edges, "
     "by "
     "the kernels of gpu/vote: many configurations on a part of the work, then the best of them "
     "and "
     "the published one.",
     bf_voting_houghs},
    {NULL, NULL, NULL, NULL, NULL},
};
