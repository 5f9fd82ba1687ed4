/* Machine files: the built-in ones hold what they should, and every fault is reported where it is.
 */
#include "memory/memory.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A complete small machine; tests append to it or change it. */
#define SMALL                                                                                      \
  "name small\n"                                                                                   \
  "title A small machine\n"                                                                        \
  "source s where it says so\n"                                                                    \
  "lanes 8 measured s\n"                                                                           \
  "banks 4 measured s\n"                                                                           \
  "word_bytes 4 measured s\n"                                                                      \
  "capacity_bytes 1000 measured s\n"                                                               \
  "serve distinct-words measured s\n"                                                              \
  "groups load 1,2,4,8,16 8 measured s\n"                                                          \
  "groups store 1,2,4,8,16 4 measured s\n"                                                         \
  "op ld words measured s\n"                                                                       \
  "op st words measured s\n"
enum { SMALL_LINES = 12 };

static bf_machine *load(const char *name, const bf_overrides *overrides) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_load(name, overrides, &machine, &diagnostic) != BF_OK)
    fail_msg("%s:%llu:%u: %s", diagnostic.file, (unsigned long long)diagnostic.line,
             diagnostic.column, diagnostic.message);
  return machine;
}

static bf_machine *parse(const char *text) {
  bf_machine *machine;
  bf_diagnostic diagnostic;
  if (bf_machine_parse("test", text, &machine, &diagnostic) != BF_OK)
    fail_msg("%llu:%u: %s", (unsigned long long)diagnostic.line, diagnostic.column,
             diagnostic.message);
  return machine;
}

static const bf_machine_fact *find_fact(const bf_machine *machine, const char *key) {
  for (size_t i = 0; i < machine->fact_count; i++)
    if (strcmp(machine->facts[i].key, key) == 0)
      return &machine->facts[i];
  return NULL;
}

/* ---- Built-in machines ---- */

static void builtin_machines_are_sorted_and_load(void **state) {
  (void)state;
  unsigned count = 0;
  for (const char *name; (name = bf_machine_builtin(count)); count++) {
    if (count)
      assert_true(strcmp(bf_machine_builtin(count - 1), name) < 0);
    bf_machine *machine = load(name, NULL);
    assert_string_equal(bf_machine_name(machine), name);
    assert_true(strlen(bf_machine_title(machine)) > 0);
    assert_int_equal(bf_machine_limits(machine).lanes, machine->lanes);
    assert_true(bf_machine_limits(machine).allocation_bytes == machine->capacity_bytes);
    bf_machine_free(machine);
  }
  assert_int_equal(count, 18);
  assert_null(bf_machine_builtin(count + 5));
}

/* What lanes, banks and capacities are known to be, and how banks serve. */
static void builtin_machines_have_their_sizes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned lanes, banks, word_bytes, capacity_bytes;
    bf_serve serve;
  } known[] = {
      {"tesla", 32, 16, 4, 16 << 10, BF_SERVE_ONE_BROADCAST},
      {"fermi", 32, 32, 4, 48 << 10, BF_SERVE_DISTINCT_WORDS},
      {"kepler", 32, 32, 4, 48 << 10, BF_SERVE_ROW_PAIRS},
      {"kepler8", 32, 32, 8, 48 << 10, BF_SERVE_DISTINCT_WORDS},
      {"maxwell", 32, 32, 4, 48 << 10, BF_SERVE_DISTINCT_WORDS},
      {"pascal", 32, 32, 4, 48 << 10, BF_SERVE_DISTINCT_WORDS},
      {"volta", 32, 32, 4, 96 << 10, BF_SERVE_DISTINCT_WORDS},
      {"turing", 32, 32, 4, 64 << 10, BF_SERVE_DISTINCT_WORDS},
      {"ampere", 32, 32, 4, 163 << 10, BF_SERVE_DISTINCT_WORDS},
      {"ada", 32, 32, 4, 99 << 10, BF_SERVE_DISTINCT_WORDS},
      {"hopper", 32, 32, 4, 227 << 10, BF_SERVE_DISTINCT_WORDS},
      {"gcn", 64, 32, 4, 32 << 10, BF_SERVE_DISTINCT_WORDS},
      {"cdna3", 64, 32, 4, 64 << 10, BF_SERVE_DISTINCT_WORDS},
      {"rdna3", 64, 32, 4, 64 << 10, BF_SERVE_DISTINCT_WORDS},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    bf_machine *machine = load(known[i].name, NULL);
    assert_int_equal(machine->lanes, known[i].lanes);
    assert_int_equal(1u << machine->bank_bits, known[i].banks);
    assert_int_equal(machine->word_bytes, known[i].word_bytes);
    assert_int_equal(machine->capacity_bytes, known[i].capacity_bytes);
    assert_int_equal(machine->serve, known[i].serve);
    bf_machine_free(machine);
  }
}

