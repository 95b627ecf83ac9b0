/* fuzz_kept.h - what is dear, computed once: a fuzzer's plans differ in little, so the same few are composed
 * in every input, and one key is given in all.  What the accountant said is kept; with kept_anew it is asked
 * again, and has to say the same.  Link with --wrap=rd_plan_pin,--wrap=cr_hpke_check_recipient.
 *
 * The entries of a plan have to be equal, and the policy always the same. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cr_hpke.h"
#include "rd_account.h"
#include "rd_plan.h"

#define KEPT_KINDS  16u              /* of rounds */
#define KEPT_ROUNDS 4u               /* that are composed */
#define KEPT_PINS   (4 * KEPT_KINDS) /* each with each of four slices */

static bool kept_anew;

enum cm_rc __wrap_cr_hpke_check_recipient(const uint8_t key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);
enum cm_rc __real_cr_hpke_check_recipient(const uint8_t key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);
enum cm_rc __wrap_rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user,
	const atomic_bool *stop, struct rd_pin *out, struct cm_err *err);
enum cm_rc __real_rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user,
	const atomic_bool *stop, struct rd_pin *out, struct cm_err *err);

static inline void kept_must(int truth)
{
	if (!truth)
		abort();
}

enum cm_rc __wrap_cr_hpke_check_recipient(const uint8_t key[CR_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	static uint8_t good[CR_HPKE_PUBLIC_LEN];
	enum cm_rc rc;

	if (!kept_anew && memcmp(good, key, sizeof good) == 0)
		return CM_OK;
	rc = __real_cr_hpke_check_recipient(key, err);
	if (rc == CM_OK)
		memcpy(good, key, sizeof good);
	return rc;
}

struct kept_pin {
	double slice; /* 0: free */
	uint64_t min_reports;
	struct pt_randomizer randomizer;
	struct rd_pin pin;
};

static inline struct kept_pin *kept_find(const struct rd_plan *p)
{
	static struct kept_pin kept[KEPT_PINS];
	const struct rd_entry *e = p->entry;
	size_t i = 0;

	for (size_t k = 1; k < p->entries; k++)
		kept_must(e[k].min_reports == e->min_reports &&
			  pt_randomizer_equal(&e[k].randomizer, &e->randomizer));
	for (; i < KEPT_PINS && kept[i].slice > 0; i++)
		if (memcmp(&kept[i].slice, &p->epsilon, sizeof p->epsilon) == 0 &&
			kept[i].min_reports == e->min_reports &&
			pt_randomizer_equal(&kept[i].randomizer, &e->randomizer))
			return &kept[i];
	kept_must(i < KEPT_PINS);
	kept[i].min_reports = e->min_reports;
	kept[i].randomizer = e->randomizer;
	return &kept[i];
}

enum cm_rc __wrap_rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user,
	const atomic_bool *stop, struct rd_pin *out, struct cm_err *err)
{
	struct kept_pin *kept;
	enum cm_rc rc;

	if (rd_plan_is_adaptive(p) || (stop && atomic_load(stop)))
		return __real_rd_plan_pin(p, loss, user, stop, out, err);
	kept = kept_find(p);
	if (kept->slice > 0 && !kept_anew) {
		*out = kept->pin;
		return CM_OK;
	}
	rc = __real_rd_plan_pin(p, loss, user, stop, out, err);
	kept_must(rc == CM_OK && (!(kept->slice > 0) || memcmp(&kept->pin, out, sizeof *out) == 0));
	kept->slice = p->epsilon;
	kept->pin = *out;
	return rc;
}

/* epsilon of so many rounds of a kind at delta 1e-6. */
static inline double kept_epsilon(unsigned kind, const struct pt_loss *loss, unsigned rounds)
{
	static double kept[KEPT_KINDS][KEPT_ROUNDS + 1]; /* 0: not yet */
	double *epsilon = &kept[kind][rounds];
	struct cm_err err;

	if (rounds > 0 && !(*epsilon > 0)) {
		struct rd_account *a = rd_account_new(1e6, 1e-6);
		kept_must(a != NULL);
		for (unsigned k = 0; k < rounds; k++)
			kept_must(rd_account_add(a, (uint8_t[PR_ROUND_ID_LEN]){ (uint8_t)k }, loss, &err) ==
				  CM_OK);
		kept_must(rd_account_spent(a, epsilon, &err) == CM_OK && *epsilon > 0);
		rd_account_free(a);
	}
	return *epsilon;
}

/* A round of an adaptive plan was sealed: all that were fit the filter of its slice at delta 1e-6.  *filter:
 * NULL before the first; rd_account_free ends it. */
static inline void kept_filter(struct rd_account **filter, double slice, const struct rd_descriptor *d)
{
	struct pt_loss loss;
	double share = 2;
	struct cm_err err;

	if (!*filter)
		*filter = rd_account_new_mode(slice, 1e-6, d->mode);
	kept_must(*filter && rd_loss(d, &loss, &err) == CM_OK);
	kept_must(rd_account_add(*filter, d->round_id, &loss, &err) == CM_OK);
	kept_must(rd_account_share(*filter, &share, &err) == CM_OK && share <= 1);
}
