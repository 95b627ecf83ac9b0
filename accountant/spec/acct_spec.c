/* acct_spec.c - reads rounds from text, the grammar `name:key=value,...`, and writes them as text. */
#include "acct_spec.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_families.h"
#include "acct_fault.h"
#include "acct_named.h"
#include "acct_suggest.h"

/* The longest text has every part of a round at its longest; it must stay below ACCT_SPEC_MAX. */
#define NUMBER 24u /* bytes of a positive double with 17 digits, and of the separator before it */
#define WHOLE  20u
_Static_assert(
	ACCT_MAX_CELLS * 3 * NUMBER + ACCT_MAX_LEVELS * (NUMBER + WHOLE) + 2 * NUMBER + 3 * WHOLE + 140 <
		ACCT_SPEC_MAX,
	"every round has a text");

/* Parameters that every round takes. */
enum common { N, COUNT, SAMPLING, POISSON, DEFECT, COMMON };

static const struct acct_param common[COMMON] = {
	{ "n", ACCT_WHOLE, 1, (double)ACCT_MAX_REPORTS + 1, true, false },
	{ "count", ACCT_WHOLE, 1, ACCT_MAX_COUNT, true, false },
	{ "sampling", ACCT_BETWEEN, 0, 1, true, false },
	{ "poisson", ACCT_REAL, 0, 0, true, false },
	{ "defect", ACCT_REAL, 0, 0, true, false },
};

/* A text that is being read: the value of each parameter, NULL if the text does not have it. */
struct reading {
	const char *name;
	const char *value[ACCT_NAMED_PARAMS], *common[COMMON];
	char text[ACCT_SPEC_MAX];
	char *why;
	size_t room;
};

__attribute__((format(printf, 2, 3))) static void say(struct reading *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->why, t->room, format, ap);
	va_end(ap);
}

/* An expression, so that static analysis of the callers sees its value. */
#define fail(...) (say(__VA_ARGS__), ACCT_EDOMAIN)

static enum acct_rc in_range(struct reading *t, const struct acct_param *p, double x, const char *text)
{
	bool between = x > p->least && x < p->most;

	if (p->kind == ACCT_BETWEEN && !between)
		return fail(t, "%s: %s=%s must be above %g and below %g", t->name, p->key, text, p->least,
			p->most);
	if (p->kind == ACCT_BETWEEN_INF && !between && !(isinf(x) && x > 0))
		return fail(t, "%s: %s=%s must be above %g and below %g, or inf", t->name, p->key, text,
			p->least, p->most);
	if (p->kind == ACCT_WHOLE && !(x >= p->least && x <= p->most && x == floor(x)))
		return fail(t, "%s: %s=%s must be a whole number from %.0f to %.0f", t->name, p->key, text,
			p->least, p->most);
	return ACCT_OK;
}

/* Read a number, or numbers a/b/.. where the parameter is a list. */
static enum acct_rc numbers(
	struct reading *t, const struct acct_param *p, const char *text, struct acct_arg *out)
{
	out->size = 0;
	if (!text)
		return p->optional ? ACCT_OK : fail(t, "%s: %s= is missing", t->name, p->key);
	for (const char *at = text;; at++) {
		char *end;

		if (out->size == ACCT_MAX_CELLS)
			return fail(t, "%s: %s= has more than %u numbers", t->name, p->key, ACCT_MAX_CELLS);
		double x = strtod(at, &end);
		bool whole = end > at && !isspace((unsigned char)*at) && !isnan(x);

		if (!whole || (*end && !(p->list && *end == '/')))
			return fail(t, "%s: %s=%s is not %s", t->name, p->key, text,
				p->list ? "numbers separated by /" : "a number");
		enum acct_rc rc = in_range(t, p, x, text);
		if (rc)
			return rc;
		out->x[out->size++] = x;
		at = end;
		if (!*at)
			return ACCT_OK;
	}
}

