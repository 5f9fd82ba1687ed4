/* source/review: what is found out about the shared arrays of a module, and suggested for the
 * source that the module was made from. Functions are called in the order in which they stand here:
 * arrays are found, the source is read, arrays get their accesses, are found in the source, get
 * suggestions, and are changed by a patch; what the patched source does is noted last. */
#ifndef BF_SOURCE_REVIEW_H
#define BF_SOURCE_REVIEW_H

#include "ptx/site.h"
#include "source/launches.h"
#include "source/patch.h"

enum { BF_REVIEW_MOST_MACRO = 128, BF_REVIEW_MOST_REASON = 200 };

/* A shared array of a kernel. */
typedef struct bf_review_array {
  /* In the module. */
  const bf_ptx_function *kernel;
  const char *kernel_name; /* readable */
  bool is_asked;           /* the kernel is one of those asked for */
  const bf_ptx_variable *variable;
  uint64_t offset_bytes; /* in the shared memory of the kernel */
  const char *function;  /* that declares it, readable; NULL: not known */
  bf_shared_array shared;
  /* In the source. */
  /* NULL: not found, as missing says. Of arrays that are passed to the same functions all have the
   * one that stands for them; own is that of the array itself. */
  const bf_source_array *declared, *own;
  char missing[BF_REVIEW_MOST_REASON];
  char macro[BF_REVIEW_MOST_MACRO]; /* that can compute its subscripts */
  /* Suggestions, of arrays that are asked for. */
  bf_suggestions suggestions;
  /* The patch. */
  bool is_patched;
  bf_suggestion patched;               /* what it does */
  char problem[BF_REVIEW_MOST_REASON]; /* why it does nothing, or empty */
  /* Pointers lead to it: whether the change suits them is seen in the patched source only. */
  bool is_tentative;
  bool is_unfit;         /* it was seen that it does not */
  bool is_unfit_swizzle; /* the same of an XOR */
  /* A pointer into memory that is carved by hand: where its bytes begin in the variable; and
   * whether nobody accesses what lies before them, or it is another place in other threads, so that
   * where it begins is not seen. */
  uint64_t part_bytes;
  bool is_adrift;
  /* The patched source, as it was run. */
  bool is_checked;
  uint64_t checked_wavefronts, checked_conflicts;
} bf_review_array;

typedef struct bf_review {
  bf_arena arena;
  const bf_ptx_module *module; /* borrowed, as is the machine */
  const bf_machine *machine;
  bf_site_names names; /* of the kernels */
  /* Of all kernels, also of those not asked for, which may share declarations; in the order of
   * kernels and variables. */
  bf_review_array *array;
  size_t arrays;
  size_t *first;    /* array of each kernel, and behind the last kernel */
  uint64_t mixed;   /* executions of accesses to several arrays at once, which are left out */
  uint64_t unknown; /* instructions that the analysis without running does not know fully */
  double time_limit_seconds; /* of each exact search */
  bool can_verify; /* set by who can compile the patched source: changes may be tentative */
  bf_source_launches *launches; /* of the source, for the analysis; NULL: not read */
  bf_launched *taken; /* by kernel: for which blocks it was analysed; count 0: it was not */
  bool *is_partial;  /* by kernel: accesses were passed over, or their addresses rest on assumptions
                      */
  bool *is_blind;    /* by kernel: accesses to shared memory may not have been seen */
  bool *is_guessed;  /* by kernel: it may be launched in other ways than those looked at */
  bf_text text;      /* of the source */
  bf_source *source; /* NULL: not known */
  bf_patch patch;
} bf_review;

/* Finds the arrays of all kernels. kernel (NULL: all) is the name of the only one that is asked
 * for, as in the PTX or readable. Free the review also after an error. */
int bf_review_find_arrays(bf_review *review, const bf_ptx_module *module, const bf_machine *machine,
                          const char *kernel, bf_diagnostic *diagnostic);
void bf_review_free(bf_review *review);

/* The source that most instructions on shared memory come from, by the line information of a
 * module, of those that can be read: given, where it is the same file or there is none. What comes
 * with compilers is no source. */
const char *bf_review_named_source(const bf_ptx_module *module, const char *given);
/* Reads the source; without this, it is not known. */
int bf_review_read_source(bf_review *review, const char *path, bf_diagnostic *diagnostic);

/* Adds the accesses of a trace to the arrays that they go to. is_merged: they are those that ptxas
 * makes, else those written. */
int bf_review_add_trace(bf_review *review, const char *path, bool is_merged,
                        bf_diagnostic *diagnostic);
/* Adds what the analysis without running finds for the kernels asked for and blocks of that size.
 * Where block[0] is 0, it is the size that each of them requires (.reqntid), those that launches in
 * the source have, or the most likely one. Instructions whose addresses are not known, or cannot
 * be, are passed over. */
int bf_review_add_analysis(bf_review *review, const uint32_t block[3], bf_diagnostic *diagnostic);
/* The same for the blocks, grids and parameters that a review of the source before it was patched
 * has taken. */
int bf_review_add_analysis_like(bf_review *review, const bf_review *before,
                                bf_diagnostic *diagnostic);
/* Finds the declaration and the shape of every array. */
int bf_review_find_declarations(bf_review *review, bf_diagnostic *diagnostic);

/* Searches suggestions for every array that is asked for; the limit is that of each exact search.
 */
int bf_review_suggest(bf_review *review, double time_limit_seconds, bf_diagnostic *diagnostic);

/* Makes the patch of all arrays with conflicts that can be changed with certainty, by the
 * suggestion of that kind: BF_SUGGEST_SWIZZLE, BF_SUGGEST_PADDING, or -1 for the one that costs
 * least, where a CuTe swizzle counts as a swizzle. A declaration that kernels share is changed only
 * where that suits all of them. */
int bf_review_patch(bf_review *review, int kind, bf_diagnostic *diagnostic);
/* Compares the accesses that a review of the patched source has with those of this one: each must
 * be where the change puts it. Arrays with tentative changes of which that is not so, or not known
 * (patched NULL: it does not compile), become unfit; *is_fit: there are none. */
int bf_review_verify(bf_review *review, const bf_review *patched, bool *is_fit);
/* Takes the patch back, so that it can be made again. */
void bf_review_take_back(bf_review *review);
/* Whether the patch has changes that hold only where the patched source was looked at. */
bool bf_review_has_tentative(const bf_review *review);
/* A suggestion for an array as the functions of patch.h take it. */
bf_patch_array bf_review_change(const bf_review_array *array, const bf_suggestion *suggestion);
/* What is defined before the declaration: a macro or a function, or nothing. */
void bf_review_write_definition(const bf_review *review, const bf_review_array *item,
                                const bf_suggestion *suggestion, bf_text *text);

/* Counts what is left of the conflicts of patched arrays, from the accesses that a review of the
 * patched source has. */
int bf_review_check(bf_review *review, const bf_review *patched, bf_diagnostic *diagnostic);

#endif
