/* Machines: finding one by name, what a caller may override, and what others ask of it. The text
 * of machine files is read in machine_file.c. */
#include "memory/lines.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BANKS = 1 << BF_HASH_MAX_BANK_BITS };

static bool is_power_of_two(uint64_t value) { return value && (value & (value - 1)) == 0; }

const char *bf_machine_refuses(const char *quantity, uint64_t value) {
  if (strcmp(quantity, "lanes") == 0)
    return value >= 1 && value <= BF_MAX_LANES ? NULL : "from 1 to 64";
  if (strcmp(quantity, "banks") == 0)
    return is_power_of_two(value) && value <= MOST_BANKS ? NULL : "a power of two from 1 to 65536";
  if (strcmp(quantity, "word_bytes") == 0)
    return is_power_of_two(value) && value <= 16 ? NULL : "1, 2, 4, 8 or 16";
  if (strcmp(quantity, "capacity_bytes") == 0)
    return value >= 1 && value <= (uint64_t)1 << 40 ? NULL : "from 1 to 2^40";
  return value >= 1 && value <= BF_HASH_MAX_ADDRESS_BITS ? NULL : "from 1 to 40";
}

void bf_groups_fill(bf_groups *groups, unsigned lanes) {
  unsigned size = groups->contiguous;
  groups->count = 0;
  for (unsigned first = 0; first < lanes; first += size) {
    unsigned here = lanes - first < size ? lanes - first : size;
    groups->mask[groups->count++] = bf_gf2_low_bits(here) << first;
  }
}

/* The most words that one group of lanes asks for at once when each lane accesses width_bytes. */
static unsigned words_at_once(const bf_machine *machine, const bf_groups *groups,
                              unsigned width_bytes) {
  unsigned lanes = 0;
  for (unsigned i = 0; i < groups->count; i++) {
    unsigned here = (unsigned)__builtin_popcountll(groups->mask[i]);
    lanes = here > lanes ? here : lanes;
  }
  unsigned words = width_bytes > machine->word_bytes ? width_bytes / machine->word_bytes : 1;
  return lanes * (groups->split_words ? 1 : words) * (groups->pair_merge ? 2 : 1);
}

/* Counting holds the words of one group of lanes in a phase of BF_PHASE_WORDS. */
static int check_phases(const bf_machine *machine, bf_diagnostic *diagnostic) {
  unsigned most = 0;
  for (unsigned i = 0; i < BF_WIDTHS; i++)
    for (unsigned side = 0; side < BF_SIDE_COUNT; side++) {
      unsigned words = words_at_once(machine, &machine->groups[side][i], 1u << i);
      most = words > most ? words : most;
    }
  for (unsigned op = 0; op < BF_OP_COUNT; op++) {
    unsigned fixed = bf_op_fixed_width((bf_op)op);
    unsigned words = words_at_once(machine, &machine->op[op].groups, fixed ? fixed : 16);
    most = words > most ? words : most;
  }
  if (most > BF_PHASE_WORDS)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "lanes served together ask for up to %u words, more than %d", most,
                   BF_PHASE_WORDS);
  return BF_OK;
}

int bf_machine_measure(bf_machine *machine, bf_diagnostic *diagnostic) {
  uint64_t words = (machine->capacity_bytes + machine->word_bytes - 1) / machine->word_bytes;
  machine->address_bits = words > 1 ? 64 - (unsigned)__builtin_clzll(words - 1) : 0;
  if (machine->address_bits < machine->bank_bits)
    return bf_fail(diagnostic, BF_BAD_INPUT,
                   "%u banks of %u-byte words do not fit into an allocation of %llu bytes",
                   1u << machine->bank_bits, machine->word_bytes,
                   (unsigned long long)machine->capacity_bytes);
  for (unsigned op = 0; op < BF_OP_COUNT; op++) {
    unsigned locks = machine->op[op].locks;
    if (locks && locks < 1u << machine->bank_bits)
      return bf_fail(diagnostic, BF_BAD_INPUT, "%u banks share only %u locks for %s",
                     1u << machine->bank_bits, locks, bf_op_name((bf_op)op));
  }
  BF_TRY(check_phases(machine, diagnostic));
  bf_geometry geometry = bf_machine_geometry(machine);
  bf_hash_free(machine->none);
  return bf_hash_parse("none", &geometry, &machine->none, diagnostic);
}

/* ---- Overrides ---- */

/* Lets the fact called key say that the caller chose its value. */
static int override_fact(bf_machine *machine, const char *key, uint64_t value) {
  for (size_t i = 0; i < machine->fact_count; i++) {
    bf_machine_fact *fact = &machine->facts[i];
    if (strcmp(fact->key, key) != 0)
      continue;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    fact->value = bf_arena_copy(&machine->arena, number);
    fact->basis = bf_arena_copy(&machine->arena, "override");
    fact->source = bf_arena_copy(&machine->arena, "-");
    return fact->value && fact->basis && fact->source ? BF_OK : BF_NO_MEMORY;
  }
  return BF_OK;
}

/* Lane groups for another number of lanes: a group of all lanes stays one of all lanes, smaller
 * groups of neighbours keep their size. False for groups listed lane by lane. */
static bool regroup(bf_groups *groups, unsigned old_lanes, unsigned lanes) {
  if (groups->count == 0)
    return true;
  if (groups->contiguous == 0)
    return false;
  if (groups->contiguous == old_lanes)
    groups->contiguous = lanes;
  bf_groups_fill(groups, lanes);
  return true;
}