static const char **place(struct reading *t, const struct acct_named *named, const char *key)
{
	for (size_t i = 0; i < COMMON; i++)
		if (strcmp(key, common[i].key) == 0)
			return &t->common[i];
	for (size_t i = 0; i < ACCT_NAMED_PARAMS && named->param[i].key; i++)
		if (strcmp(key, named->param[i].key) == 0)
			return &t->value[i];
	return NULL;
}

static const char *name_word(const void *list, size_t i)
{
	const struct acct_named *row = acct_named_row(i);

	(void)list;
	return row ? row->name : NULL;
}

static const char *key_word(const void *list, size_t i)
{
	const struct acct_named *named = list;

	if (i < COMMON)
		return common[i].key;
	return i < COMMON + ACCT_NAMED_PARAMS ? named->param[i - COMMON].key : NULL;
}

static enum acct_rc unknown_name(struct reading *t)
{
	const char *meant = acct_suggest(t->text, name_word, NULL);

	return meant ? fail(t, "no such protocol '%s'; did you mean %s?", t->text, meant)
		     : fail(t, "no such protocol '%s' ('tombola-accountant names' lists them)", t->text);
}

static enum acct_rc unknown_key(struct reading *t, const struct acct_named *named, const char *key)
{
	const char *meant = acct_suggest(key, key_word, named);

	return meant ? fail(t, "%s: no such key '%s'; did you mean %s=?", t->name, key, meant)
		     : fail(t,
			       "%s: no such key '%s'; there are %s and n=, count=, sampling=, poisson=, "
			       "defect=",
			       t->name, key, named->keys);
}

static enum acct_rc split(struct reading *t, const struct acct_named *named, char *rest)
{
	for (char *item = rest, *next; item; item = next) {
		next = strchr(item, ',');
		if (next)
			*next++ = '\0';
		char *value = strchr(item, '=');

		if (!value)
			return fail(t, "%s: '%s' is not key=value", t->name, item);
		*value++ = '\0';
		const char **at = place(t, named, item);
		if (!at)
			return unknown_key(t, named, item);
		if (*at)
			return fail(t, "%s: %s= is given twice", t->name, item);
		*at = value;
	}
	return ACCT_OK;
}

static uint64_t repetitions(const struct reading *t)
{
	return t->common[COUNT] ? (uint64_t)strtod(t->common[COUNT], NULL) : 1;
}

static enum acct_rc read_common(struct reading *t, const struct acct_named *named, struct acct_spec *s)
{
	struct acct_arg arg[COMMON];
	enum acct_rc rc;

	for (size_t i = 0; i < COMMON; i++)
		if ((rc = numbers(t, &common[i], t->common[i], &arg[i])))
			return rc;
	if (arg[N].size == 0 && !named->n_optional)
		return fail(t, "%s: n= is missing", t->name);
	*s = (struct acct_spec){ .name = named->name };
	if (arg[N].size > 0) {
		s->participants = (uint64_t)arg[N].x[0];
		s->round.others = s->participants - 1;
	}
	s->round.count = repetitions(t);
	s->round.sampling = arg[SAMPLING].size > 0 ? arg[SAMPLING].x[0] : 0;
	s->round.defect = arg[DEFECT].size > 0 ? arg[DEFECT].x[0] : 0;
	return ACCT_OK;
}

/* Compute the facts of struct acct_spec that follow from the cells: the largest ratio p of the pair, its
 * distance beta, and q, how far it exceeds the blanket, which is the least that others of any level
 * send. */
