/* Random short PTX programs: arithmetic over all types, divergent branches and loops, collectives
 * of the lanes that are together, exchange through shared memory, atomics. What they store depends
 * on nothing but their inputs. Needs only the C library. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PROGRAM_BLOCKS = 2,
  PROGRAM_BLOCK_THREADS = 64,
  PROGRAM_THREADS = PROGRAM_BLOCKS * PROGRAM_BLOCK_THREADS,
  PROGRAM_INPUT_WORDS = 16, /* of 32 bits per thread */
  PROGRAM_INPUT_BYTES = PROGRAM_THREADS * PROGRAM_INPUT_WORDS * 4,
  /* Per thread: 3 binary64, then 4 64-bit, 8 + 6 + 2 32-bit and 4 16-bit values. */
  PROGRAM_DOUBLES = 3,
  PROGRAM_OUTPUT_THREAD_BYTES = 128,
  PROGRAM_OUTPUT_BYTES = PROGRAM_THREADS * PROGRAM_OUTPUT_THREAD_BYTES,
  PROGRAM_MOST_STATEMENTS = 400,
  PROGRAM_RECORDED = 400, /* programs whose results on a GPU are recorded: seeds 0 to 399 */
};

/* The program of a seed: entry "program" with the addresses of input and output as parameters;
 * freed by the caller, NULL without memory. Statements whose number is set in skip (or NULL) are
 * left out; *statements is how many there are. */
char *program_make(uint64_t seed, const bool *skip, unsigned *statements);
void program_fill_input(uint64_t seed, uint8_t *input);
/* Replaces every NaN of binary64 in the output by one: which one it is depends on the machine. */
void program_same_nan(uint8_t *output);

#endif
