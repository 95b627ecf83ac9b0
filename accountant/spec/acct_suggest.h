/* acct_suggest.h - finds the known word that a misspelt one means, for error messages.  Not installed. */
#pragma once

#include <stddef.h>

/* Word i of a list, NULL past its end. */
typedef const char *acct_word_fn(const void *list, size_t i);

/* The word of the list that `typed` means: the one that another library calls so, else the nearest in
 * spelling.  Returns NULL if none is near. */
const char *acct_suggest(const char *typed, acct_word_fn *word, const void *list);
