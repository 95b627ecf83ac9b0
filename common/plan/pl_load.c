/* pl_load.c - reads and checks the file of a plan. */
#include "pl_load.h"

#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "cm_owned.h"
#include "pl_auto.h"
#include "pl_fault.h"
#include "pl_kept.h"
#include "pl_keys.h"
#include "pl_make.h"
#include "pl_recur.h"
#include "pl_round.h"
#include "pl_slice.h"

static void check_names(struct pl_checker *c, const struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		for (size_t j = 0; !pl_repeats(p, i) && j < i; j++)
			if (strcmp(p->round[i].query.name, p->round[j].query.name) == 0) {
				pl_refuse(c, &p->round[i], "query", "query '%s' is round %u already",
					p->round[i].query.name, p->round[j].number);
				break;
			}
}

/* Check that the accountant can answer for each round at all, so that it does not fail in the middle of a
 * plan. */
static void check_losses(struct pl_checker *c, const struct pl_plan *p)
{
	struct pt_loss loss;
	struct cm_err e = { 0 };

	for (size_t i = 0; i < p->rounds; i++)
		if (!pl_repeats(p, i) && pl_round_loss(p, &p->round[i], &loss, &e) != CM_OK)
			pl_fault_of(c, p->round[i].line, &e);
}

/* Check the size of the plan, since recurrences make it long quickly. */
static void check_size(struct pl_checker *c, const struct pl_plan *p)
{
	struct cm_err e = { 0 };

	if (pl_plan_size_check(p, &e) != CM_OK)
		pl_fault_of(c, cf_line(c->file, "rounds"), &e);
}

static void choose_protocols(struct pl_checker *c, struct pl_plan *p)
{
	const struct pl_round *at = NULL;
	struct cm_err e = { 0 };
	size_t automatic = 0;

	for (size_t i = 0; i < p->rounds; i++)
		automatic += p->round[i].automatic;
	if (automatic == 0 || (c->kept && pl_kept_read(c->kept, p)))
		return;
	p->searched = true;
	if (pl_auto(p, &at, &e) != CM_OK)
		pl_fault_of(c, pl_round_line(c, at, "protocol"), &e);
}

/* Rounds that share a budget need one; what each may cost is judged below the most that there can be. */
static void choose_without_budget(struct pl_checker *c, struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (p->round[i].automatic && p->round[i].cost == 0)
			pl_refuse(c, &p->round[i], "protocol",
				"auto: without 'budget.epsilon' there is nothing to share: give the budget, "
				"or this round's 'epsilon'");
	p->epsilon = PL_EPSILON_MAX;
	if (c->found == 0)
		choose_protocols(c, p);
}

/* The slice of a plan that gives none. */
static void find_slice(struct pl_checker *c, struct pl_plan *p)
{
	struct cm_err e = { 0 };

	if (pl_slice_find(p, &p->epsilon, &e) != CM_OK)
		pl_fault_of(c, cf_line(c->file, "rounds"), &e);
}

static void take_mode(struct pl_checker *c, const struct pl_raw_plan *raw, struct pl_plan *out)
{
	enum acct_filter_kind kind = ACCT_FILTER_GDP;

	if (strcmp(raw->mode, RD_MODE_PLAN) == 0) {
		if (raw->filter)
			pl_fault(c, cf_line(c->file, "filter"), "'filter' is for mode \"adaptive\"");
		kind = 0;
	} else if (strcmp(raw->mode, "adaptive") != 0) {
		pl_fault(c, cf_line(c->file, "mode"), "'mode' must be \"plan\" or \"adaptive\"");
	} else if (raw->filter && (kind = acct_filter_named(raw->filter)) == 0) {
		pl_fault(c, cf_line(c->file, "filter"), "'filter' must be \"gdp\" or \"renyi\"");
	}
	rd_mode_text(kind, out->mode);
}

