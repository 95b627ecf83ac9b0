/* pl_round.c - reads and checks one round of a plan file. */
#include "pl_round.h"

#include <string.h>

#include "cm_suggest.h"
#include "pl_compute.h"
#include "pl_query.h"
#include "pl_recur.h"

/* The row for a kind of query, if a plan names none. */
static const struct pt_protocol *row_for(enum qy_kind kind)
{
	const struct pt_protocol *row;

	for (size_t i = 0; (row = pt_row(i)); i++)
		if (row->unnamed & (unsigned)kind)
			return row;
	for (size_t i = 0; (row = pt_row(i)); i++)
		if (row->device->kinds & (unsigned)kind)
			return row;
	return NULL;
}

/* Read noise, which replaces a number of dummies. */
static void take_noise(
	struct pl_checker *c, const struct pl_plan *plan, const struct pl_raw_round *raw, struct pl_round *r)
{
	if (strcmp(raw->shuffler_noise, "laplace") != 0)
		pl_refuse(c, r, "shuffler_noise", "'shuffler_noise' must be \"laplace\"");
	else if (strcmp(raw->blanket, "shuffler") != 0)
		pl_refuse(c, r, "shuffler_noise", "'shuffler_noise' is for 'blanket' \"shuffler\"");
	else if (raw->shuffler_dummies > 0)
		pl_refuse(c, r, "shuffler_dummies",
			"'shuffler_noise' says how many, 'shuffler_dummies' cannot");
	else if (!r->protocol->device->noise_bins)
		pl_refuse(c, r, "shuffler_noise", "protocol '%s' takes no noise of the shuffler",
			r->protocol->device->name);
	else if (!(raw->epsilon > 0))
		pl_refuse(c, r, "shuffler_noise", "'shuffler_noise' needs 'epsilon'");
	r->request.noise_epsilon = raw->epsilon;
	r->request.noise_delta = pl_noise_delta(plan);
}

/* A plan must say in words that it trusts the shuffler, not by a number alone. */
static void take_blanket(struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	bool shuffler = strcmp(raw->blanket, "shuffler") == 0;

	if (!shuffler && strcmp(raw->blanket, "client") != 0)
		pl_refuse(c, r, "blanket", "'blanket' must be \"client\" or \"shuffler\"");
	else if (shuffler && raw->shuffler_dummies == 0)
		pl_refuse(c, r, "blanket",
			"'blanket' \"shuffler\" needs 'shuffler_dummies' or 'shuffler_noise'");
	else if (!shuffler && raw->shuffler_dummies > 0)
		pl_refuse(c, r, "shuffler_dummies", "'shuffler_dummies' is for 'blanket' \"shuffler\"");
	else if (shuffler && !r->protocol->device->dummy)
		pl_refuse(c, r, "blanket", "protocol '%s' has no messages for the shuffler to add",
			r->protocol->device->name);
}

/* The choice itself is made when all rounds are known. */
static void take_auto(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	static const char *const chosen[] = { "size", "levels", "dummies", "slots", "classes", "padded",
		"shuffler_dummies", "shuffler_noise" };
	/* For sets the plan must say how many items of one count: a search could not weigh the error of
	 * leaving out the others. */
	bool sets = r->query.kind == QY_SETS;

	for (size_t i = sets ? 1 : 0; i < sizeof chosen / sizeof *chosen; i++)
		if (pl_round_says(c, r, chosen[i]))
			pl_refuse(c, r, chosen[i], "'%s' is not for protocol \"auto\", which chooses",
				chosen[i]);
	r->automatic = true;
	r->request = (struct pt_request){ .epsilon0 = raw->epsilon0, .min_reports = r->min_reports };
	if (sets)
		r->request.size = (uint32_t)raw->size;
	if (sets && (raw->size < 1 || raw->size > r->query.categories))
		pl_refuse(c, r, "size",
			"type \"sets\" needs 'size', the most items of a set that count together: 1 to %u",
			(unsigned)r->query.categories);
	r->shuffler = strcmp(raw->blanket, "shuffler") == 0;
	if (!r->shuffler && strcmp(raw->blanket, "client") != 0)
		pl_refuse(c, r, "blanket", "'blanket' must be \"client\" or \"shuffler\"");
	r->cost = raw->epsilon;
	r->max_bytes = (uint64_t)raw->max_bytes;
}

