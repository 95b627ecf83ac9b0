/* acct_spec.c - rounds as text: `name:key=value,...` to blanket cells. */
#include "acct_spec.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXT 4096u

enum key { K, S, D, P, BETA, Q, Q2, EPS0, OMEGA, U, V, DUMMIES, N, COUNT, KEYS };

static const char *const key_name[KEYS] = { "k", "s", "d", "p", "beta", "q", "q2", "eps0", "omega", "u", "v",
	"dummies", "n", "count" };

/* A spec being read: the text behind each key, NULL when absent. */
struct spec {
	const char *name;
	const char *value[KEYS];
	char text[MOST_TEXT];
	char *why;
	size_t room;
};

typedef enum acct_rc cells_fn(struct spec *s, struct acct_round *r);

__attribute__((format(printf, 2, 3))) static void say(struct spec *s, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(s->why, s->room, format, ap);
	va_end(ap);
}

/* An expression, so that its value is plain to whoever checks the callers. */
#define fail(...) (say(__VA_ARGS__), ACCT_EDOMAIN)

static enum acct_rc number(struct spec *s, enum key k, double *out)
{
	char *end;

	if (!s->value[k])
		return fail(s, "%s: %s= is missing", s->name, key_name[k]);
	*out = strtod(s->value[k], &end);
	if (end == s->value[k] || *end || isnan(*out) || isspace((unsigned char)*s->value[k]))
		return fail(s, "%s: %s=%s is not a number", s->name, key_name[k], s->value[k]);
	return ACCT_OK;
}

static enum acct_rc whole(struct spec *s, enum key k, double least, double most, uint64_t *out)
{
	double x;
	enum acct_rc rc = number(s, k, &x);

	if (rc)
		return rc;
	if (!(x >= least && x <= most && x == floor(x)))
		return fail(s, "%s: %s=%s must be a whole number from %.0f to %.0f", s->name, key_name[k],
			s->value[k], least, most);
	*out = (uint64_t)x;
	return ACCT_OK;
}

/* eps0 in (0, 700). */
static enum acct_rc local(struct spec *s, double *eps0)
{
	enum acct_rc rc = number(s, EPS0, eps0);

	if (!rc && !(*eps0 > 0 && *eps0 < 700))
		rc = fail(s, "%s: eps0=%s must be above 0 and below 700", s->name, s->value[EPS0]);
	return rc;
}

static enum acct_rc pair_cells(struct spec *s, struct acct_round *r)
{
	double p, beta, q, q2;
	const char *why = "";
	enum acct_rc rc;

	if ((rc = number(s, P, &p)) || (rc = number(s, BETA, &beta)) || (rc = number(s, Q, &q)))
		return rc;
	q2 = q;
	if (s->value[Q2] && (rc = number(s, Q2, &q2)))
		return rc;
	rc = acct_cells_pair(p, beta, q, q2, r, &why);
	return rc ? fail(s, "%s: %s", s->name, why) : ACCT_OK;
}

static enum acct_rc generic_cells(struct spec *s, struct acct_round *r)
{
	double eps0;
	enum acct_rc rc = local(s, &eps0);

	return rc ? rc : acct_cells_generic(eps0, r, NULL);
}

/* k symbols: the victim's two, and the rest, each kept with e^eps0 / Z and else uniform. */
static void symbols(double k, double p, struct acct_round *r)
{
	double z = p + k - 1;

	r->cell[0] = (struct acct_cell){ 1 / z, p, 1 };
	r->cell[1] = (struct acct_cell){ 1 / z, 1, p };
	r->cell[2] = (struct acct_cell){ (k - 2) / z, 1, 1 };
	r->cells = k > 2 ? 3 : 2;
}

static enum acct_rc grr_cells(struct spec *s, struct acct_round *r)
{
	uint64_t k = 2;
	double eps0;
	enum acct_rc rc = s->value[K] || strcmp(s->name, "rr") != 0 ? whole(s, K, 2, 1e12, &k) : ACCT_OK;

	if (rc || (rc = local(s, &eps0)))
		return rc;
	symbols((double)k, exp(eps0), r);
	return ACCT_OK;
}

