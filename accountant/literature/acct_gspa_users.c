/* acct_gspa_users.c - checks classes of participants, computes their shares, and chooses the victim. */
#include "acct_gspa_users.h"

#include <math.h>
#include <stdlib.h>

#include "acct_fault.h"

#define MOST_SYMBOLS 1e12

/* Comparisons are negated, so that NaN is refused as well. */
enum acct_rc acct_gspa_check(const struct acct_gspa_class *cls, size_t n, uint64_t least, const char **why)
{
	uint64_t users = 0;

	if (n == 0 || n > ACCT_GSPA_MAX_CLASSES)
		return acct_fault(why, "there must be 1 to 1000000 classes of participants");
	for (size_t i = 0; i < n; i++) {
		if (!(cls[i].epsilon > 0 && cls[i].epsilon < 700))
			return acct_fault(why, "every local epsilon must be above 0 and below 700");
		if (!(cls[i].delta >= 0 && cls[i].delta < 1))
			return acct_fault(why, "every local delta must be at least 0 and below 1");
		if (cls[i].count == 0)
			return acct_fault(why, "every class needs at least one participant");
		if (cls[i].count > ACCT_MAX_REPORTS - users)
			return acct_fault(why, "there may be at most 1e12 participants");
		users += cls[i].count;
	}
	if (users < least)
		return acct_fault(why, least > 1 ? "there must be at least two participants"
						 : "there must be at least one other participant");
	return ACCT_OK;
}

/* k (1 - delta)/(e^epsilon + k - 1) and its complement, computed without cancellation. */
static struct acct_gspa_share share_of(const struct acct_gspa_class *c, double k)
{
	double more = expm1(c->epsilon);

	return (struct acct_gspa_share){ (1 - c->delta) * (k / (more + k)),
		(more + k * c->delta) / (more + k), c->count };
}

/* Find a victim that is at least as badly off as each participant: it has the largest epsilon and the
 * largest delta of all, and the participant with the largest share is left out of the others. */
static size_t worst(struct acct_gspa_users *u, const struct acct_gspa_class *cls, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++) {
		u->epsilon = fmax(u->epsilon, cls[i].epsilon);
		u->delta = fmax(u->delta, cls[i].delta);
		if (u->share[i].p > u->share[most].p)
			most = i;
	}
	return most;
}

enum acct_rc acct_gspa_users_init(struct acct_gspa_users *u, const struct acct_gspa_class *cls, size_t n,
	double k, size_t victim, const char **why)
{
	enum acct_rc rc = acct_gspa_check(cls, n, 2, why);

	if (rc)
		return rc;
	if (!(k >= 2 && k <= MOST_SYMBOLS && k == floor(k)))
		return acct_fault(why, "k must be a whole number from 2 to 1e12");
	if (victim != ACCT_GSPA_ANYBODY && victim >= n)
		return acct_fault(why, "the victim must be of one of the classes");
	*u = (struct acct_gspa_users){ .share = malloc(n * sizeof *u->share) };
	if (!u->share)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < n; i++)
		u->share[i] = share_of(&cls[i], k);
	if (victim == ACCT_GSPA_ANYBODY) {
		victim = worst(u, cls, n);
	} else {
		u->epsilon = cls[victim].epsilon;
		u->delta = cls[victim].delta;
	}
	u->share[victim].count--;
	return ACCT_OK;
}

void acct_gspa_users_fini(struct acct_gspa_users *u)
{
	free(u->share);
	u->share = NULL;
}

struct acct_gspa_victim acct_gspa_victim(double epsilon, double delta)
{
	double x = exp(-epsilon);

	return (struct acct_gspa_victim){ 1 / (1 + x), x / (1 + x), epsilon, delta };
}