static void take_classes(const struct pl_raw_round *raw, struct pt_request *r)
{
	const struct pl_raw_class *from = raw->classes.item;

	r->classes = (uint32_t)raw->classes.n;
	for (uint32_t i = 0; i < r->classes; i++) {
		r->class_epsilon0[i] = from[i].epsilon0;
		r->class_least[i] = (uint32_t)from[i].least;
	}
}

/* The number of participants that all classes together must have. */
static uint64_t least_of_all(const struct pt_randomizer *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++)
		sum += p->shuffler.tag_least[i];
	return sum;
}

/* Refuse a key that the protocol does not have. */
static void check_taken(struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	const struct pt_randomizer *p = &r->randomizer;
	const struct {
		const char *key;
		bool said;
		enum pt_key taken;
	} all[] = {
		{ "levels", raw->levels != 0, PT_KEY_LEVELS },
		{ "size", raw->size != 0, PT_KEY_SIZE },
		{ "slots", raw->slots != 0, PT_KEY_SLOTS },
		{ "classes", raw->classes.n != 0, PT_KEY_CLASSES },
		{ "padded", raw->padded != 0, PT_KEY_PADDED },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].said && (r->protocol->keys & (unsigned)all[i].taken) == 0)
			pl_refuse(c, r, all[i].key, "protocol '%s' has no '%s'", r->protocol->device->name,
				all[i].key);
	if (least_of_all(p) > r->target)
		pl_refuse(c, r, "classes", "'classes' need %llu in all, 'target' is %llu",
			(unsigned long long)least_of_all(p), (unsigned long long)r->target);
}

static bool is_auto(const struct pl_raw_round *raw)
{
	return raw->protocol && strcmp(raw->protocol, "auto") == 0;
}

/* The query depends on the row in only one thing: the default of `none`. */
static const struct pt_protocol *named_row(const struct pl_raw_round *raw, const struct pl_round *r)
{
	if (is_auto(raw))
		return NULL;
	return raw->protocol ? pt_find(raw->protocol) : row_for(r->query.kind);
}

static void no_protocol(struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	struct cm_suggest nearest = { 0 };

	for (size_t i = 0; pt_row(i); i++)
		cm_suggest_offer(&nearest, raw->protocol, pt_row(i)->device->name);
	pl_refuse(c, r, "protocol", "unknown protocol '%s'%s%s%s; `tombola plan protocols` lists them",
		raw->protocol, nearest.word ? " (did you mean '" : "", nearest.word ? nearest.word : "",
		nearest.word ? "'?)" : "");
}

/* Refuse keys that only protocol "auto" has; 'epsilon' is also the key of the shuffler's noise. */
static void refuse_automatic_keys(
	struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	if (pl_round_says(c, r, "epsilon") && !raw->shuffler_noise)
		pl_refuse(c, r, "epsilon", "'epsilon' is for protocol \"auto\"");
	if (pl_round_says(c, r, "max_bytes"))
		pl_refuse(c, r, "max_bytes", "'max_bytes' is for protocol \"auto\"");
}

/* The row that answers the round's question; NULL after a fault. */
static const struct pt_protocol *take_row(
	struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	const struct pt_protocol *row = named_row(raw, r);
	struct cm_err e = { 0 };

	if (!row && raw->protocol)
		no_protocol(c, raw, r);
	else if (!row)
		pl_refuse(c, r, "type", "no protocol answers type \"%s\"", raw->type);
	else if (!(row->device->kinds & (unsigned)r->query.kind))
		pl_refuse(c, r, "protocol", "protocol '%s' does not answer type \"%s\"", row->device->name,
			raw->type);
	else if (pt_none_check(row->device, &r->query, CM_ECONFIG, &e) != CM_OK)
		pl_fault_of(c, pl_round_line(c, r, "none"), &e);
	else
		return row;
	return NULL;
}

