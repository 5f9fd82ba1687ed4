/* What the speed-ups of histograms depend on besides what the document says of them. */
#ifndef BF_ATOMICS_STUDIES_H
#define BF_ATOMICS_STUDIES_H

#include "reproduce/atomics/pictures.h"

/* How much neighbouring pixels differ: the same pictures with less contrast, down to none. */
int bf_study_contrast(bf_reproduce_run *run, const bf_pictures *pictures,
                      bf_diagnostic *diagnostic);
/* How many blocks share the work, each of which clears and merges its copies. */
int bf_study_blocks(bf_reproduce_run *run, const bf_pictures *pictures, bf_diagnostic *diagnostic);
/* Whether one multiprocessor with its share of a picture stands for all with the whole. */
int bf_study_share(bf_reproduce_run *run, bf_diagnostic *diagnostic);

#endif
