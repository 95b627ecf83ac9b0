/* rd_account.c - the rounds charged so far. */
#include "rd_account_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rd_account *rd_account_new_mode(double limit, double delta, const char *mode)
{
	struct rd_account *a = calloc(1, sizeof *a);
	enum acct_filter_kind kind = rd_mode_filter(mode);
	bool ok;

	if (a == NULL)
		return NULL;
	a->memo = calloc(1, sizeof *a->memo);
	if (kind == 0)
		a->state = a->memo != NULL ? acct_state_new(delta) : NULL;
	ok = kind == 0 ? a->state != NULL
		       : a->memo != NULL && acct_filter_init(kind, fmin(limit, ACCT_FILTER_MOST_EPSILON),
						    delta, &a->filter) == ACCT_OK;
	if (!ok) {
		rd_account_free(a);
		return NULL;
	}
	rd_mode_text(kind, a->mode);
	a->limit = limit;
	a->delta = delta;
	return a;
}

struct rd_account *rd_account_new(double limit, double delta)
{
	return rd_account_new_mode(limit, delta, RD_MODE_PLAN);
}

const char *rd_account_mode(const struct rd_account *a)
{
	return a->mode;
}

void rd_account_free(struct rd_account *a)
{
	if (a == NULL)
		return;
	acct_state_free(a->state);
	free(a->group);
	free(a->entry);
	free(a->memo);
	free(a);
}

/* Two that differ only in the order of cells stay apart here. */
size_t rd_account_group(const struct rd_account *a, const struct acct_round *round)
{
	size_t i = 0;

	while (i < a->groups && !acct_round_equal(&a->group[i].round, round))
		i++;
	return i;
}

size_t rd_account_entry(const struct rd_account *a, const uint8_t id[PR_ROUND_ID_LEN])
{
	size_t i = 0;

	while (i < a->entries && memcmp(a->entry[i].id, id, PR_ROUND_ID_LEN) != 0)
		i++;
	return i;
}

enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct acct_round *round, struct cm_err *err)
{
	const char *why = "";
	struct entry *entries, *e;
	struct group *groups;
	enum acct_rc rc;
	size_t g;

	if (acct_round_check(round, &why) != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: %s", why);
	if (rd_account_entry(a, round_id) < a->entries)
		return cm_fail(err, CM_EDATA, "the round is in the account already");
	entries = cm_grow(a->entry, a->entries, &a->entry_cap, sizeof *entries);
	a->entry = entries != NULL ? entries : a->entry;
	groups = cm_grow(a->group, a->groups, &a->group_cap, sizeof *groups);
	a->group = groups != NULL ? groups : a->group;
	if (entries == NULL || groups == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = rd_account_is_adaptive(a) ? ACCT_OK : acct_state_add(a->state, round);
	if (rc != ACCT_OK)
		return rd_account_refused(rc, err);
	g = rd_account_group(a, round);
	if (g == a->groups)
		a->group[a->groups++] = (struct group){ .round = *round };
	a->group[g].members++;
	e = &a->entry[a->entries++];
	memcpy(e->id, round_id, PR_ROUND_ID_LEN);
	e->count = round->count;
	e->group = g;
	a->memo->known = false;
	return CM_OK;
}

enum cm_rc rd_account_remove(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	size_t i = rd_account_entry(a, round_id), g;

	if (i == a->entries)
		return CM_OK;
	g = a->entry[i].group;
	a->group[g].round.count = a->entry[i].count;
	if (!rd_account_is_adaptive(a) && acct_state_remove(a->state, &a->group[g].round) != ACCT_OK)
		return CM_EINTERNAL;
	a->entry[i] = a->entry[--a->entries];
	if (--a->group[g].members == 0) {
		a->group[g] = a->group[--a->groups];
		for (size_t k = 0; k < a->entries; k++)
			if (a->entry[k].group == a->groups)
				a->entry[k].group = g;
	}
	a->memo->known = false;
	return CM_OK;
}

size_t rd_account_rounds(const struct rd_account *a)
{
	return a->entries;
}
