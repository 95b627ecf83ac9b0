/* acct_abi.c - implements an account behind a handle, for bindings. */
#include "acct_abi.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "acct_abi_own.h"
#include "acct_abi_parts.h"
#include "acct_group.h"
#include "acct_method.h"
#include "acct_state.h"

/* A text that was added, and the index of its first part in the account. */
struct entry {
	char *text;
	size_t first, parts;
};

struct acct_abi {
	/* the parts of all texts; round.count is the number of repetitions so far */
	struct acct_spec *spec;
	size_t size, room;
	struct entry *text;
	size_t texts, text_room;
	uint64_t rounds;
};

const char *acct_abi_version(void)
{
	return TOMBOLA_VERSION;
}

struct acct_abi *acct_abi_new(void)
{
	return calloc(1, sizeof(struct acct_abi));
}

void acct_abi_free(struct acct_abi *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->texts; i++)
		free(a->text[i].text);
	free(a->text);
	free(a->spec);
	free(a);
}

uint64_t acct_abi_rounds(const struct acct_abi *a)
{
	return a->rounds;
}

static size_t find(const struct acct_abi *a, const char *text)
{
	size_t i = 0;

	while (i < a->texts && strcmp(a->text[i].text, text) != 0)
		i++;
	return i;
}

/* The largest number of repetitions among the parts. */
static uint64_t most_of(const struct acct_abi *a, const struct entry *e)
{
	uint64_t most = 0;

	for (size_t i = 0; i < e->parts; i++)
		if (a->spec[e->first + i].round.count > most)
			most = a->spec[e->first + i].round.count;
	return most;
}

/* Make room for one more text and its parts.  The size cannot overflow: everything in memory is far below
 * SIZE_MAX. */
static bool grow(struct acct_abi *a, size_t parts)
{
	size_t room = a->room ? a->room : 4, texts = a->text_room ? a->text_room : 4;

	while (room < a->size + parts)
		room *= 2;
	while (texts <= a->texts)
		texts *= 2;
	if (room > a->room) {
		struct acct_spec *spec = realloc(a->spec, room * sizeof *spec);

		if (!spec)
			return false;
		a->spec = spec;
		a->room = room;
	}
	if (texts > a->text_room) {
		struct entry *text = realloc(a->text, texts * sizeof *text);

		if (!text)
			return false;
		a->text = text;
		a->text_room = texts;
	}
	return true;
}

static bool append(struct acct_abi *a, const struct acct_abi_round *round, const char *text)
{
	char *copy = strdup(text);

	if (!copy || !grow(a, round->parts)) {
		free(copy);
		return false;
	}
	a->text[a->texts++] = (struct entry){ .text = copy, .first = a->size, .parts = round->parts };
	for (size_t i = 0; i < round->parts; i++) {
		a->spec[a->size] = round->part[i];
		a->spec[a->size++].round.count = 0;
	}
	return true;
}

/* Numbers use a decimal point, whatever the host program's locale is. */
static enum acct_rc parse(const char *text, struct acct_abi_round *out, struct acct_abi_why why)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (!plain)
		return acct_abi_say(why, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	locale_t before = uselocale(plain);
	enum acct_rc rc = acct_abi_is_own(text)
				  ? acct_abi_own(text, out, why)
				  : acct_spec_parts(text, out->part, &out->parts, why.text, why.room);
	uselocale(before);
	freelocale(plain);
	return rc;
}

static enum acct_rc repeat(
	struct acct_abi_round *round, uint64_t times, uint64_t most, struct acct_abi_why why)
{
	for (size_t i = 0; i < round->parts; i++) {
		if (times > most / round->part[i].round.count)
			return acct_abi_say(
				why, ACCT_ELIMIT, "one round is repeated more than 1000000 times");
		round->part[i].round.count *= times;
	}
	return ACCT_OK;
}

