/* braak15, Fig. 3.8: histograms for every warp of a GTX 470, with what the document extends them by
 * (extensions.cu). */
#ifndef BF_VOTING_EXTENSIONS_H
#define BF_VOTING_EXTENSIONS_H

#include "reproduce/reproduce.h"

/* Tables and claims of the baseline and its four extensions. */
int bf_voting_extensions(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
