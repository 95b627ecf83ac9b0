/* acct_abi.c - an account behind a handle. */
#include "acct_abi.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"

struct entry {
	struct acct_spec spec; /* round.count: repetitions so far */
	char *text;
};

struct acct_abi {
	struct entry *entry;
	size_t size, room;
	uint64_t rounds;
};

typedef enum acct_rc answer_fn(const struct acct_round *rounds, size_t n, double at, struct acct_bound *out);

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
	for (size_t i = 0; i < a->size; i++)
		free(a->entry[i].text);
	free(a->entry);
	free(a);
}

uint64_t acct_abi_rounds(const struct acct_abi *a)
{
	return a->rounds;
}

static enum acct_rc fail(enum acct_rc rc, char *why, size_t room, const char *sentence)
{
	if (room > 0)
		snprintf(why, room, "%s", sentence);
	return rc;
}

static struct entry *find(const struct acct_abi *a, const char *text)
{
	for (size_t i = 0; i < a->size; i++)
		if (strcmp(a->entry[i].text, text) == 0)
			return &a->entry[i];
	return NULL;
}

static bool grow(struct acct_abi *a)
{
	size_t room = a->room ? 2 * a->room : 4;
	struct entry *entry;

	if (a->size < a->room)
		return true;
	entry = realloc(a->entry, room * sizeof *entry); /* entries are in memory: room cannot overflow */
	if (!entry)
		return false;
	a->entry = entry;
	a->room = room;
	return true;
}

enum acct_rc acct_abi_add(struct acct_abi *a, const char *text, uint64_t times, char *why, size_t room)
{
	struct entry *e = find(a, text), fresh;
	enum acct_rc rc;

	if (times < 1)
		return fail(ACCT_EDOMAIN, why, room, "a round is repeated at least once");
	rc = acct_spec_parse(text, &fresh.spec, why, room);
	if (rc)
		return rc;
	uint64_t once = fresh.spec.round.count, before = e ? e->spec.round.count : 0;
	if (times > (ACCT_MAX_COUNT - before) / once)
		return fail(ACCT_ELIMIT, why, room, "one round is repeated more than 1000000 times");
	uint64_t more = once * times;
	if (!e) {
		fresh.text = strdup(text);
		if (!fresh.text || !grow(a)) {
			free(fresh.text);
			return fail(ACCT_ENOMEM, why, room, acct_strerror(ACCT_ENOMEM));
		}
		e = &a->entry[a->size++];
		*e = fresh;
	}
	e->spec.round.count = before + more;
	a->rounds += more;
	return ACCT_OK;
}

static enum acct_rc ask(answer_fn *answer, const struct acct_abi *a, double at, double *lower, double *upper,
	char *why, size_t room)
{
	struct acct_bound bound = { 0, 0 };
	enum acct_rc rc = ACCT_OK;

	if (a->size > 0) {
		struct acct_round *rounds = calloc(a->size, sizeof *rounds);

		if (!rounds)
			return fail(ACCT_ENOMEM, why, room, acct_strerror(ACCT_ENOMEM));
		for (size_t i = 0; i < a->size; i++)
			rounds[i] = a->entry[i].spec.round;
		rc = answer(rounds, a->size, at, &bound);
		free(rounds);
	}
	if (rc)
		return fail(rc, why, room, acct_strerror(rc));
	*lower = bound.lower;
	*upper = bound.upper;
	return ACCT_OK;
}

enum acct_rc acct_abi_epsilon(
	const struct acct_abi *a, double delta, double *lower, double *upper, char *why, size_t room)
{
	if (!(delta > 0 && delta < 1))
		return fail(ACCT_EDOMAIN, why, room, "delta must be above 0 and below 1");
	return ask(acct_epsilon, a, delta, lower, upper, why, room);
}

enum acct_rc acct_abi_delta(
	const struct acct_abi *a, double epsilon, double *lower, double *upper, char *why, size_t room)
{
	if (!(epsilon >= 0 && epsilon < INFINITY))
		return fail(ACCT_EDOMAIN, why, room, "epsilon must be finite and not negative");
	return ask(acct_delta, a, epsilon, lower, upper, why, room);
}
