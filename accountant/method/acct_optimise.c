/* acct_optimise.c - allocates a budget over rounds by how well each must answer. */
#include "acct_optimise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_compose.h"
#include "acct_rung.h"

#define MOST_WISHES 1024u
#define NODES       100u
#define COARSE      0.1   /* step of a law over its deviation: its moments are known to a thousandth */
#define TAIL        1e-10 /* of delta, given up of each round */
#define STEPS       64
#define ENOUGH      1e-5 /* of the logarithm that is bisected */
#define FARTHEST    200.0

/* A key that may be open, with the range of its loose value: the value itself, or its inverse. */
struct key {
	const char *name;
	double least, most;
	bool inverse;
};

static const struct key keys[] = {
	{ "eps0", 1e-3, 20, false },
	{ "sigma", 1e-6, 8, true }, /* from 0.125 */
	{ "scale", 1e-6, 500, true },
};

/* An open round: log of its squared error, and of what it takes of the budget, at nodes of log loose. */
struct curve {
	const struct key *key;
	double least, most; /* loose values of the first node and of the last */
	double error[NODES], loss[NODES];
};

struct search {
	const struct acct_wish *wish;
	struct acct_granted *out, *tried;
	struct acct_spec *part; /* room for ACCT_SPEC_PARTS of each */
	struct acct_round *round;
	struct curve *curve;
	size_t n, rounds;
	bool targets;
	double epsilon, delta;
	double tilt, budget; /* the tilt of a normal loss that spends the budget, and its log moment there */
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

/* Where the value `?` of an open key stands, behind "key="; NULL: there is none. */
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

/* The round's text with a value of six digits; *value is what it says. */
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

static double loose_at(const struct curve *c, double node)
{
	return c->least * exp(log(c->most / c->least) * node / (NODES - 1));
}

/* The lambda at which a normal loss that spends the whole budget is tilted when its delta is summed. */
static void set_tilt(struct search *s)
{
	double epsilon = s->epsilon, delta = s->delta;
	double low = 1e-9, high = 1e9;

	for (int i = 0; i < 200; i++) { /* of mu, N(mu, 1) against N(0, 1) */
		double mu = sqrt(low * high), a = epsilon / mu - mu / 2, b = epsilon / mu + mu / 2;

		if (erfc(a / sqrt(2)) / 2 - exp(epsilon + log(fmax(erfc(b / sqrt(2)) / 2, 1e-300))) > delta)
			high = mu;
		else
			low = mu;
	}
	s->tilt = fmax(epsilon / (low * low) - 0.5, 1e-3);
	s->budget = s->tilt * (s->tilt + 1) / 2 * low * low;
}

/* What a round adds to the log moment at lambda, which is what it takes of the budget: log moments add up,
 * and epsilon is about their sum, and a number that no round changes, over lambda. */
static enum acct_rc log_moment(const struct acct_round *r, double lambda, double tail, double *out)
{
	struct acct_rung rung = { .step = 0 };
	struct acct_list list;
	double psi[3];
	enum acct_rc rc = acct_list_init(&list, r, NULL);

	*out = 0;
	if (!rc)
		rc = acct_rung_init(&rung, &list, tail);
	if (!rc && rung.deviation > 0) {
		rc = acct_rung_fit(&rung, acct_rung_floor(COARSE * rung.deviation), COARSE, lambda);
		if (!rc) {
			const struct acct_law *law = acct_rung_law(&rung, ACCT_ABOVE);
			const struct acct_part part = { law, (double)r->count };

			acct_parts_cumulant(&part, 1, rung.unit, lambda, psi);
			*out = fmax(psi[0], 0) + 1e3 * (double)r->count * law->infinite;
		}
	}
	acct_rung_fini(&rung);
	return rc;
}

/* Does the round fit alone? */
static enum acct_rc fits_alone(struct search *s, size_t i, double node, bool *does)
{
	struct acct_granted *g = &s->tried[i];
	struct acct_bound b;
	size_t parts;
	enum acct_rc rc;

