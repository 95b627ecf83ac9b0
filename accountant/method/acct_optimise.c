/* acct_optimise.c - divides a budget among rounds by how well each must answer. */
#include "acct_optimise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_allocate.h"

/* A key that may be open (`key=?`), and the range of the searched value, which is the key's value itself or
 * its inverse. */
struct key {
	const char *name;
	double least, most;
	bool inverse;
};

#define NODES 100u

static const struct key keys[] = {
	{ "eps0", 1e-3, 20, false },
	/* sigma from 0.125 upwards: its inverse is searched, which is then at most 8 */
	{ "sigma", 1e-6, 8, true },
	{ "scale", 1e-6, 500, true },
};

struct search {
	const struct acct_wish *wish;
	struct acct_granted *out, *tried;
	struct key *key; /* the key that is open in the wish; NULL: none is */
	struct acct_loose *loose;
	struct acct_spec *part; /* has room for ACCT_SPEC_PARTS */
	struct acct_round *round;
	size_t n;
	double delta, epsilon;
	struct acct_bound *total;
	acct_read_fn *read;
	size_t *at;
	char *why;
	size_t room;
};

static enum acct_rc refuse(struct search *s, size_t at, const char *sentence)
{
	*s->at = at;
	(void)snprintf(s->why, s->room, "%s", sentence);
	return ACCT_EDOMAIN;
}

/* Find the `?` behind the "key=" of an open key; NULL: the text has none. */
static const char *open_at(const char *text, const struct key **key)
{
	for (const char *at = strchr(text, ':'); at; at = strchr(at, ',')) {
		at++;
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
			size_t length = strlen(keys[k].name);

			if (strncmp(at, keys[k].name, length) == 0 && at[length] == '=' &&
				at[length + 1] == '?' && (at[length + 2] == ',' || !at[length + 2])) {
				*key = &keys[k];
				return at + length + 1;
			}
		}
	}
	return NULL;
}

/* Write the round's text with a value of six digits in place of `?`.  loose: the searched value; *value:
 * the key's value as written. */
static bool fill_in(const char *text, const struct key *key, double loose, struct acct_granted *out)
{
	const char *hole = open_at(text, &key);
	char number[40];
	int length;

	(void)snprintf(number, sizeof number, "%.6g", key->inverse ? 1 / loose : loose);
	out->value = strtod(number, NULL);
	length =
		snprintf(out->text, sizeof out->text, "%.*s%s%s", (int)(hole - text), text, number, hole + 1);
	return length > 0 && (size_t)length < sizeof out->text;
}

/* Read the parts of wish i with the value that is tried, and compute its error. */
static enum acct_rc read_tried(struct search *s, size_t i, struct acct_round *round, size_t *parts)
{
	struct acct_granted *g = &s->tried[i];
	enum acct_rc rc;

	*s->at = i;
	rc = s->read(g->text, s->part, parts, s->why, s->room);
	if (rc)
		return rc;
	g->error = acct_share_error(s->part, *parts);
	for (size_t k = 0; k < *parts; k++)
		round[k] = s->part[k].round;
	return ACCT_OK;
}

static enum acct_rc offer(void *user, size_t i, double value, struct acct_round part[ACCT_ALLOCATE_PARTS],
	size_t *parts, double *error)
{
	struct search *s = user;
	enum acct_rc rc;

	if (!fill_in(s->wish[i].text, &s->key[i], value, &s->tried[i]))
		return refuse(s, i, "the text is too long");
	rc = read_tried(s, i, part, parts);
	if (rc)
		return rc;
	*error = s->tried[i].error;
	return isnan(*error) ? refuse(s, i, "the error of such a round is not known") : ACCT_OK;
}

/* Do the values fit the budget?  If they do, keep them. */
static enum acct_rc fits(void *user, const double *value, bool *does)
{
	struct search *s = user;
	struct acct_bound b;
	size_t rounds = 0, parts = 0;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < s->n && !rc; i++, rounds += parts) {
		if (s->key[i].name)
			(void)fill_in(s->wish[i].text, &s->key[i], value[i], &s->tried[i]);
		rc = read_tried(s, i, s->round + rounds, &parts);
	}
	if (rc)
		return rc;
	*s->at = s->n;
	rc = acct_epsilon(s->round, rounds, s->delta, &b);
	if (rc) {
		(void)snprintf(s->why, s->room, "%s", acct_strerror(rc));
		return rc;
	}
	*does = b.upper <= s->epsilon;
	if (*does) {
		*s->total = b;
		memcpy(s->out, s->tried, s->n * sizeof *s->out);
	}
	return ACCT_OK;
}

static enum acct_rc check(struct search *s)
{
	size_t open = 0;

	if (!(s->epsilon > 0 && s->epsilon < INFINITY && s->delta > 0 && s->delta < 1))
		return refuse(s, s->n, "epsilon must be above 0, delta above 0 and below 1");
	if (s->n < 1 || s->n > ACCT_ALLOCATE_ROUNDS)
		return refuse(s, s->n, "1 to 1024 rounds");
	for (size_t i = 0; i < s->n; i++) {
		const struct key *key = NULL;
		const char *hole = open_at(s->wish[i].text, &key);

		if (strlen(s->wish[i].text) >= ACCT_SPEC_MAX)
			return refuse(s, i, "the text is too long");
		s->tried[i].open = hole != NULL;
		s->tried[i].value = NAN;
		(void)snprintf(s->tried[i].text, sizeof s->tried[i].text, "%s", s->wish[i].text);
		if (!hole)
			continue;
		if (strstr(hole, "=?"))
			return refuse(s, i, "one open key in a round");
		if (!(s->wish[i].weight > 0 && s->wish[i].weight < INFINITY))
			return refuse(s, i, "a weight or an error must be above 0 and finite");
		s->key[i] = *key;
		s->loose[i] = (struct acct_loose){ key->least, key->most, s->wish[i].weight, NODES };
		open++;
	}
	return open ? ACCT_OK
		    : refuse(s, s->n, "no round says what is wanted: write eps0=? (or sigma, scale)");
}

enum acct_rc acct_optimise(const struct acct_wish *wish, size_t n, bool targets, double epsilon, double delta,
	acct_read_fn *read, struct acct_granted *out, struct acct_bound *total, size_t *at, char *why,
	size_t room)
{
	struct search s = { .wish = wish,
		.out = out,
		.n = n,
		.epsilon = epsilon,
		.delta = delta,
		.total = total,
		.read = read,
		.at = at,
		.why = why,
		.room = room };
	size_t all = n <= ACCT_ALLOCATE_ROUNDS ? n + 1 : 1;
	enum acct_rc rc = ACCT_ENOMEM;
	bool found;

	*total = (struct acct_bound){ 0, INFINITY };
	*at = n;
	s.tried = calloc(all, sizeof *s.tried);
	s.key = calloc(all, sizeof *s.key);
	s.loose = calloc(all, sizeof *s.loose);
	s.part = calloc(ACCT_SPEC_PARTS, sizeof *s.part);
	s.round = calloc(all * ACCT_SPEC_PARTS, sizeof *s.round);
	if (s.tried && s.key && s.loose && s.part && s.round)
		rc = check(&s);
	if (!rc) {
		const struct acct_allocation a = { s.loose, n, targets, epsilon, delta, &s, offer, fits };

		rc = acct_allocate(&a, &found);
	}
	free(s.tried);
	free(s.key);
	free(s.loose);
	free(s.part);
	free(s.round);
	return rc;
}
