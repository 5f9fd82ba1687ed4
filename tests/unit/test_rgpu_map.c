/* The mapper of rgpu: the document's examples, small graphs counted by hand, random ones against
 * trying every placement. */
#include "random.h"
#include "rgpu/map.h"
#include "rgpu/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bf_rgpu_graph *parse(const char *text) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic = {0};
  if (bf_rgpu_parse("test", text, &graph, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return graph;
}

static bf_rgpu_mapping *map(const bf_rgpu_graph *graph, bf_rgpu_ring ring, unsigned copies) {
  bf_rgpu_mapping *mapping;
  bf_diagnostic diagnostic = {0};
  bf_rgpu_map_options options = {.ring = ring, .copies = copies};
  assert_int_equal(bf_rgpu_map(graph, &options, &mapping, &diagnostic), BF_OK);
  if (bf_rgpu_mapping_check(mapping, &diagnostic) != BF_OK)
    fail_msg("%s", diagnostic.message);
  return mapping;
}

/* ---- Known answers ---- */

static void assert_lanes(const char *path, unsigned lanes, unsigned copies,
                         unsigned lanes_of_copies) {
  bf_rgpu_graph *graph;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_rgpu_read(path, &graph, &diagnostic), BF_OK);
  for (unsigned first = 0; first < 2; first++) { /* units at even and at odd slots */
    bf_rgpu_ring ring = bf_rgpu_ring_usual();
    ring.unit_first = first;
    bf_rgpu_mapping *mapping = map(graph, ring, 0);
    assert_true(mapping->fits && mapping->lanes_proven);
    assert_int_equal(mapping->lanes_of_one, lanes);
    assert_int_equal(mapping->lanes, lanes_of_copies);
    assert_int_equal(mapping->copies, copies);
    bf_rgpu_mapping_free(mapping);
  }
  bf_rgpu_free(graph);
}

/* braak15: Fig. 7.6b and Table 7.1, four lanes and two copies; Fig. 7.5b and Table 7.1, three
 * lanes. */
static void maps_the_published_examples(void **state) {
  (void)state;
  assert_lanes("examples/rgpu/conv.df", 4, 2, 4);
  assert_lanes("examples/rgpu/integral.df", 3, 5, 4);
}

static void assert_answer(const char *text, bf_rgpu_ring ring, int lanes, const char *reason) {
  bf_rgpu_graph *graph = parse(text);
  bf_rgpu_mapping *mapping = map(graph, ring, 1);
  assert_int_equal(mapping->fits, lanes >= 0);
  if (lanes >= 0)
    assert_int_equal(mapping->lanes, lanes);
  if (reason)
    assert_string_equal(mapping->reason, reason);
  bf_rgpu_mapping_free(mapping);
  bf_rgpu_free(graph);
}

static void counts_small_graphs(void **state) {
  (void)state;
  bf_rgpu_ring ring = bf_rgpu_ring_usual(), small = {4, 2, 1, 2, 1};
  assert_answer("a = mov.u32 1\n", ring, 0, NULL);
  assert_answer("a = mov.u32 1\nb = mov.u32 a\n", ring, 1, NULL);
  assert_answer("a = mov.u32 1\nb = mov.u32 2\nc = add.u32 a, b\n", ring, 2,
                "fewer lanes do not do: the inputs of 'c' are at one slot");
  assert_answer("a = inc step 4\nb = ld.u32 [a]\nc = st.u32 [a], b\n", ring, 2, NULL);
  assert_answer("a = mov.u32 1\nb = mov.u32 2\nc = add.u32 a, b\n", small, -1,
                "the graph needs 2 lanes, the ring has 1");
  assert_answer("a = mov.u32 1\nb = mov.u32 a\nc = mov.u32 b\nd = mov.u32 c\ne = mov.u32 d\n",
                small, -1, "the graph needs 5 cores, the ring has 4");
}

/* Cycles of several nodes: one edge goes forward, another round the ring, on the rest of its lane.
 */
static void goes_round_the_ring(void **state) {
  (void)state;
  bf_rgpu_ring ring = bf_rgpu_ring_usual();
  assert_answer("a = add.u32 b after [0], 1\nb = mov.u32 a\n", ring, 1, NULL);
  assert_answer("a = add.u32 b after [0], 1\nb = mov.u32 a after [0]\n", ring, 1, NULL);
  assert_answer("a = add.u32 b after [0], 1\nb = mov.u32 a\nc = mov.u32 b\n", ring, 1, NULL);
  assert_answer("a = add.u32 c after [0], 1\nb = mov.u32 a\nc = add.u32 b, a\n", ring, 2, NULL);
}

