/* acct_suggest.h - the known word that an unknown one was meant to be, for errors.  Not installed. */
#pragma once

#include <stddef.h>

/* Word i of a list, NULL past its end. */
typedef const char *acct_word_fn(const void *list, size_t i);

/* The word of the list that `typed` means: another library's name for it, else the nearest in spelling.
 * Returns NULL where none is near. */
const char *acct_suggest(const char *typed, acct_word_fn *word, const void *list);