static void take_request(
	struct pl_checker *c, const struct pl_plan *plan, const struct pl_raw_round *raw, struct pl_round *r)
{
	r->request = (struct pt_request){ .epsilon0 = raw->epsilon0,
		.levels = (uint32_t)raw->levels,
		.size = (uint32_t)raw->size,
		.slots = (uint32_t)raw->slots,
		.padded = (uint64_t)raw->padded,
		.min_reports = r->min_reports,
		.shuffler_dummies = (uint64_t)raw->shuffler_dummies };
	take_classes(raw, &r->request);
	pt_request_dummies(&r->request, raw->dummies);
	if (r->request.dummy_chance > 0 && !r->protocol->device->rare_dummy)
		pl_refuse(c, r, "dummies", "'dummies' of protocol '%s' must be a whole number",
			r->protocol->device->name);
	if (raw->shuffler_noise)
		take_noise(c, plan, raw, r);
	else
		take_blanket(c, raw, r);
}

static void take_protocol(
	struct pl_checker *c, const struct pl_plan *plan, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct cm_err e = { 0 };

	if (is_auto(raw)) {
		take_auto(c, raw, r);
		return;
	}
	refuse_automatic_keys(c, raw, r);
	r->protocol = take_row(c, raw, r);
	if (!r->protocol)
		return;
	take_request(c, plan, raw, r);
	/* A randomizer needs numbers that are valid and known: none is made after a fault, nor for a
	 * wish. */
	if (c->found > 0 || pl_wish_of(c->open, r->item))
		return;
	if (pt_derive(r->protocol, &r->query, &r->request, &r->randomizer, &e) != CM_OK) {
		pl_fault_of(c, r->line, &e);
		return;
	}
	check_taken(c, raw, r);
	r->epsilon0 = r->randomizer.row->epsilon0(&r->randomizer);
}

static void type_fault(struct pl_checker *c, const struct pl_raw_round *raw, const struct pl_round *r)
{
	char types[160];
	size_t used = 0;
	struct cm_suggest nearest = { 0 };

	for (size_t i = 0; qy_kind_at(i) != 0 && used < sizeof types; i++)
		used += (size_t)snprintf(types + used, sizeof types - used, "%s\"%s\"",
			i == 0                   ? ""
			: qy_kind_at(i + 1) == 0 ? " or "
						 : ", ",
			qy_kind_name(qy_kind_at(i)));
	for (size_t i = 0; qy_kind_at(i) != 0; i++)
		cm_suggest_offer(&nearest, raw->type, qy_kind_name(qy_kind_at(i)));
	pl_refuse(c, r, "type", "'type' must be %s%s%s%s", types, nearest.word ? " (did you mean \"" : "",
		nearest.word ? nearest.word : "", nearest.word ? "\"?)" : "");
	/* Report other faults of a round whose question is not known. */
	if (raw->protocol && !is_auto(raw) && !pt_find(raw->protocol))
		no_protocol(c, raw, r);
}

void pl_round_take(
	struct pl_checker *c, const struct pl_plan *plan, struct pl_raw_round *raw, struct pl_round *r)
{
	pl_take_name(
		c, pl_round_line(c, r, "query"), "query", raw->query, r->query.name, sizeof r->query.name);
	r->min_reports = (uint64_t)raw->min_reports;
	r->target = raw->target != 0 ? (uint64_t)raw->target : PR_ROUND_REPORTS_MAX;
	r->window_ms = raw->window_ms;
	pl_recur_take(c, raw, r);
	if (r->target < r->min_reports)
		pl_refuse(c, r, "target", "'target' is below 'min_reports'");
	r->query.kind = qy_kind_named(raw->type);
	if (r->query.kind == 0) {
		type_fault(c, raw, r);
		return;
	}
	pl_query_take(c, plan, named_row(raw, r), raw, r);
	pl_compute_take(c, raw, r);
	take_protocol(c, plan, raw, r);
}
