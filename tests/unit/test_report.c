/* Pictures against bf_memory_count, sentences, and the well-formedness of what is written. */
#include "report/explorer.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "markup.h"

/* ---- Random accesses ---- */

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* An access of random op, width, mask and pattern: strides, and addresses from a small or a large
 * range, so that lanes often meet in a word. */
static bf_access random_access(const bf_machine *machine, uint64_t *state) {
  bf_access access = {.op = (bf_op)(next_random(state) % BF_OP_COUNT), .count = 1};
  access.width_bytes = bf_op_fixed_width(access.op);
  if (!access.width_bytes)
    access.width_bytes = 1u << next_random(state) % 5;
  access.mask = next_random(state) | (next_random(state) % 2 ? UINT64_MAX : 0);
  access.mask &= machine->lanes < 64 ? ((uint64_t)1 << machine->lanes) - 1 : UINT64_MAX;
  access.mask |= 1;
  uint64_t elements = bf_machine_limits(machine).allocation_bytes / access.width_bytes;
  uint64_t range = next_random(state) % 2 ? elements : 1 + next_random(state) % 200;
  uint64_t stride = next_random(state) % 3 ? 0 : 1 + next_random(state) % 64;
  range = range < elements ? range : elements;
  for (unsigned lane = 0; lane < machine->lanes; lane++) {
    uint64_t element = stride ? lane * stride % elements : next_random(state) % range;
    access.address[lane] = (uint32_t)(element * access.width_bytes);
  }
  return access;
}

/* ---- Pictures against counts ---- */

static bool is_phased(const bf_machine *machine, const bf_access *access) {
  bf_rule rule = machine->op[access->op].rule;
  return rule == BF_RULE_WORDS || rule == BF_RULE_ACCESSES;
}

/* Every cell is in the bank of its words, and no bank occurs twice in a row. */
static void check_row(const bf_picture *picture, const bf_picture_row *row) {
  for (unsigned c = 0; c < row->cells; c++) {
    const bf_picture_cell *cell = &row->cell[c];
    assert_true(cell->lanes != 0 && cell->words >= 1);
    for (unsigned w = 0; w < cell->words; w++)
      assert_int_equal(bf_hash_bank(picture->hash, cell->word[w]), cell->bank);
    if (c > 0)
      assert_true(row->cell[c - 1].bank < cell->bank);
  }
}

/* Pairs of lane and word that the picture serves. */
static unsigned served_requests(const bf_picture *picture) {
  unsigned requests = 0;
  for (unsigned p = 0; p < picture->phases; p++)
    for (unsigned r = 0; r < picture->phase[p].rows; r++)
      for (unsigned c = 0; c < picture->phase[p].row[r].cells; c++)
        requests += (unsigned)__builtin_popcountll(picture->phase[p].row[r].cell[c].lanes);
  return requests;
}

/* Pairs of lane and word that the access asks for. */
static unsigned asked_requests(const bf_picture *picture) {
  bf_phase_walk walk;
  bf_phase phase;
  unsigned requests = 0;
  bf_phase_begin(&walk, picture->machine, picture->access);
  while (bf_phase_next(&walk, &phase))
    requests += phase.words;
  return requests;
}

static void check_picture(const bf_picture *picture) {
  unsigned wavefronts = 0, ideal = 0;
  for (unsigned p = 0; p < picture->phases; p++) {
    const bf_picture_phase *phase = &picture->phase[p];
    unsigned overhead = 0;
    for (unsigned r = 0; r < phase->rows; r++) {
      assert_int_equal(phase->row[r].wavefront, wavefronts + 1);
      wavefronts += phase->row[r].times;
      overhead += phase->row[r].cells == 0;
      check_row(picture, &phase->row[r]);
    }
    ideal += (phase->ideal + overhead) * phase->row[0].times;
  }
  assert_int_equal(wavefronts, bf_picture_wavefronts(picture));
  assert_int_equal(ideal, picture->count.ideal);
  if (picture->machine->serve != BF_SERVE_ROW_PAIRS)
    assert_int_equal(served_requests(picture), asked_requests(picture));
}