/* ---- Lanes against cores ---- */

/* The document's convolution on three lanes: the addresses of its rows are computed twice. */
static void computes_anew_to_save_lanes(void **state) {
  (void)state;
  bf_rgpu_graph *graph, *changed;
  bf_diagnostic diagnostic;
  bf_rgpu_map_options options = {.ring = bf_rgpu_ring_usual()};
  bf_rgpu_trade trades[BF_RGPU_MOST_TRADES];
  unsigned count;
  assert_int_equal(bf_rgpu_read("examples/rgpu/conv.df", &graph, &diagnostic), BF_OK);
  assert_int_equal(bf_rgpu_map_trades(graph, &options, trades, &count, &diagnostic), BF_OK);
  assert_int_equal(count, 2);
  assert_int_equal(trades[0].lanes, 4);
  assert_int_equal(trades[0].extra_cores, 0);
  assert_int_equal(trades[1].lanes, 3);
  assert_int_equal(trades[1].extra_cores, 1);
  options.ring.lanes = 3;
  assert_int_equal(bf_rgpu_recompute(graph, &options, &changed, &diagnostic), BF_OK);
  assert_int_equal(changed->nodes, graph->nodes + 1);
  bf_rgpu_mapping *mapping = map(changed, options.ring, 1);
  assert_true(mapping->fits && mapping->lanes == 3);
  bf_rgpu_mapping_free(mapping);
  bf_rgpu_free(changed);
  options.ring.lanes = 2;
  assert_int_equal(bf_rgpu_recompute(graph, &options, &changed, &diagnostic), BF_OK);
  assert_null(changed);
  bf_rgpu_free(graph);
}

/* Names of nodes that are there twice are new, also where the obvious one is taken, and each reader
 * reads its own. */
static void finds_new_names(void **state) {
  (void)state;
  const unsigned group[] = {0, 1, 2};
  bf_rgpu_graph *split, *graph = parse("parameter a_2 1\na = inc step 4\nb = ld.u32 [a]\n"
                                       "a_3 = add.u32 b, a_2\nc = ld.u32 [a + 4]\n"
                                       "d = add.u32 c, a_3\ne = st.u32 [a], d\n");
  assert_int_equal(rgpu_split(graph, 0, group, &split), BF_OK);
  bf_text text = {0};
  bf_rgpu_print(split, &text);
  bf_rgpu_graph *again = parse(text.data);
  assert_string_equal(again->node[graph->nodes].name, "a_4");
  assert_string_equal(again->node[graph->nodes + 1].name, "a_5");
  assert_non_null(strstr(text.data, "b = ld.u32 [a]\n"));
  assert_non_null(strstr(text.data, "c = ld.u32 [a_4 + 4]\n"));
  assert_non_null(strstr(text.data, "e = st.u32 [a_5], d\n"));
  bf_text_free(&text);
  bf_rgpu_free(again);
  bf_rgpu_free(split);
  bf_rgpu_free(graph);
}

/* ---- Random graphs, every placement tried ---- */

enum { MOST = 6, SLOTS = 6 };

typedef struct tiny {
  unsigned nodes;
  bool is_unit[MOST];
  bool reads[MOST][MOST]; /* reads[to][from] */
} tiny;

/* A random graph in which nodes read earlier ones. */
static tiny random_tiny(test_random *random) {
  tiny t = {.nodes = 2 + (unsigned)(random_below(random, MOST - 1))};
  for (unsigned to = 0; to < t.nodes; to++) {
    t.is_unit[to] = to > 0 && random_below(random, 3) == 0;
    unsigned inputs = t.is_unit[to] ? 1 : (unsigned)(random_below(random, 4));
    for (unsigned i = 0; i < inputs && to > 0; i++)
      t.reads[to][random_below(random, to)] = true;
  }
  return t;
}

static void write_tiny(const tiny *t, char prefix, bf_text *text) {
  for (unsigned to = 0; to < t->nodes; to++) {
    const char *names[3] = {"1", "1", "1"};
    char name[MOST][4];
    unsigned inputs = 0;
    for (unsigned from = 0; from < to; from++)
      if (t->reads[to][from]) {
        snprintf(name[from], sizeof name[from], "%c%u", prefix, from);
        names[inputs++] = name[from];
      }
    if (t->is_unit[to])
      bf_text_addf(text, "%c%u = ld.u32 [%s]\n", prefix, to, names[0]);
    else
      bf_text_addf(text, "%c%u = mad.u32 %s, %s, %s\n", prefix, to, names[0], names[1], names[2]);
  }
}

