// Sweeps of published tables, for vote_bench --tables.
#ifndef BF_GPU_TABLES_CUH
#define BF_GPU_TABLES_CUH

// Measures every configuration, writes a row for each to a file, and prints the tables. Sides of
// images are divided by shrink; where that is more than one, few configurations are tried. Returns
// the status of the program: 1 where a result is wrong or the file cannot be written.
int measure_tables(const char *path, unsigned shrink);

#endif
