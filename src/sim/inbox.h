/* Inside room sim: answers that global memory has ready while the multiprocessors still run the
 * span before: each finds its own when it begins the next one. */
#ifndef BF_SIM_INBOX_H
#define BF_SIM_INBOX_H

#include "sim/sm.h"

#include <stdlib.h>

/* Of one multiprocessor. Zeroed: empty. */
typedef struct bf_sim_inbox {
  struct bf_sim_ready {
    bf_sim_request request;
    uint64_t cycle;
  } * ready;
  size_t count, room;
} bf_sim_inbox;

/* Adds the answer of a request, which comes at a cycle; false: out of memory. */
static inline bool bf_sim_inbox_add(bf_sim_inbox *inbox, const bf_sim_request *request,
                                    uint64_t cycle) {
  if (inbox->count == inbox->room) {
    size_t room = inbox->room ? 2 * inbox->room : 64;
    struct bf_sim_ready *made = (struct bf_sim_ready *)realloc(inbox->ready, room * sizeof *made);
    if (!made)
      return false;
    inbox->ready = made;
    inbox->room = room;
  }
  struct bf_sim_ready *next = &inbox->ready[inbox->count++];
  next->request = *request;
  next->cycle = cycle;
  return true;
}

/* Hands all answers to their multiprocessor. */
static inline void bf_sim_inbox_empty(bf_sim_inbox *inbox, bf_sim_sm *sm) {
  for (size_t i = 0; i < inbox->count; i++)
    if (!bf_sim_sm_answer(sm, &inbox->ready[i].request, inbox->ready[i].cycle))
      sm->failed = true;
  inbox->count = 0;
}

/* Frees those of so many multiprocessors; NULL: there are none. */
static inline void bf_sim_inboxes_free(bf_sim_inbox *inbox, unsigned count) {
  for (unsigned i = 0; inbox && i < count; i++)
    free(inbox[i].ready);
  free(inbox);
}

#endif