static void compare_with_count(const bf_machine *machine, const char *hash_text, unsigned tries) {
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_diagnostic diagnostic;
  bf_hash *hash;
  uint64_t state = 88172645463325252u;
  assert_int_equal(bf_hash_parse(hash_text, &geometry, &hash, &diagnostic), BF_OK);
  for (unsigned i = 0; i < tries; i++) {
    bf_access access = random_access(machine, &state);
    bf_picture *picture;
    if (machine->op[access.op].rule == BF_RULE_NONE)
      continue;
    assert_int_equal(bf_picture_create(machine, hash, &access, &picture, &diagnostic), BF_OK);
    if (is_phased(machine, &access))
      check_picture(picture);
    else if (machine->op[access.op].rule == BF_RULE_LOCK_LOOP)
      assert_int_equal(picture->rows, picture->count.lock_iterations);
    bf_picture_free(picture);
  }
  bf_hash_free(hash);
}

static const char *const some_hashes[] = {"none", "fixed", "add", "pad:32+1"};

static void test_rows_are_wavefronts(void **state) {
  (void)state;
  for (unsigned i = 0; bf_machine_builtin(i); i++) {
    bf_machine *machine;
    bf_diagnostic diagnostic;
    assert_int_equal(bf_machine_load(bf_machine_builtin(i), NULL, &machine, &diagnostic), BF_OK);
    for (size_t h = 0; h < sizeof some_hashes / sizeof *some_hashes; h++)
      compare_with_count(machine, some_hashes[h], 500);
    bf_machine_free(machine);
  }
}

static bf_machine *load_hopper(void) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  assert_int_equal(bf_machine_load("hopper", NULL, &machine, &diagnostic), BF_OK);
  return machine;
}

/* Ways of serving that a built-in machine may or may not have. */
static void test_rows_of_other_memories(void **state) {
  (void)state;
  bf_machine *hopper = load_hopper();
  for (int serve = BF_SERVE_DISTINCT_WORDS; serve <= BF_SERVE_ONE_BROADCAST; serve++) {
    bf_machine variant = *hopper;
    variant.serve = (bf_serve)serve;
    for (unsigned side = 0; side < BF_SIDE_COUNT; side++)
      for (unsigned width = 0; width < BF_WIDTHS; width++) {
        variant.groups[side][width].extra = side;
        variant.groups[side][width].split_words = width == BF_WIDTHS - 1;
      }
    for (size_t h = 0; h < sizeof some_hashes / sizeof *some_hashes; h++)
      compare_with_count(&variant, some_hashes[h], 500);
  }
  bf_machine_free(hopper);
}

/* ---- One access ---- */

static bf_access strided(bf_op op, unsigned width_bytes, unsigned stride) {
  bf_access access = {.op = op, .width_bytes = width_bytes, .mask = 0xFFFFFFFF, .count = 1};
  for (unsigned lane = 0; lane < 32; lane++)
    access.address[lane] = lane * stride * width_bytes;
  return access;
}

/* Pictures of one access under none and, if second is given, that hash. */
typedef struct scene {
  bf_machine *machine;
  bf_hash *hash[2];
  bf_picture *picture[2];
  unsigned count;
  bf_text text;
} scene;

static scene open_scene(const bf_access *access, const char *second) {
  scene s = {.machine = load_hopper(), .count = second ? 2 : 1};
  bf_geometry geometry = bf_machine_geometry(s.machine);
  bf_diagnostic diagnostic;
  for (unsigned i = 0; i < s.count; i++) {
    assert_int_equal(bf_hash_parse(i ? second : "none", &geometry, &s.hash[i], &diagnostic), BF_OK);
    assert_int_equal(bf_picture_create(s.machine, s.hash[i], access, &s.picture[i], &diagnostic),
                     BF_OK);
  }
  return s;
}

static void close_scene(scene *s) {
  for (unsigned i = 0; i < s->count; i++) {
    bf_picture_free(s->picture[i]);
    bf_hash_free(s->hash[i]);
  }
  bf_machine_free(s->machine);
  bf_text_free(&s->text);
}

