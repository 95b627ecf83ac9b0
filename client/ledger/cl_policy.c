/* cl_policy.c - checks rounds against the client's own limits. */
#include "cl_policy.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cm_fault.h"
#include "co_compute.h"
#include "pr_limits.h"
#include "pt_classes.h"
#include "rd_mode.h"

#define AT(field)     offsetof(struct cl_policy, field)
#define SHARED(field) offsetof(struct cl_policy, shared.field)

const struct cf_row cl_policy_rows[] = {
	RD_POLICY_ROWS(SHARED),
	CF_REQUIRED("max_epsilon0", CF_EXTENDED(0, 700), SHARED(max_epsilon0),
		"largest local epsilon of one round (what holds even if all others collude); \"inf\" also "
		"allows rounds that the mix alone protects"),
	CF_DEFAULT("accept_shuffler_dummies", CF_BOOL, AT(accept_shuffler_dummies), "false",
		"count on blanket messages that the shuffler is to add: nobody can check that it adds "
		"them; false: a round is judged as if it added none"),
	CF_OPTIONAL("queries", CF_STRINGS(0, 1000), AT(queries), "queries it answers; none listed: any"),
	CF_OPTIONAL("fields", CF_STRINGS(0, 1000), AT(fields),
		"fields of a reading it reports on; none listed: any but the device's"),
	CF_DEFAULT("max_rounds", CF_INT(0, 1000000), AT(max_rounds), "0",
		"rounds it takes part in per window; 0: no limit"),
	CF_DEFAULT(
		"window", CF_DURATION(1000, 366.0 * 86400e3), AT(window_ms), "24h", "length of that window"),
	CF_OPTIONAL("plan", CF_STRING, AT(plan),
		"the only plan it answers, \"sha256:...\" as tombola-analyzer plan digest prints it; "
		"absent: any that fits"),
	CF_OPTIONAL("maps", CF_STRINGS, AT(maps), "maps it computes of readings; empty: any that it knows"),
	CF_DEFAULT("rehearse", CF_BOOL, AT(rehearse), "true",
		"answer the analyzer's question what would become of a plan (tombola-analyzer plan rehearse), "
		"from this file, the pins and the number of listed devices; false: say that it does not"),
	CF_END,
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
	rd_policy_check(&out->shared, *file, faults, err);
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
	cf_file_free(p->shared.file);
	p->shared.file = NULL;
	cf_free(cl_policy_rows, p);
}

void cl_policy_places(const struct cl_policy *p, struct rd_faults *faults)
{
	for (size_t i = 0; i < faults->n; i++)
		cf_place(p->shared.file, cl_policy_rows, faults->fault[i].text, faults->fault[i].place,
			sizeof faults->fault[i].place);
}

/* The fields of a reading that a round reads.  In a round that computes, these are the fields of the map,
 * because the query's fields are those of the output. */
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

/* Check that the map is known and allowed here, and that its output answers the query. */
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
		return cm_fail_key(err, CM_EPERM, "programs",
			"policy: program sha256:%s is not among this client's programs", hex);
	}
	if (!rd_policy_lists(&p->maps, map))
		return cm_fail_key(
			err, CM_EPERM, "maps", "policy: map '%s' is not among the allowed maps", map);
	if (co_check(&d->computing, &d->query, &why) != CM_OK)
		return cm_fail(err, CM_EPERM, "policy: %s", why.msg);
	return CM_OK;
}

static bool names_device(const struct cl_policy *p, const char *field)
{
	for (size_t i = 0; p->device_field[i]; i++)
		if (strcmp(field, p->device_field[i]) == 0)
			return true;
	return false;
}

static enum cm_rc check_what(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	if (rd_policy_entry(&p->shared, d, err) != CM_OK)
		return err->code;
	if (!rd_policy_lists(&p->queries, d->query.name))
		return cm_fail_key(err, CM_EPERM, "queries",
			"policy: query '%s' is not among the allowed queries", d->query.name);
	for (uint32_t i = 0; i < fields_read(d); i++)
		if (CM_CHECKED("client.device_field") && names_device(p, field_read(d, i)))
			return cm_fail_key(err, CM_EPERM, "fields",
				"policy: field '%s' names the device, and no query may ask who a device is",
				field_read(d, i));
	for (uint32_t i = 0; i < fields_read(d); i++)
		if (CM_CHECKED("client.policy.fields") && !rd_policy_lists(&p->fields, field_read(d, i)))
			return cm_fail_key(err, CM_EPERM, "fields",
				"policy: field '%s' is not among the allowed fields", field_read(d, i));
	return check_map(p, d, err);
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
		return cm_fail_key(err, CM_EPERM, "accept_shuffler_dummies",
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
		d->randomizer.row->class_epsilon0(&d->randomizer, i) <= p->shared.max_epsilon0)
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
	return rd_policy_batch(&p->shared, batch, whose, err);
}

static enum cm_rc check_epsilon0(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	return rd_policy_epsilon0(&p->shared, cl_policy_epsilon0(p, d), err);
}

static enum cm_rc check_frame(const struct cl_policy *p, const struct rd_descriptor *d, struct cm_err *err)
{
	size_t device;

	(void)p;
	/* 64 bytes are more than the other fields of a Submit take. */
	if (!cm_size_mul(rd_message_len(d), d->messages_per_client, &device) ||
		device > PR_FRAME_MAX - 64 - PR_PSEUDONYM_LEN)
		return cm_fail(err, CM_EPERM, "policy: %u messages of %zu bytes do not fit one frame",
			d->messages_per_client, rd_message_len(d));
	return CM_OK;
}

enum cm_rc cl_policy_entry(const struct cl_policy *p, const struct rd_descriptor *d, struct rd_faults *faults,
	struct cm_err *err)
{
	static enum cm_rc (*const checks[])(const struct cl_policy *, const struct rd_descriptor *,
		struct cm_err *) = { check_what, check_epsilon0, check_blanket, check_batch, check_frame };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; i < sizeof checks / sizeof checks[0] && (rc == CM_OK || faults); i++) {
		struct cm_err why;

		if (checks[i](p, d, &why) == CM_OK)
			continue;
		rd_faults_add(faults, d->entry, why.msg);
		if (rc == CM_OK)
			*err = why;
		rc = err->code;
	}
	return rc;
}

enum cm_rc cl_policy_check(
	const struct cl_policy *p, const struct rd_descriptor *d, uint64_t recent, struct cm_err *err)
{
	enum cm_rc rc = cl_policy_entry(p, d, NULL, err);

	if (rc == CM_OK)
		rc = rd_policy_round(d, err);
	if (rc != CM_OK)
		return rc;
	if (CM_CHECKED("client.policy.tries") && d->attempt > p->shared.max_tries)
		return cm_fail_key(err, CM_EPERM, "max_tries",
			"policy: this is try %lu of the plan's entry %lu, max_tries is %" PRId64,
			(unsigned long)d->attempt, (unsigned long)d->entry, p->shared.max_tries);
	if (p->max_rounds > 0 && recent >= (uint64_t)p->max_rounds)
		return cm_fail_key(err, CM_EPERM, "max_rounds",
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
	return rd_honest_as(d, p->shared.honest_fraction, (uint64_t)p->shared.colluders);
}

enum cm_rc cl_policy_loss(
	const struct cl_policy *p, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, cl_policy_honest(p, d), cl_policy_rests_on_shuffler(p, d), out, err);
}
