/* cmd_calibrate.c - searches for the value of one key that uses a budget best. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_search.h"

/* A real value is searched by its index among the numbers of six digits from 1e-9 upwards, of which there
 * are 900000 for each power of ten. */
#define DECADE    UINT64_C(900000)
#define MANTISSA  UINT64_C(100000)
#define LEAST_EXP (-9)
#define MOST_REAL (11 * DECADE + 600000) /* the index of 7.00000e2, the largest value */
#define ONE       (9 * DECADE)
#define MILLION   (15 * DECADE)

static void real_text(uint64_t index, char *out, size_t room)
{
	uint64_t mantissa = MANTISSA + index % DECADE;
	int exponent = LEAST_EXP + (int)(index / DECADE) - 5;
	char exact[CMD_NUMBER_ROOM];

	(void)snprintf(exact, sizeof exact, "%llue%d", (unsigned long long)mantissa, exponent);
	(void)snprintf(out, room, "%.6g", strtod(exact, NULL));
}

static void whole_text(uint64_t value, char *out, size_t room)
{
	(void)snprintf(out, room, "%llu", (unsigned long long)value);
}

static const struct key {
	const char *name;
	struct cmd_range range;
	void (*text)(uint64_t value, char *out, size_t room);
} keys[] = {
	{ "eps0", { 0, MOST_REAL, 9 * DECADE, DECADE / 3, true }, real_text },
	{ "p", { 9 * DECADE + 1, MOST_REAL, 9 * DECADE + 100000, DECADE / 3, true }, real_text },
	/* from 0.125 upwards */
	{ "sigma", { 8 * DECADE + 25000, MILLION, ONE, DECADE / 3, false }, real_text },
	/* from 0.002 upwards */
	{ "scale", { 6 * DECADE + 100000, MILLION, ONE, DECADE / 3, false }, real_text },
	{ "count", { 1, ACCT_MAX_COUNT, 1, 1, true }, whole_text },
	{ "n", { 1, ACCT_MAX_REPORTS, 1000, 1000, false }, whole_text },
	{ "dummies", { 0, ACCT_MAX_REPORTS, 1000, 1000, false }, whole_text },
};

struct open_round {
	const struct cmd_question *q;
	const struct acct_method *method;
	const struct key *key;
	char (*text)[CMD_SPEC_ROOM]; /* text of each round with the value filled in */
	struct acct_method_answer best;
	char value[CMD_NUMBER_ROOM]; /* the value of the key with which `best` was answered */
	uint64_t rounds;
	enum acct_rc rc; /* result of the last question, and its reason */
	const char *why;
	char bad[256]; /* why the text of a round with the value is invalid; empty if all are valid */
	size_t bad_round;
};

static enum cmd_fit not_a_round(struct open_round *o, size_t i, const char *why)
{
	(void)snprintf(o->bad, sizeof o->bad, "%s", why);
	o->bad_round = i;
	return CMD_NOT_A_ROUND;
}

/* Parse the texts of all rounds with the value filled in. */
static enum cmd_fit fill_in(struct open_round *o, uint64_t value, struct acct_spec *spec, size_t *parts)
{
	char text[CMD_NUMBER_ROOM], key[32], filled[CMD_SPEC_ROOM], why[256] = "";

	o->key->text(value, text, sizeof text);
	for (size_t i = 0; i < o->q->rounds; i++) {
		const char *given = o->q->text[i];
		size_t more = 0;
		bool open = cmd_spec_open(given, key, sizeof key);

		if (open && !cmd_spec_set(given, key, text, filled, sizeof filled))
			return not_a_round(o, i, "the text is too long");
		if (cmd_parts(open ? filled : given, o->q->published, &spec[*parts], &more, why, sizeof why))
			return not_a_round(o, i, why);
		*parts += more;
	}
	return CMD_FITS;
}

static enum cmd_fit fits(void *user, uint64_t value)
{
	struct open_round *o = user;
	struct acct_spec *spec = calloc(o->q->rounds * ACCT_SPEC_PARTS, sizeof *spec);
	struct acct_method_answer a;
	size_t parts = 0;

	o->rc = spec ? ACCT_OK : ACCT_ENOMEM;
	o->why = NULL;
	o->bad[0] = '\0';
	enum cmd_fit f = spec ? fill_in(o, value, spec, &parts) : CMD_FAULT;
	if (f == CMD_FITS) {
		o->rc = cmd_epsilon(o->method, o->q->published, spec, parts, o->q->delta, &a, &o->why);
		f = o->rc ? CMD_FAULT : a.bound.upper <= o->q->epsilon ? CMD_FITS : CMD_TOO_MUCH;
	}
	if (f == CMD_FITS) {
		o->best = a;
		o->key->text(value, o->value, sizeof o->value);
		o->rounds = cmd_repetitions(spec, parts);
	}
	free(spec);
	return f;
}