static void test_sentences(void **state) {
  (void)state;
  static const struct {
    bf_op op;
    unsigned width_bytes, stride;
    const char *sentence;
  } cases[] = {
      {BF_OP_LD, 4, 32, "32 lanes want 32 different words of bank 0: 32 wavefronts instead of 1."},
      {BF_OP_LD, 4, 1,
       "32 lanes want 32 different words, no two in one bank: 1 wavefront, no conflict."},
      {BF_OP_LD, 4, 0, "All 32 lanes want the same word: 1 wavefront, no conflict."},
      {BF_OP_ST, 4, 2,
       "2 lanes want 2 different words of bank 0, and 15 more banks are as full: 2 wavefronts "
       "instead of 1."},
      {BF_OP_LD, 16, 1,
       "The machine serves these 32 lanes in 4 groups, one after the other: 4 wavefronts, the "
       "fewest possible."},
      {BF_OP_LD, 16, 8,
       "8 lanes want 8 different words of bank 0, and 3 more banks are as full in the worst of 4 "
       "groups of lanes: 32 wavefronts instead of 4."},
      {BF_OP_ATOM, 4, 0, "All 32 lanes want the same word: 32 wavefronts, the fewest possible."},
      {BF_OP_FATOM, 4, 8,
       "8 lanes want 8 different words of bank 0, and 3 more banks are as full: 8 rounds of "
       "locking, 52 wavefronts instead of 3."},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_access access = strided(cases[i].op, cases[i].width_bytes, cases[i].stride);
    scene s = open_scene(&access, NULL);
    bf_picture_explain(s.picture[0], &s.text);
    assert_string_equal(s.text.data, cases[i].sentence);
    close_scene(&s);
  }
}

static void test_plain_drawing(void **state) {
  (void)state;
  bf_access access = strided(BF_OP_LD, 4, 16);
  scene s = open_scene(&access, "fixed");
  bf_draw_options options = {.width_columns = 110, .most_rows = 4};
  bf_draw_terminal((const bf_picture *const *)s.picture, 2, &options, &s.text);
  const char *grid = strchr(s.text.data, '\n') + 1; /* the first line names the machine */
  assert_string_equal(
      grid,
      "\n"
      "hash none: 16 wavefronts, ideal 1, conflicts 15\n"
      "\n"
      "   bank  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 "
      "28 29 30 31\n"
      "      1  0  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  1  .  .  .  .  .  .  .  .  .  .  . "
      " "
      ".  .  .  .\n"
      "      2  2  .  .  .  .  .  .  .  .  .  .  .  .  .  .  .  3  .  .  .  .  .  .  .  .  .  .  . "
      " "
      ".  .  .  .\n"
      "        ... 14 more rows (--all shows them)\n"
      "\n"
      "hash fixed: 1 wavefront, ideal 1, conflicts 0\n"
      "\n"
      "   bank  0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 "
      "28 29 30 31\n"
      "      1  0  2  4  6  8 10 12 14 16 18 20 22 24 26 28 30  1  3  5  7  9 11 13 15 17 19 21 23 "
      "25 27 29 31\n"
      "\n"
      "Before: 16 lanes want 16 different words of bank 0, and 1 more bank is as full: 16 "
      "wavefronts instead of 1.\n"
      "After:  32 lanes want 32 different words, no two in one bank: 1 wavefront, no conflict.\n"
      "Wavefronts down, banks across; a number is the lane served, a dot an idle bank.\n");
  close_scene(&s);
}

/* Side by side, every line but the headlines begins with the same columns as the left picture. */
static void test_side_by_side(void **state) {
  (void)state;
  bf_access access = strided(BF_OP_LD, 4, 2);
  scene s = open_scene(&access, "fixed");
  bf_draw_options options = {.width_columns = 240, .most_rows = 16};
  bf_draw_terminal((const bf_picture *const *)s.picture, 2, &options, &s.text);
  const char *first = strstr(s.text.data, "   bank");
  assert_non_null(first);
  const char *second = strstr(first + 1, "   bank");
  assert_non_null(second);
  assert_null(memchr(first, '\n', (size_t)(second - first)));
  close_scene(&s);
}

static void test_colour_only_when_asked(void **state) {
  (void)state;
  bf_access access = strided(BF_OP_LD, 4, 32);
  scene s = open_scene(&access, NULL);
  bf_draw_options options = {.color = true, .width_columns = 120, .most_rows = 16};
  bf_draw_terminal((const bf_picture *const *)s.picture, 1, &options, &s.text);
  assert_non_null(strstr(s.text.data, "\033[48;5;160;38;5;231m 0 \033[0m"));
  bf_text_free(&s.text);
  options.color = false;
  bf_draw_terminal((const bf_picture *const *)s.picture, 1, &options, &s.text);
  assert_null(strchr(s.text.data, '\033'));
  close_scene(&s);
}