static enum cm_rc take_rounds(struct pl_checker *c, struct pl_raw_plan *raw, struct pl_plan *out)
{
	struct pl_raw_round *from = raw->rounds.item;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < raw->rounds.n; i++) {
		struct pl_round where = { .item = (uint32_t)i, .line = raw->rounds.line[i] };

		n += pl_raw_count(&from[i]);
		if (n <= PL_ROUNDS_MAX)
			continue;
		pl_refuse(c, &where, "count",
			"the plan has %zu rounds up to here, with all that recur, and may have %u", n,
			PL_ROUNDS_MAX);
		return c->first->code;
	}
	out->round = calloc(n > 0 ? n : 1, sizeof *out->round);
	if (!out->round)
		return cm_fail(c->first, CM_EINTERNAL, "out of memory");
	out->rounds = n;
	for (size_t i = 0; i < raw->rounds.n; at += pl_raw_count(&from[i++])) {
		struct pl_round *r = &out->round[at];

		r->number = (uint32_t)at + 1;
		r->item = (uint32_t)i;
		r->line = raw->rounds.line[i];
		pl_round_take(c, out, &from[i], r);
		pl_recur_repeat(r);
	}
	return CM_OK;
}

static enum cm_rc take_plan(struct pl_checker *c, struct pl_raw_plan *raw, struct pl_plan *out)
{
	pl_take_name(c, cf_line(c->file, "name"), "name", raw->name, out->name, sizeof out->name);
	pl_take_name(c, cf_line(c->file, "population"), "population", raw->population, out->population,
		sizeof out->population);
	if (strcmp(raw->unit, "device") == 0)
		memcpy(out->unit, "device", sizeof "device");
	else
		pl_fault(c, cf_line(c->file, "budget.unit"), "'budget.unit' must be \"device\"");
	take_mode(c, raw, out);
	out->epsilon = raw->epsilon;
	out->exact = !(raw->epsilon > 0);
	if (out->exact && rd_mode_filter(out->mode) != 0)
		pl_fault(c, cf_line(c->file, "mode"),
			"mode \"adaptive\" needs 'budget.epsilon': its rounds are not all known");
	if (out->exact && c->open)
		pl_fault(c, cf_line(c->file, "rounds"),
			"numbers are found for a budget: give 'budget.epsilon'");
	out->delta = raw->delta;
	out->honest_fraction = raw->honest_fraction;
	out->colluders = (uint64_t)raw->colluders;
	out->tries = (uint32_t)raw->tries;
	if (take_rounds(c, raw, out) != CM_OK)
		return c->first->code;
	check_names(c, out);
	if (c->found == 0 && !c->open)
		(out->exact ? choose_without_budget : choose_protocols)(c, out);
	if (c->found == 0 && !c->open)
		check_losses(c, out);
	if (c->found == 0 && !c->open && out->exact)
		find_slice(c, out);
	if (c->found == 0 && !c->open)
		check_size(c, out);
	return c->found == 0 ? CM_OK : c->first->code;
}

/* Refuse a plan whose numbers are still to be found: nobody can use it. */
static enum cm_rc refuse_wishes(struct pl_checker *c, const char *text, size_t n)
{
	struct pl_wishes wishes;
	bool ok = pl_wishes_find(text, n, &wishes);

	for (size_t i = 0; i < wishes.n; i++)
		if (wishes.wish[i].meant)
			pl_fault(c, wishes.wish[i].line, "'%s' must be a number, not %.*s%s",
				pl_open_name(wishes.wish[i].key), (int)wishes.wish[i].bytes,
				text + wishes.wish[i].begin, pl_wish_meant(&wishes.wish[i]));
		else
			pl_fault(c, wishes.wish[i].line,
				"'%s' is still %.*s: `tombola plan optimise` finds the number",
				pl_open_name(wishes.wish[i].key), (int)wishes.wish[i].bytes,
				text + wishes.wish[i].begin);
	pl_wishes_fini(&wishes);
	if (!ok)
		return cm_fail(c->first, CM_EINTERNAL, "out of memory");
	return c->found == 0 ? CM_OK : c->first->code;
}

