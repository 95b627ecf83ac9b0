/* pl_wish.h - finds the wishes in a plan's text.
 *
 * A wish is a string that stands in place of the number of a round's epsilon0, dummies, shuffler_dummies or
 * epsilon.  "error X" wishes for the error X, in the units of `plan cost`.  "weight W" says how much the
 * round's error counts beside those of other rounds.  `tombola plan optimise` (pl_optimise.h) replaces wishes
 * by numbers.  No other command accepts a plan that still has wishes. */
#pragma once

#include "cm_buf.h"
#include "cm_rc.h"

enum pl_open { PL_OPEN_EPSILON0, PL_OPEN_DUMMIES, PL_OPEN_SHUFFLER_DUMMIES, PL_OPEN_EPSILON };

struct pl_wish {
	enum pl_open key;
	uint32_t item; /* number of the round's item in the list `rounds`, from 0 */
	int line;
	bool error; /* `number` is the error wished for; false: it is a weight */
	/* the error or the weight, above 0 and finite; 0: the string begins as a wish, but is malformed */
	double number;
	const char *meant;   /* "error" or "weight" if that word is misspelt; else NULL */
	size_t begin, bytes; /* where the string with its quotes begins in the text, and its length */
};

struct pl_wishes {
	struct pl_wish *wish; /* the wishes in the order of the file, owned */
	size_t n;
};

/* Find the wishes of n bytes, which need not be a plan.  False: out of memory.  Free in either case. */
CM_CHECK bool pl_wishes_find(const char *text, size_t n, struct pl_wishes *out);
void pl_wishes_fini(struct pl_wishes *w);
/* The name of the key, such as "dummies". */
const char *pl_open_name(enum pl_open key);
/* The end of a sentence about a wish whose number is 0: "", or ": did you mean \"weight X\"?". */
const char *pl_wish_meant(const struct pl_wish *w);
/* The wish of this item of `rounds`, the first if there are several; NULL: none. */
const struct pl_wish *pl_wish_of(const struct pl_wishes *w, uint32_t item);
/* Append the text with value[i], and a comment that says what was wanted, in place of wish i. */
CM_CHECK enum cm_rc pl_wishes_fill(const struct pl_wishes *w, const char *text, size_t n,
	const char (*value)[32], struct cm_buf *out, struct cm_err *err);
