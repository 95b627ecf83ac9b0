/* rd_account.c - keeps the losses of the rounds charged so far, and composes them. */
#include "rd_account_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rd_account *rd_account_new_mode(double limit, double delta, const char *mode)
{
	struct rd_account *a = calloc(1, sizeof *a);
	enum acct_filter_kind kind = rd_mode_filter(mode);
	bool ok;

	if (!a)
		return NULL;
	a->memo = calloc(1, sizeof *a->memo);
	if (kind == 0)
		a->state = a->memo ? acct_state_new(delta) : NULL;
	ok = kind == 0 ? a->state != NULL
		       : a->memo && acct_filter_init(kind, fmin(limit, ACCT_FILTER_MOST_EPSILON), delta,
					    &a->filter) == ACCT_OK;
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

void rd_account_free(struct rd_account *a)
{
	if (!a)
		return;
	acct_state_free(a->state);
	for (size_t i = 0; i < a->groups; i++)
		free(a->group[i].part);
	free(a->group);
	free(a->entry);
	free(a->memo);
	free(a);
}

static bool same_loss(const struct group *g, const struct pt_loss *loss)
{
	size_t i = 0;

	if (g->pure < loss->pure || g->pure > loss->pure)
		return false;
	while (i < loss->parts && i < g->parts && g->part[i].count == loss->part[i].count &&
		acct_round_equal(&g->part[i], &loss->part[i]))
		i++;
	return i == loss->parts && i == g->parts;
}

/* Losses that differ only in the order of cells or parts are separate groups. */
size_t rd_account_group(const struct rd_account *a, const struct pt_loss *loss)
{
	size_t i = 0;

	while (i < a->groups && !same_loss(&a->group[i], loss))
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

enum acct_rc rd_account_state_add(struct acct_state *s, const struct acct_round *part, size_t n)
{
	enum acct_rc rc = ACCT_OK;
	size_t added = 0;

	while (added < n && (rc = acct_state_add(s, &part[added])) == ACCT_OK)
		added++;
	/* Removing parts that were just added cannot fail. */
	if (rc != ACCT_OK && rd_account_state_remove(s, part, added) != ACCT_OK)
		return ACCT_EDOMAIN;
	return rc;
}

enum acct_rc rd_account_state_remove(struct acct_state *s, const struct acct_round *part, size_t n)
{
	enum acct_rc rc = ACCT_OK;
	size_t removed = 0;

	while (removed < n && (rc = acct_state_remove(s, &part[removed])) == ACCT_OK)
		removed++;
	return rc;
}

enum cm_rc rd_account_check(const struct pt_loss *loss, struct cm_err *err)
{
	const char *why = "";

	if (loss->parts < 1 || loss->parts > PT_PARTS_MAX)
		return cm_fail(err, CM_EINTERNAL, "accountant: a round of %zu parts", loss->parts);
	for (size_t i = 0; i < loss->parts; i++)
		if (acct_round_check(&loss->part[i], &why) != ACCT_OK)
			return cm_fail(err, CM_EINTERNAL, "accountant: %s", why);
	return CM_OK;
}

/* Makes room for one more group and entry, and allocates *part for a new group. */
static enum cm_rc make_room(
	struct rd_account *a, const struct pt_loss *loss, struct acct_round **part, struct cm_err *err)
{
	struct entry *entries = cm_grow(a->entry, a->entries, &a->entry_cap, sizeof *entries);
	struct group *groups = cm_grow(a->group, a->groups, &a->group_cap, sizeof *groups);

	a->entry = entries ? entries : a->entry;
	a->group = groups ? groups : a->group;
	*part = calloc(loss->parts, sizeof **part);
	if (entries && groups && *part)
		return CM_OK;
	free(*part);
	*part = NULL;
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct pt_loss *loss, struct cm_err *err)
{
	struct acct_round *part;
	enum cm_rc checked = rd_account_check(loss, err);
	enum acct_rc rc = ACCT_OK;
	struct entry *e;
	size_t g;

	if (checked == CM_OK && rd_account_entry(a, round_id) < a->entries)
		checked = cm_fail(err, CM_EDATA, "the round is in the account already");
	if (checked == CM_OK)
		checked = make_room(a, loss, &part, err);
	if (checked != CM_OK)
		return checked;
	if (!rd_account_is_adaptive(a))
		rc = rd_account_state_add(a->state, loss->part, loss->parts);
	if (rc != ACCT_OK) {
		free(part);
		return rd_account_refused(rc, err);
	}
	g = rd_account_group(a, loss);
	if (g == a->groups) {
		memcpy(part, loss->part, loss->parts * sizeof *part);
		a->group[a->groups++] =
			(struct group){ .part = part, .parts = loss->parts, .pure = loss->pure };
	} else {
		free(part);
	}
	a->group[g].members++;
	e = &a->entry[a->entries++];
	memcpy(e->id, round_id, PR_ROUND_ID_LEN);
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
	if (!rd_account_is_adaptive(a) &&
		rd_account_state_remove(a->state, a->group[g].part, a->group[g].parts) != ACCT_OK)
		return CM_EINTERNAL;
	a->entry[i] = a->entry[--a->entries];
	if (--a->group[g].members == 0) {
		free(a->group[g].part);
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
