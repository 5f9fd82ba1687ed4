/* What nodes wait for in a deadlock, as data and in words. */
#include "rgpu/sim_inner.h"

/* ---- Finding ---- */

/* What a node waits for; its names are those of the graph. */
static bf_rgpu_wait wait_of(const sim_plan *plan, const plan_node *at, const sm_node *own) {
  bf_rgpu_wait wait = {.node = at->node->name, .fired = own->fired, .stall = own->stall};
  if (own->stall == BF_RGPU_STALL_EMPTY)
    wait.other = plan->node[plan->fifo[own->stall_at].writer].node->name;
  else if (own->stall == BF_RGPU_STALL_FULL)
    wait.other = plan->node[plan->fifo[own->stall_at].reader].node->name;
  else
    wait.awaits_store = at->node->cache == BF_RGPU_CACHE_WAIT;
  return wait;
}

/* Copies the names, so that the result does not need the graph. */
static bool keep_names(bf_arena *arena, bf_rgpu_wait *wait) {
  wait->node = bf_arena_copy(arena, wait->node);
  if (wait->other && !(wait->other = bf_arena_copy(arena, wait->other)))
    return false;
  return wait->node != NULL;
}

/* The block of an SM, with all its nodes that have something to do and did not fire. */
static bool find_waits(bf_arena *arena, const sim_sm *sm, bf_rgpu_stuck *stuck) {
  const sim_plan *plan = sm->chip->plan;
  stuck->block = sm->block;
  stuck->wait = bf_arena_alloc(arena, (plan->nodes + 1) * sizeof *stuck->wait);
  for (uint32_t i = 0; stuck->wait && i < plan->nodes; i++) {
    const sm_node *own = &sm->node[i];
    bf_rgpu_wait *wait = &stuck->wait[stuck->waits];
    if (own->stall == BF_RGPU_STALL_DONE || own->stall == BF_RGPU_STALLS)
      continue;
    *wait = wait_of(plan, &plan->node[i], own);
    if (!keep_names(arena, wait))
      return false;
    stuck->waits++;
  }
  return stuck->wait != NULL;
}

int rgpu_find_stuck(sim_chip *chip, const sim_sm *sm) {
  bf_rgpu_sim_result *result = chip->result;
  result->stuck = bf_arena_alloc(&result->arena, (chip->gpu->sms + 1) * sizeof *result->stuck);
  if (!result->stuck)
    return bf_no_memory(chip->diagnostic);
  for (unsigned i = 0; i < chip->gpu->sms; i++) {
    if (!sm[i].is_running)
      continue;
    if (!find_waits(&result->arena, &sm[i], &result->stuck[result->stuck_blocks]))
      return bf_no_memory(chip->diagnostic);
    result->stuck_blocks++;
  }
  return BF_OK;
}

/* ---- Words ---- */

static void explain_wait(const bf_rgpu_wait *wait, bf_text *text) {
  bf_text_addf(text, " %s after %llu: ", wait->node, (unsigned long long)wait->fired);
  if (wait->stall == BF_RGPU_STALL_EMPTY)
    bf_text_addf(text, "nothing from %s;", wait->other);
  else if (wait->stall == BF_RGPU_STALL_FULL)
    bf_text_addf(text, "no room at %s;", wait->other);
  else if (wait->awaits_store)
    bf_text_puts(text, "what it waits for is not stored;");
  else
    bf_text_addf(text, "%s;", bf_rgpu_stall_names[wait->stall]);
}

void bf_rgpu_stuck_explain(const bf_rgpu_sim_result *result, bf_text *text) {
  enum { LONG = 1960 }; /* bytes */
  unsigned left_out = 0;
  for (unsigned i = 0; i < result->stuck_blocks; i++) {
    const bf_rgpu_stuck *stuck = &result->stuck[i];
    size_t before = text->size;
    bf_text_addf(text, "block %llu:", (unsigned long long)stuck->block);
    for (unsigned k = 0; k < stuck->waits; k++)
      explain_wait(&stuck->wait[k], text);
    bf_text_puts(text, "\n");
    if (before && !text->failed && text->size > LONG) {
      text->data[text->size = before] = 0;
      left_out++;
    }
  }
  if (left_out)
    bf_text_addf(text, "and %u more blocks\n", left_out);
}
