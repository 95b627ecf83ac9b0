/* cl_policy.c - the client's own limits on a round. */
#include "cl_policy.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "co_compute.h"
#include "pr_limits.h"
#include "pt_classes.h"
#include "rd_mode.h"

#define AT(field) offsetof(struct cl_policy, field)

const struct cf_row cl_policy_rows[] = {
	{ .key = "population",
		.type = CF_STRING,
		.offset = AT(population),
		.required = true,
		.help = "population this client is part of" },
	{ .key = "max_epsilon0",
		.type = CF_EXTENDED,
		.offset = AT(max_epsilon0),
		.required = true,
		.min = 0,
		.max = 700,
		.help = "largest local epsilon of one round (what holds even if all others collude); \"inf\" "
			"also allows rounds that the mix alone protects" },
	{ .key = "max_epsilon",
		.type = CF_DOUBLE,
		.offset = AT(max_epsilon),
		.required = true,
		.min = 1e-6,
		.max = 1000,
		.help = "largest central epsilon of all plans it takes part in together: their slices add "
			"up" },
	{ .key = "delta",
		.type = CF_DOUBLE,
		.offset = AT(delta),
		.required = true,
		.min = 1e-15,
		.max = 0.01,
		.help = "at this delta" },
	{ .key = "min_batch",
		.type = CF_INT,
		.offset = AT(min_batch),
		.required = true,
		.min = 1,
		.max = PR_ROUND_REPORTS_MAX,
		.help = "smallest min_reports of a round that is answered (participants)" },
	{ .key = "honest_fraction",
		.type = CF_DOUBLE,
		.offset = AT(honest_fraction),
		.required = true,
		.min = 1e-6,
		.max = 1,
		.help = "share of a round's participants that you believe honest, 1.0: all, whoever comes "
			"first; the smaller of this and the round's counts" },
	{ .key = "colluders",
		.type = CF_INT,
		.offset = AT(colluders),
		.required = true,
		.min = 0,
		.max = PR_ROUND_REPORTS_MAX,
		.help = "participants that may collude with the analyzer, 0: none; say all places of "
			"certificates that you do not vouch for; the larger counts" },
	{ .key = "accept_shuffler_dummies",
		.type = CF_BOOL,
		.offset = AT(accept_shuffler_dummies),
		.fallback = "false",
		.help = "count on blanket messages that the shuffler is to add: nobody can check that it "
			"adds them; false: a round is judged as if it added none" },
	{ .key = "accept_adaptive",
		.type = CF_BOOL,
		.offset = AT(accept_adaptive),
		.fallback = "false",
		.help = "take part in rounds of mode adaptive, which may follow from earlier answers; a "
			"filter keeps the budget" },
	{ .key = "queries",
		.type = CF_STRINGS,
		.offset = AT(queries),
		.max = 1000,
		.help = "queries it answers; none listed: any" },
	{ .key = "fields",
		.type = CF_STRINGS,
		.offset = AT(fields),
		.max = 1000,
		.help = "fields of a reading it reports on; none listed: any but the device's" },
	{ .key = "protocols",
		.type = CF_STRINGS,
		.offset = AT(protocols),
		.max = 100,
		.help = "randomizers it uses; none listed: any" },
	{ .key = "max_rounds",
		.type = CF_INT,
		.offset = AT(max_rounds),
		.min = 0,
		.max = 1000000,
		.fallback = "0",
		.help = "rounds it takes part in per window; 0: no limit" },
	{ .key = "window",
		.type = CF_DURATION,
		.offset = AT(window_ms),
		.min = 1000,
		.max = 366.0 * 86400e3,
		.fallback = "24h",
		.help = "length of that window" },
	{ .key = "plan",
		.type = CF_STRING,
		.offset = AT(plan),
		.help = "the only plan it answers, \"sha256:...\" as tombola-analyzer plan digest prints "
			"it; absent: any that fits" },
	{ .key = "max_tries",
		.type = CF_INT,
		.offset = AT(max_tries),
		.min = 1,
		.max = PR_TRIES_MAX,
		.fallback = "3",
		.help = "tries of one entry of a plan: each is one more epsilon0 against shuffler and "
			"analyzer together" },
	{ .key = "maps",
		.type = CF_STRINGS,
		.offset = AT(maps),
		.help = "maps it computes of readings; empty: any that it knows" },
	{ .key = "max_payload",
		.type = CF_INT,
		.offset = AT(max_payload),
		.min = 0,
		.max = PR_PAYLOAD_MAX,
		.fallback = "16777216",
		.help = "bytes of a round's payload at most; 0: no round that has one" },
	{ .key = "max_plan_entries",
		.type = CF_INT,
		.offset = AT(max_plan_entries),
		.min = 1,
		.max = PR_ENTRIES_MAX,
		.fallback = "400",
		.help = "entries of a plan: each costs one composition, once" },
	{ .key = NULL },
};

