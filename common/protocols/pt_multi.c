/* pt_multi.c - what the rows that send one wide message among wide dummies have in common. */
#include "pt_multi.h"

#include <math.h>
#include <stdio.h>

#include "cm_fault.h"
#include "pr_limits.h"
#include "pt_expect.h"
#include "pt_mixbins.h"

/* For epsilon 1 at delta 1e-8, as for balls into as many bins. */
#define DUMMIES_A_FACE 62

enum cm_rc pt_multi_derive(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .bins = q->categories,
		.dummies = r->dummies,
		.dummy_chance = r->dummy_chance,
		.shuffler_dummies = r->shuffler_dummies };

	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", name);
	if (pt_mixbins_messages(&made) > PR_MESSAGES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be at most %u", name, PR_MESSAGES_MAX - 1);
	if (r->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: shuffler_dummies must be at most %u", name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (r->dummies == 0 && r->dummy_chance == 0 && r->shuffler_dummies == 0)
		return cm_fail(err, CM_ECONFIG, "%s: needs dummies", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	*out = made;
	return CM_OK;
}

enum cm_rc pt_multi_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_histogram_check(name, q, p, err);

	if (rc != CM_OK)
		return rc;
	if (p->dummies >= PR_MESSAGES_MAX || pt_mixbins_messages(p) > PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies", name);
	if (p->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies of the shuffler", name);
	if (CM_CHECKED("protocol.blanket") && p->dummies == 0 && p->dummy_chance == 0 &&
		p->shuffler_dummies == 0)
		return cm_fail(err, CM_EPROTO, "%s: dummies are wanted", name);
	return CM_OK;
}

/* Of a round of `participants`: dummies of the clients and of the shuffler over 62 a face. */
static uint32_t faces(const struct pt_params *p, uint64_t participants)
{
	double n = pt_mixbins_dummies(p, participants) / DUMMIES_A_FACE;

	return n < 2 ? 2 : n > PR_CATEGORIES_MAX ? PR_CATEGORIES_MAX : (uint32_t)n;
}

static enum cm_rc check_size(const char *name, uint32_t size, enum cm_rc code, struct cm_err *err)
{
	if (size < 2 || size > PR_CATEGORIES_MAX)
		return cm_fail(
			err, code, "%s: size %u, must be 2 to %u", name, (unsigned)size, PR_CATEGORIES_MAX);
	return CM_OK;
}

enum cm_rc pt_multi_derive_true(const char *name, const char *instead, const struct pt_query *q,
	const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_multi_derive(name, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	/* Who asks for a local guarantee must not be given none. */
	if (!(isinf(r->epsilon0) && r->epsilon0 > 0))
		return cm_fail(err, CM_ECONFIG,
			"%s: has no local guarantee, epsilon0 must be \"inf\"; \"%s\" has one", name,
			instead);
	made.keep_always = true;
	made.size = r->size != 0 ? r->size : faces(&made, r->min_batch);
	rc = check_size(name, made.size, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

enum cm_rc pt_multi_check_true(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_multi_check(name, q, p, err);

	if (rc == CM_OK && (!p->keep_always || p->keep != 0 || p->other != 0))
		rc = cm_fail(err, CM_EPROTO, "%s: a probability where there is none", name);
	return rc == CM_OK ? check_size(name, p->size, CM_EPROTO, err) : rc;
}

double pt_multi_no_guarantee(const struct pt_params *p)
{
	(void)p;
	return INFINITY;
}

uint32_t pt_multi_tallies(const struct pt_params *p)
{
	return p->bins + (p->dummy_chance > 0);
}

enum cm_rc pt_multi_blanket(
	const struct pt_params *p, uint64_t participants, uint64_t *dummies, struct cm_err *err)
{
	uint64_t n;

	if (participants < 1 || __builtin_mul_overflow(participants, (uint64_t)p->dummies, &n) ||
		__builtin_add_overflow(n, p->shuffler_dummies, &n) || n > ACCT_MAX_REPORTS ||
		participants > (ACCT_MAX_REPORTS - n) / (p->dummy_chance > 0 ? 2 : 1))
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", p->protocol);
	*dummies = n;
	return CM_OK;
}

enum cm_rc pt_multi_estimate(const struct pt_query *q, const struct pt_params *p, struct pt_support s,
	uint32_t messages, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err)
{
	uint64_t most;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->protocol);
	most = reports * messages + p->shuffler_dummies;
	for (uint32_t i = 0; i < pt_multi_tallies(p); i++) {
		if (counts[i] > most)
			return cm_fail(err, CM_EDATA, "%s: more support than messages", p->protocol);
	}
	s.dummies = p->dummy_chance > 0 ? pt_mixbins_dummies_among(p, counts[p->bins], reports)
					: pt_mixbins_dummies(p, reports);
	return pt_support_estimate(q, p, &s, counts, reports, out, err);
}

double pt_multi_expected_error(const struct pt_params *p, struct pt_support s, uint64_t participants)
{
	s.dummies = pt_mixbins_dummies(p, participants);
	return pt_support_expected_error(&s, participants, p->bins);
}
