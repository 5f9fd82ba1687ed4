/* Area and power of R-GPU: what braak15 prints, and what follows from counts by hand. */
#include "rgpu/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double allowed) {
  if (!(fabs(value - expected) <= allowed))
    fail_msg("%g, not %g", value, expected);
}

/* braak15, 7.5.3 to 7.5.5. */
static void area_is_as_published(void **state) {
  (void)state;
  bf_rgpu_area usual = bf_rgpu_area_of(6, 8, 256);
  assert_near(usual.total, 23, 0.05);
  assert_near(usual.wires / usual.total, 0.40, 0.005);
  assert_near(usual.data_fifos, 112 * 16 * 0.0015, 1e-9);
  assert_near(usual.address_fifos, 16 * 16 * 0.031, 1e-9);
  assert_near(usual.share, usual.total / 529, 1e-12);
  assert_near(bf_rgpu_area_of(10, 8, 256).share, 0.06, 0.002);
  assert_near(bf_rgpu_area_of(6, 16, 256).total / usual.total, 1.02, 0.001);
  assert_near(bf_rgpu_area_of(6, 8, 512).total / usual.total, 1.10, 0.001);
}

/* A word over all slots of a lane: 60 pJ/m x 8 mm x 32 bits. */
static void power_is_energy_of_events(void **state) {
  (void)state;
  const double words = 1e9;
  bf_rgpu_events wires = {.lane_slots = 32 * words};
  bf_rgpu_power power = bf_rgpu_power_of(&wires, 1, 8, 256);
  assert_near(power.wires, words * 15.36e-12, 1e-6);
  assert_near(power.added, power.wires, 0);
  assert_near(power.change, (power.added - 13) / 153, 1e-12);
  bf_rgpu_events fifos = {.data_words = words, .address_words = words, .scanned_words = words};
  bf_rgpu_power usual = bf_rgpu_power_of(&fifos, 0.5, 8, 256);
  bf_rgpu_power larger = bf_rgpu_power_of(&fifos, 0.5, 16, 512);
  assert_near(usual.address_fifos / usual.data_fifos, 3 * 4.69 / 0.753, 1e-9);
  assert_true(larger.data_fifos > usual.data_fifos && larger.address_fifos > usual.address_fifos);
  assert_near(usual.data_fifos, 2 * words * 0.753e-12, 1e-9);
}

/* 3.2 W and a speed-up of 2.1 make -6% and -55%. */
static void energy_follows_from_power_and_speed(void **state) {
  (void)state;
  bf_rgpu_power power = {.change = (3.2 - 13) / 153};
  assert_near(power.change, -0.06, 0.005);
  assert_near(bf_rgpu_energy_ratio(&power, 2.1) - 1, -0.55, 0.005);
}

/* Every word that a node hands on is in the FIFOs of its readers, and on its lane. */
static void events_follow_from_firings(void **state) {
  (void)state;
  bf_rgpu_graph *graph;
  bf_rgpu_mapping *mapping;
  bf_diagnostic diagnostic;
  const char *text = "array in u32 8\narray out u32 8\na = inc step 4\nb = ld.u32 [a + in]\n"
                     "c = add.u32 b, b\nd = st.u32 [a + out], c\n";
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual(), .copies = 1};
  assert_int_equal(bf_rgpu_parse("test", text, &graph, &diagnostic), BF_OK);
  assert_int_equal(bf_rgpu_map(graph, &options, &mapping, &diagnostic), BF_OK);
  bf_rgpu_node_count count[4];
  memset(count, 0, sizeof count);
  double slots = 0;
  for (unsigned i = 0; i < graph->nodes; i++) {
    const bf_rgpu_placed *at = &mapping->placed[i];
    count[i].fired = 10;
    slots += at->lane < 0 ? 0 : 10.0 * (at->last - at->first + 1);
  }
  for (unsigned i = 0; i < graph->edges; i++)
    count[graph->edge[i].to].fifo[graph->edge[i].position].written = 10;
  bf_rgpu_sim_result result = {.node = count};
  bf_rgpu_events events = bf_rgpu_events_of(mapping, &result);
  assert_near(events.address_words, 20, 0); /* of b and d */
  assert_near(events.scanned_words, 10, 0); /* of b */
  assert_near(events.data_words, 40, 0);    /* a itself, c twice, d */
  assert_near(events.lane_slots, slots, 0);
  bf_rgpu_mapping_free(mapping);
  bf_rgpu_free(graph);
}

static void constants_have_sources(void **state) {
  (void)state;
  for (const bf_rgpu_constant *at = bf_rgpu_constants; at->name; at++) {
    assert_true(at->value > 0 && strlen(at->source) > 0);
    assert_true(strcmp(at->basis, "published") == 0 || strcmp(at->basis, "derived") == 0 ||
                strcmp(at->basis, "fitted") == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(area_is_as_published),
      cmocka_unit_test(power_is_energy_of_events),
      cmocka_unit_test(energy_follows_from_power_and_speed),
      cmocka_unit_test(events_follow_from_firings),
      cmocka_unit_test(constants_have_sources),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