/* Truthful messages into k bins among uniform dummies: participants hide nobody. */
static enum acct_rc bins_cells(struct spec *s, struct acct_round *r)
{
	uint64_t k = 2;
	enum acct_rc rc = whole(s, K, 2, 1e12, &k);
	double bins = (double)k;

	if (rc)
		return rc;
	r->cell[0] = (struct acct_cell){ 1 / bins, bins, 0 };
	r->cell[1] = (struct acct_cell){ 1 / bins, 0, bins };
	r->cell[2] = (struct acct_cell){ (bins - 2) / bins, 0, 0 };
	r->cells = k > 2 ? 3 : 2;
	r->others = 0;
	return ACCT_OK;
}

static bool is_truthful(const struct spec *s)
{
	char *end;

	return s->value[EPS0] && isinf(strtod(s->value[EPS0], &end)) && !*end && *s->value[EPS0] != '-';
}

static enum acct_rc mixbins_cells(struct spec *s, struct acct_round *r)
{
	return is_truthful(s) ? bins_cells(s, r) : grr_cells(s, r);
}

/* d-bit unary encoding, every bit kept with chance g/(1+g), g = e^(eps0/2): the victim's two bits decide.  Of
 * the reports with both bits set, the one with all bits set is as likely under every input. */
static enum acct_rc rappor_cells(struct spec *s, struct acct_round *r)
{
	uint64_t d;
	double eps0, g;
	enum acct_rc rc = whole(s, D, 2, 1e12, &d);

	if (rc || (rc = local(s, &eps0)))
		return rc;
	g = exp(eps0 / 2);
	double keep = g / (1 + g), flip = 1 / (1 + g), p = g * g;
	r->cell[0] = (struct acct_cell){ keep * flip / g, p, 1 };
	r->cell[1] = (struct acct_cell){ keep * flip / g, 1, p };
	double full = pow(flip, (double)d), both = d > 2 ? flip * flip - full : 0;
	r->cell[2] = (struct acct_cell){ keep * keep / g + full * g, 1, 1 };
	r->cell[3] = (struct acct_cell){ both / g, p, p };
	r->cells = both > 0 ? 4 : 3;
	return ACCT_OK;
}

/* s sampled bits, each kept with chance g/(1+g), g = e^(eps0/s): cell i, i bits agree with the second input.
 */
static enum acct_rc vrr_cells(struct spec *s, struct acct_round *r)
{
	uint64_t bits;
	double eps0, choose = 1;
	enum acct_rc rc = whole(s, S, 1, ACCT_MAX_CELLS - 1, &bits);

	if (rc || (rc = local(s, &eps0)))
		return rc;
	double m = (double)bits, g = exp(eps0 / m);
	for (uint64_t i = 0; i <= bits; i++) {
		double x = (double)i;

		r->cell[i] = (struct acct_cell){ choose * pow(1 / (1 + g), m), pow(g, m - x), pow(g, x) };
		choose *= (m - x) / (x + 1);
	}
	r->cells = bits + 1;
	return ACCT_OK;
}

/* a/b/..: up to 64 numbers. */
static enum acct_rc numbers(struct spec *s, enum key k, double out[ACCT_MAX_CELLS], size_t *size)
{
	const char *at = s->value[k];

	if (!at)
		return fail(s, "%s: %s= is missing", s->name, key_name[k]);
	for (*size = 0;; at++) {
		char *end;

		if (*size == ACCT_MAX_CELLS)
			return fail(
				s, "%s: %s= has more than %u numbers", s->name, key_name[k], ACCT_MAX_CELLS);
		out[*size] = strtod(at, &end);
		if (end == at || (*end && *end != '/') || isspace((unsigned char)*at))
			return fail(s, "%s: %s=%s is not numbers separated by /", s->name, key_name[k],
				s->value[k]);
		++*size;
		at = end;
		if (!*at)
			return ACCT_OK;
	}
}

static enum acct_rc listed_cells(struct spec *s, struct acct_round *r)
{
	double omega[ACCT_MAX_CELLS], u[ACCT_MAX_CELLS], v[ACCT_MAX_CELLS];
	size_t size[3];
	enum acct_rc rc;