/* With more banks than a picture has room for, the banks in use are drawn. */
static void test_many_banks(void **state) {
  (void)state;
  bf_overrides overrides = {.struct_bytes = sizeof overrides, .banks = 8192, .address_bits = 20};
  bf_machine *machine;
  bf_hash *hash;
  bf_picture *picture;
  bf_diagnostic diagnostic;
  bf_access access = strided(BF_OP_LD, 4, 1000);
  assert_int_equal(bf_machine_load("hopper", &overrides, &machine, &diagnostic), BF_OK);
  bf_geometry geometry = bf_machine_geometry(machine);
  assert_int_equal(bf_hash_parse("none", &geometry, &hash, &diagnostic), BF_OK);
  assert_int_equal(bf_picture_create(machine, hash, &access, &picture, &diagnostic), BF_OK);
  assert_int_equal(picture->banks, 8192);
  assert_int_equal(picture->columns, 32);
  assert_int_equal(picture->column[1], 25 * 1000 % 8192);
  bf_picture_free(picture);
  bf_hash_free(hash);
  bf_machine_free(machine);
}

/* ---- Markup ---- */

static void test_escaping(void **state) {
  (void)state;
  static const struct {
    const char *raw, *escaped;
  } cases[] = {
      {"a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"},
      {"caf\xC3\xA9 \xE2\x82\xAC", "caf\xC3\xA9 \xE2\x82\xAC"},
      {"bell\a", "bell\xEF\xBF\xBD"},
      {"\xFFz", "\xEF\xBF\xBDz"},
      {"cut \xE2\x82", "cut \xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xEF\xBF\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_text text = {0};
    bf_text_puts(&text, "");
    bf_markup_escape(cases[i].raw, &text);
    assert_string_equal(text.data, cases[i].escaped);
    bf_text_free(&text);
  }
}

static void test_svg_is_well_formed(void **state) {
  (void)state;
  static const unsigned widths[] = {4, 16};
  for (size_t i = 0; i < 2; i++) {
    bf_access access = strided(BF_OP_LD, widths[i], 8);
    access.site = "<script>alert('1 & 2')</script>\x01\xFF";
    scene s = open_scene(&access, "fixed");
    bf_draw_svg((const bf_picture *const *)s.picture, 2, 6, &s.text);
    check_markup(s.text.data);
    assert_null(strstr(s.text.data, "<script"));
    assert_non_null(strstr(s.text.data, "&lt;script&gt;alert(&#39;1 &amp; 2&#39;)"));
    close_scene(&s);
  }
}

/* ---- Tallies and the page ---- */

static const char nasty[] = "<b>\"x\"&'y'</b>";

/* Columns (nasty site, twice), rows (site "row") and a stride of 2 without a site. */
static bf_workload *sample_workload(void) {
  bf_workload *workload;
  assert_int_equal(bf_workload_create(&workload), BF_OK);
  bf_access column = strided(BF_OP_LD, 4, 32), row = strided(BF_OP_ST, 4, 1);
  bf_access pairs = strided(BF_OP_LD, 4, 2);
  column.site = nasty;
  column.count = 2;
  row.site = "row";
  assert_int_equal(bf_workload_add(workload, &row), BF_OK);
  assert_int_equal(bf_workload_add(workload, &column), BF_OK);
  assert_int_equal(bf_workload_add(workload, &pairs), BF_OK);
  return workload;
}

static void test_tally(void **state) {
  (void)state;
  bf_machine *machine = load_hopper();
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_workload *workload = sample_workload();
  bf_diagnostic diagnostic;
  bf_hash *none, *fixed;
  bf_tally *tally;
  assert_int_equal(bf_hash_parse("none", &geometry, &none, &diagnostic), BF_OK);
  assert_int_equal(bf_hash_parse("fixed", &geometry, &fixed, &diagnostic), BF_OK);
  assert_int_equal(bf_tally_create(machine, workload, none, fixed, &tally, &diagnostic), BF_OK);
  assert_int_equal(tally->sites, 3);
  assert_string_equal(tally->site[0].site, nasty);
  assert_int_equal(tally->site[0].wavefronts, 64);
  assert_int_equal(tally->site[0].conflicts, 62);
  assert_int_equal(tally->site[0].conflicts_after, 0);
  assert_null(tally->site[1].site);
  assert_int_equal(tally->site[1].conflicts, 1);
  assert_int_equal(tally->total.executions, 4);
  assert_int_equal(tally->total.conflicts, 63);
  assert_int_equal(tally->total.ideal, 4);
  bf_tally_free(tally);
  bf_hash_free(none);
  bf_hash_free(fixed);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static const bf_ladder sample_ladder = {
    .step = {{.name = "nothing", .hash = "none", .conflicts = 63},
             {.name = "padding", .hash = "pad:32+1", .conflicts = 1, .bytes_wasted = 128},
             {.name = "exact", .hash = "xor:0,5,31", .instructions = 2, .proven = true}},
    .count = 3,
    .recommended = 2,
    .reason = "fewest conflicts & < 3 instructions",
    .conflicts_before = 63,
};

static void check_page(const bf_ladder *ladder, const char *expected) {
  bf_machine *machine = load_hopper();
  bf_workload *workload = sample_workload();
  bf_report_part part = {nasty, workload, ladder};
  bf_report_options options = {.pictures = 3};
  bf_diagnostic diagnostic;
  bf_text text = {0};
  assert_int_equal(bf_report_html(machine, &part, 1, &options, &text, &diagnostic), BF_OK);
  check_markup(text.data);
  assert_null(strstr(text.data, "<b>\"x\""));
  assert_null(strstr(text.data, "<script"));
  assert_null(strstr(text.data, "src="));
  assert_non_null(strstr(text.data, expected));
  bf_text_free(&text);
  assert_int_equal(bf_report_json(machine, &part, 1, &text, &diagnostic), BF_OK);
  assert_non_null(strstr(text.data, "\"conflicts\": 63"));
  bf_text_free(&text);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

static void test_page(void **state) {
  (void)state;
  bf_ladder ladder = sample_ladder;
  check_page(&ladder, "place = word ^ ((word &gt;&gt; 5) &amp; 0x1f);");
  check_page(&ladder, "&lt;b&gt;&quot;x&quot;&amp;&#39;y&#39;&lt;/b&gt;");
  ladder.recommended = 1;
  check_page(&ladder, "__shared__ float tile[ROWS][33]; // not [32]");
  ladder.recommended = 0;
  check_page(&ladder, "Leave the kernel as it is.");
}

static void test_ladder_without_advice(void **state) {
  (void)state;
  bf_machine *machine = load_hopper();
  bf_workload *workload = sample_workload();
  bf_ladder ladder = {.count = 0};
  bf_report_part part = {"workload", workload, &ladder};
  bf_report_options options = {.pictures = 1};
  bf_diagnostic diagnostic;
  bf_text text = {0};
  assert_int_equal(bf_report_html(machine, &part, 1, &options, &text, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "workload: the ladder recommends no step");
  bf_text_free(&text);
  bf_workload_free(workload);
  bf_machine_free(machine);
}

/* A state cannot end the element that it is in, and a page without a place for it is refused. */
static void test_explorer_page(void **state) {
  (void)state;
  static const char page[] = "<p><script type=\"application/json\" id=\"given\">null</script></p>";
  bf_text document = {0}, made = {0};
  bf_diagnostic diagnostic;
  assert_int_equal(bf_explorer_report("a</script>b", "{\"x\": 1}", &document, &diagnostic), BF_OK);
  assert_int_equal(bf_explorer_fill("page", page, document.data, &made, &diagnostic), BF_OK);
  assert_non_null(strstr(made.data, "a\\u003c/script>b"));
  assert_ptr_equal(strstr(made.data, "</script>"), made.data + made.size - strlen("</script></p>"));
  assert_int_equal(bf_explorer_fill("page", "<p>", "{}", &made, &diagnostic), BF_BAD_INPUT);
  assert_string_equal(diagnostic.message, "page has no place for data");
  bf_text_free(&document);
  bf_text_free(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_are_wavefronts),
      cmocka_unit_test(test_rows_of_other_memories),
      cmocka_unit_test(test_sentences),
      cmocka_unit_test(test_plain_drawing),
      cmocka_unit_test(test_side_by_side),
      cmocka_unit_test(test_colour_only_when_asked),
      cmocka_unit_test(test_many_banks),
      cmocka_unit_test(test_escaping),
      cmocka_unit_test(test_svg_is_well_formed),
      cmocka_unit_test(test_tally),
      cmocka_unit_test(test_page),
      cmocka_unit_test(test_ladder_without_advice),
      cmocka_unit_test(test_explorer_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
