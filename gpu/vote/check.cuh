// Checks of all ways against the CPU, for bench --check.
#ifndef BF_GPU_CHECK_CUH
#define BF_GPU_CHECK_CUH

// Runs the cases from one to another; returns how many are wrong, each with a line on standard
// error.
int check_cases(unsigned from, unsigned to);
// Values beside and on the edges of bins, for many ranges; returns how often counts are wrong.
int check_bin_edges(void);
// What must be refused is; returns how often it is not.
int check_refusals(void);

#endif
