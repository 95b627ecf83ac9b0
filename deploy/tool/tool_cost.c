/* tool_cost.c (tool_plan.h) - carries out `tombola plan cost`: prints what each round sends, answers and
 * would spend. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cm_round.h"
#include "cm_table.h"
#include "pl_cost.h"
#include "pl_load.h"
#include "pl_plan.h"
#include "pl_slice.h"
#include "tool_plan.h"

double tool_spent(double epsilon)
{
	return cm_round_up(epsilon, 4);
}

/* Round what is left down. */
static double down(double v)
{
	return v > 0 ? cm_round_down(v, 4) : 0;
}

static void add_slots(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	unsigned *slots = user;

	(void)type;
	if (item != PT_FIELD_ALONE && strcmp(name, "count") == 0)
		*slots += (unsigned)value;
}

/* Write the parameters as a plan that names the protocol would give them, such as "epsilon0 5.50, 17
 * levels". */
static void parameters(const struct pl_round *r, char *out, size_t room)
{
	size_t n = (size_t)snprintf(out, room, "epsilon0 %.2f", r->epsilon0);
	unsigned slots = 0, size_of = (unsigned)pt_parameter(&r->randomizer, "size");

	pt_parameters_each(&r->randomizer, add_slots, &slots);
	if (slots > r->randomizer.row->messages(&r->randomizer))
		n += (size_t)snprintf(out + n, room - n, ", 1 of %u slots", slots);
	else if (slots > 0)
		n += (size_t)snprintf(out + n, room - n, " in %u slot%s", slots, slots == 1 ? "" : "s");
	else if (r->query.kind & (QY_MEAN | QY_SUM | QY_QUANTILES))
		n += (size_t)snprintf(out + n, room - n, ", %u levels",
			(unsigned)pt_parameter(&r->randomizer, "bins") - qy_query_symbols(&r->query));
	if (size_of != 0)
		n += (size_t)snprintf(out + n, room - n, ", size %u", size_of);
	if (r->query.none != QY_NONE_SYMBOL && n < room) {
		char none[64];

		qy_query_none_word(&r->query, none, sizeof none);
		n += (size_t)snprintf(out + n, room - n, ", none %.20s", none);
	}
	if (n >= room)
		return;
	if (r->randomizer.shuffler.dummies != 0)
		(void)snprintf(out + n, room - n, ", %llu from the shuffler",
			(unsigned long long)r->randomizer.shuffler.dummies);
	else if (r->randomizer.shuffler.noise_mean != 0)
		(void)snprintf(out + n, room - n, ", noise of the shuffler");
	else if (r->randomizer.shuffler.tag_messages != 0)
		(void)snprintf(out + n, room - n, ", evened to %llu each",
			(unsigned long long)r->randomizer.shuffler.tag_messages);
}

/* The number of honest participants with which the round's loss is computed. */
static uint64_t honest_of(const struct pl_plan *p, const struct pl_round *r)
{
	return rd_honest(r->min_reports, p->honest_fraction, p->colluders);
}

static void print_row(
	struct cm_table *t, const struct pl_plan *p, const struct pl_round *r, const struct pl_cost *c)
{
	double total = c->run ? c->verdict.total : c->verdict.spent;
	char number[24], protocol[48], how[128], messages[16], bytes[32], error[24], least[32], honest[32],
		cost[24], sum[24], rest[24];

	if (r->recurrences > 1)
		(void)snprintf(number, sizeof number, "%u-%u", r->number - r->recurrence + 1,
			r->number - r->recurrence + r->recurrences);
	else
		(void)snprintf(number, sizeof number, "%u", r->number);
	(void)snprintf(
		protocol, sizeof protocol, "%s%s", r->automatic ? "auto: " : "", r->protocol->device->name);
	parameters(r, how, sizeof how);
	(void)snprintf(messages, sizeof messages, "%u", (unsigned)c->messages);
	(void)snprintf(error, sizeof error, "%.3g", c->error);
	(void)snprintf(cost, sizeof cost, c->run ? "%.4f" : "REFUSED", tool_spent(c->verdict.epsilon_round));
	(void)snprintf(sum, sizeof sum, "%.4f", tool_spent(total));
	(void)snprintf(rest, sizeof rest, "%.4f", down(p->epsilon - total));
	if (c->verdict.adaptive) {
		double share = c->run ? c->verdict.share_total : c->verdict.share_spent;

		(void)snprintf(sum, sizeof sum, "%.2f %%", cm_percent_up(share, 2));
		(void)snprintf(rest, sizeof rest, "%.2f %%", 100 * down(1 - share));
	}
	cm_table_row(t, (const char *const[]){ number, r->query.name, protocol, how, messages,
				cm_thousands((int64_t)c->bytes, bytes), error,
				cm_thousands((int64_t)r->min_reports, least),
				cm_thousands((int64_t)honest_of(p, r), honest), cost, sum, rest });
}