static void add_facts(struct acct_spec *s)
{
	const struct acct_round *r = &s->round;
	double p = 0, q = 0, beta = 0, least = 1;

	for (size_t j = 0; j < r->cells; j++) {
		double high = fmax(r->cell[j].u, r->cell[j].v), low = fmin(r->cell[j].u, r->cell[j].v);

		q = fmax(q, high);
		beta += r->cell[j].omega * fmax(0, r->cell[j].u - r->cell[j].v);
		if (high > 0)
			p = fmax(p, high / low);
	}
	for (size_t i = 0; i < r->levels; i++)
		least = fmin(least, r->level[i].share);
	if (!(s->p > 0) && r->levels == 0) {
		s->p = p;
		s->q = q;
		s->beta = beta;
	}
	if (!(s->eps0 > 0))
		s->eps0 = s->p > 0 ? log(fmax(s->p, s->q)) : log(fmax(p, q / least));
}

/* A guarantee above 0 loses something, even where e^eps0 rounds to 1.  So keep u and v apart: if they are
 * equal to the bit, the core computes no loss at all. */
static void keep_apart(struct acct_spec *s)
{
	struct acct_round *r = &s->round;

	if (!(s->eps0 > 0))
		return;
	for (size_t j = 0; j < r->cells; j++)
		if (r->cell[j].u > r->cell[j].v || r->cell[j].u < r->cell[j].v)
			return;
	r->cell[0].u *= 1 + DBL_EPSILON;
}

/* The largest value of eps0=, which in every row is the local guarantee of each participant or the epsilon
 * of a central guarantee; 0: the row has no such key. */
static double pure_of(const struct acct_named *named, const struct acct_arg *arg)
{
	double most = 0;

	for (size_t i = 0; i < ACCT_NAMED_PARAMS && named->param[i].key; i++) {
		bool central = named->cells == acct_named_guarantee;

		if (central && i > 0 && arg[i].size > 0 && arg[i].x[0] > 0)
			return 0;
		if (strcmp(named->param[i].key, central ? "epsilon" : "eps0") != 0)
			continue;
		for (size_t j = 0; j < arg[i].size; j++)
			most = fmax(most, arg[i].x[j]);
	}
	return isfinite(most) ? most : 0;
}

/* Complete the slots that the row's function filled; the first slot without cells ends them. */
static enum acct_rc finish(struct reading *t, struct acct_spec *part, size_t *parts)
{
	const char *fault = "";
	size_t n = 0;

	do {
		if (part[n].round.count > ACCT_MAX_COUNT)
			return fail(t, "%s: slots, times count, must be at most %u", t->name, ACCT_MAX_COUNT);
		if (acct_round_check(&part[n].round, &fault))
			return fail(t, "%s: %s", t->name, fault);
		if (part[n].round.event == ACCT_SHUFFLED) {
			keep_apart(&part[n]);
			add_facts(&part[n]);
		}
		n++;
	} while (n < ACCT_SPEC_PARTS && part[n].round.cells > 0); /* a central event has one part */
	*parts = n;
	return ACCT_OK;
}

/* Apply Poisson sampling to the one slot of the named randomizer.  What its row says of data sets holds
 * where all participants report, so it is dropped. */
static enum acct_rc poisson(struct reading *t, struct acct_spec *part, const char **fault)
{
	struct acct_spec *s = &part[0];

	if (s->round.event == ACCT_SHUFFLED && s->participants == 0)
		return acct_fault(fault, "poisson needs n=");
	if (part[1].round.cells > 0 || s->round.count != repetitions(t))
		return acct_fault(fault, "poisson with several slots: one draw decides for all of them");
	s->exact = s->some = s->third = s->uniform = false;
	s->held.cells = 0;
	s->k = s->triple = 0;
	s->poisson = strtod(t->common[POISSON], NULL);
	/* with silence a bit is a report of two laws that bears a public label */
	if (s->eps0 > ACCT_NAMED_LEAST &&
		(s->round.messages == ACCT_BITS || s->round.messages == ACCT_LABELLED_BITS))
		acct_family_set(&s->round, ACCT_SETS, NULL);
	return acct_round_poisson(&s->round, s->poisson, fault);
}

enum acct_rc acct_spec_parts(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room)
{
	struct reading t = { .why = why, .room = room, .name = "round" };
	struct acct_arg arg[ACCT_NAMED_PARAMS] = { { 0 } };
	const char *fault = "";
	enum acct_rc rc;

