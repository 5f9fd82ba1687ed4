/* Checks an answer of `bankfold solve --method exact --json` without any code of Bankfold.
 *
 *   checker TRACE ANSWER BANK_BITS
 *
 * TRACE has loads and stores of 4 bytes with an address for each active lane. Of ANSWER the bank
 * bits, conflicts_after and lower_bound are read. The conflicts of the hash are counted by a
 * histogram of banks. The bound is checked by going through all hashes: a hash, but for the names
 * of banks, is a space of functionals, and every space has one basis in which each functional leads
 * with a higher address bit than those before it and has 0 at their leads. Words that the first j
 * functionals do not tell apart are spread over 2^(m-j) banks at best; where that already costs the
 * bound, no hash below costs less. Exit status 0: both numbers are right; 1: one of them is not; 2:
 * bad input. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ACCESSES = 4096, LANES = 32, MOST_BITS = 16 };

typedef struct access {
  uint32_t word[LANES];
  unsigned words;
  uint64_t count;
} access;

static access trace[MOST_ACCESSES];
static unsigned accesses, bank_bits, address_bits;
static uint64_t bound, visited;

static void refuse(const char *what) {
  fprintf(stderr, "checker: %s\n", what);
  exit(2);
}

static char *read_all(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file)
    refuse("cannot read a file");
  char *text = calloc(1, 1 << 24);
  if (!text || fread(text, 1, (1 << 24) - 1, file) == 0)
    refuse("an empty file");
  fclose(file);
  return text;
}

/* Distinct words of one line: op 4 MASK ADDRESS... [xCOUNT]. */
static void read_line(char *line) {
  access *own = &trace[accesses];
  unsigned field = 0;
  *own = (access){.count = 1};
  for (char *at = strtok(line, " "); at; at = strtok(NULL, " "), field++) {
    if (field == 1 && strcmp(at, "4") != 0)
      refuse("an access that is not of 4 bytes");
    if (field < 3)
      continue;
    if (*at == 'x') {
      own->count = strtoull(at + 1, NULL, 10);
      continue;
    }
    uint32_t word = (uint32_t)strtoul(at, NULL, 10) / 4;
    unsigned i = 0;
    while (i < own->words && own->word[i] != word)
      i++;
    if (i == own->words && own->words < LANES)
      own->word[own->words++] = word;
    while (word >> address_bits)
      address_bits++;
  }
  if (field && ++accesses == MOST_ACCESSES)
    refuse("too many accesses");
}

static void read_trace(char *text) {
  for (char *next, *line = text; *line; line = next) {
    next = strchr(line, '\n');
    next = next ? (*next = 0, next + 1) : line + strlen(line);
    read_line(line);
  }
  if (address_bits > MOST_BITS)
    refuse("too many address bits");
}

static uint64_t read_number(const char *text, const char *key) {
  const char *at = strstr(text, key);
  if (!at)
    refuse("the answer lacks a number");
  return strtoull(at + strlen(key), NULL, 10);
}

/* The functionals of the hash: 3 or "1^5", as many as there are bank bits. */
static void read_bits(const char *text, uint32_t *functional) {
  const char *at = strstr(text, "\"bits\": [");
  if (!at)
    refuse("the answer has no bits");
  at += strlen("\"bits\": [");
  for (unsigned i = 0; i < bank_bits; i++) {
    functional[i] = 0;
    for (at += strspn(at, " \""); *at && *at != ',' && *at != ']'; at += strspn(at, "^\""))
      functional[i] |= 1u << strtoul(at, (char **)&at, 10);
    at += *at == ',';
  }
}

/* What an access costs at least when functionals 0..chosen-1 are known: the largest part that they
 * do not tell apart, spread over the banks that are left. With all of them it is what it costs. */
static uint64_t cost_of(const access *own, const uint32_t *functional, unsigned chosen) {
  unsigned part[1 << 6] = {0}, largest = 0, left = bank_bits - chosen;
  for (unsigned i = 0; i < own->words; i++) {
    unsigned number = 0;
    for (unsigned j = 0; j < chosen; j++)
      number |= (unsigned)__builtin_parity(functional[j] & own->word[i]) << j;
    largest = ++part[number] > largest ? part[number] : largest;
  }
  unsigned wavefronts = (largest + (1u << left) - 1) >> left;
  unsigned ideal = (own->words + (1u << bank_bits) - 1) >> bank_bits;
  return own->count * (wavefronts > ideal ? wavefronts - ideal : 0);
}

static uint64_t cost_of_all(const uint32_t *functional, unsigned chosen, uint64_t enough) {
  uint64_t sum = 0;
  for (unsigned a = 0; a < accesses && sum < enough; a++)
    sum += cost_of(&trace[a], functional, chosen);
  return sum;
}

/* True if no space that starts with these functionals costs less than the bound. */
static int holds(uint32_t *functional, unsigned chosen, unsigned from, uint32_t leads) {
  visited++;
  if (cost_of_all(functional, chosen, bound) >= bound)
    return 1;
  if (chosen == bank_bits)
    return 0;
  for (unsigned lead = from; lead + (bank_bits - chosen) <= address_bits; lead++)
    for (uint32_t low = 0; low < 1u << lead; low++) {
      functional[chosen] = 1u << lead | low;
      if (!(low & leads) && !holds(functional, chosen + 1, lead + 1, leads | 1u << lead))
        return 0;
    }
  return 1;
}

int main(int count, char **argument) {
  uint32_t functional[8] = {0};
  if (count != 4)
    refuse("usage: checker TRACE ANSWER BANK_BITS");
  bank_bits = (unsigned)atoi(argument[3]);
  if (bank_bits < 1 || bank_bits > 5)
    refuse("1 to 5 bank bits");
  read_trace(read_all(argument[1]));
  const char *answer = read_all(argument[2]);
  uint64_t claimed = read_number(answer, "\"conflicts_after\": ");
  bound = read_number(answer, "\"lower_bound\": ");
  read_bits(answer, functional);
  uint64_t found = cost_of_all(functional, bank_bits, UINT64_MAX);
  if (found != claimed) {
    printf("refused: the hash leaves %llu conflicts, not %llu\n", (unsigned long long)found,
           (unsigned long long)claimed);
    return 1;
  }
  if (address_bits >= bank_bits && !holds(functional, 0, 0, 0)) {
    printf("refused: a hash leaves fewer than %llu conflicts\n", (unsigned long long)bound);
    return 1;
  }
  printf("accepted: %llu conflicts, none leaves fewer than %llu; %llu nodes\n",
         (unsigned long long)found, (unsigned long long)bound, (unsigned long long)visited);
  return 0;
}
