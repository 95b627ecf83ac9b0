/* rd_pin.c - what a party takes of a plan, what a descriptor may differ in from its entry, and slices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_decimal.h"
#include "cm_fault.h"
#include "rd_account.h"
#include "rd_plan.h"

const struct rd_entry *rd_plan_entry(const struct rd_plan *p, uint32_t number)
{
	for (size_t i = 0; i < p->entries; i++)
		if (p->entry[i].number == number)
			return &p->entry[i];
	return NULL;
}

void rd_plan_descriptor(const struct rd_plan *p, size_t i, struct rd_descriptor *out)
{
	const struct rd_entry *e = &p->entry[i];

	*out = (struct rd_descriptor){ .query = e->query,
		.randomizer = e->randomizer,
		.computing = e->computing,
		.payload_max = e->payload_max,
		.messages_per_client = e->randomizer.row->messages(&e->randomizer),
		.record_len = e->randomizer.row->record_len(&e->randomizer),
		.min_reports = e->min_reports,
		.target = e->target,
		.honest_fraction = p->honest_fraction,
		.colluders = p->colluders,
		.entry = e->number };
	memcpy(out->population, p->population, sizeof out->population);
	memcpy(out->mode, p->mode, sizeof out->mode);
	memcpy(out->unit, p->unit, sizeof out->unit);
	memcpy(out->plan_hash, p->hash, PR_HASH_LEN);
}

static enum cm_rc differs(struct cm_err *err, const char *what)
{
	return cm_fail(err, CM_EPROTO, "the round's %s is not the plan's", what);
}

static enum cm_rc covers_entry(const struct rd_plan *p, const struct rd_descriptor *d, struct cm_err *err)
{
	const struct rd_entry *e = rd_plan_entry(p, d->entry);

	if (!e)
		return cm_fail(err, CM_EPROTO, "the plan has no entry %lu", (unsigned long)d->entry);
	if (d->attempt > p->tries)
		return cm_fail(err, CM_EPROTO, "try %lu of entry %lu, the plan allows %lu",
			(unsigned long)d->attempt, (unsigned long)d->entry, (unsigned long)p->tries);
	if (CM_CHECKED("round.plan.randomizer") && !pt_randomizer_equal(&e->randomizer, &d->randomizer))
		return differs(err, "randomizer");
	if (CM_CHECKED("round.plan.computing") &&
		(!qy_computing_equal(&e->computing, &d->computing) || d->payload_max != e->payload_max))
		return differs(err, "computing");
	if (d->query.kind != e->query.kind)
		return differs(err, "kind of query");
	if (CM_CHECKED("round.plan.batch") && (d->min_reports != e->min_reports || d->target != e->target))
		return differs(err, "batch");
	return CM_OK;
}

enum cm_rc rd_plan_covers(const struct rd_plan *p, const struct rd_descriptor *d, struct cm_err *err)
{
	if (memcmp(d->plan_hash, p->hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPROTO, "the round belongs to another plan");
	if (strcmp(d->population, p->population) != 0)
		return differs(err, "population");
	if (strcmp(d->mode, p->mode) != 0)
		return differs(err, "mode");
	if (strcmp(d->unit, p->unit) != 0)
		return differs(err, "unit");
	if (d->honest_fraction < p->honest_fraction || d->honest_fraction > p->honest_fraction ||
		d->colluders != p->colluders)
		return differs(err, "assumption about honest participants");
	return rd_plan_is_adaptive(p) ? CM_OK : covers_entry(p, d, err);
}

/* ---- Pins ---- */

bool rd_pin_has(const struct rd_pin *pin, size_t i)
{
	return i < pin->entries && (pin->taken[i / 8] >> (i % 8) & 1) != 0;
}

size_t rd_pin_count(const struct rd_pin *pin)
{
	size_t n = 0;

	for (size_t i = 0; i < pin->entries; i++)
		n += rd_pin_has(pin, i);
	return n;
}

/* One pass over the entries, in order: what does not fit beside those taken is passed over.  Where all fit
 * together, each fits beside those before it, so all are taken. */
