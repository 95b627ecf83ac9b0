/* cl_left_out.c - says why devices of a round were not taken. */
#include "cl_left_out.h"

#include <inttypes.h>
#include <stdio.h>

#include "cr_pki.h"

bool cl_left_out_any(const struct cl_counts *counts)
{
	return counts->by[CL_OVER_LIMIT] + counts->by[CL_CLOSED] + counts->by[CL_UNANSWERED] > 0;
}

/* A receipt does not say which of two limits was exceeded. */
static int over_limit(
	const struct cl_setup *setup, uint64_t target, const struct cl_counts *counts, char *out, size_t size)
{
	uint64_t accepted = counts->by[CL_ACCEPTED];
	struct cr_pki_info info;
	struct cm_err unused;

	if (cr_pki_show(setup->conf.cert, &info, &unused) == CM_OK && accepted >= info.identity.devices)
		return snprintf(out, size,
			"%" PRIu64 " over limit: the certificate speaks for %" PRIu32 " devices, %" PRIu64
			" were sent; have it renewed for as many, or list fewer",
			counts->by[CL_OVER_LIMIT], info.identity.devices, counts->total);
	return snprintf(out, size,
		"%" PRIu64
		" over limit: max_share of the shuffler's policy lets one certificate have %" PRIu64
		" of the round's target of %" PRIu64 "; have it raised, or the devices spread over more "
		"certificates",
		counts->by[CL_OVER_LIMIT], accepted, target);
}

void cl_left_out_words(
	const struct cl_setup *setup, uint64_t target, const struct cl_counts *counts, char *out, size_t size)
{
	int n = 0;

	out[0] = '\0';
	if (counts->by[CL_OVER_LIMIT] > 0)
		n = over_limit(setup, target, counts, out, size);
	if (counts->by[CL_CLOSED] > 0 && n >= 0 && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n,
			"%s%" PRIu64
			" closed: they came after the deadline, or when the round had its target of "
			"%" PRIu64,
			n > 0 ? "; " : "", counts->by[CL_CLOSED], target);
	if (counts->by[CL_UNANSWERED] > 0 && n >= 0 && (size_t)n < size)
		(void)snprintf(out + n, size - (size_t)n,
			"%s%" PRIu64 " unanswered before the round was over", n > 0 ? "; " : "",
			counts->by[CL_UNANSWERED]);
}
