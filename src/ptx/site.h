/* ptx/site: names of places in kernels, as traces have them: KERNEL:FILE:LINE. */
#ifndef BF_PTX_SITE_H
#define BF_PTX_SITE_H

#include "ptx/ptx.h"

/* Appends the site of an instruction: the readable name of its kernel, the source file without
 * folders and the line in it; or, where the source is not known (NULL), "ptx" and the line of the
 * PTX. Blanks and what is not ASCII become "_". */
void bf_site_write(const char *kernel, const char *source_file, uint64_t source_line,
                   uint64_t ptx_line, bf_text *text);

/* The name of the file that a .loc gives by its number; NULL: not known. */
const char *bf_ptx_file_name(const bf_ptx_module *module, uint64_t number);
/* The line of the source that an instruction comes from (file NULL: not known). What was inlined
 * from a header of the compiler (atomicAdd and the like) counts as the line that called it. */
void bf_ptx_source_line(const bf_ptx_module *module, const bf_ptx_instruction *instruction,
                        const char **file, uint64_t *line);
/* The same, out of all headers that were inlined into each other. */
void bf_ptx_user_line(const bf_ptx_module *module, const bf_ptx_instruction *instruction,
                      const char **file, uint64_t *line);

/* The .loc whose call the line was inlined at, which bf_ptx_source_line or bf_ptx_user_line says of
 * an instruction; NULL: it was not inlined. */
const bf_ptx_location *bf_ptx_call_of(const bf_ptx_module *module,
                                      const bf_ptx_instruction *instruction, const char *file,
                                      uint64_t line);
/* Appends that call and those around it: "b.cuh:21, inlined at c.cu:5". NULL: nothing. */
void bf_ptx_write_calls(const bf_ptx_module *module, const bf_ptx_location *call, bf_text *text);

/* A name that sites of a kernel can start with: the readable one, or that of the PTX. */
typedef struct bf_site_name {
  const char *text;
  size_t length;
  size_t kernel; /* its number: kernels with a body, in the order of the module */
} bf_site_name;

/* The names of all kernels of a module. */
typedef struct bf_site_names {
  bf_arena arena;
  size_t kernels;
  const bf_ptx_function **kernel; /* by number */
  bf_site_name *name;             /* two for each kernel, in the order of their texts */
} bf_site_names;

/* Free also after an error. */
int bf_site_names_make(const bf_ptx_module *module, bf_site_names *names,
                       bf_diagnostic *diagnostic);
void bf_site_names_free(bf_site_names *names);

/* The number of the kernel that a site (or NULL) belongs to: the one with the longest name that the
 * site starts with, of several with that name the first, and where the module has one kernel only
 * that one. names->kernels: none. */
size_t bf_site_kernel(const bf_site_names *names, const char *site);
/* The part of a site behind the name of a kernel of the module: FILE:LINE. Sites that start with
 * none stay whole. */
const char *bf_site_place(const bf_site_names *names, const char *site);
/* The line that FILE:LINE names, where it is of the file at path; else 0. */
uint64_t bf_site_line(const char *place, const char *path);

#endif