enum cm_rc cl_policy_load(
	const char *path, struct cl_policy *out, struct cf_file **file, FILE *faults, struct cm_err *err)
{
	enum cm_rc rc;

	*out = (struct cl_policy){ 0 };
	rc = cf_load(path, cl_policy_rows, out, file, faults, err);
	if (rc != CM_OK)
		return rc;
	err->code = CM_OK;
	if (out->plan) {
		struct cm_err why;

		out->plan_only = strncmp(out->plan, "sha256:", 7) == 0 &&
				 cm_unhex(out->plan + 7, out->plan_hash, PR_HASH_LEN) == CM_OK;
		(void)cm_fail(&why, CM_ECONFIG, "plan is not \"sha256:\" and 64 hexadecimal digits");
		if (!out->plan_only)
			cf_fault_at(*file, "plan", &why, faults, err);
	}
	for (size_t i = 0; i < out->protocols.n; i++) {
		struct cm_err why;

		if (pt_device_find(out->protocols.item[i]))
			continue;
		(void)cm_fail(&why, CM_ECONFIG, "no protocol is called '%.60s'", out->protocols.item[i]);
		cf_fault_at(*file, "protocols", &why, faults, err);
	}
	for (size_t i = 0; i < out->maps.n; i++) {
		struct cm_err why;

		if (co_map_find(out->maps.item[i]))
			continue;
		(void)cm_fail(&why, CM_ECONFIG, "no map is called '%.60s'", out->maps.item[i]);
		cf_fault_at(*file, "maps", &why, faults, err);
	}
	return err->code;
}

void cl_policy_free(struct cl_policy *p)
{
	cf_free(cl_policy_rows, p);
}

static bool listed(const struct cf_strings *list, const char *name)
{
	if (list->n == 0)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->item[i], name) == 0)
			return true;
	return false;
}

/* The fields of a reading that a round reads: of one that computes, the map's, and the query's are the
 * output's. */
static uint32_t fields_read(const struct rd_descriptor *d)
{
	return qy_computes(&d->computing) ? d->computing.fields : qy_query_fields(&d->query);
}

static const char *field_read(const struct rd_descriptor *d, uint32_t i)
{
	return qy_computes(&d->computing) ? d->computing.field[i] : qy_query_field(&d->query, i);
}

/* The owner of this device must have agreed to that program. */
static bool agreed(const struct cl_policy *p, const struct qy_computing *c)
{
	for (size_t i = 0; i < p->programs; i++)
		if (memcmp(p->program[i], c->program, PR_HASH_LEN) == 0)
			return true;
	return false;
}

/* What is computed must be known and allowed here, and must answer the query. */
static enum cm_rc check_map(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	const char *map = d->computing.map;
	struct cm_err why;

	if (!qy_computes(&d->computing) || !CM_CHECKED("client.policy.maps"))
		return CM_OK;
	if (strcmp(map, QY_MAP_PROGRAM) == 0 && CM_CHECKED("client.policy.program") &&
		!agreed(p, &d->computing)) {
		char hex[2 * PR_HASH_LEN + 1];

		cm_hex(d->computing.program, PR_HASH_LEN, hex);
		return cm_fail(
			err, CM_EPERM, "policy: program sha256:%s is not among this client's programs", hex);
	}
	if (!listed(&p->maps, map))
		return cm_fail(err, CM_EPERM, "policy: map '%s' is not among the allowed maps", map);
	if (co_check(&d->computing, &d->query, &why) != CM_OK)
		return cm_fail(err, CM_EPERM, "policy: %s", why.msg);
	return CM_OK;
}