static void print_refused(const struct pl_round *r, const struct pl_cost *c)
{
	const struct rd_verdict *v = &c->verdict;

	printf("\nround %u (%s) %swould be refused: it needs ", r->number, r->label,
		r->recurrence < r->recurrences ? "and its later recurrences " : "");
	if (v->adaptive)
		printf("%.2f %% of the filter's budget, %.2f %% is spent\n", cm_percent_up(v->share, 2),
			cm_percent_up(v->share_spent, 2));
	else
		printf("epsilon %.4f, the total would be %.4f\n", tool_spent(v->epsilon_round),
			tool_spent(v->total));
	if (c->largest_epsilon0 > 0)
		printf("  it would fit with epsilon0 <= %.3g\n", c->largest_epsilon0);
	if (c->least_dummies > 0)
		printf("  it would fit with dummies >= %u, %llu bytes a device\n", (unsigned)c->least_dummies,
			(unsigned long long)(c->bytes / c->messages) * (c->least_dummies + 1ULL));
	if (c->largest_epsilon0 <= 0 && c->least_dummies == 0)
		puts("  no other parameter of this protocol would make it fit");
}

static uint64_t bytes_of_all(const struct pl_plan *p, const struct pl_cost *cost)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->rounds; i++)
		sum += cost[i].run ? cost[i].bytes : 0;
	return sum;
}

/* The account after the last round that runs. */
static struct rd_verdict last_verdict(const struct pl_plan *p, const struct pl_cost *cost)
{
	struct rd_verdict last = { .left = p->epsilon };

	for (size_t i = 0; i < p->rounds; i++)
		if (cost[i].run)
			last = cost[i].verdict;
	return last;
}

/* Print who must behave well for the guarantee to hold, unless that is the same for all rounds. */
static void print_trust(const struct pl_plan *p)
{
	bool some = false;

	for (size_t i = 0; i < p->rounds; i++)
		if (isinf(p->round[i].epsilon0) && !pl_repeats(p, i)) {
			printf("%s %u (%s)", some ? "," : "without a local guarantee: round",
				p->round[i].number, p->round[i].query.name);
			some = true;
		}
	if (some)
		puts("; shuffler and analyzer together could read the values there");
	pl_plan_print_trust(p, stdout);
}

#define ESTIMAND 300

/* Whether the protocol of the round estimates something else than the plan asks; `estimand` says what. */
static bool is_other(const struct pl_round *r, char estimand[ESTIMAND])
{
	*estimand = '\0';
	if (r->protocol->estimand)
		r->protocol->estimand(&r->query, &r->randomizer, estimand, ESTIMAND);
	return *estimand != '\0';
}

/* Print what a reader of the answers must know: what some protocols estimate in place of what is asked, and
 * what the papers of some claim beside what is charged. */
static void print_statements(const struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		char estimand[ESTIMAND], text[400] = "";

		if (pl_repeats(p, i))
			continue;
		if (is_other(r, estimand))
			printf("round %u (%s) estimates: %s\n", r->number, r->query.name, estimand);
		if (r->protocol->statement)
			r->protocol->statement(
				&r->query, &r->randomizer, honest_of(p, r), p->delta, text, sizeof text);
		if (text[0] != '\0')
			printf("round %u (%s): %s\n", r->number, r->query.name, text);
	}
}

/* A recurring round has one row: the last recurrence that fits, or the first if none fits. */
static bool is_shown(const struct pl_plan *p, const struct pl_cost *cost, size_t i)
{
	if (p->round[i].recurrences < 2)
		return true;
	if (!cost[i].run)
		return p->round[i].recurrence == 1;
	return p->round[i].recurrence == p->round[i].recurrences || !cost[i + 1].run;
}

