/* tune/observe: the accesses that a kernel makes to shared memory, kept while it runs, for the
 * search of hashes. They are kept as the PTX has them and as ptxas merges them, equal ones once
 * with a count, in bounded memory. The site of an access is the name of the array that it is known
 * to be to, or NULL. */
#ifndef BF_TUNE_OBSERVE_H
#define BF_TUNE_OBSERVE_H

#include "emu/emu.h"
#include "rewrite/rewrite.h"

/* Different accesses of a kernel, in each form; each takes some hundred bytes. */
enum { BF_OBSERVE_MOST = 1 << 16 };

typedef struct bf_observed {
  bf_workload *written, *merged; /* accesses of all launches */
  bool is_cut; /* there were more different ones than were kept: the first ones are here */
} bf_observed;

typedef struct bf_observer bf_observer;

/* An observer of a kernel on a machine, both borrowed. examined is what bf_rewrite_examine says of
 * the kernel's module; NULL: it is examined here. budget (NULL: none) is how many different
 * accesses may be kept yet by all observers that share it. */
int bf_observer_create(const bf_machine *machine, const bf_emu_kernel *kernel,
                       const bf_rewrite_result *examined, size_t *budget, bf_observer **observer,
                       bf_diagnostic *diagnostic);
void bf_observer_free(bf_observer *observer);
/* What a launch of the kernel is to be observed by; for several launches, one after another. */
bf_emu_observer bf_observer_watch(bf_observer *observer);
/* What was kept, which belongs to the observer. BF_NO_MEMORY where something could not be kept. */
int bf_observer_get(const bf_observer *observer, bf_observed *observed, bf_diagnostic *diagnostic);
/* The same, and the workloads become the caller's; nothing can be observed afterwards. */
int bf_observer_take(bf_observer *observer, bf_observed *observed, bf_diagnostic *diagnostic);

#endif