/* Wavefronts of a 64-lane load of 16 bytes whose lanes in `same` read other words of one bank. */
static bf_count count_cdna3(uint64_t same) {
  bf_machine *machine = load("cdna3", NULL);
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash *hash;
  assert_int_equal(bf_hash_parse("none", &geometry, &hash, NULL), BF_OK);
  bf_access access = {.op = BF_OP_LD, .width_bytes = 16, .mask = same, .count = 1};
  for (unsigned lane = 0; lane < 64; lane++)
    access.address[lane] = lane * 128;
  bf_count count;
  assert_int_equal(bf_memory_count(machine, hash, &access, &count, NULL), BF_OK);
  bf_hash_free(hash);
  bf_machine_free(machine);
  return count;
}

/* Lanes 0 and 20 share a phase of ds_read_b128, lanes 0 and 4 do not. */
static void cdna3_groups_distant_lanes(void **state) {
  (void)state;
  assert_int_equal(count_cdna3(1 | 1 << 20).conflicts, 1);
  assert_int_equal(count_cdna3(1 | 1 << 4).conflicts, 0);
  assert_int_equal(count_cdna3(UINT64_MAX).wavefronts_load, 64);
  assert_false(count_cdna3(1).estimated);
}

static void assumed_groups_make_estimates(void **state) {
  (void)state;
  bf_machine *machine = load("ampere", NULL);
  assert_false(machine->op[BF_OP_LD].estimated);
  assert_false(machine->groups[BF_SIDE_LOAD][2].estimated);
  assert_true(machine->groups[BF_SIDE_LOAD][4].estimated);
  bf_machine_free(machine);
}

static void hopper_is_as_measured(void **state) {
  (void)state;
  bf_machine *m = load("hopper", NULL);
  bf_geometry geometry = bf_machine_geometry(m);
  assert_int_equal(geometry.bank_bits, 5);
  assert_int_equal(geometry.address_bits, 16);
  assert_int_equal(geometry.word_bytes, 4);
  assert_int_equal(bf_machine_lanes(m), 32);
  assert_int_equal(bf_machine_capacity_bytes(m), 232448);
  assert_int_equal(m->serve, BF_SERVE_DISTINCT_WORDS);
  static const unsigned group_lanes[BF_WIDTHS] = {32, 32, 32, 16, 8};
  for (unsigned i = 0; i < BF_WIDTHS; i++) {
    assert_int_equal(m->groups[BF_SIDE_LOAD][i].contiguous, group_lanes[i]);
    assert_int_equal(m->groups[BF_SIDE_STORE][i].contiguous, group_lanes[i]);
    assert_int_equal(m->groups[BF_SIDE_LOAD][i].count, 32 / group_lanes[i]);
    assert_int_equal(m->groups[BF_SIDE_LOAD][i].pair_merge, i >= 3);
    assert_false(m->groups[BF_SIDE_STORE][i].pair_merge);
  }
  assert_true(m->groups[BF_SIDE_LOAD][3].mask[1] == 0xffff0000u);
  assert_int_equal(m->op[BF_OP_CAS].rule, BF_RULE_ACCESSES);
  assert_int_equal(m->op[BF_OP_CAS].times, 2);
  assert_int_equal(m->op[BF_OP_F64].rule, BF_RULE_LOCK_LOOP_HALVES);
  assert_false(m->op[BF_OP_F64].estimated);
  assert_true(m->op[BF_OP_ADD64].estimated);
  assert_int_equal(m->op[BF_OP_CP16].rule, BF_RULE_SECTOR_COPY);
  assert_int_equal(m->op[BF_OP_LDMATRIX2].groups.count, 2);
  assert_true(m->op[BF_OP_LDMATRIX2].groups.mask[1] == 0xff00);
  assert_int_equal(m->op[BF_OP_STMATRIX4].groups.count, 4);
  for (unsigned op = 0; op < BF_OP_COUNT; op++)
    assert_int_not_equal(m->op[op].rule, BF_RULE_NONE);
  bf_machine_free(m);
}