	*s->at = i;
	if (!fill_in(s->wish[i].text, s->curve[i].key, loose_at(&s->curve[i], node), g))
		return refuse(s, i, "the text is too long");
	rc = s->read(g->text, s->part, &parts, s->why, s->room);
	for (size_t k = 0; k < parts && !rc; k++)
		s->round[k] = s->part[k].round;
	if (!rc && isnan(acct_share_error(s->part, parts)))
		return refuse(s, i, "the error of such a round is not known");
	if (!rc)
		rc = acct_epsilon(s->round, parts, s->delta, &b);
	*does = !rc && b.upper <= s->epsilon;
	return rc;
}

/* More than what fits alone is of no use. */
static enum acct_rc limit(struct search *s, size_t i)
{
	struct curve *c = &s->curve[i];
	double low = 0, high = NODES - 1;
	bool does;
	enum acct_rc rc = fits_alone(s, i, 0, &does);

	for (int k = 0; k < 10 && !rc; k++) {
		double middle = (low + high) / 2;

		rc = fits_alone(s, i, middle, &does);
		if (does)
			low = middle;
		else
			high = middle;
	}
	c->most = loose_at(c, high);
	return rc;
}

static enum acct_rc tabulate(struct search *s, size_t i)
{
	struct curve *c = &s->curve[i];
	struct acct_granted *g = &s->tried[i];
	enum acct_rc rc = limit(s, i);

