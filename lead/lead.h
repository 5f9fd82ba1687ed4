/* Inside lead: leads the calls of programs and libraries that hold the CUDA runtime themselves
 * (nvcc's default, -cudart static) to Bankfold's libcudart. bankfold exec loads libbankfold-lead.so
 * into the program; before any other code runs, and again whenever objects are loaded later, it
 * looks through the symbols of each object and writes a jump over the first bytes of every function
 * of the runtime. What it leads to is found at the first call.
 *
 * The same is done to the functions by which NVIDIA's libraries of machine code are started: they
 * fail with one line that says why. */
#ifndef LEAD_H
#define LEAD_H

#include "exchange/cuda_file.h"

#include <stddef.h>

/* A library whose kernels are machine code. */
typedef struct lead_library {
  const char *name;    /* as people call it */
  const char *advice;  /* what to do */
  int status;          /* its own for "cannot be started" */
  const char *instead; /* its own function that does the same on the CPU, or NULL */
} lead_library;

/* Where a function is led to. The code that is written over the function loads the address of its
 * entry to r11 and jumps to what the first member says. */
typedef struct lead_entry {
  const void *target; /* lead_first_call until the first call */
  const char *name;
  unsigned runtime;            /* the version of the runtime that the function belongs to */
  const lead_library *library; /* or the library, where it is none of the runtime */
  struct lead_entry *next;     /* the one that was made before */
} lead_entry;

enum { LEAD_CODE_BYTES = 13 };

/* ---- One object (patch.c) ---- */

/* An object of the process, with the file that it was loaded from. */
typedef struct lead_object {
  const char *path;
  uint64_t address; /* that is added to those of the file */
  bf_elf elf;
} lead_object;

/* Leads all functions of the runtime in an object, and those that start libraries of machine code.
 */
void lead_patch(const lead_object *object, unsigned runtime);
/* Writes code over what is at an address; false where that is not allowed. */
bool lead_write(void *address, const void *code, size_t bytes);

/* ---- Libraries of machine code (libraries.c) ---- */

/* The library that a function starts; NULL: none. */
const lead_library *lead_library_of(const char *function);
/* Whether a file of that name is one of NVIDIA's libraries of machine code. *silent: it has no
 * function that starts it, so that it must be told when it is loaded. */
bool lead_is_library(const char *path, const lead_library **silent);

/* ---- Calls (calls.c) ---- */

/* Where functions are led at first: finds the real target and goes there, with all arguments. */
void lead_first_call(void);
/* A line on standard error, unless the user wants none. */
void lead_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