static void fermi_has_a_lock_table(void **state) {
  (void)state;
  bf_machine *m = load("fermi", NULL);
  const bf_op_rule *atom = &m->op[BF_OP_ATOM];
  assert_int_equal(atom->rule, BF_RULE_LOCK_TABLE);
  assert_int_equal(atom->locks, 1024);
  assert_int_equal(atom->cycles[0], 32);
  assert_int_equal(atom->cycles[1], 18);
  assert_int_equal(atom->cycles[2], 36);
  assert_int_equal(atom->cycles[3], 32);
  assert_int_equal(m->groups[BF_SIDE_LOAD][4].extra, 1);
  assert_int_equal(m->op[BF_OP_LDMATRIX1].rule, BF_RULE_NONE);
  assert_int_equal(m->address_bits, 14);
  bf_machine_free(m);
}

/* ---- Reading ---- */

static void reads_every_part_of_the_syntax(void **state) {
  (void)state;
  bf_machine *m = parse("# a comment\r\n" SMALL "\t\n"
                        "groups atomic 4 0-1+4-5 2-3+6+7 split-words extra 3 published s # why\r\n"
                        "op atom lock-table locks 16 read 1 update 2 write 3 branch 4 assumed s\n"
                        "op cas accesses times 2 groups 0-0 3-4 published s");
  assert_int_equal(m->address_bits, 8);
  const bf_groups *groups = &m->groups[BF_SIDE_ATOMIC][2];
  assert_int_equal(groups->contiguous, 0);
  assert_int_equal(groups->count, 2);
  assert_true(groups->mask[0] == 0x33 && groups->mask[1] == 0xcc);
  assert_true(groups->split_words);
  assert_int_equal(groups->extra, 3);
  assert_int_equal(m->op[BF_OP_ATOM].cycles[3], 4);
  assert_true(m->op[BF_OP_ATOM].estimated);
  assert_true(m->op[BF_OP_CAS].groups.mask[0] == 1 && m->op[BF_OP_CAS].groups.mask[1] == 0x18);
  assert_int_equal(m->source_count, 1);
  assert_string_equal(m->source_text[0], "where it says so");
  assert_string_equal(find_fact(m, "banks")->value, "4");
  const bf_machine_fact *fact = find_fact(m, "groups atomic 4");
  assert_string_equal(fact->value, "0-1+4-5 2-3+6+7 split-words extra 3");
  assert_string_equal(fact->basis, "published");
  assert_string_equal(fact->source, "s");
  assert_string_equal(find_fact(m, "op cas")->value, "accesses times 2 groups 0-0 3-4");
  bf_machine_free(m);
}

typedef struct fault {
  const char *text;
  unsigned line, column;
  const char *message; /* a part of it */
} fault;

