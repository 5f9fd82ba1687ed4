/* braak15, Fig. 3.8: histograms for every warp of a GTX 470, with what the document extends them by
 * (extensions.cu). */
#ifndef BF_VOTING_EXTENSIONS_H
#define BF_VOTING_EXTENSIONS_H

#include "reproduce/reproduce.h"

/* Pictures of bytes: two photographs, one value in all pixels, and random values. */
enum { IMAGE_1, IMAGE_2, DEGENERATE, RANDOM, KINDS };
enum { BF_VOTING_KIND_WIDTH = 2048, BF_VOTING_KIND_BINS = 256 };

/* Makes pictures of so many rows, which live as long as the run. */
int bf_voting_kind_pictures(bf_reproduce_run *run, uint32_t rows, uint8_t *pixels[KINDS],
                            bf_diagnostic *diagnostic);

/* Tables and claims of the baseline and its four extensions. */
int bf_voting_extensions(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
