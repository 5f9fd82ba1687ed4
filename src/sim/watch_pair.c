/* Two watches as one. */
#include "sim/watch_pair.h"

static bool wants(const bf_sim_watch *watch, uint64_t cycle) {
  return cycle >= watch->first_cycle && cycle <= watch->last_cycle;
}

static void tell_event(void *context, const bf_sim_event *event) {
  const bf_sim_watch_pair *pair = context;
  for (unsigned i = 0; i < 2; i++)
    if (wants(&pair->watch[i], event->issued))
      pair->watch[i].event(pair->watch[i].context, event);
}

static void tell_stage(void *context, const bf_sim_stage *stage) {
  const bf_sim_watch_pair *pair = context;
  for (unsigned i = 0; i < 2; i++)
    if (pair->watch[i].stage)
      pair->watch[i].stage(pair->watch[i].context, stage);
}

bf_sim_watch bf_sim_watch_both(bf_sim_watch_pair *pair) {
  const bf_sim_watch *a = &pair->watch[0], *b = &pair->watch[1];
  return (bf_sim_watch){
      .context = pair,
      .first_cycle = a->first_cycle < b->first_cycle ? a->first_cycle : b->first_cycle,
      .last_cycle = a->last_cycle > b->last_cycle ? a->last_cycle : b->last_cycle,
      .event = tell_event,
      .stage = a->stage || b->stage ? tell_stage : NULL,
  };
}
