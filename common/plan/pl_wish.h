/* pl_wish.h - finds the rounds of a plan's text that say what is wanted in place of a number.
 *
 * A round's epsilon0, dummies, shuffler_dummies or epsilon may be the string "error X", the error that is
 * wanted, in the units of `plan cost`, or "weight W", how much its error counts beside the other rounds'.
 * `tombola plan optimise` (pl_optimise.h) puts numbers there; until then nobody takes the file for a plan. */
#pragma once

#include "cm_buf.h"
#include "cm_rc.h"

enum pl_open { PL_OPEN_EPSILON0, PL_OPEN_DUMMIES, PL_OPEN_SHUFFLER_DUMMIES, PL_OPEN_EPSILON };

struct pl_wish {
	enum pl_open key;
	uint32_t item; /* of the file's `rounds`, from 0 */
	int line;
	bool error;          /* number is the error that is wanted, else a weight */
	double number;       /* above 0 and finite; 0: the text is no such wish, though it begins as one */
	const char *meant;   /* "error" or "weight" where that is misspelt; else NULL */
	size_t begin, bytes; /* of the string with its quotes */
};

struct pl_wishes {
	struct pl_wish *wish; /* in the order of the file, owned */
	size_t n;
};

/* Find the wishes of n bytes, which need not be a plan.  False: out of memory.  Free in either case. */
CM_CHECK bool pl_wishes_find(const char *text, size_t n, struct pl_wishes *out);
void pl_wishes_fini(struct pl_wishes *w);
/* "dummies" */
const char *pl_open_name(enum pl_open key);
/* What is wrong with a wish whose number is 0, to end a sentence: "" or ": did you mean \"weight X\"?". */
const char *pl_wish_meant(const struct pl_wish *w);
/* The wish of this item of `rounds`, the first if there are several; NULL: none. */
const struct pl_wish *pl_wish_of(const struct pl_wishes *w, uint32_t item);
/* Append the text with value[i], and a comment that says what was wanted, in place of wish i. */
CM_CHECK enum cm_rc pl_wishes_fill(const struct pl_wishes *w, const char *text, size_t n,
	const char (*value)[32], struct cm_buf *out, struct cm_err *err);