static void faults_are_located(void **state) {
  (void)state;
  static const fault faults[] = {
      {"", 0, 1, "without 'name'"},
      {"nonsense\n", 1, 1, "unknown key 'nonsense'"},
      {"name a/b\n", 1, 6, "expected a name"},
      {"name\n", 1, 5, "expected a name"},
      {"name a b\n", 1, 8, "unexpected 'b'"},
      {"name a\nname b\n", 2, 1, "name is given twice"},
      {"title\n", 1, 6, "expected a title"},
      {"source a\n", 1, 9, "expected what the source is"},
      {"source a b\nsource a c\n", 2, 8, "declared twice"},
      {"lanes 32\n", 1, 9, "ends in measured, published or assumed"},
      {"lanes 32 guessed s\n", 1, 19, "ends in measured, published or assumed"},
      {"lanes 32 measured s\n", 1, 19, "no source line above declares 's'"},
      {"source s t\nlanes 65 measured s\n", 2, 7, "lanes must be from 1 to 64"},
      {"source s t\nlanes x measured s\n", 2, 7, "expected a whole number"},
      {"source s t\nlanes measured s\n", 2, 6, "expected a whole number"},
      {"source s t\nbanks 33 measured s\n", 2, 7, "a power of two from 1 to 65536"},
      {"source s t\nbanks 131072 measured s\n", 2, 7, "a power of two from 1 to 65536"},
      {"source s t\nbanks 99999999999999999999 measured s\n", 2, 7, "expected a whole number"},
      {"source s t\nword_bytes 3 measured s\n", 2, 12, "1, 2, 4, 8 or 16"},
      {"source s t\ncapacity_bytes 0 measured s\n", 2, 16, "from 1 to 2^40"},
      {"source s t\nserve soup measured s\n", 2, 7, "one of: distinct-words row-pairs"},
      {"source s t\ngroups load 4 8 measured s\n", 2, 15, "number of lanes must come first"},
      {SMALL "groups load 4 8 measured s\n", SMALL_LINES + 1, 13, "given twice"},
      {SMALL "groups left 4 8 measured s\n", SMALL_LINES + 1, 8, "one of: load store atomic"},
      {SMALL "groups atomic 4,3 8 measured s\n", SMALL_LINES + 1, 17, "expected widths"},
      {SMALL "groups atomic 4x 8 measured s\n", SMALL_LINES + 1, 15, "expected widths"},
      {SMALL "groups atomic 4 9 measured s\n", SMALL_LINES + 1, 17, "must be from 1 to 8"},
      {SMALL "groups atomic 4 0 measured s\n", SMALL_LINES + 1, 17, "must be from 1 to 8"},
      {SMALL "groups atomic 4 0-3 measured s\n", SMALL_LINES + 1, 17, "lane 4 is in no group"},
      {SMALL "groups atomic 4 0-3 3-7 measured s\n", SMALL_LINES + 1, 21, "already in a group"},
      {SMALL "groups atomic 4 0-3+2 measured s\n", SMALL_LINES + 1, 21, "already in a group"},
      {SMALL "groups atomic 4 0-8 measured s\n", SMALL_LINES + 1, 17, "lanes go up from 0 to 7"},
      {SMALL "groups atomic 4 3-2 measured s\n", SMALL_LINES + 1, 17, "lanes go up from 0 to 7"},
      {SMALL "groups atomic 4 0- measured s\n", SMALL_LINES + 1, 17, "a range of lanes"},
      {SMALL "groups atomic 4 0-7+ measured s\n", SMALL_LINES + 1, 21, "expected a lane"},
      {SMALL "groups atomic 4 8 extra measured s\n", SMALL_LINES + 1, 24, "expected extra"},
      {SMALL "groups atomic 4 8 fast measured s\n", SMALL_LINES + 1, 19, "unexpected 'fast'"},
      {SMALL "op jump words measured s\n", SMALL_LINES + 1, 4, "unknown operation 'jump'"},
      {SMALL "op ld words measured s\n", SMALL_LINES + 1, 4, "given twice"},
      {SMALL "op cas often measured s\n", SMALL_LINES + 1, 8, "expected a rule, one of: none"},
      {SMALL "op cas words times 0 measured s\n", SMALL_LINES + 1, 20, "times must be from 1"},
      {SMALL "op cas words groups measured s\n", SMALL_LINES + 1, 20, "expected lanes served"},
      {SMALL "op cas lock-table measured s\n", SMALL_LINES + 1, 8, "has 'locks N'"},
      {SMALL "op cas words locks 4 measured s\n", SMALL_LINES + 1, 8, "has 'locks N'"},
      {SMALL "op cas lock-table locks 3 measured s\n", SMALL_LINES + 1, 25, "a power of two"},
      {SMALL "op cas words measured s\n", SMALL_LINES + 1, 1, "without groups for operation 'cas'"},
      {SMALL "groups atomic 4 8 measured s\nop cas lock-table locks 2 measured s\n",
       SMALL_LINES + 2, 1, "4 banks share only 2 locks for cas"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    bf_machine *machine;
    bf_diagnostic d;
    assert_int_equal(bf_machine_parse("f", faults[i].text, &machine, &d), BF_BAD_INPUT);
    assert_null(machine);
    assert_string_equal(d.file, "f");
    if (d.line != faults[i].line || d.column != faults[i].column ||
        !strstr(d.message, faults[i].message))
      fail_msg("fault %zu at %llu:%u: %s", i, (unsigned long long)d.line, d.column, d.message);
  }
}

/* Without any one of its lines the small machine is refused. */
static void every_line_is_needed(void **state) {
  (void)state;
  const char *text = SMALL;
  for (unsigned line = 0; line < SMALL_LINES; line++) {
    const char *from = text;
    for (unsigned i = 0; i < line; i++)
      from = strchr(from, '\n') + 1;
    char less[sizeof SMALL];
    snprintf(less, sizeof less, "%.*s%s", (int)(from - text), text, strchr(from, '\n') + 1);
    bf_machine *machine;
    assert_int_equal(bf_machine_parse("f", less, &machine, NULL), BF_BAD_INPUT);
  }
}

/* Every text cut off anywhere is either a machine or refused. */
static void cut_text_never_crashes(void **state) {
  (void)state;
  for (const bf_embedded_machine *at = bf_embedded_machines; at->name; at++) {
    size_t size = strlen(at->text);
    char *text = malloc(size + 1);
    for (size_t cut = 0; text && cut < size; cut++) {
      memcpy(text, at->text, cut);
      text[cut] = 0;
      bf_machine *machine;
      if (bf_machine_parse("f", text, &machine, NULL) == BF_OK)
        bf_machine_free(machine);
    }
    free(text);
  }
}

/* ---- Overrides ---- */

static void overrides_replace_values(void **state) {
  (void)state;
  bf_overrides overrides = {.struct_bytes = sizeof overrides,
                            .banks = 16,
                            .word_bytes = 8,
                            .lanes = 64,
                            .address_bits = 10};
  bf_machine *m = load("hopper", &overrides);
  assert_int_equal(m->bank_bits, 4);
  assert_int_equal(m->word_bytes, 8);
  assert_int_equal(m->address_bits, 10);
  assert_int_equal(m->capacity_bytes, 8192);
  assert_int_equal(m->groups[BF_SIDE_LOAD][2].count, 1);
  assert_int_equal(m->groups[BF_SIDE_LOAD][3].count, 4);
  assert_true(m->groups[BF_SIDE_LOAD][3].mask[3] == 0xffff000000000000u);
  assert_int_equal(m->op[BF_OP_LDMATRIX1].rule, BF_RULE_NONE);
  assert_int_equal(m->op[BF_OP_LDMATRIX4].groups.count, 8);
  assert_string_equal(find_fact(m, "banks")->value, "16");
  assert_string_equal(find_fact(m, "capacity_bytes")->basis, "override");
  bf_machine_free(m);
  bf_overrides align = {.struct_bytes = sizeof align, .banks = 8192, .address_bits = 26};
  m = load("hopper", &align);
  assert_int_equal(m->bank_bits, 13);
  assert_int_equal(m->address_bits, 26);
  bf_machine_free(m);
  bf_overrides few = {.struct_bytes = sizeof few, .lanes = 12};
  m = load("hopper", &few);
  assert_int_equal(m->groups[BF_SIDE_LOAD][2].count, 1);
  assert_int_equal(m->groups[BF_SIDE_LOAD][4].count, 2);
  assert_true(m->groups[BF_SIDE_LOAD][4].mask[1] == 0xf00);
  bf_machine_free(m);
}

static void wrong_overrides_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *machine;
    bf_overrides overrides;
    const char *message;
  } cases[] = {
      {"hopper", {.banks = 33}, "banks must be a power of two from 1 to 65536, not 33"},
      {"hopper", {.banks = 131072}, "banks must be"},
      {"hopper", {.word_bytes = 32}, "word_bytes must be 1, 2, 4, 8 or 16, not 32"},
      {"hopper", {.lanes = 65}, "lanes must be from 1 to 64, not 65"},
      {"hopper", {.address_bits = 41}, "address_bits must be from 1 to 40, not 41"},
      {"hopper", {.address_bits = 4}, "32 banks of 4-byte words do not fit"},
      {"hopper", {.banks = 65536, .word_bytes = 16}, "do not fit into an allocation of 232448"},
      {"fermi", {.banks = 2048}, "2048 banks share only 1024 locks"},
      {"kepler", {.lanes = 64, .word_bytes = 1}, "ask for up to 512 words, more than 256"},
      {"cdna3", {.lanes = 32}, "lists its lane groups lane by lane for 64 lanes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bf_machine *machine;
    bf_diagnostic d;
    bf_overrides overrides = cases[i].overrides;
    overrides.struct_bytes = sizeof overrides;
    assert_int_equal(bf_machine_load(cases[i].machine, &overrides, &machine, &d), BF_BAD_INPUT);
    assert_null(machine);
    if (!strstr(d.message, cases[i].message))
      fail_msg("case %zu: %s", i, d.message);
  }
}

