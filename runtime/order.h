/* Inside runtime: which launches follow which (order.c). */
#ifndef RT_ORDER_H
#define RT_ORDER_H

#include "context.h"

enum { RT_ORDER_SLOTS = 64, RT_ORDER_KEPT = 4096 };

/* For each stream the last launch of it that something follows. */
typedef struct rt_clock {
  uint32_t seen[RT_ORDER_SLOTS];
} rt_clock;

typedef struct rt_order {
  uint32_t last, settled; /* numbers of launches: the last, and the last that the host waited for */
  uint32_t other;         /* and the last before something else was done in a stream */
  unsigned slots, current; /* current: of the launch that was numbered last */
  const void *stream[RT_ORDER_SLOTS];
  bool is_free[RT_ORDER_SLOTS]; /* made not to wait for the legacy default stream */
  rt_clock clock[RT_ORDER_SLOTS];
  uint8_t slot[RT_ORDER_KEPT]; /* by the number of a launch */
} rt_order;

/* What a launch follows, which another that is launched while it runs does not change. */
typedef struct rt_followed {
  const rt_order *order;
  rt_clock now;
  uint32_t number;
} rt_followed;

/* Numbers a launch that is about to run in a stream, and says what it follows: what a kernel
 * launches follows everything. */
void rt_order_launch(rt_context *context, const rt_configuration *how, bool is_child,
                     bf_emu_launch *launch, rt_followed *followed);
/* Something else than a launch is done in a stream. */
void rt_order_other(const rt_context *context);
/* The host waited. */
void rt_order_settle(rt_context *context);
/* An event is recorded in a stream; a stream waits for one. */
void rt_order_record(rt_context *context, rt_object *event, const void *stream);
void rt_order_wait(rt_context *context, const void *stream, const rt_object *event);

#endif