/* Lanes that a placement needs, counted slot by slot; 99 where it breaks a rule. */
static unsigned count_lanes(const tiny *t, const unsigned *slot) {
  unsigned most = 0;
  for (unsigned at = 0; at <= SLOTS; at++) {
    unsigned here = 0;
    for (unsigned v = 0; v < t->nodes; v++) {
      unsigned first = slot[v] + !t->is_unit[v], last = 0;
      bool read = false;
      for (unsigned u = 0; u < t->nodes; u++)
        if (t->reads[u][v]) {
          if (slot[u] < first)
            return 99;
          read = true;
          last = slot[u] > last ? slot[u] : last;
        }
      here += read && at >= first && at <= last;
    }
    most = here > most ? here : most;
  }
  return most;
}

/* The fewest lanes over all placements of nodes from number `at` on. */
static unsigned try_all(const tiny *t, unsigned at, unsigned *slot) {
  if (at >= t->nodes || at >= MOST)
    return count_lanes(t, slot);
  unsigned best = 99;
  for (slot[at] = 0; slot[at] < SLOTS; slot[at]++) {
    bool taken = t->is_unit[at] && slot[at] % 2 == 0;
    for (unsigned i = 0; i < at; i++)
      taken |= t->is_unit[i] == t->is_unit[at] && slot[i] == slot[at];
    unsigned lanes = taken ? 99 : try_all(t, at + 1, slot);
    best = lanes < best ? lanes : best;
  }
  return best;
}

static void agrees_with_trying_everything(void **state) {
  (void)state;
  test_random random = {7};
  unsigned fitting = 0, refused = 0;
  for (unsigned turn = 0; turn < 400; turn++) {
    tiny t = random_tiny(&random);
    bf_text text = {0};
    unsigned slot[MOST], lanes = try_all(&t, 0, slot);
    write_tiny(&t, 'n', &text);
    bf_rgpu_graph *graph = parse(text.data);
    bf_rgpu_ring ring = {.cores = SLOTS, .units = 3, .unit_first = 1, .unit_every = 2};
    ring.lanes = 1 + turn % 3;
    bf_rgpu_mapping *mapping = map(graph, ring, 1);
    assert_int_equal(mapping->fits, lanes <= ring.lanes);
    if (mapping->fits)
      assert_int_equal(mapping->lanes, lanes);
    *(mapping->fits ? &fitting : &refused) += 1;
    bf_rgpu_mapping_free(mapping);
    bf_rgpu_free(graph);
    bf_text_free(&text);
  }
  assert_true(fitting > 50 && refused > 50);
}

/* Two copies of a graph, and a graph that has everything twice, whose nodes are not known to be
 * alike: both fit or not, on equally many lanes. */
static void copies_are_a_graph_of_two(void **state) {
  (void)state;
  test_random random = {21};
  bf_rgpu_ring ring = {.cores = 9, .units = 4, .unit_first = 1, .unit_every = 2, .lanes = 3};
  unsigned fitting = 0, refused = 0;
  for (unsigned turn = 0; turn < 300; turn++) {
    tiny t = random_tiny(&random);
    bf_text one = {0}, two = {0};
    write_tiny(&t, 'n', &one);
    write_tiny(&t, 'n', &two);
    write_tiny(&t, 'm', &two);
    bf_rgpu_graph *graph = parse(one.data), *twice = parse(two.data);
    bf_rgpu_mapping *copies = map(graph, ring, 2), *whole = map(twice, ring, 1);
    assert_int_equal(copies->fits, whole->fits);
    if (copies->fits)
      assert_int_equal(copies->lanes, whole->lanes);
    *(copies->fits ? &fitting : &refused) += 1;
    bf_rgpu_mapping_free(copies);
    bf_rgpu_mapping_free(whole);
    bf_rgpu_free(graph);
    bf_rgpu_free(twice);
    bf_text_free(&one);
    bf_text_free(&two);
  }
  assert_true(fitting > 50 && refused > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_the_published_examples),
      cmocka_unit_test(counts_small_graphs),
      cmocka_unit_test(goes_round_the_ring),
      cmocka_unit_test(computes_anew_to_save_lanes),
      cmocka_unit_test(finds_new_names),
      cmocka_unit_test(agrees_with_trying_everything),
      cmocka_unit_test(copies_are_a_graph_of_two),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