	if ((rc = numbers(s, OMEGA, omega, &size[0])) || (rc = numbers(s, U, u, &size[1])) ||
		(rc = numbers(s, V, v, &size[2])))
		return rc;
	if (size[0] != size[1] || size[0] != size[2])
		return fail(s, "%s: omega, u and v need equally many numbers", s->name);
	r->cells = size[0];
	for (size_t j = 0; j < r->cells; j++)
		r->cell[j] = (struct acct_cell){ omega[j], u[j], v[j] };
	return ACCT_OK;
}

#define BIT(key) (1u << (key))

static const struct name {
	const char *name;
	cells_fn *cells;
	unsigned keys; /* besides n and count */
} names[] = {
	{ "pair", pair_cells, BIT(P) | BIT(BETA) | BIT(Q) | BIT(Q2) },
	{ "generic", generic_cells, BIT(EPS0) },
	{ "cells", listed_cells, BIT(OMEGA) | BIT(U) | BIT(V) | BIT(DUMMIES) },
	{ "rr", grr_cells, BIT(EPS0) },
	{ "grr", grr_cells, BIT(K) | BIT(EPS0) },
	{ "mixbins", mixbins_cells, BIT(K) | BIT(EPS0) | BIT(DUMMIES) },
	{ "bins", bins_cells, BIT(K) | BIT(DUMMIES) },
	{ "rappor", rappor_cells, BIT(D) | BIT(EPS0) },
	{ "vrr", vrr_cells, BIT(S) | BIT(EPS0) },
};

static enum acct_rc split(struct spec *s, const struct name *name, char *rest)
{
	for (char *item = rest, *next; item; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		char *value = strchr(item, '=');
		unsigned k = 0;

		if (!value)
			return fail(s, "%s: '%s' is not key=value", s->name, item);
		*value++ = '\0';
		while (k < KEYS && strcmp(item, key_name[k]) != 0)
			k++;
		if (k == KEYS || !((name->keys | BIT(N) | BIT(COUNT)) & BIT(k)))
			return fail(s, "%s: no such key '%s'", s->name, item);
		if (s->value[k])
			return fail(s, "%s: %s= is given twice", s->name, item);
		s->value[k] = value;
	}
	return ACCT_OK;
}

enum acct_rc acct_spec_parse(const char *text, struct acct_spec *out, char *why, size_t room)
{
	struct acct_round *r = &out->round;
	struct spec s = { .why = why, .room = room, .name = "round" };
	const struct name *name = NULL;
	uint64_t n = 1;
	enum acct_rc rc;
	const char *fault = "";

	if (strlen(text) >= sizeof s.text)
		return fail(&s, "a round is longer than %u characters", MOST_TEXT);
	memcpy(s.text, text, strlen(text) + 1);
	char *colon = strchr(s.text, ':');
	if (colon)
		*colon = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(s.text, names[i].name) == 0)
			name = &names[i];
	if (!name)
		return fail(&s, "no such protocol '%s'", s.text);
	s.name = name->name;
	if (colon && (rc = split(&s, name, colon + 1)))
		return rc;

	*out = (struct acct_spec){ .name = name->name };
	r->count = 1;
	bool blanketless = name->cells == bins_cells || (name->cells == mixbins_cells && is_truthful(&s));
	if ((s.value[N] || !blanketless) && (rc = whole(&s, N, 1, (double)ACCT_MAX_REPORTS, &n)))
		return rc;
	if (s.value[COUNT] && (rc = whole(&s, COUNT, 1, ACCT_MAX_COUNT, &r->count)))
		return rc;
	if ((s.value[DUMMIES] || name->cells == bins_cells) &&
		(rc = whole(&s, DUMMIES, 0, (double)ACCT_MAX_REPORTS, &r->dummies)))
		return rc;
	r->others = n - 1;
	if ((rc = name->cells(&s, r)))
		return rc;
	rc = acct_round_check(r, &fault);
	return rc ? fail(&s, "%s: %s", s.name, fault) : ACCT_OK;
}