static enum cm_rc check_what(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	if (strcmp(d->population, p->population) != 0)
		return cm_fail(err, CM_EPERM, "policy: the round is for population '%.60s', not '%.60s'",
			d->population, p->population);
	if (CM_CHECKED("client.policy.adaptive") && !p->accept_adaptive && rd_mode_filter(d->mode) != 0)
		return cm_fail(err, CM_EPERM,
			"policy: rounds of mode %s may follow from earlier answers, and accept_adaptive is "
			"false",
			d->mode);
	if (!listed(&p->queries, d->query.name))
		return cm_fail(
			err, CM_EPERM, "policy: query '%s' is not among the allowed queries", d->query.name);
	for (uint32_t i = 0; i < fields_read(d); i++)
		if (CM_CHECKED("client.device_field") && p->device_field &&
			strcmp(field_read(d, i), p->device_field) == 0)
			return cm_fail(err, CM_EPERM,
				"policy: field '%s' names the device, and no query may ask who a device is",
				field_read(d, i));
	for (uint32_t i = 0; i < fields_read(d); i++)
		if (CM_CHECKED("client.policy.fields") && !listed(&p->fields, field_read(d, i)))
			return cm_fail(err, CM_EPERM, "policy: field '%s' is not among the allowed fields",
				field_read(d, i));
	if (CM_CHECKED("client.policy.payload") && d->payload_max > (uint64_t)p->max_payload)
		return cm_fail(err, CM_EPERM,
			"policy: payloads of up to %" PRIu64 " bytes, max_payload is %" PRId64,
			d->payload_max, p->max_payload);
	if (check_map(p, d, err) != CM_OK)
		return err->code;
	if (!listed(&p->protocols, d->randomizer.row->name))
		return cm_fail(err, CM_EPERM, "policy: protocol '%s' is not among the allowed protocols",
			d->randomizer.row->name);
	return CM_OK;
}

/* Refuse a round that only the shuffler's dummies protect: without them it has no guarantee to judge. */
static enum cm_rc check_blanket(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	struct pt_randomizer without = d->randomizer;
	struct cm_err why;

	if (!pt_rests_on_shuffler(&d->randomizer) || cl_policy_rests_on_shuffler(p, d))
		return CM_OK;
	without.shuffler.dummies = 0;
	without.shuffler.noise_decay = 0;
	without.shuffler.noise_mean = 0;
	if (d->randomizer.row->check(&d->query, &without, &why) != CM_OK)
		return cm_fail(err, CM_EPERM,
			"policy: the round's guarantee rests on the shuffler adding %s%" PRIu64
			" messages, and accept_shuffler_dummies is false: without them there is none",
			d->randomizer.shuffler.dummies > 0 ? "" : "up to ", pt_shuffler_most(&d->randomizer));
	return CM_OK;
}

bool cl_policy_class(const struct cl_policy *p, const struct rd_descriptor *d, uint32_t *level)
{
	uint32_t i = 0;

	*level = 0;
	if (!pt_has_classes(&d->randomizer))
		return true;
	while (i < d->randomizer.shuffler.tags &&
		d->randomizer.row->class_epsilon0(&d->randomizer, i) <= p->max_epsilon0)
		i++;
	*level = i > 0 ? i - 1 : 0;
	return i > 0;
}

double cl_policy_epsilon0(const struct cl_policy *p, const struct rd_descriptor *d)
{
	uint32_t level;

	(void)cl_policy_class(p, d, &level);
	return pt_has_classes(&d->randomizer) ? d->randomizer.row->class_epsilon0(&d->randomizer, level)
					      : d->randomizer.row->epsilon0(&d->randomizer);
}

static enum cm_rc check_local(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	double own = cl_policy_epsilon0(p, d);

	if (CM_CHECKED("client.policy.epsilon0") && !(own <= p->max_epsilon0))
		return cm_fail(err, CM_EPERM, "policy: epsilon0 %.4g is above max_epsilon0 %.4g", own,
			p->max_epsilon0);
	return CM_OK;
}