	for (size_t k = 0; k < NODES && !rc; k++) {
		double loss = 0, one = 0;
		size_t parts = 0;

		(void)fill_in(s->wish[i].text, c->key, loose_at(c, (double)k), g);
		rc = s->read(g->text, s->part, &parts, s->why, s->room);
		for (size_t j = 0; j < parts && !rc; j++, loss += one)
			rc = log_moment(&s->part[j].round, s->tilt, TAIL * s->delta, &one);
		c->error[k] = rc ? 0 : 2 * log(acct_share_error(s->part, parts));
		c->loss[k] = log(fmax(loss, 1e-300));
	}
	return rc;
}

static double between(const double *table, double node)
{
	size_t k = (size_t)fmin(floor(node), NODES - 2);

	return table[k] + (node - (double)k) * (table[k + 1] - table[k]);
}

/* The node of least weight * error^2 + price * loss: the best of the table, then between its neighbours. */
static double cheapest(const struct curve *c, double weight, double price)
{
	double best = INFINITY, node = 0, low, high;

	for (size_t k = 0; k < NODES; k++) {
		double sum = weight * exp(c->error[k]) + price * exp(c->loss[k]);

		if (sum < best) {
			best = sum;
			node = (double)k;
		}
	}
	low = fmax(0, node - 1);
	high = fmin(NODES - 1, node + 1);
	for (int i = 0; i < STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;
		double at_a = weight * exp(between(c->error, a)) + price * exp(between(c->loss, a));
		double at_b = weight * exp(between(c->error, b)) + price * exp(between(c->loss, b));

		if (at_a <= at_b)
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

/* The least node at which the error is within the target; the last one if none is. */
static double accurate(const struct curve *c, double log_square)
{
	double low = 0, high = NODES - 1;

	if (c->error[0] <= log_square)
		return 0;
	for (int i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;

		if (between(c->error, middle) <= log_square)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* The node of round i at one point of the search: the larger `t`, the less is lost. */
static double node_at(const struct search *s, size_t i, double t)
{
	return s->targets ? accurate(&s->curve[i], t + 2 * log(s->wish[i].weight))
			  : cheapest(&s->curve[i], s->wish[i].weight, exp(t));
}

/* Fill in the values of one point of the search. */
static enum acct_rc fill_all(struct search *s, double t)
{
	enum acct_rc rc = ACCT_OK;

	s->rounds = 0;
	for (size_t i = 0; i < s->n && !rc; i++) {
		const struct curve *c = &s->curve[i];
		struct acct_granted *g = &s->tried[i];
		struct acct_spec *part = s->part;
		size_t parts;

		if (c->key)
			(void)fill_in(s->wish[i].text, c->key, loose_at(c, node_at(s, i, t)), g);
		*s->at = i;
		rc = s->read(g->text, part, &parts, s->why, s->room);
		if (rc)
			break;
		g->error = acct_share_error(part, parts);
		for (size_t k = 0; k < parts; k++)
			s->round[s->rounds++] = part[k].round;
	}
	return rc;
}

/* Does that fit? Then it is kept. */
static enum acct_rc fits(struct search *s, double t, struct acct_bound *total, bool *does)
{
	struct acct_bound b;
	enum acct_rc rc = fill_all(s, t);

	if (rc)
		return rc;
	*s->at = s->n;
	rc = acct_epsilon(s->round, s->rounds, s->delta, &b);
	if (rc) {
		(void)snprintf(s->why, s->room, "%s", acct_strerror(rc));
		return rc;
	}
	*does = b.upper <= s->epsilon;
	if (*does) {
		*total = b;
		memcpy(s->out, s->tried, s->n * sizeof *s->out);
	}
	return ACCT_OK;
}

/* About where the budget is spent, by the tables alone. */
static double first_guess(const struct search *s)
{
	double low = -FARTHEST, high = FARTHEST;

	for (int k = 0; k < STEPS; k++) {
		double middle = (low + high) / 2, sum = 0;

		for (size_t i = 0; i < s->n; i++)
			if (s->curve[i].key)
				sum += exp(between(s->curve[i].loss, node_at(s, i, middle)));
		if (sum > s->budget)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Gallop from the guess to a point that fits and one that does not, and bisect. */
static enum acct_rc look(struct search *s, struct acct_bound *total)
{
	double at = first_guess(s), low = -INFINITY, high = INFINITY;
	enum acct_rc rc = ACCT_OK;

	for (double step = 0.02; !rc && high - low > ENOUGH;) {
		bool does = false;

		rc = fits(s, at, total, &does);
		*(does ? &high : &low) = at;
		if (fabs(at) >= FARTHEST && (does ? at < 0 : at > 0))
			break; /* everything fits, or nothing does */
		if (isinf(low) || isinf(high)) {
			at = fmax(-FARTHEST, fmin(FARTHEST, does ? at - step : at + step));
			step *= 4;
		} else {
			at = (low + high) / 2;
		}
	}
	return rc;
}

static enum acct_rc check(struct search *s)
{
	size_t open = 0;

	if (!(s->epsilon > 0 && s->epsilon < INFINITY && s->delta > 0 && s->delta < 1))
		return refuse(s, s->n, "epsilon must be above 0, delta above 0 and below 1");
	if (s->n < 1 || s->n > MOST_WISHES)
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
		s->curve[i] = (struct curve){ .key = key, .least = key->least, .most = key->most };
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
		.targets = targets,
		.epsilon = epsilon,
		.delta = delta,
		.read = read,
		.at = at,
		.why = why,
		.room = room };
	size_t all = n <= MOST_WISHES ? n + 1 : 1;
	enum acct_rc rc = ACCT_ENOMEM;

	*total = (struct acct_bound){ 0, INFINITY };
	*at = n;
	s.tried = calloc(all, sizeof *s.tried);
	s.curve = calloc(all, sizeof *s.curve);
	s.part = calloc(ACCT_SPEC_PARTS, sizeof *s.part);
	s.round = calloc(all * ACCT_SPEC_PARTS, sizeof *s.round);
	if (s.tried && s.curve && s.part && s.round)
		rc = check(&s);
	if (!rc)
		set_tilt(&s);
	for (size_t i = 0; i < n && !rc; i++)
		if (s.curve[i].key)
			rc = tabulate(&s, i);
	if (!rc)
		rc = look(&s, total);
	free(s.tried);
	free(s.curve);
	free(s.part);
	free(s.round);
	return rc;
}