struct pass {
	const struct rd_plan *p;
	rd_entry_loss_fn *loss;
	void *user;
	const atomic_bool *stop;
	struct rd_account *account;
	struct rd_pin *pin;
};

static enum cm_rc take_entry(struct pass *s, size_t i, struct cm_err *err)
{
	uint8_t id[PR_ROUND_ID_LEN] = { (uint8_t)(i >> 8), (uint8_t)i };
	struct rd_verdict verdict;
	struct rd_descriptor d;
	struct pt_loss loss;
	enum cm_rc rc;

	if (s->stop && atomic_load(s->stop))
		return cm_fail(err, CM_ELATER, "stopping");
	rd_plan_descriptor(s->p, i, &d);
	rc = s->loss(s->user, &d, &loss, err);
	if (rc == CM_EPERM)
		return CM_OK;
	if (rc == CM_OK)
		rc = rd_account_judge(s->account, &loss, &verdict, err);
	if (rc == CM_OK && CM_CHECKED("round.pin.budget") && !verdict.fits)
		return CM_OK;
	if (rc == CM_OK)
		rc = rd_account_add(s->account, id, &loss, err);
	if (rc != CM_OK)
		return rc == CM_ELATER ? rc
				       : cm_context(err, "entry %lu", (unsigned long)s->p->entry[i].number);
	s->pin->taken[i / 8] = (uint8_t)(s->pin->taken[i / 8] | 1U << (i % 8));
	s->pin->epsilon = verdict.total;
	return CM_OK;
}

enum cm_rc rd_plan_pin(const struct rd_plan *p, rd_entry_loss_fn *loss, void *user, const atomic_bool *stop,
	struct rd_pin *out, struct cm_err *err)
{
	struct pass s = { .p = p, .loss = loss, .user = user, .stop = stop, .pin = out };
	enum cm_rc rc = CM_OK;

	*out = (struct rd_pin){ .entries = p->entries };
	if (rd_plan_is_adaptive(p)) {
		out->epsilon = p->epsilon;
		return CM_OK;
	}
	s.account = rd_account_new(p->epsilon, p->delta);
	if (!s.account)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < p->entries; i++)
		rc = take_entry(&s, i, err);
	rd_account_free(s.account);
	return rc;
}

/* ---- Slices ---- */

void rd_slices_add(struct rd_slices *taken, const struct rd_plan *p)
{
	taken->epsilon = acct_decimal_add(taken->epsilon, p->epsilon);
	taken->delta = acct_decimal_add(taken->delta, p->delta);
}

bool rd_slices_fit(const struct rd_slices *taken, const struct rd_plan *p, double epsilon, double delta)
{
	struct rd_slices all = *taken;

	rd_slices_add(&all, p);
	return all.epsilon <= epsilon && all.delta <= delta;
}

/* a / b to 15 digits, which a quotient of decimals of few digits has. */
static double ratio(double a, double b)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%.15g", a / b);
	return strtod(text, NULL);
}

double rd_slices_share(const struct rd_slices *taken, double epsilon, double delta)
{
	double e = ratio(taken->epsilon, epsilon), d = ratio(taken->delta, delta);

	return e > d ? e : d;
}

/* ---- What is signed beside documents ---- */

static void put_be64(uint8_t *out, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(v >> (56 - 8 * i));
}

size_t rd_head_bytes(
	const char *population, uint64_t seq, const uint8_t head[PR_HASH_LEN], uint8_t out[RD_HEAD_MAX])
{
	size_t n = strlen(population);

	memcpy(out, population, n + 1); /* its NUL is the 0 that separates */
	put_be64(out + n + 1, seq);
	memcpy(out + n + 9, head, PR_HASH_LEN);
	return n + 9 + PR_HASH_LEN;
}

void rd_standing_bytes(const uint8_t key_hash[PR_HASH_LEN], uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], uint8_t out[RD_STANDING_LEN])
{
	memcpy(out, key_hash, PR_HASH_LEN);
	put_be64(out + PR_HASH_LEN, sequence);
	memcpy(out + PR_HASH_LEN + 8, descriptor_hash, PR_HASH_LEN);
}
