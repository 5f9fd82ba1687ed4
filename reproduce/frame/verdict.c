/* Verdicts: one rule for all claims. */
#include "reproduce/frame/frame.h"

#include <math.h>
#include <string.h>

/* The tolerance, of what is published. It is the only one. */
static const double tolerance = 0.15;

const char *bf_reproduce_verdict_name(bf_reproduce_verdict verdict) {
  static const char *const names[] = {"holds", "differs", "fitted", "derived"};
  return names[verdict];
}

double bf_reproduce_scale(bf_reproduce_rule rule, double published) {
  return fabs(rule == BF_CLAIM_GAIN ? published - 1 : published);
}

/* Whether one number found agrees with the published one. Numbers are compared with a part in a
 * thousand million to spare, which is their rounding. */
static bool agrees(bf_reproduce_rule rule, double published, double ours) {
  double spare = 1e-9 * fabs(published);
  switch (rule) {
  case BF_CLAIM_AT_MOST:
    return ours <= published + spare;
  case BF_CLAIM_AT_LEAST:
    return ours >= published - spare;
  case BF_CLAIM_ALL:
    return ours == published;
  default:
    return fabs(ours - published) <= tolerance * bf_reproduce_scale(rule, published) + spare;
  }
}

/* Whether every two of ours_list are in the order of their published_list. */
static bool has_order(const bf_reproduce_claim *claim) {
  for (unsigned i = 0; i < claim->count; i++)
    for (unsigned j = 0; j < claim->count; j++)
      if (claim->published_list[i] > claim->published_list[j] &&
          !(claim->ours_list[i] > claim->ours_list[j]))
        return false;
  return true;
}

static bool is_true(const bf_reproduce_claim *claim) {
  switch (claim->rule) {
  case BF_CLAIM_NONE:
    return false;
  case BF_CLAIM_WORDS:
    return claim->is_so;
  case BF_CLAIM_SAME:
    return strcmp(claim->published_text, claim->ours_text) == 0;
  case BF_CLAIM_ORDER:
    return has_order(claim);
  default:
    break;
  }
  for (unsigned i = 0; i < claim->count; i++)
    if (!agrees(claim->rule, claim->published_list[i], claim->ours_list[i]))
      return false;
  return claim->count > 0 || agrees(claim->rule, claim->published, claim->ours);
}

bf_reproduce_verdict bf_reproduce_judge(const bf_reproduce_claim *claim) {
  if (!is_true(claim))
    return BF_DIFFERS;
  return claim->fitted ? BF_FITTED : claim->derived ? BF_DERIVED : BF_HOLDS;
}

const char *bf_reproduce_reason(const bf_reproduce_claim *claim) {
  switch (claim->verdict) {
  case BF_DIFFERS:
    return claim->why;
  case BF_FITTED:
    return claim->fitted;
  case BF_DERIVED:
    return claim->derived;
  default:
    return NULL;
  }
}

/* ---- As text ---- */

/* How far ours is from the published number, of what the rule compares with; "-": not a number. */
static void add_difference(const bf_reproduce_claim *claim, bf_text *text) {
  double scale = bf_reproduce_scale(claim->rule, claim->published);
  bool is_gain = claim->rule == BF_CLAIM_GAIN;
  if (scale > 0)
    bf_text_addf(text, "%+.1f%%%s", (claim->ours - claim->published) / scale * 100,
                 is_gain ? " of the gain" : "");
  else
    bf_text_addf(text, "%+.4g%s", claim->ours, claim->unit ? claim->unit : "");
}

static void add_list(const double *list, unsigned count, const char *unit, bf_text *text) {
  for (unsigned i = 0; i < count; i++)
    bf_text_addf(text, "%s%.4g", i ? ", " : "", list[i]);
  bf_text_puts(text, unit ? unit : "");
}

/* The difference of a list: the largest. */
static void add_largest(const bf_reproduce_claim *claim, bf_text *text) {
  double largest = 0;
  for (unsigned i = 0; i < claim->count; i++) {
    double scale = bf_reproduce_scale(claim->rule, claim->published_list[i]);
    double off = scale > 0 ? (claim->ours_list[i] - claim->published_list[i]) / scale : 0;
    largest = fabs(off) > fabs(largest) ? off : largest;
  }
  bf_text_addf(text, "at most %+.1f%%%s", largest * 100,
               claim->rule == BF_CLAIM_GAIN ? " of the gain" : "");
}

static bool has_numbers(bf_reproduce_rule rule) { return rule < BF_CLAIM_ORDER; }

void bf_reproduce_claim_text(const bf_reproduce_claim *claim, bf_text *published, bf_text *ours,
                             bf_text *difference) {
  static const char *const before[BF_CLAIM_NONE + 1] = {
      [BF_CLAIM_AT_MOST] = "at most ", [BF_CLAIM_AT_LEAST] = "at least ", [BF_CLAIM_ALL] = "all "};
  const char *unit = claim->unit ? claim->unit : "";
  bool shows = has_numbers(claim->rule) || claim->count;
  if (claim->published_text)
    bf_text_puts(published, claim->published_text);
  else if (claim->count)
    add_list(claim->published_list, claim->count, unit, published);
  else if (shows)
    bf_text_addf(published, "%s%.4g%s", before[claim->rule] ? before[claim->rule] : "",
                 claim->published, unit);
  if (claim->ours_text)
    bf_text_puts(ours, claim->ours_text);
  else if (claim->rule == BF_CLAIM_NONE)
    bf_text_puts(ours, "not computed");
  else if (claim->count)
    add_list(claim->ours_list, claim->count, unit, ours);
  else if (shows)
    bf_text_addf(ours, "%.4g%s", claim->ours, unit);
  if (claim->rule > BF_CLAIM_GAIN)
    bf_text_puts(difference, "-");
  else if (claim->count)
    add_largest(claim, difference);
  else
    add_difference(claim, difference);
}