static enum cm_rc check_statement(const struct rd_descriptor *d, struct cm_err *err)
{
	double epsilon0 = d->randomizer.row->epsilon0(&d->randomizer);

	/* Refuse a descriptor that states less epsilon0 than its parameters give; a difference from rounding
	 * is accepted. */
	if (CM_CHECKED("client.policy.statement") && !(d->privacy.epsilon0 >= epsilon0 * (1 - 1e-9)))
		return cm_fail(err, CM_EPERM,
			"policy: the round states epsilon0 %.4g, its randomizer has %.4g",
			d->privacy.epsilon0, epsilon0);
	return CM_OK;
}

static enum cm_rc check_batch(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	uint64_t batch = d->min_reports;
	const char *whose = "";
	uint32_t level;

	(void)cl_policy_class(p, d, &level);
	if (d->randomizer.row->classes_apart && d->randomizer.shuffler.tag_least[level] < batch) {
		batch = d->randomizer.shuffler.tag_least[level];
		whose = " of its class";
	}
	if (CM_CHECKED("client.policy.min_batch") && batch < (uint64_t)p->min_batch)
		return cm_fail(err, CM_EPERM,
			"policy: the round guarantees a batch of %" PRIu64
			"%s (min_reports of the plan), min_batch is %" PRId64,
			batch, whose, p->min_batch);
	return CM_OK;
}

enum cm_rc cl_policy_entry(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = check_what(p, d, err);
	size_t device;

	if (rc == CM_OK)
		rc = check_local(p, d, err);
	if (rc == CM_OK)
		rc = check_blanket(p, d, err);
	if (rc == CM_OK)
		rc = check_batch(p, d, err);
	if (rc != CM_OK)
		return rc;
	/* 64 bytes are more than the other fields of a Submit take. */
	if (!cm_size_mul(rd_message_len(d), d->messages_per_client, &device) ||
		device > PR_FRAME_MAX - 64 - PR_PSEUDONYM_LEN)
		return cm_fail(err, CM_EPERM, "policy: %u messages of %zu bytes do not fit one frame",
			d->messages_per_client, rd_message_len(d));
	return CM_OK;
}

enum cm_rc cl_policy_check(
	const struct cl_policy *p, const struct rd_descriptor *d, uint64_t recent, struct cm_err *err)
{
	enum cm_rc rc = cl_policy_entry(p, d, err);

	if (rc == CM_OK)
		rc = check_statement(d, err);
	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("client.policy.tries") && d->attempt > p->max_tries)
		return cm_fail(err, CM_EPERM,
			"policy: this is try %lu of the plan's entry %lu, max_tries is %" PRId64,
			(unsigned long)d->attempt, (unsigned long)d->entry, p->max_tries);
	/* Checked here as a final refusal: the round's key never changes. */
	if (CM_CHECKED("client.policy.key") && cr_hpke_check_recipient(d->hpke_key, err) != CM_OK)
		return cm_fail(
			err, CM_EPERM, "policy: hpke_key: a public key to which nothing can be sealed");
	if (p->max_rounds > 0 && recent >= (uint64_t)p->max_rounds)
		return cm_fail(err, CM_EPERM,
			"policy: %" PRIu64 " rounds within the last %" PRId64 " s, max_rounds is %" PRId64,
			recent, p->window_ms / 1000, p->max_rounds);
	return CM_OK;
}

bool cl_policy_rests_on_shuffler(const struct cl_policy *p, const struct rd_descriptor *d)
{
	return pt_rests_on_shuffler(&d->randomizer) &&
	       (p->accept_shuffler_dummies || !CM_CHECKED("client.policy.shuffler_dummies"));
}

uint64_t cl_policy_honest(const struct cl_policy *p, const struct rd_descriptor *d)
{
	return rd_honest_as(d, p->honest_fraction, (uint64_t)p->colluders);
}

enum cm_rc cl_policy_loss(
	const struct cl_policy *p, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, cl_policy_honest(p, d), cl_policy_rests_on_shuffler(p, d), out, err);
}
