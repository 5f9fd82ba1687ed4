/* What other simulators of GPUs state of themselves, beside what was found here. */
#ifndef BF_H200_OTHERS_H
#define BF_H200_OTHERS_H

#include "reproduce/reproduce.h"

/* Adds the table; error: the mean error found here over so many launches of `what`. */
void h200_others_report(bf_reproduce_run *run, const char *what, unsigned launches, double error);

#endif
