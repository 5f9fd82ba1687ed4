/* analyze/given: values of a kernel's parameters that somebody gives as text, or that a launch
 * tells. */
#ifndef BF_ANALYZE_GIVEN_H
#define BF_ANALYZE_GIVEN_H

#include "analyze/analyze.h"

/* The parameter block, and which of its bytes are known, as bf_analyze_options takes them. */
typedef struct bf_analyze_given {
  uint8_t *bytes, *is_known;
  uint64_t size;
} bf_analyze_given;

/* Reads P=V,...: parameters by their names or their numbers from 0, with whole numbers as values;
 * NULL gives none. Messages speak of --param. Free also after an error. */
int bf_analyze_read_given(const bf_ptx_function *kernel, const char *text, bf_analyze_given *given,
                          bf_diagnostic *diagnostic);
/* The same of what a launch in source tells, numbers of parameters: those that can be no whole
 * numbers are passed over. */
int bf_analyze_read_launch(const bf_ptx_function *kernel, const char *text, bf_analyze_given *given,
                           bf_diagnostic *diagnostic);
/* Marks as known the bytes of the parameters that decide what a kernel does to shared memory:
 * numbers that its branches and the addresses of its shared accesses are computed from. */
int bf_analyze_find_deciding(const bf_ptx_function *kernel, bf_analyze_given *given,
                             bf_diagnostic *diagnostic);
/* Gives every parameter the same number. */
void bf_analyze_assume_number(const bf_ptx_function *kernel, uint32_t number,
                              bf_analyze_given *given);
/* Whether addresses, or how many accesses there are, would be known with values of parameters. */
bool bf_analyze_needs_values(const bf_analysis *analysis);
void bf_analyze_given_free(bf_analyze_given *given);

#endif
