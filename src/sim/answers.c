#include "sim/answers.h"

#include <stdlib.h>

typedef struct bf_sim_answer_queue queue;

/* ---- Queues ---- */

/* Makes the ring of a queue twice as long. */
static bool grow_queue(queue *own) {
  enum { FIRST_ROOM = 64 };
  uint32_t room = own->room ? 2 * own->room : FIRST_ROOM;
  bf_sim_answer *made = malloc(room * sizeof *made);
  if (!made)
    return false;
  for (uint32_t i = 0; i < own->count; i++)
    made[i] = own->at[(own->first + i) & (own->room - 1)];
  free(own->at);
  own->at = made;
  own->first = 0;
  own->room = room;
  return true;
}

/* The first of a queue that is not empty. */
static const bf_sim_answer *first_of(const queue *own) {
  return &own->at[own->first & (own->room - 1)];
}

/* ---- The heap ---- */

static bool grow_heap(bf_sim_answers *answers) {
  enum { FIRST_ROOM = 64 };
  uint32_t room = answers->heap_room ? 2 * answers->heap_room : FIRST_ROOM;
  bf_sim_answer *made = realloc(answers->heap, room * sizeof *made);
  if (!made)
    return false;
  answers->heap = made;
  answers->heap_room = room;
  return true;
}

/* Whether answer a comes before b. */
static bool comes_before(const bf_sim_answer *a, const bf_sim_answer *b) {
  if (a->cycle != b->cycle)
    return a->cycle < b->cycle;
  return (int32_t)(a->number - b->number) < 0;
}

/* Puts the answers that stand behind the heap into it. */
static void sort_behind(bf_sim_answers *answers) {
  bf_sim_answer *heap = answers->heap;
  for (; answers->behind; answers->behind--) {
    uint32_t at = answers->heaped++;
    bf_sim_answer own = heap[at];
    for (; at > 0 && comes_before(&own, &heap[(at - 1) / 2]); at = (at - 1) / 2)
      heap[at] = heap[(at - 1) / 2];
    heap[at] = own;
  }
}

/* Takes the first answer out of the heap. */
static bf_sim_answer pop(bf_sim_answers *answers) {
  bf_sim_answer *heap = answers->heap, first = heap[0], last = heap[--answers->heaped];
  uint32_t at = 0;
  for (uint32_t child; (child = 2 * at + 1) < answers->heaped; at = child) {
    if (child + 1 < answers->heaped && comes_before(&heap[child + 1], &heap[child]))
      child++;
    if (!comes_before(&heap[child], &last))
      break;
    heap[at] = heap[child];
  }
  heap[at] = last;
  return first;
}

/* ---- Both ---- */

bf_sim_answer *bf_sim_answers_place(bf_sim_answers *answers, uint64_t cycle) {
  for (unsigned i = 0; i < BF_SIM_ANSWER_QUEUES; i++) {
    queue *own = &answers->queue[i];
    if (own->count && own->last > cycle)
      continue;
    if (own->count == own->room && !grow_queue(own))
      return NULL;
    own->last = cycle;
    return &own->at[(own->first + own->count++) & (own->room - 1)];
  }
  if (answers->heaped + answers->behind == answers->heap_room && !grow_heap(answers))
    return NULL;
  return &answers->heap[answers->heaped + answers->behind++];
}

/* Where the first answer is: the number of a queue, or BF_SIM_ANSWER_QUEUES for the heap; NULL:
 * there is none. */
static const bf_sim_answer *find_first(const bf_sim_answers *answers, unsigned *place) {
  const bf_sim_answer *best = answers->heaped ? &answers->heap[0] : NULL;
  *place = BF_SIM_ANSWER_QUEUES;
  for (unsigned i = 0; i < BF_SIM_ANSWER_QUEUES; i++)
    if (answers->queue[i].count) {
      const bf_sim_answer *own = first_of(&answers->queue[i]);
      if (best && !comes_before(own, best))
        continue;
      best = own;
      *place = i;
    }
  return best;
}

uint64_t bf_sim_answers_next(bf_sim_answers *answers) {
  unsigned place;
  if (answers->behind)
    sort_behind(answers);
  const bf_sim_answer *first = find_first(answers, &place);
  return first ? first->cycle : UINT64_MAX;
}

bf_sim_answer bf_sim_answers_take(bf_sim_answers *answers) {
  unsigned place;
  if (answers->behind)
    sort_behind(answers);
  bf_sim_answer first = *find_first(answers, &place);
  if (place == BF_SIM_ANSWER_QUEUES)
    return pop(answers);
  answers->queue[place].first++;
  answers->queue[place].count--;
  return first;
}

bool bf_sim_answers_are_empty(const bf_sim_answers *answers) {
  return !answers->queue[0].count && !answers->queue[1].count && !answers->heaped &&
         !answers->behind;
}

void bf_sim_answers_free(bf_sim_answers *answers) {
  for (unsigned i = 0; i < BF_SIM_ANSWER_QUEUES; i++)
    free(answers->queue[i].at);
  free(answers->heap);
}
