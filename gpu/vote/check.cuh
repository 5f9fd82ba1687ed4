// Checks of all ways against the CPU, for bench --check.
#ifndef BF_GPU_CHECK_CUH
#define BF_GPU_CHECK_CUH

// Runs the cases from one to another; returns how many are wrong, each with a line on standard
// error.
int check_cases(unsigned from, unsigned to);
// What must be refused is; returns how often it is not.
int check_refusals(void);

#endif
