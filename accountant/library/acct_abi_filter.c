/* acct_abi_filter.c (acct_abi.h) - a filter behind a handle, with the rounds it has admitted. */
#include "acct_abi.h"

#include <stdlib.h>

#include "acct_abi_parts.h"
#include "acct_filter.h"

struct acct_abi_filter {
	struct acct_filter filter;
	struct acct_price spent;
};

enum acct_rc acct_abi_filter_new(
	const char *kind, double epsilon, double delta, struct acct_abi_filter **out, char *why, size_t room)
{
	struct acct_abi_why to = { why, room };
	enum acct_filter_kind named = acct_filter_named(kind);
	struct acct_abi_filter *f;
	enum acct_rc rc;

	if (!named)
		return acct_abi_say(to, ACCT_EDOMAIN, "there is no such filter: gdp or renyi");
	f = calloc(1, sizeof *f);
	if (!f)
		return acct_abi_say(to, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	rc = acct_filter_init(named, epsilon, delta, &f->filter);
	if (rc) {
		free(f);
		return acct_abi_say(to, rc,
			rc == ACCT_EDOMAIN
				? "epsilon must be above 0 and at most 600, delta below 1 and at least 1e-15"
				: acct_strerror(rc));
	}
	*out = f;
	return ACCT_OK;
}

void acct_abi_filter_free(struct acct_abi_filter *f)
{
	free(f);
}

/* Compute the share of the budget that would be spent if the round were admitted. */
static enum acct_rc weigh(const struct acct_abi_filter *f, const char *text, uint64_t times,
	struct acct_price *sum, struct acct_abi_why why)
{
	struct acct_abi_round *round;
	struct acct_price price, all = f->spent;
	enum acct_rc rc = acct_abi_round(text, times, ACCT_MAX_COUNT, &round, why);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < round->parts; i++) {
		rc = acct_filter_price(&f->filter, &round->part[i].round, &price);
		if (!rc)
			all = acct_price_add(all, price);
	}
	free(round);
	if (rc) {
		acct_abi_say(why, rc, acct_strerror(rc));
		/* return rc itself, so that static analysis of the callers sees that it is an error */
		return rc;
	}
	*sum = all;
	return ACCT_OK;
}

enum acct_rc acct_abi_filter_try(
	const struct acct_abi_filter *f, const char *text, uint64_t times, int *fits, char *why, size_t room)
{
	struct acct_price sum;
	enum acct_rc rc = weigh(f, text, times, &sum, (struct acct_abi_why){ why, room });

	if (!rc)
		*fits = acct_price_fits(sum);
	return rc;
}

enum acct_rc acct_abi_filter_admit(
	struct acct_abi_filter *f, const char *text, uint64_t times, int *admitted, char *why, size_t room)
{
	struct acct_price sum;
	enum acct_rc rc = weigh(f, text, times, &sum, (struct acct_abi_why){ why, room });

	if (rc)
		return rc;
	*admitted = acct_price_fits(sum);
	if (*admitted)
		f->spent = sum;
	return ACCT_OK;
}

double acct_abi_filter_share(const struct acct_abi_filter *f)
{
	return acct_price_share(f->spent);
}
