/* acct_spec_text.c (acct_spec.h) - writes a round as the text from which acct_spec_parse reads it back. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "acct_families.h"
#include "acct_spec.h"

/* Every part of a round at its longest: below ACCT_SPEC_MAX. */
#define NUMBER 24u /* a positive double of 17 digits, and what separates it */
#define WHOLE  20u
_Static_assert(
	ACCT_MAX_CELLS * 3 * NUMBER + ACCT_MAX_LEVELS * (NUMBER + WHOLE) + 2 * NUMBER + 3 * WHOLE + 140 <
		ACCT_SPEC_MAX,
	"every round has a text");

struct text {
	char *out;
	size_t at;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->out + t->at, ACCT_SPEC_MAX - t->at, format, ap);
	va_end(ap);
	t->at += n > 0 ? (size_t)n : 0;
}

/* 17 digits identify every double. */
static void put_real(struct text *t, const char *before, double x)
{
	put(t, "%s%.17g", before, x);
}

static void put_cells(struct text *t, const struct acct_round *r)
{
	for (size_t i = 0; i < r->cells; i++)
		put_real(t, i == 0 ? "cells:omega=" : "/", r->cell[i].omega);
	for (size_t i = 0; i < r->cells; i++)
		put_real(t, i == 0 ? ",u=" : "/", r->cell[i].u);
	for (size_t i = 0; i < r->cells; i++)
		put_real(t, i == 0 ? ",v=" : "/", r->cell[i].v);
}

static void put_central(struct text *t, const struct acct_round *r)
{
	if (r->event == ACCT_LAPLACE) {
		put_real(t, "laplace:scale=", r->scale);
	} else {
		put_real(t, r->rate < 1 ? "sampled-gaussian:sigma=" : "gaussian:sigma=", r->scale);
		if (r->rate < 1)
			put_real(t, ",rate=", r->rate);
	}
}

enum acct_rc acct_spec_text(const struct acct_round *r, char out[ACCT_SPEC_MAX])
{
	struct text t = { out, 0 };
	uint64_t n = r->others + 1;
	unsigned messages = acct_family_number(r);
	const char *why;
	enum acct_rc rc = acct_round_check(r, &why);

	if (rc)
		return rc;
	if (r->event == ACCT_PROFILE)
		return ACCT_EDOMAIN;
	for (size_t i = 0; i < r->levels; i++)
		n += r->level[i].count;
	if (r->event == ACCT_SHUFFLED) {
		put_cells(&t, r);
		put(&t, ",n=%" PRIu64, n);
	} else {
		put_central(&t, r);
	}
	if (r->dummies > 0)
		put(&t, ",dummies=%" PRIu64, r->dummies);
	for (size_t i = 0; i < r->levels; i++)
		put_real(&t, i == 0 ? ",others_share=" : "/", r->level[i].share);
	for (size_t i = 0; i < r->levels; i++)
		put(&t, "%s%" PRIu64, i == 0 ? ",others_n=" : "/", r->level[i].count);
	if (r->defect > 0)
		put_real(&t, ",defect=", r->defect);
	if (r->sampling > 0)
		put_real(&t, ",sampling=", r->sampling);
	if (messages != ACCT_ANY_MESSAGES)
		put(&t, ",messages=%u", messages);
	if (messages == ACCT_SETS)
		put_real(&t, ",triple=", r->shape[0]);
	for (int i = 0; i < 3 && messages > ACCT_LADDER; i++)
		put_real(&t, i == 0 ? ",shape=" : "/", r->shape[i]);
	if (r->count > 1)
		put(&t, ",count=%" PRIu64, r->count);
	return ACCT_OK;
}
