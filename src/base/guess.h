/* base/guess: what somebody may have meant who wrote a name that there is not. */
#ifndef BF_BASE_GUESS_H
#define BF_BASE_GUESS_H

#include "base/base.h"

typedef struct bf_guess {
  const char *word; /* as it was written; borrowed, as names are */
  const char *best; /* the nearest name that was offered, or NULL: none is near */
  unsigned best_length, edits;
} bf_guess;

bf_guess bf_guess_begin(const char *word);
/* Offers a name of that length. It is near where few letters differ, are missing or too many, or
 * have changed places with their neighbours, and where the word is its beginning; upper and lower
 * case do not differ. */
void bf_guess_offer(bf_guess *guess, const char *name, size_t length);
/* Offers the words of a text. */
void bf_guess_offer_words(bf_guess *guess, const char *words);

/* " (did you mean 'NAME'?)", to stand behind the word, or nothing; returns text. */
enum { BF_GUESS_BYTES = 96 };
const char *bf_guess_text(const bf_guess *guess, char text[BF_GUESS_BYTES]);

/* Whether two names are the same but for case. */
bool bf_same_name(const char *name, size_t length, const char *other);

#endif
