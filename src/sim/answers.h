/* Inside room sim: answers of global memory on their way to a multiprocessor. They come out by
 * cycle, those of a cycle in the order in which they were added.
 *
 * Memory adds most of them in the order of cycles, because the data of a multiprocessor pass one
 * port; news of stores, which do not, are in order among themselves. So an answer goes to the end
 * of the first of two queues that is in order with it, and only what fits neither into a heap:
 * adding and taking cost the same however many are on their way. Whoever adds leaves the heap
 * unsorted; the multiprocessor sorts it on its own thread. */
#ifndef BF_SIM_ANSWERS_H
#define BF_SIM_ANSWERS_H

#include "sim/hierarchy.h"

/* Of those of a cycle the one with the least number comes first. */
typedef struct bf_sim_answer {
  uint64_t cycle, line;
  uint32_t number, token;
  uint8_t sectors, kind; /* as in bf_sim_request */
} bf_sim_answer;

enum { BF_SIM_ANSWER_QUEUES = 2 };

/* Zeroed: empty. */
typedef struct bf_sim_answers {
  struct bf_sim_answer_queue {
    bf_sim_answer *at;           /* a ring of room, which is a power of two */
    uint32_t first, count, room; /* first: modulo 2^32 */
    uint64_t last;               /* cycle of the last one that was added */
  } queue[BF_SIM_ANSWER_QUEUES];
  bf_sim_answer *heap;
  uint32_t heaped, behind, heap_room; /* behind: those that stand behind the heap */
  uint32_t number;                    /* added so far, modulo 2^32 */
} bf_sim_answers;

/* The place for an answer at a cycle; NULL: out of memory. */
bf_sim_answer *bf_sim_answers_place(bf_sim_answers *answers, uint64_t cycle);

/* Adds the answer of a request, which comes at a cycle. False: out of memory. */
static inline bool bf_sim_answers_add(bf_sim_answers *answers, const bf_sim_request *request,
                                      uint64_t cycle) {
  struct bf_sim_answer_queue *first = &answers->queue[0];
  bf_sim_answer *made;
  if (first->count && first->count < first->room && first->last <= cycle) { /* mostly */
    made = &first->at[(first->first + first->count++) & (first->room - 1)];
    first->last = cycle;
  } else if (!(made = bf_sim_answers_place(answers, cycle))) {
    return false;
  }
  made->cycle = cycle;
  made->line = request->line;
  made->number = answers->number++;
  made->token = request->token;
  made->sectors = request->sectors;
  made->kind = request->kind;
  return true;
}

/* The cycle of the first answer; UINT64_MAX: there is none. */
uint64_t bf_sim_answers_next(bf_sim_answers *answers);
/* Takes the first answer; there is one. */
bf_sim_answer bf_sim_answers_take(bf_sim_answers *answers);
bool bf_sim_answers_are_empty(const bf_sim_answers *answers);
void bf_sim_answers_free(bf_sim_answers *answers);

/* How many answers are in queues, which most are. */
static inline uint32_t bf_sim_answers_queued(const bf_sim_answers *answers) {
  return answers->queue[0].count + answers->queue[1].count;
}

/* The first answer where it surely is the first of the first queue, as it mostly is, without a
 * call; else NULL. It stays there until bf_sim_answers_drop takes it, or another one is added. */
static inline const bf_sim_answer *bf_sim_answers_peek(const bf_sim_answers *answers) {
  const struct bf_sim_answer_queue *own = &answers->queue[0];
  bool is_only = own->count && !answers->queue[1].count && !answers->heaped && !answers->behind;
  return is_only ? &own->at[own->first & (own->room - 1)] : NULL;
}

/* Takes what bf_sim_answers_peek has found. */
static inline void bf_sim_answers_drop(bf_sim_answers *answers) {
  answers->queue[0].first++;
  answers->queue[0].count--;
}

#endif
