/* Which launches follow which, for the check of races: launches of one stream follow each other;
 * those of two streams where an event, the legacy default stream or the host, which waited for the
 * first, comes between. Waiting for anything counts as waiting for everything: what is found to be
 * unordered is unordered. */
#include "order.h"

#include <stdlib.h>

/* The legacy default stream has slot 0, which other streams that are past the last slot share. */
enum { LEGACY = 0, NON_BLOCKING = 1 };

static void merge(rt_clock *to, const rt_clock *from) {
  for (unsigned i = 0; i < RT_ORDER_SLOTS; i++)
    to->seen[i] = to->seen[i] > from->seen[i] ? to->seen[i] : from->seen[i];
}

/* The slot of a stream, given at its first use. */
static unsigned slot_of(rt_context *context, const void *stream) {
  rt_order *order = context->order;
  for (unsigned i = 1; i < order->slots; i++)
    if (order->stream[i] == stream)
      return i;
  if ((uintptr_t)stream <= 1 || order->slots == RT_ORDER_SLOTS)
    return LEGACY;
  order->stream[order->slots] = stream;
  order->is_free[order->slots] = (rt_stream_flags(context, stream) & NON_BLOCKING) != 0;
  return order->slots++;
}

/* The record of the order; NULL where it is not asked for, or memory is exhausted. */
static rt_order *order_of(rt_context *context) {
  if (!context->settings.check.races)
    return NULL;
  if (!context->order && (context->order = calloc(1, sizeof *context->order)))
    context->order->slots = 1;
  return context->order;
}

static bool follows(void *to, uint32_t number) {
  const rt_followed *own = to;
  const uint8_t *slot = &own->order->slot[number % RT_ORDER_KEPT];
  if (number > own->number)
    return false;
  return own->number - number >= RT_ORDER_KEPT ||
         own->now.seen[__atomic_load_n(slot, __ATOMIC_RELAXED)] >= number;
}

void rt_order_other(const rt_context *context) {
  if (context->order)
    context->order->other = context->order->last;
}

void rt_order_launch(rt_context *context, const rt_configuration *how, bool is_child,
                     bf_emu_launch *launch, rt_followed *followed) {
  rt_order *order = order_of(context);
  if (!order)
    return;
  if (is_child) {
    launch->number = ++order->last;
    launch->settled = order->settled;
    order->slot[launch->number % RT_ORDER_KEPT] = (uint8_t)order->current;
    order->clock[order->current].seen[order->current] = launch->number;
    return;
  }
  unsigned slot = slot_of(context, how->stream);
  rt_clock *clock = &order->clock[slot];
  uint32_t before = clock->seen[slot];
  if (how->is_programmatic && before > order->settled && before > order->other)
    launch->overlaps = before;
  if (slot == LEGACY) {
    for (unsigned i = 1; i < order->slots; i++)
      if (!order->is_free[i])
        merge(clock, &order->clock[i]);
  } else if (!order->is_free[slot])
    merge(clock, &order->clock[LEGACY]);
  order->current = slot;
  launch->number = ++order->last;
  *followed = (rt_followed){order, *clock, launch->number};
  launch->settled = order->settled;
  launch->follows = follows;
  launch->follows_context = followed;
  __atomic_store_n(&order->slot[launch->number % RT_ORDER_KEPT], (uint8_t)slot, __ATOMIC_RELAXED);
  clock->seen[slot] = launch->number;
}

void rt_order_settle(rt_context *context) {
  if (context->order)
    context->order->settled = context->order->last;
}

void rt_order_record(rt_context *context, rt_object *event, const void *stream) {
  rt_order *order = order_of(context);
  rt_order_other(context);
  if (!order || (!event->clock && !(event->clock = calloc(1, sizeof *event->clock))))
    return;
  unsigned slot = slot_of(context, stream);
  *event->clock = order->clock[slot];
  if (slot == LEGACY) /* behind all that blocks */
    for (unsigned i = 1; i < order->slots; i++)
      if (!order->is_free[i])
        merge(event->clock, &order->clock[i]);
}

void rt_order_wait(rt_context *context, const void *stream, const rt_object *event) {
  rt_order *order = order_of(context);
  rt_order_other(context);
  if (order && event->clock)
    merge(&order->clock[slot_of(context, stream)], event->clock);
}