	if (strlen(text) >= sizeof t.text)
		return fail(&t, "a round is longer than %u characters", ACCT_SPEC_MAX - 1);
	memcpy(t.text, text, strlen(text) + 1);
	char *colon = strchr(t.text, ':');
	if (colon)
		*colon = '\0';
	const struct acct_named *named = acct_named_find(t.text);
	if (!named)
		return unknown_name(&t);
	t.name = named->name;
	if ((colon && (rc = split(&t, named, colon + 1))) || (rc = read_common(&t, named, &part[0])))
		return rc;
	for (size_t i = 1; i < ACCT_SPEC_PARTS; i++)
		part[i] = part[0];
	for (size_t i = 0; i < ACCT_NAMED_PARAMS && named->param[i].key; i++)
		if ((rc = numbers(&t, &named->param[i], t.value[i], &arg[i])))
			return rc;
	if (named->cells(arg, part, &fault) || (t.common[POISSON] && poisson(&t, part, &fault)))
		return fail(&t, "%s: %s", t.name, fault);
	for (size_t i = 0; i < ACCT_SPEC_PARTS; i++)
		part[i].pure = part[i].round.defect > 0 ? 0 : pure_of(named, arg);
	return finish(&t, part, parts);
}

enum acct_rc acct_spec_parse(const char *text, struct acct_spec *s, char *why, size_t room)
{
	struct acct_spec *part = calloc(ACCT_SPEC_PARTS, sizeof *part);
	struct reading t = { .why = why, .room = room };
	size_t parts;

	if (!part)
		return ACCT_ENOMEM;
	enum acct_rc rc = acct_spec_parts(text, part, &parts, why, room);

	if (!rc && parts > 1)
		rc = fail(&t, "%s: a round of %zu different slots, where one is wanted", part[0].name, parts);
	if (!rc)
		*s = part[0];
	free(part);
	return rc;
}

/* A text that is being written; acct_spec_parse reads it back. */
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

/* Write a number: 17 digits identify every double. */
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

static void put_others(struct text *t, const struct acct_round *r)
{
	if (r->dummies > 0)
		put(t, ",dummies=%" PRIu64, r->dummies);
	for (size_t i = 0; i < r->levels; i++)
		put_real(t, i == 0 ? ",others_share=" : "/", r->level[i].share);
	for (size_t i = 0; i < r->levels; i++)
		put(t, "%s%" PRIu64, i == 0 ? ",others_n=" : "/", r->level[i].count);
}

static void put_classes(struct text *t, const struct acct_round *r)
{
	put_real(t, "gspa-classes:k=", r->shape[0]);
	for (size_t i = 0; i < r->levels; i++)
		put_real(t, i == 0 ? ",eps0=" : "/", r->level[i].share);
	for (size_t i = 0; i < r->levels; i++)
		put(t, "%s%" PRIu64, i == 0 ? ",least=" : "/", r->level[i].count);
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
		put_others(&t, r);
	} else if (r->event == ACCT_CLASSES_APART) {
		put_classes(&t, r);
	} else {
		put_central(&t, r);
	}
	if (r->defect > 0)
		put_real(&t, ",defect=", r->defect);
	if (r->sampling > 0)
		put_real(&t, ",sampling=", r->sampling);
	if (messages != ACCT_ANY_MESSAGES)
		put(&t, ",messages=%u", messages);
	if (messages == ACCT_SETS)
		put_real(&t, ",triple=", r->shape[0]);
	if (r->present > 0)
		put_real(&t, ",present=", r->present);
	for (int i = 0; i < 3 && messages > ACCT_LADDER; i++)
		put_real(&t, i == 0 ? ",shape=" : "/", r->shape[i]);
	if (r->count > 1)
		put(&t, ",count=%" PRIu64, r->count);
	return ACCT_OK;
}
