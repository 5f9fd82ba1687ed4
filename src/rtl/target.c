/* Units for a target clock. abc's own delay target trades little, for its mapping is made for speed
 * already. So units are synthesized in several ways, from small to fast, and the smallest is taken
 * that reaches the target. Because the ways do not depend on it, a tighter target never gets a
 * slower or a smaller unit than a looser one. */
#include "rtl/cost.h"

/* What all mappings begin with: equal nodes are merged, the rest is rewritten. */
#define BEGINNING "strash\n&get -n\n&fraig -x\n&put\nscorr\ndc2\nstrash\n"

/* For area: delay may be several times the least. */
#define SMALL BEGINNING "&get -n\n&dch -f\n&nf -R 500\n&put\n"
/* As yosys does it. */
#define PLAIN BEGINNING "&get -n\n&dch -f\n&nf\n&put\n"
/* abc's older mapper: less delay, more area. */
#define FAST BEGINNING "dch -f\nmap\n"
/* The same with buffers where a net drives many cells, and with larger cells where the library has
 * them. */
#define SIZED FAST "topo\nbuffer -N 12\nupsize -D 1\ndnsize -D 1\n"

enum { EVERY_BIT = 0 }; /* a copy of the word for each bank bit */

static const bf_rtl_effort efforts[] = {
    {"small", SMALL, 1},       {"plain", PLAIN, 1},         {"fast", FAST, 1},
    {"sized", SIZED, 1},       {"plain", PLAIN, 2},         {"fast", FAST, 2},
    {"plain", PLAIN, 3},       {"fast", FAST, 3},           {"plain", PLAIN, EVERY_BIT},
    {"fast", FAST, EVERY_BIT}, {"sized", SIZED, EVERY_BIT},
};

unsigned bf_rtl_efforts(const bf_rtl_unit *unit, bf_rtl_effort effort[BF_RTL_MOST_EFFORTS]) {
  unsigned count = 0, bits = unit->geometry.bank_bits;
  for (unsigned i = 0; i < sizeof efforts / sizeof *efforts; i++) {
    unsigned copies = efforts[i].word_copies == EVERY_BIT ? bits : efforts[i].word_copies;
    if (copies > 1 && !bf_rtl_is_family(unit))
      continue;
    /* Fewer bits have fewer ways. */
    if (copies > bits || (efforts[i].word_copies == EVERY_BIT && bits <= 3))
      continue;
    effort[count] = efforts[i];
    effort[count++].word_copies = bf_rtl_is_family(unit) ? copies : 0;
  }
  return count;
}

double bf_rtl_latency_ns(const bf_rtl_cost *cost) {
  return cost->flip_flops ? cost->period_ns : cost->delay_ns;
}

/* Whether a is the better choice. */
static bool is_better(const bf_rtl_cost *a, const bf_rtl_cost *b, double target_ns) {
  double a_ns = bf_rtl_latency_ns(a), b_ns = bf_rtl_latency_ns(b);
  bool a_reaches = a_ns <= target_ns, b_reaches = b_ns <= target_ns;
  if (a_reaches != b_reaches)
    return a_reaches;
  if (a_reaches)
    return a->area_um2 < b->area_um2 || (a->area_um2 == b->area_um2 && a_ns < b_ns);
  return a_ns < b_ns || (a_ns == b_ns && a->area_um2 < b->area_um2);
}

unsigned bf_rtl_choose(const bf_rtl_cost *cost, unsigned count, double target_ns) {
  unsigned best = 0;
  for (unsigned i = 1; i < count; i++)
    if (is_better(&cost[i], &cost[best], target_ns))
      best = i;
  return best;
}

int bf_rtl_measure_for(const bf_rtl_unit *unit, const bf_rtl_flow *flow, double target_ns,
                       bf_rtl_effort *effort, bf_rtl_cost *cost, bf_diagnostic *diagnostic) {
  bf_rtl_effort ways[BF_RTL_MOST_EFFORTS];
  bf_rtl_cost costs[BF_RTL_MOST_EFFORTS];
  unsigned count = bf_rtl_efforts(unit, ways);
  for (unsigned i = 0; i < count; i++) {
    bf_rtl_flow way = *flow;
    way.effort = ways[i];
    BF_TRY(bf_rtl_measure(unit, &way, &costs[i], diagnostic));
  }
  unsigned best = bf_rtl_choose(costs, count, target_ns);
  *effort = ways[best];
  *cost = costs[best];
  return BF_OK;
}