/* Find the one open key among all rounds. */
static enum cm_rc open_key(const struct cmd_question *q, const struct key **out)
{
	char first[32] = "", key[32], second[32], filled[CMD_SPEC_ROOM];

	for (size_t i = 0; i < q->rounds; i++) {
		if (!cmd_spec_open(q->text[i], key, sizeof key))
			continue;
		if (first[0] && strcmp(first, key) != 0)
			return cmd_fail(CM_EUSAGE, "calibrate: one open key at a time, not %s=? and %s=?",
				first, key);
		if (cmd_spec_set(q->text[i], key, "1", filled, sizeof filled) &&
			cmd_spec_open(filled, second, sizeof second))
			return cmd_fail(CM_EUSAGE, "calibrate: one open key at a time, not %s=? and %s=?",
				key, second);
		(void)snprintf(first, sizeof first, "%s", key);
	}
	if (!first[0])
		return cmd_fail(CM_EUSAGE,
			"calibrate: no --round says what is wanted: write eps0=? (or p, count, "
			"n, dummies, sigma, scale)");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(first, keys[i].name) == 0) {
			*out = &keys[i];
			return CM_OK;
		}
	return cmd_fail(CM_EUSAGE,
		"calibrate: cannot search %s=?, only eps0, p, count, n, dummies, sigma, scale", first);
}

static void print(const struct open_round *o, bool limited, double seconds)
{
	const struct cmd_question *q = o->q;

	if (q->format == CMD_OBJECT) {
		struct cmd_json j = cmd_json_begin(stdout);

		cmd_json_text(&j, "key", o->key->name);
		cmd_json_number(&j, "value", strtod(o->value, NULL));
		cmd_json_bool(&j, "limited", limited);
		cmd_json_bound(&j, "epsilon", o->best.bound);
		cmd_json_bound(&j, "delta", (struct acct_bound){ q->delta, q->delta });
		cmd_json_method(&j, q->method[0], q->published, &o->best);
		cmd_json_count(&j, "rounds", o->rounds);
		cmd_json_number(&j, "seconds", seconds);
		cmd_json_close(&j, '}');
		putchar('\n');
		return;
	}
	printf("%s=%s fits%s: ", o->key->name, o->value, limited ? " (the limit of this command)" : "");
	cmd_say_bound("epsilon", &o->best);
	printf(" at delta %g\n", q->delta);
	cmd_say_worth(q->method[0], q->published, &o->best);
}

static enum cm_rc refused(const struct open_round *o)
{
	if (o->bad[0])
		return cmd_not_a_round(o->q->text[o->bad_round], o->bad);
	return cmd_refused(o->q->method[0], o->rc, o->why);
}

/* The key's range, and as its start the value at which the normal limit (method clt) just fits the budget.
 * The normal limit answers at once, and is only a starting point. */
static struct cmd_range near_the_edge(const struct cmd_question *q, const struct key *key)
{
	struct open_round guess = { .q = q, .key = key, .method = acct_method_find("clt") };
	struct cmd_range range = key->range;
	uint64_t edge;

	if (!q->method[0]->cells || cmd_search(&range, fits, &guess, &edge) != CMD_EDGE)
		return range;
	range.start = edge;
	range.stride = key->text == real_text ? DECADE / 512 : 1 + edge / 64;
	return range;
}

enum cm_rc cmd_run_calibrate(const struct cmd_question *q)
{
	struct open_round o = { .q = q };
	uint64_t best;
	enum cm_rc code;

	if (q->method[0]->worth == ACCT_LOWER)
		return cmd_fail(CM_EUSAGE, "calibrate: --method %s bounds from below: nothing fits by it",
			q->method[0]->name);
	code = open_key(q, &o.key);
	if (!o.key)
		return code;
	double start = cmd_now();
	struct cmd_range range = near_the_edge(q, o.key);
	o.method = q->method[0];
	enum cmd_edge edge = cmd_search(&range, fits, &o, &best);
	if (edge == CMD_EDGE_FAULT)
		return refused(&o);
	if (edge == CMD_EDGE_NONE)
		return cmd_fail(
			CM_EBUDGET, "no %s fits epsilon %g at delta %g", o.key->name, q->epsilon, q->delta);
	print(&o, edge == CMD_EDGE_LIMIT, cmd_now() - start);
	return CM_OK;
}
