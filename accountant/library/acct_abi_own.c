/* acct_abi_own.c - keeps the curves and matrices that texts name by a number. */
#include "acct_abi_own.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "acct_abi_parts.h"

static const char curve_name[] = "curve:", matrix_name[] = "matrix:";

/* A curve; or a matrix, if its p is not NULL. */
struct kept {
	struct acct_profile *profile;
	struct acct_matrix matrix;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *kept;
static size_t size, capacity;

/* Keep it under a new number; on an error the caller still owns it. */
static enum acct_rc keep(struct kept it, uint64_t *number)
{
	enum acct_rc rc = ACCT_OK;

	(void)pthread_mutex_lock(&lock);
	if (size == ACCT_MOST_KEPT) {
		rc = ACCT_ELIMIT;
	} else if (size == capacity) {
		size_t more = capacity ? 2 * capacity : 16;
		struct kept *all = realloc(kept, more * sizeof *all);

		if (all) {
			kept = all;
			capacity = more;
		} else {
			rc = ACCT_ENOMEM;
		}
	}
	if (!rc) {
		*number = size;
		kept[size++] = it;
	}
	(void)pthread_mutex_unlock(&lock);
	return rc;
}

static enum acct_rc keep_curve(
	enum acct_rc rc, struct acct_profile *p, uint64_t *number, struct acct_abi_why why)
{
	struct acct_spec s;
	char fault[256] = "";

	if (rc == ACCT_EDOMAIN)
		return acct_abi_say(why, rc, "the numbers are out of range, or are no distribution");
	if (rc)
		return acct_abi_say(why, rc, acct_strerror(rc));
	rc = acct_own_curve(p, NULL, &s, fault, sizeof fault);
	if (rc) {
		acct_profile_free(p);
		return acct_abi_say(why, rc, fault);
	}
	rc = keep((struct kept){ .profile = p }, number);
	if (rc)
		acct_profile_free(p);
	return acct_abi_say(why, rc, rc ? acct_strerror(rc) : "");
}

enum acct_rc acct_abi_keep_points(const double *epsilon, const double *delta, const double *delta_swapped,
	size_t n, uint64_t *number, char *why, size_t room)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc =
		acct_profile_of_points(epsilon, (const double *const[2]){ delta, delta_swapped }, n, &p);

	return keep_curve(rc, p, number, (struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_keep_pmf(double step, const struct acct_pmf *remove, const struct acct_pmf *add,
	uint64_t *number, char *why, size_t room)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc = acct_profile_of_pmf(step, remove, add, &p);

	return keep_curve(rc, p, number, (struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_keep_trade_off(
	const double *fpr, const double *fnr, size_t n, uint64_t *number, char *why, size_t room)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc = acct_profile_of_trade_off(fpr, fnr, n, &p);

	return keep_curve(rc, p, number, (struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_keep_renyi(
	const double *alpha, const double *rdp, size_t n, uint64_t *number, char *why, size_t room)
{
	struct acct_profile *p = NULL;
	enum acct_rc rc = acct_profile_of_renyi(alpha, rdp, n, &p);

	return keep_curve(rc, p, number, (struct acct_abi_why){ why, room });
}

enum acct_rc acct_abi_keep_matrix(
	const double *p, size_t inputs, size_t outputs, uint64_t *number, char *why, size_t room)
{
	struct acct_abi_why out = { why, room };
	char fault[256] = "";
	struct acct_profile *owned = NULL;
	struct acct_matrix m = { inputs, outputs, p };
	struct acct_spec s;
	enum acct_rc rc = acct_own_matrix(&m, "n=1", &s, &owned, fault, sizeof fault);

	acct_profile_free(owned);
	if (rc)
		return acct_abi_say(out, rc, fault);
	double *copy = calloc(inputs * outputs, sizeof *copy);
	if (!copy)
		return acct_abi_say(out, ACCT_ENOMEM, acct_strerror(ACCT_ENOMEM));
	memcpy(copy, p, inputs * outputs * sizeof *copy);
	m.p = copy;
	rc = keep((struct kept){ .matrix = m }, number);
	if (rc)
		free(copy);
	return acct_abi_say(out, rc, rc ? acct_strerror(rc) : "");
}

/* Find what was kept under the number that begins the text; *rest is what comes after the comma. */
static bool find(const char *text, bool matrix, struct kept *out, const char **rest)
{
	char *end;
	bool found;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || (*end && *end != ','))
		return false;
	*rest = *end ? end + 1 : end;
	(void)pthread_mutex_lock(&lock);
	found = number < size && (kept[number].matrix.p != NULL) == matrix;
	if (found)
		*out = kept[number];
	(void)pthread_mutex_unlock(&lock);
	return found;
}

bool acct_abi_is_own(const char *text)
{
	return strncmp(text, curve_name, strlen(curve_name)) == 0 ||
	       strncmp(text, matrix_name, strlen(matrix_name)) == 0;
}

enum acct_rc acct_abi_own(const char *text, struct acct_abi_round *out, struct acct_abi_why why)
{
	bool matrix = text[0] == 'm';
	const char *rest;
	char fault[256] = "";
	struct acct_profile *owned = NULL;
	struct kept it;
	uint64_t ignored;
	enum acct_rc rc;

	if (!find(strchr(text, ':') + 1, matrix, &it, &rest))
		return acct_abi_say(why, ACCT_EDOMAIN,
			matrix ? "matrix: nothing is kept under this number"
			       : "curve: nothing is kept under this number");
	rc = matrix ? acct_own_matrix(&it.matrix, rest, &out->part[0], &owned, fault, sizeof fault)
		    : acct_own_curve(it.profile, rest, &out->part[0], fault, sizeof fault);
	out->parts = 1;
	if (!rc && owned && (rc = keep((struct kept){ .profile = owned }, &ignored))) {
		acct_profile_free(owned);
		return acct_abi_say(why, rc, acct_strerror(rc));
	}
	return rc ? acct_abi_say(why, rc, fault) : ACCT_OK;
}