static void listed_lanes_cannot_change(void **state) {
  (void)state;
  const char *path = "test_machine_listed.machine";
  const char *text = SMALL "groups atomic 4 0-1+4-5 2-3+6-7 published s\n";
  assert_int_equal(bf_write_file(path, text, strlen(text), NULL), BF_OK);
  bf_overrides lanes = {.struct_bytes = sizeof lanes, .lanes = 4};
  bf_machine *machine;
  bf_diagnostic d;
  assert_int_equal(bf_machine_load(path, &lanes, &machine, &d), BF_BAD_INPUT);
  assert_non_null(strstr(d.message, "lists its lane groups lane by lane for 8 lanes"));
  lanes.lanes = 8;
  machine = load(path, &lanes);
  bf_machine_free(machine);
  unlink(path);
}

/* ---- Finding ---- */

static void expect_refusal(const char *name, int error, const char *message) {
  bf_machine *machine;
  bf_diagnostic d;
  assert_int_equal(bf_machine_load(name, NULL, &machine, &d), error);
  assert_null(machine);
  if (!strstr(d.message, message))
    fail_msg("%s: %s", name, d.message);
}

static void unknown_machines_and_files_are_refused(void **state) {
  (void)state;
  expect_refusal("", BF_BAD_INPUT, "unknown machine ''");
  expect_refusal("hoper", BF_BAD_INPUT,
                 "unknown machine 'hoper' (did you mean 'hopper'?); there are ");
  expect_refusal("hoper", BF_BAD_INPUT, " hopper");
  expect_refusal("./no such.machine", BF_IO, "cannot open");
  expect_refusal("/", BF_IO, "is a directory");
  expect_refusal("/dev/zero", BF_BAD_INPUT, "zero byte");
  const char *path = "test_machine_large.machine";
  size_t size = (1 << 20) + 2;
  char *blanks = malloc(size);
  assert_non_null(blanks);
  memset(blanks, '\n', size);
  assert_int_equal(bf_write_file(path, blanks, size, NULL), BF_OK);
  expect_refusal(path, BF_BAD_INPUT, "larger than 1 MiB");
  assert_int_equal(bf_write_file(path, blanks, size - 2, NULL), BF_OK);
  expect_refusal(path, BF_BAD_INPUT, "ends without 'name'");
  free(blanks);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(builtin_machines_are_sorted_and_load),
      cmocka_unit_test(builtin_machines_have_their_sizes),
      cmocka_unit_test(cdna3_groups_distant_lanes),
      cmocka_unit_test(assumed_groups_make_estimates),
      cmocka_unit_test(hopper_is_as_measured),
      cmocka_unit_test(fermi_has_a_lock_table),
      cmocka_unit_test(reads_every_part_of_the_syntax),
      cmocka_unit_test(faults_are_located),
      cmocka_unit_test(every_line_is_needed),
      cmocka_unit_test(cut_text_never_crashes),
      cmocka_unit_test(overrides_replace_values),
      cmocka_unit_test(wrong_overrides_are_refused),
      cmocka_unit_test(listed_lanes_cannot_change),
      cmocka_unit_test(unknown_machines_and_files_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
