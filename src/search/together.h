/* search/together: a branch and bound that several processes share, on any number of hosts, by a
 * file.
 *
 * All of them list the same tasks. A worker takes a task by a lock on one byte of the file, far
 * behind its end, which the kernel gives back when its process ends in whatever way; what is
 * finished is a line, so that a process that is killed loses the tasks that it had begun and
 * nothing else.
 *
 *   bankfold-search 1 BASIS TASKS    of what problem
 *   best COST ROW...                 a hash, as functionals over coordinates
 *   done TASK COST                   no hash of that task costs less
 *
 * A later line may say more than an earlier one; lines that were not written whole are passed over.
 */
#ifndef BF_SEARCH_TOGETHER_H
#define BF_SEARCH_TOGETHER_H

#include "search/exact.h"

typedef struct bf_together bf_together;

/* Opens the file, or makes it; BF_BAD_INPUT where it is that of another problem. The exact search
 * gets the best hash of the file, here and whenever there is a better one. */
int bf_together_open(const char *path, bf_exact *exact, uint32_t tasks, bf_together **together,
                     bf_diagnostic *diagnostic);
void bf_together_close(bf_together *together);

/* Whether no hash of a task costs less than `limit`, as far as the file says by now. */
bool bf_together_is_done(bf_together *together, uint32_t task, uint64_t limit);
/* Takes a task for a worker, who has a descriptor of the file of its own: -1 at first, which is
 * opened then. False where another one has it. */
bool bf_together_take(bf_together *together, int *descriptor, uint32_t task);
/* Gives it back: with `cost`, no hash of the task costs less; 0: it is not finished. */
void bf_together_leave(bf_together *together, int descriptor, uint32_t task, uint64_t cost);

#endif