static void print_costs(const struct pl_plan *p, const char *file, const struct pl_cost *cost)
{
	static const char *const head[] = { "round", "query", "protocol", "parameters", "messages", "bytes",
		"error", "reports >=", "honest", "cost", "total", "left" };
	struct cm_table *t = cm_table_new("><<<>>>>>>>>", head);
	enum acct_filter_kind filter = rd_mode_filter(p->mode);
	struct rd_verdict last = last_verdict(p, cost);
	bool *fits = calloc(p->rounds, sizeof *fits);
	size_t run = 0;
	char bytes[32];

	if (!t || !fits) {
		cm_table_free(t);
		free(fits);
		return;
	}
	printf("plan %s  budget epsilon %.*f%s at delta %g, unit %s, %zu round%s\n", p->name,
		p->exact ? 4 : 3, p->epsilon, p->exact ? ", exactly what its rounds use," : "", p->delta,
		p->unit, p->rounds, p->rounds == 1 ? "" : "s");
	if (filter != 0)
		printf("mode adaptive, filter %s: totals are shares of its budget\n",
			acct_filter_name(filter));
	putchar('\n');
	for (size_t i = 0; i < p->rounds; i++) {
		fits[i] = cost[i].run;
		run += fits[i];
		if (is_shown(p, cost, i))
			print_row(t, p, &p->round[i], &cost[i]);
	}
	cm_table_print(t, stdout);
	cm_table_free(t);
	for (size_t i = 0; i < p->rounds; i++)
		if (p->round[i].automatic && !pl_repeats(p, i))
			printf("%sround %u (%s): %s\n", i == 0 || !p->round[i - 1].automatic ? "\n" : "",
				p->round[i].number, p->round[i].query.name, p->round[i].why);
	for (size_t i = 0; i < p->rounds; i++)
		if (!cost[i].run && !(pl_repeats(p, i) && !cost[i - 1].run))
			print_refused(&p->round[i], &cost[i]);
	putchar('\n');
	pl_plan_print_recurring(p, fits, stdout);
	free(fits);
	printf("%zu of %zu round%s, %s bytes from each device", run, p->rounds,
		p->rounds == 1 ? " fits" : "s fit", cm_thousands((int64_t)bytes_of_all(p, cost), bytes));
	if (!last.adaptive)
		printf(", epsilon %.4f of %.4f", tool_spent(last.total), p->epsilon);
	putchar('\n');
	pl_slice_warn(p, last.total, stdout);
	pl_plan_print_alone(p, file, stdout);
	puts("costs and totals are upper bounds, at the guaranteed minimum of honest reports");
	puts("error: root mean square; of a number in its unit, of a vector over its coordinates, of counts over an\n"
	     "average category and one that a tenth of the devices hold");
	if (run < p->rounds)
		puts("to fit them all: write \"weight 1\" in place of their epsilon0 or dummies, and "
		     "`tombola plan optimise` finds the numbers");
	print_trust(p);
	print_statements(p);
}

/* ---- JSON ---- */

static json_t *real(double v)
{
	return isfinite(v) ? json_real(v) : json_string("inf");
}

/* Write a whole number without a fraction. */
static json_t *dummies_json(uint32_t dummies, uint64_t chance)
{
	return chance > 0 ? json_real(pt_dummies_each(dummies, chance)) : json_integer(dummies);
}

struct slots {
	json_t *list;
	uint32_t dummies; /* dummies of the last slot */
};

static void set_slot(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct slots *to = user;
	json_t *slot;

	if (item == PT_FIELD_ALONE)
		return;
	if (json_array_size(to->list) <= item)
		(void)json_array_append_new(to->list, json_object());
	slot = json_array_get(to->list, item);
	if (strcmp(name, "dummies") == 0)
		to->dummies = (uint32_t)value;
	if (strcmp(name, "dummy_chance") == 0)
		(void)json_object_set_new(slot, "dummies", dummies_json(to->dummies, value));
	else if (type == PT_FIELD_U32)
		(void)json_object_set_new(slot, name, json_integer((json_int_t)value));
}

/* The slots of a round; the list is empty if the round has one batch only. */
static json_t *slots_json(const struct pt_randomizer *p)
{
	struct slots to = { .list = json_array() };

	pt_parameters_each(p, set_slot, &to);
	return to.list;
}