/* Put a 1 in the place of each wish, so that lines stay where they are. */
static void fill_with_ones(char *text, const struct pl_wishes *w)
{
	for (size_t i = 0; i < w->n; i++) {
		memset(text + w->wish[i].begin, ' ', w->wish[i].bytes);
		text[w->wish[i].begin] = '1';
	}
}

static enum cm_rc parse(
	struct pl_checker *c, const uint8_t *bytes, size_t n, struct pl_plan *out, struct cm_err *err)
{
	struct pl_raw_plan raw = { 0 };
	char *text;
	enum cm_rc rc = CM_OK;

	c->first = err;
	memset(out, 0, sizeof *out);
	/* A NUL would end the text early, and the digest would cover bytes that nobody reads. */
	if (memchr(bytes, 0, n))
		return cm_fail(err, CM_ECONFIG, "%s: holds a NUL byte", c->name);
	text = malloc(n + 1);
	if (!text)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(text, bytes, n);
	text[n] = '\0';
	cr_sha256(bytes, n, out->digest);
	if (c->open)
		fill_with_ones(text, c->open);
	else
		rc = refuse_wishes(c, text, n);
	if (rc == CM_OK)
		rc = cf_parse(text, c->name, pl_plan_keys, &raw, &c->file, c->faults, err);
	if (rc == CM_OK)
		rc = take_plan(c, &raw, out);
	cf_file_free(c->file);
	cf_free(pl_plan_keys, &raw);
	free(text);
	return rc;
}

enum cm_rc pl_plan_parse(const uint8_t *bytes, size_t n, const char *name, FILE *faults, struct pl_plan *out,
	struct cm_err *err)
{
	struct pl_checker c = { .name = name, .faults = faults };

	return parse(&c, bytes, n, out, err);
}

enum cm_rc pl_plan_parse_open(const uint8_t *bytes, size_t n, const char *name, const struct pl_wishes *open,
	FILE *faults, struct pl_plan *out, struct cm_err *err)
{
	struct pl_checker c = { .name = name, .open = open, .faults = faults };

	return parse(&c, bytes, n, out, err);
}

typedef enum cm_rc read_fn(const char *path, size_t max, struct cm_buf *b, struct cm_err *err);

static enum cm_rc load(struct pl_checker *c, read_fn *read, struct pl_plan *out, struct cm_err *err)
{
	struct cm_buf b;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	cm_buf_init(&b, PL_FILE_MAX);
	rc = read(c->name, PL_FILE_MAX, &b, err);
	if (rc == CM_EDATA)
		err->code = rc = CM_ECONFIG;
	if (rc == CM_OK)
		rc = b.len == 0 ? cm_fail(err, CM_ECONFIG, "%s: is empty", c->name)
				: parse(c, b.data, b.len, out, err);
	cm_buf_fini(&b);
	return rc;
}

enum cm_rc pl_plan_load(const char *path, FILE *faults, struct pl_plan *out, struct cm_err *err)
{
	struct pl_checker c = { .name = path, .faults = faults };

	return load(&c, cm_file_read, out, err);
}

enum cm_rc pl_plan_digest(const char *path, uint8_t out[PR_HASH_LEN], struct cm_err *err)
{
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, PL_FILE_MAX);
	rc = cm_file_read(path, PL_FILE_MAX, &b, err);
	if (rc == CM_OK)
		cr_sha256(b.data, b.len, out);
	cm_buf_fini(&b);
	return rc;
}

enum cm_rc pl_plan_keep(const struct pl_plan *p, const char *kept, struct cm_err *err)
{
	return p->searched ? pl_kept_write(kept, p, err) : CM_OK;
}

enum cm_rc pl_plan_load_kept(
	const char *path, const char *kept, FILE *faults, struct pl_plan *out, struct cm_err *err)
{
	struct pl_checker c = { .name = path, .kept = kept, .faults = faults };

	return load(&c, cm_owned_read, out, err);
}