/* Operations that list their lanes are only defined for those lanes: they are dropped. */
static int override_lanes(bf_machine *machine, unsigned lanes, bf_diagnostic *diagnostic) {
  if (lanes == machine->lanes)
    return BF_OK;
  for (unsigned side = 0; side < BF_SIDE_COUNT; side++)
    for (unsigned width = 0; width < BF_WIDTHS; width++)
      if (!regroup(&machine->groups[side][width], machine->lanes, lanes))
        return bf_fail(diagnostic, BF_BAD_INPUT,
                       "%s lists its lane groups lane by lane for %u lanes; it cannot have %u",
                       machine->name, machine->lanes, lanes);
  for (unsigned op = 0; op < BF_OP_COUNT; op++)
    if (!regroup(&machine->op[op].groups, machine->lanes, lanes))
      machine->op[op].rule = BF_RULE_NONE;
  machine->lanes = lanes;
  return BF_OK;
}

static int check_overrides(const bf_overrides *overrides, bf_diagnostic *diagnostic) {
  const struct {
    const char *quantity;
    unsigned value;
  } given[] = {{"banks", overrides->banks},
               {"word_bytes", overrides->word_bytes},
               {"lanes", overrides->lanes},
               {"address_bits", overrides->address_bits}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    const char *allowed =
        given[i].value ? bf_machine_refuses(given[i].quantity, given[i].value) : NULL;
    if (allowed)
      return bf_fail(diagnostic, BF_BAD_INPUT, "%s must be %s, not %u", given[i].quantity, allowed,
                     given[i].value);
  }
  return BF_OK;
}

static int apply_overrides(bf_machine *machine, const bf_overrides *overrides,
                           bf_diagnostic *diagnostic) {
  int error = BF_OK;
  BF_TRY(check_overrides(overrides, diagnostic));
  if (overrides->banks) {
    machine->bank_bits = (unsigned)__builtin_ctz(overrides->banks);
    error = override_fact(machine, "banks", overrides->banks);
  }
  if (!error && overrides->word_bytes) {
    machine->word_bytes = overrides->word_bytes;
    error = override_fact(machine, "word_bytes", overrides->word_bytes);
  }
  if (!error && overrides->address_bits) {
    machine->capacity_bytes = (uint64_t)machine->word_bytes << overrides->address_bits;
    error = override_fact(machine, "capacity_bytes", machine->capacity_bytes);
  }
  if (!error && overrides->lanes)
    error = override_fact(machine, "lanes", overrides->lanes);
  if (error)
    return bf_no_memory(diagnostic);
  if (overrides->lanes)
    error = override_lanes(machine, overrides->lanes, diagnostic);
  return !error ? bf_machine_measure(machine, diagnostic) : error;
}

/* ---- Loading ---- */

const char *bf_machine_builtin(unsigned index) {
  for (unsigned i = 0; i < index; i++)
    if (!bf_embedded_machines[i].name)
      return NULL;
  return bf_embedded_machines[index].name;
}

static int load_builtin(const char *name, bf_machine **machine, bf_diagnostic *diagnostic) {
  const bf_embedded_machine *file = bf_lines_find_file(bf_embedded_machines, name);
  if (!file)
    return bf_lines_no_file(bf_embedded_machines, "machine", name, diagnostic);
  return bf_machine_parse(file->name, file->text, machine, diagnostic);
}

static int load_file(const char *path, bf_machine **machine, bf_diagnostic *diagnostic) {
  bf_text text = {0};
  int error = bf_lines_read_file(path, "machine", &text, diagnostic);
  if (!error)
    error = bf_machine_parse(path, text.data, machine, diagnostic);
  bf_text_free(&text);
  return error;
}

int bf_machine_load(const char *name, const bf_overrides *given, bf_machine **machine,
                    bf_diagnostic *diagnostic) {
  *machine = NULL;
  bf_machine *loaded = NULL;
  bf_overrides overrides;
  BF_TRY(bf_take_options(given, &overrides, sizeof overrides, "bf_overrides", diagnostic));
  int error = strpbrk(name, "/.") ? load_file(name, &loaded, diagnostic)
                                  : load_builtin(name, &loaded, diagnostic);
  if (!error && given)
    error = apply_overrides(loaded, &overrides, diagnostic);
  if (error) {
    bf_machine_free(loaded);
    return error;
  }
  *machine = loaded;
  return BF_OK;
}

void bf_machine_free(bf_machine *machine) {
  if (!machine)
    return;
  bf_arena_free(&machine->arena);
  bf_hash_free(machine->none);
  free(machine);
}

/* ---- Asking ---- */

const char *bf_machine_name(const bf_machine *machine) { return machine->name; }
const char *bf_machine_title(const bf_machine *machine) { return machine->title; }
unsigned bf_machine_lanes(const bf_machine *machine) { return machine->lanes; }
uint64_t bf_machine_capacity_bytes(const bf_machine *machine) { return machine->capacity_bytes; }

bf_geometry bf_machine_geometry(const bf_machine *machine) {
  return (bf_geometry){machine->bank_bits, machine->address_bits, machine->word_bytes};
}

bf_trace_limits bf_machine_limits(const bf_machine *machine) {
  bf_trace_limits limits = {.lanes = machine->lanes, .allocation_bytes = machine->capacity_bytes};
  for (int op = 0; op < BF_OP_COUNT; op++)
    if (machine->op[op].rule == BF_RULE_NONE)
      limits.missing_ops |= (uint64_t)1 << op;
  return limits;
}

