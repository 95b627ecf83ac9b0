/* acct_abi_optimise.c (acct_abi.h) - divides a budget among rounds, for bindings. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_abi_parts.h"
#include "acct_optimise.h"

static enum acct_rc read_round(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room)
{
	struct acct_abi_round *round;
	enum acct_rc rc = acct_abi_round(text, 1, ACCT_MAX_COUNT, &round, (struct acct_abi_why){ why, room });

	if (rc)
		return rc;
	*parts = round->parts;
	memcpy(part, round->part, round->parts * sizeof *part);
	free(round);
	return ACCT_OK;
}

static enum acct_rc say_where(
	size_t at, size_t n, const char *text, const char *fault, enum acct_rc rc, struct acct_abi_why why)
{
	char sentence[400];

	(void)snprintf(sentence, sizeof sentence, "%.80s%s%s", at < n ? text : "", at < n ? ": " : "",
		fault[0] ? fault : acct_strerror(rc));
	return acct_abi_say(why, rc, sentence);
}

enum acct_rc acct_abi_optimise(const char *const *text, const double *weight, size_t n, int targets,
	double epsilon, double delta, double *value, double *error, double *lower, double *upper, char *why,
	size_t room)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	struct acct_wish *wish = calloc(n + 1, sizeof *wish);
	struct acct_granted *out = calloc(n + 1, sizeof *out);
	struct acct_bound total;
	char fault[300] = "";
	size_t at = n;
	enum acct_rc rc = ACCT_ENOMEM;

	if (plain && wish && out) {
		locale_t before = uselocale(plain);

		for (size_t i = 0; i < n; i++)
			wish[i] = (struct acct_wish){ text[i], weight ? weight[i] : 1 };
		rc = acct_optimise(wish, n, targets != 0, epsilon, delta, read_round, out, &total, &at, fault,
			sizeof fault);
		uselocale(before);
	}
	for (size_t i = 0; i < n && !rc; i++) {
		value[i] = out[i].value;
		error[i] = out[i].error;
	}
	if (!rc) {
		*lower = total.lower;
		*upper = total.upper;
	} else {
		rc = say_where(at, n, at < n ? text[at] : "", fault, rc, (struct acct_abi_why){ why, room });
	}
	if (plain)
		freelocale(plain);
	free(wish);
	free(out);
	return rc;
}