enum acct_rc acct_abi_round(
	const char *text, uint64_t times, uint64_t most, struct acct_abi_round **out, struct acct_abi_why why)
{
	*out = NULL;
	if (times < 1)
		return acct_abi_say(why, ACCT_EDOMAIN, "a round is repeated at least once");
	struct acct_abi_round *round = calloc(1, sizeof *round);
	if (!round)
		return acct_abi_say(why, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	enum acct_rc rc = parse(text, round, why);
	if (!rc)
		rc = repeat(round, times, most, why);
	if (rc)
		free(round);
	else
		*out = round;
	return rc;
}

enum acct_rc acct_abi_add(struct acct_abi *a, const char *text, uint64_t times, char *why, size_t room)
{
	struct acct_abi_round *round;
	size_t at = find(a, text);
	uint64_t before = at < a->texts ? most_of(a, &a->text[at]) : 0;
	struct acct_abi_why out = { why, room };
	enum acct_rc rc = acct_abi_round(text, times, ACCT_MAX_COUNT - before, &round, out);

	if (rc)
		return rc;
	if (at == a->texts && !append(a, round, text)) {
		free(round);
		return acct_abi_say(out, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	}
	for (size_t i = 0; i < round->parts; i++) {
		a->spec[a->text[at].first + i].round.count += round->part[i].round.count;
		a->rounds += round->part[i].round.count;
	}
	free(round);
	return ACCT_OK;
}

struct result {
	double *lower, *upper;
	int *worth; /* may be NULL */
};

/* Put one question to one analysis: epsilon at a delta, or delta at an epsilon. */
static enum acct_rc ask(const struct acct_abi *a, const struct acct_method *method, bool epsilon, double at,
	struct result result, struct acct_abi_why why)
{
	struct acct_method_answer answer = { .worth = ACCT_PROVED };
	const char *fault = NULL;

	if (epsilon && !(at > 0 && at < 1))
		return acct_abi_say(why, ACCT_EDOMAIN, "delta must be above 0 and below 1");
	if (!epsilon && !(at >= 0 && at < INFINITY))
		return acct_abi_say(why, ACCT_EDOMAIN, "epsilon must be finite and not negative");
	if (!method)
		return acct_abi_say(why, ACCT_EDOMAIN, "there is no such analysis");
	if (epsilon ? !method->epsilon : !method->delta)
		return acct_abi_say(why, ACCT_EDOMAIN, "the analysis does not answer this question");
	if (a->size > 0) {
		enum acct_rc rc =
			(epsilon ? method->epsilon : method->delta)(a->spec, a->size, at, &answer, &fault);

		if (rc)
			return acct_abi_say(why, rc, fault ? fault : acct_strerror(rc));
	}
	*result.lower = answer.bound.lower;
	*result.upper = answer.bound.upper;
	if (result.worth)
		*result.worth = (int)answer.worth;
	return acct_abi_say(why, ACCT_OK, answer.note ? answer.note : "");
}

enum acct_rc acct_abi_epsilon_by(const struct acct_abi *a, const char *method, double delta, double *lower,
	double *upper, int *worth, char *why, size_t room)
{
	return ask(a, acct_method_find(method), true, delta, (struct result){ lower, upper, worth },
		(struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_epsilons_by(const struct acct_abi *a, const char *method, const double *delta,
	size_t deltas, double *lower, double *upper, int *worth, char *why, size_t room)
{
	const struct acct_method *m = acct_method_find(method);
	struct acct_abi_why out = { why, room };
	struct acct_method_answer *answer = NULL;
	const char *fault = NULL;
	enum acct_rc rc = ACCT_OK;

	if (!m)
		return acct_abi_say(out, ACCT_EDOMAIN, "there is no such analysis");
	if (deltas == 0)
		return acct_abi_say(out, ACCT_EDOMAIN, "there are no deltas");
	for (size_t i = 0; i < deltas; i++)
		if (!(delta[i] > 0 && delta[i] < 1))
			return acct_abi_say(out, ACCT_EDOMAIN, "delta must be above 0 and below 1");
	answer = calloc(deltas, sizeof *answer);
	if (!answer)
		return acct_abi_say(out, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	if (a->size > 0)
		rc = acct_method_epsilons(m, a->spec, a->size, delta, deltas, answer, &fault);
	*worth = rc ? *worth : ACCT_PROVED;
	for (size_t i = 0; i < deltas && !rc; i++) {
		lower[i] = answer[i].bound.lower;
		upper[i] = answer[i].bound.upper;
		*worth = (int)answer[i].worth > *worth ? (int)answer[i].worth : *worth;
		fault = answer[i].note ? answer[i].note : fault;
	}
	rc = acct_abi_say(out, rc, fault ? fault : rc ? acct_strerror(rc) : "");
	free(answer);
	return rc;
}

enum acct_rc acct_abi_delta_by(const struct acct_abi *a, const char *method, double epsilon, double *lower,
	double *upper, int *worth, char *why, size_t room)
{
	return ask(a, acct_method_find(method), false, epsilon, (struct result){ lower, upper, worth },
		(struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_epsilon(
	const struct acct_abi *a, double delta, double *lower, double *upper, char *why, size_t room)
{
	return acct_abi_epsilon_by(a, "pld", delta, lower, upper, NULL, why, room);
}

enum acct_rc acct_abi_delta(
	const struct acct_abi *a, double epsilon, double *lower, double *upper, char *why, size_t room)
{
	return acct_abi_delta_by(a, "pld", epsilon, lower, upper, NULL, why, room);
}

const char *acct_abi_method(size_t i)
{
	const struct acct_method *method = acct_method_row(i);

	return method ? method->name : NULL;
}

const char *acct_abi_method_summary(size_t i)
{
	const struct acct_method *method = acct_method_row(i);

	return method ? method->summary : NULL;
}

/* Add all parts of a round, or none. */
static enum acct_rc add_parts(struct acct_state *s, const struct acct_abi_round *round)
{
	enum acct_rc rc = ACCT_OK;
	size_t done = 0;

	while (!rc && done < round->parts)
		if (!(rc = acct_state_add(s, &round->part[done].round)))
			done++;
	/* Removing a part that was just added cannot fail. */
	while (rc && done > 0)
		if (acct_state_remove(s, &round->part[--done].round))
			return ACCT_EDOMAIN;
	return rc;
}

enum acct_rc acct_abi_state_add(
	struct acct_state *s, const char *text, uint64_t times, char *why, size_t room)
{
	struct acct_abi_why out = { why, room };
	struct acct_abi_round *round;
	enum acct_rc rc = acct_abi_round(text, times, ACCT_MAX_COUNT, &round, out);

	if (rc)
		return rc;
	rc = add_parts(s, round);
	free(round);
	return rc ? acct_abi_say(out, rc, acct_strerror(rc)) : ACCT_OK;
}

enum acct_rc acct_abi_state_epsilon(struct acct_state *s, const char *candidate, uint64_t times,
	double *lower, double *upper, char *why, size_t room)
{
	struct acct_abi_why out = { why, room };
	struct acct_bound eps;
	struct acct_abi_round *round = NULL;
	struct acct_round cells[ACCT_SPEC_PARTS];
	enum acct_rc rc = candidate ? acct_abi_round(candidate, times, ACCT_MAX_COUNT, &round, out) : ACCT_OK;

	if (rc)
		return rc;
	for (size_t i = 0; round && i < round->parts; i++)
		cells[i] = round->part[i].round;
	rc = acct_state_epsilon_with(s, cells, round ? round->parts : 0, &eps);
	free(round);
	if (rc)
		return acct_abi_say(out, rc, acct_strerror(rc));
	*lower = eps.lower;
	*upper = eps.upper;
	return ACCT_OK;
}

/* The account's rounds in the form that the core takes, to be freed; NULL: out of memory. */
static struct acct_round *rounds_of(const struct acct_abi *a, size_t *n)
{
	struct acct_round *r = calloc(a->size > 0 ? a->size : 1, sizeof *r);

	*n = a->size;
	for (size_t i = 0; r && i < *n; i++)
		r[i] = a->spec[i].round;
	return r;
}

enum acct_rc acct_abi_export(const struct acct_abi *a, double range, double tail, size_t points,
	struct acct_pld *out, char *why, size_t room)
{
	struct acct_abi_why to = { why, room };
	size_t n;
	struct acct_round *r = rounds_of(a, &n);
	enum acct_rc rc = r ? acct_export_pld(r, n, range, tail, points, out) : ACCT_ENOMEM;

	free(r);
	if (rc == ACCT_EDOMAIN)
		return acct_abi_say(to, rc,
			n == 0 ? "there are no rounds"
			       : "2 to 4096 points, a range of 0 to 600, a tail above 0 and below 1");
	return acct_abi_say(to, rc, rc ? acct_strerror(rc) : "");
}

typedef enum acct_rc group_fn(
	const struct acct_round *rounds, size_t n, unsigned group, double at, struct acct_bound *out);

static enum acct_rc of_group(group_fn *of, const struct acct_abi *a, unsigned group, double at,
	struct acct_bound *out, struct acct_abi_why why)
{
	size_t n;
	struct acct_round *r = rounds_of(a, &n);
	enum acct_rc rc = r ? ACCT_OK : ACCT_ENOMEM;

	*out = (struct acct_bound){ 0, 0 };
	if (!rc && n > 0)
		rc = of(r, n, group, at, out);
	free(r);
	if (rc == ACCT_EDOMAIN)
		return acct_abi_say(why, rc,
			"a group has 1 to 1000000 records, delta is above 0 and below 1, epsilon not "
			"negative");
	return acct_abi_say(why, rc, rc ? acct_strerror(rc) : "");
}

enum acct_rc acct_abi_group_epsilon(const struct acct_abi *a, unsigned group, double delta, double *lower,
	double *upper, char *why, size_t room)
{
	struct acct_bound b;
	enum acct_rc rc =
		of_group(acct_group_epsilon, a, group, delta, &b, (struct acct_abi_why){ why, room });

	if (!rc) {
		*lower = b.lower;
		*upper = b.upper;
	}
	return rc;
}

enum acct_rc acct_abi_group_delta(const struct acct_abi *a, unsigned group, double epsilon, double *lower,
	double *upper, char *why, size_t room)
{
	struct acct_bound b;
	enum acct_rc rc =
		of_group(acct_group_delta, a, group, epsilon, &b, (struct acct_abi_why){ why, room });

	if (!rc) {
		*lower = b.lower;
		*upper = b.upper;
	}
	return rc;
}
