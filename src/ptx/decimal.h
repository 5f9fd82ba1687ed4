/* Inside room ptx: floating-point numbers in decimal. */
#ifndef BF_PTX_DECIMAL_H
#define BF_PTX_DECIMAL_H

#include "base/base.h"

/* The double nearest to the number, infinite above the largest; false where memory is exhausted. */
bool bf_ptx_decimal_read(const char *number, double *value);
/* Appends digits that are read as this double again, and as no integer. */
void bf_ptx_decimal_print(double value, bf_text *text);

#endif