static json_t *round_json(const struct pl_plan *p, const struct pl_round *r, const struct pl_cost *c)
{
	const struct rd_verdict *v = &c->verdict;
	char none[PR_TEXT_MAX + sizeof QY_NONE_CATEGORY], estimand[ESTIMAND];
	json_t *o, *more, *choice;
	int bad;

	qy_query_none_word(&r->query, none, sizeof none);
	o = json_pack("{s:i, s:s, s:s, s:b, s:o, s:i, s:o, s:i, s:I, s:I, s:I, s:I}", "round", (int)r->number,
		"query", r->query.name, "protocol", r->protocol->device->name, "auto", (int)r->automatic,
		"epsilon0", real(r->epsilon0), "bins", (int)pt_parameter(&r->randomizer, "bins"), "dummies",
		dummies_json((uint32_t)pt_parameter(&r->randomizer, "dummies"),
			pt_parameter(&r->randomizer, "dummy_chance")),
		"size", (int)pt_parameter(&r->randomizer, "size"), "shuffler_dummies",
		(json_int_t)r->randomizer.shuffler.dummies, "shuffler_noise_mean",
		(json_int_t)r->randomizer.shuffler.noise_mean, "min_reports", (json_int_t)r->min_reports,
		"honest", (json_int_t)honest_of(p, r));
	more = json_pack("{s:s, s:o, s:i, s:I, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "none", none, "slots",
		slots_json(&r->randomizer), "messages", (int)c->messages, "bytes", (json_int_t)c->bytes,
		"expected_error", real(c->error), "fits", (int)c->run, "share", real(v->share),
		"epsilon_round", real(v->epsilon_round), "epsilon_total", real(v->total), "largest_epsilon0",
		c->run ? json_null() : real(c->largest_epsilon0), "least_dummies",
		c->run ? json_null() : json_integer((json_int_t)c->least_dummies));
	choice = r->automatic ? json_pack("{s:o, s:I, s:s}", "epsilon_allowed", real(r->cost), "max_bytes",
					(json_int_t)r->max_bytes, "why", r->why)
			      : json_object();
	if (is_other(r, estimand) && o)
		(void)json_object_set_new(o, "estimand", json_string(estimand));
	if (r->recurrence > 0 && o)
		(void)json_object_set_new(o, "recurrence", json_integer(r->recurrence));
	if (qy_computes(&r->computing) && o)
		(void)(json_object_set_new(o, "compute", json_string(r->computing.map)) |
			json_object_set_new(o, "payload_max", json_integer((json_int_t)r->payload_max)));
	bad = !o || !more || !choice || json_object_update(o, more) != 0 ||
	      json_object_update(o, choice) != 0;

	json_decref(more);
	json_decref(choice);
	if (bad) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static enum cm_rc print_json(const struct pl_plan *p, const struct pl_cost *cost, struct cm_err *err)
{
	json_t *rounds = json_array(), *doc;
	char digest[2 * PR_HASH_LEN + 1];
	struct rd_verdict last = last_verdict(p, cost);
	int bad = !rounds;

	cm_hex(p->digest, PR_HASH_LEN, digest);
	for (size_t i = 0; !bad && i < p->rounds; i++)
		bad = json_array_append_new(rounds, round_json(p, &p->round[i], &cost[i]));
	doc = bad ? NULL
		  : json_pack("{s:s, s:s, s:s, s:s, s:f, s:f, s:o, s:I, s:O}", "schema",
			    "tombola.plan-cost/1", "plan", p->name, "digest", digest, "mode", p->mode,
			    "epsilon_limit", p->epsilon, "delta", p->delta, "epsilon_total", real(last.total),
			    "bytes", (json_int_t)bytes_of_all(p, cost), "rounds", rounds);
	bad = !doc || json_dumpf(doc, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 ||
	      putchar('\n') == EOF;
	json_decref(rounds);
	json_decref(doc);
	return bad ? cm_fail(err, CM_EIO, "cannot write JSON") : CM_OK;
}

enum cm_rc tool_plan_cost(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	struct pl_cost *cost = NULL;
	struct pl_plan p;
	enum cm_rc rc = pl_plan_load(cli->argv[1], stderr, &p, err);

	(void)exit_code;
	if (rc == CM_OK && !(cost = calloc(p.rounds, sizeof *cost)))
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = pl_plan_cost(&p, cost, err);
	if (rc == CM_OK && cli->json)
		rc = print_json(&p, cost, err);
	else if (rc == CM_OK)
		print_costs(&p, cli->argv[1], cost);
	free(cost);
	pl_plan_fini(&p);
	return rc;
}
