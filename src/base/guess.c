/* What somebody may have meant: names at the least distance, in edits of single letters. */
#include "base/guess.h"

#include <ctype.h>
#include <string.h>

enum { MOST_LETTERS = 63 };

bf_guess bf_guess_begin(const char *word) { return (bf_guess){.word = word}; }

static bool same(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

bool bf_same_name(const char *name, size_t length, const char *other) {
  for (size_t i = 0; i < length; i++)
    if (!other[i] || !same(name[i], other[i]))
      return false;
  return !other[length];
}

static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }

/* Letters that are changed, added, removed or swapped with the next to get from a to b: the
 * distance of Damerau and Levenshtein, where no letter is touched twice. Each row holds distances
 * of a beginning of a to all of b. */
static unsigned distance(const char *a, unsigned a_length, const char *b, unsigned b_length) {
  unsigned rows[3][MOST_LETTERS + 1];
  for (unsigned j = 0; j <= b_length; j++)
    rows[0][j] = j;
  for (unsigned i = 1; i <= a_length; i++) {
    unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
    row[0] = i;
    for (unsigned j = 1; j <= b_length; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same(a[i - 1], b[j - 1]));
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = least(row[j], second[j - 2] + 1);
    }
  }
  return rows[a_length % 3][b_length];
}

/* Whether the name begins with the word. */
static bool is_beginning(const char *word, size_t own, const char *name, size_t length) {
  size_t alike = 0;
  while (alike < own && alike < length && same(word[alike], name[alike]))
    alike++;
  return alike == own;
}

void bf_guess_offer(bf_guess *guess, const char *name, size_t length) {
  size_t own = strlen(guess->word);
  if (own == 0 || own > MOST_LETTERS || length == 0 || length > MOST_LETTERS)
    return;
  unsigned edits = distance(guess->word, (unsigned)own, name, (unsigned)length);
  if (edits > 1 && own >= 3 && is_beginning(guess->word, own, name, length))
    edits = 1;
  unsigned allowed = own < 4 ? 1 : (unsigned)own / 3;
  if (edits <= allowed && edits < own && (!guess->best || edits < guess->edits)) {
    guess->best = name;
    guess->best_length = (unsigned)length;
    guess->edits = edits;
  }
}

void bf_guess_offer_words(bf_guess *guess, const char *words) {
  while (*words) {
    size_t length = strcspn(words, " \n");
    bf_guess_offer(guess, words, length);
    words += length + (words[length] != 0);
  }
}

const char *bf_guess_text(const bf_guess *guess, char text[BF_GUESS_BYTES]) {
  text[0] = 0;
  if (guess->best)
    snprintf(text, BF_GUESS_BYTES, " (did you mean '%.*s'?)", (int)guess->best_length, guess->best);
  return text;
}
