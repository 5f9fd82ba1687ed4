/* The table of sites. */
#include "cli/find/site_table.h"

enum { SHOWN_ROWS = 20 };

/* Red from eight conflicts per access on, yellow below, green for none. */
static const char *row_color(const bf_sum *sum) {
  if (sum->conflicts == 0)
    return "\033[32m";
  return sum->conflicts >= 8 * sum->accesses ? "\033[31m" : "\033[33m";
}

void cli_site_table_write(bf_site_sums *sums, bool color, bf_text *text) {
  size_t count;
  const bf_site_sum *row = bf_site_sums_rows(sums, &count);
  bf_text_addf(text, "%12s %12s %12s %12s  %s\n", "accesses", "wavefronts", "ideal", "conflicts",
               "site");
  for (size_t i = 0; i < count && i < SHOWN_ROWS; i++) {
    const bf_sum *sum = &row[i].sum;
    bf_text_addf(text, "%12llu %12llu %12llu %s%12llu%s  %s\n", (unsigned long long)sum->accesses,
                 (unsigned long long)sum->wavefronts, (unsigned long long)sum->ideal,
                 color ? row_color(sum) : "", (unsigned long long)sum->conflicts,
                 color ? "\033[0m" : "", row[i].key);
    if (row[i].worst_conflicts)
      bf_text_addf(text, "%54sworst at line %llu, %u conflicts: %s\n", "",
                   (unsigned long long)row[i].worst_line, row[i].worst_conflicts, row[i].worst);
  }
  if (count > SHOWN_ROWS)
    bf_text_addf(text, "%54s... and %zu more\n", "", count - SHOWN_ROWS);
}
