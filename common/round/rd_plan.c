/* rd_plan.c - the signed plan: encodes and decodes it, decides which entries a party takes, compares
 * descriptors with entries, and adds up slices. */
#include "rd_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_decimal.h"
#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_account.h"
#include "rd_computing.h"
#include "rd_query.h"
#include "rd_randomizer.h"
#include "rd_text.h"
#include "rd_wire.h"

bool rd_plan_is_adaptive(const struct rd_plan *p)
{
	return rd_mode_filter(p->mode) != 0;
}

/* ---- From the wire ---- */

static enum cm_rc read_identity(const Tombola__V1__Plan *m, struct rd_plan *p, struct cm_err *err)
{
	enum cm_rc rc;

	if (m->version != RD_VERSION)
		return cm_fail(err, CM_EPROTO, "version: %lu, this program knows %u",
			(unsigned long)m->version, RD_VERSION);
	rc = rd_copy_name(m->population, "population", p->population, sizeof p->population, err);
	if (rc == CM_OK)
		rc = rd_copy_name(m->name, "name", p->name, sizeof p->name, err);
	if (rc == CM_OK)
		rc = rd_copy_name(m->mode, "mode", p->mode, sizeof p->mode, err);
	if (rc == CM_OK)
		rc = rd_copy_name(m->unit, "unit", p->unit, sizeof p->unit, err);
	if (rc != CM_OK)
		return rc;
	if (!rd_mode_is_known(p->mode))
		return cm_fail(err, CM_EPROTO, "mode: '%s' is unknown", p->mode);
	if (m->number == 0)
		return cm_fail(err, CM_EPROTO, "number: counts from 1");
	if ((m->number == 1) != (m->previous.len == 0))
		return cm_fail(err, CM_EPROTO, "previous: belongs to every plan but the first");
	p->number = m->number;
	if (m->number > 1)
		memcpy(p->previous, m->previous.data, sizeof p->previous);
	memcpy(p->file_hash, m->file_hash.data, sizeof p->file_hash);
	return CM_OK;
}

static enum cm_rc read_numbers(const Tombola__V1__Plan *m, struct rd_plan *p, struct cm_err *err)
{
	if (!(m->epsilon > 0.0) || isinf(m->epsilon))
		return cm_fail(err, CM_EPROTO, "epsilon: not finite and above 0");
	if (!(m->delta > 0.0 && m->delta < 1.0))
		return cm_fail(err, CM_EPROTO, "delta: not in (0, 1)");
	if (rd_honest_check(m->honest_fraction, m->colluders, err) != CM_OK)
		return err->code;
	if (m->tries == 0 || m->tries > PR_TRIES_MAX)
		return cm_fail(err, CM_EPROTO, "tries: not in 1..%u", PR_TRIES_MAX);
	p->epsilon = m->epsilon;
	p->delta = m->delta;
	p->honest_fraction = m->honest_fraction;
	p->colluders = m->colluders;
	p->tries = m->tries;
	return CM_OK;
}

/* Check an epsilon that the analyzer states: it is shown to people, and used for nothing. */
static enum cm_rc check_stated(double v, bool bounded, const char *field, struct cm_err *err)
{
	if (!(v >= 0.0) || (isinf(v) && bounded))
		return cm_fail(err, CM_EPROTO, "%s: not finite, or negative", field);
	return CM_OK;
}

static enum cm_rc read_entry(const Tombola__V1__Entry *m, struct rd_entry *e, struct cm_err *err)
{
	/* Query and randomizer are read as those of a descriptor are.  The query belongs to the plan and is
	 * freed with it, even if the rest cannot be read. */
	enum cm_rc rc = rd_query_read(m->query, &e->query, err);

	if (rc == CM_OK)
		rc = rd_randomizer_read(m->randomizer, &e->query, &e->randomizer, err);
	if (rc == CM_OK)
		rc = rd_batch_check(m->min_reports, m->target, &e->randomizer, err);
	if (rc == CM_OK)
		rc = rd_computing_read(m->computing, m->payload_max, &e->computing, err);
	if (rc == CM_OK && !(m->epsilon0 >= 0.0))
		rc = cm_fail(err, CM_EPROTO, "epsilon0: negative");
	if (rc == CM_OK)
		rc = check_stated(m->epsilon_round, true, "epsilon_round", err);
	if (rc == CM_OK)
		rc = check_stated(m->epsilon_total, true, "epsilon_total", err);
	e->payload_max = m->payload_max;
	e->min_reports = m->min_reports;
	e->target = m->target;
	e->number = m->number;
	e->epsilon0 = m->epsilon0;
	e->epsilon_round = m->epsilon_round;
	e->epsilon_total = m->epsilon_total;
	return rc;
}

static enum cm_rc read_entries(const Tombola__V1__Plan *m, struct rd_plan *p, struct cm_err *err)
{
	uint32_t before = 0;

	if (m->n_entries > 0 && rd_plan_is_adaptive(p))
		return cm_fail(err, CM_EPROTO, "entries: an adaptive plan has none");
	p->entry = calloc(m->n_entries + 1, sizeof *p->entry);
	if (!p->entry)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < m->n_entries; i++) {
		enum cm_rc rc = read_entry(m->entries[i], &p->entry[p->entries++], err);

		if (rc == CM_OK && m->entries[i]->number <= before)
			rc = cm_fail(err, CM_EPROTO, "number: does not rise");
		if (rc != CM_OK)
			return cm_context(err, "entry %zu", i + 1);
		before = m->entries[i]->number;
	}
	return CM_OK;
}

static enum cm_rc read_refused(const Tombola__V1__Plan *m, struct rd_plan *p, struct cm_err *err)
{
	p->refused = calloc(m->n_refused + 1, sizeof *p->refused);
	if (!p->refused)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < m->n_refused; i++) {
		const Tombola__V1__Refused *from = m->refused[i];
		struct rd_refused *r = &p->refused[p->refusals++];
		enum cm_rc rc = rd_copy_name(from->query, "query", r->query, sizeof r->query, err);

		if (rc == CM_OK && from->number == 0)
			rc = cm_fail(err, CM_EPROTO, "number: counts from 1");
		if (rc == CM_OK)
			rc = check_stated(from->epsilon_round, false, "epsilon_round", err);
		if (rc == CM_OK)
			rc = check_stated(from->epsilon_total, false, "epsilon_total", err);
		if (rc != CM_OK)
			return cm_context(err, "refused %zu", i + 1);
		r->number = from->number;
		r->epsilon_round = from->epsilon_round;
		r->epsilon_total = from->epsilon_total;
	}
	return CM_OK;
}

enum cm_rc rd_plan_decode(const uint8_t *bytes, size_t len, struct rd_plan *out, struct cm_err *err)
{
	const Tombola__V1__Plan *m;
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	rc = pr_doc_decode(&tombola__v1__plan__descriptor, bytes, len, PR_PLAN_MAX, &doc, err);
	m = (const Tombola__V1__Plan *)doc.msg;
	if (rc == CM_OK)
		rc = read_identity(m, out, err);
	if (rc == CM_OK)
		rc = read_numbers(m, out, err);
	if (rc == CM_OK)
		rc = read_entries(m, out, err);
	if (rc == CM_OK)
		rc = read_refused(m, out, err);
	pr_doc_free(&doc);
	if (rc != CM_OK) {
		rd_plan_fini(out);
		return cm_context(err, "plan");
	}
	cr_sha256(bytes, len, out->hash);
	return CM_OK;
}

enum cm_rc rd_plan_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_plan *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_PLAN_MAX)
		return cm_fail(err, CM_EPROTO, "plan: %zu bytes, at most %u", len, PR_PLAN_MAX);
	rc = cr_verify(analyzer, RD_PURPOSE_PLAN, bytes, len, signature, err);
	if (CM_CHECKED("round.plan.signature") && rc != CM_OK)
		return cm_context(err, "plan");
	return rd_plan_decode(bytes, len, out, err);
}

void rd_plan_fini(struct rd_plan *p)
{
	for (size_t i = 0; p->entry && i < p->entries; i++)
		qy_query_fini(&p->entry[i].query);
	free(p->entry);
	free(p->refused);
	memset(p, 0, sizeof *p);
}

/* ---- To the wire ---- */

/* What protobuf-c's structures point to while the plan is encoded. */
struct entry_wire {
	Tombola__V1__Entry m;
	struct rd_query_wire query;
	struct rd_randomizer_wire randomizer;
	struct rd_computing_wire computing;
};
struct plan_wire {
	Tombola__V1__Plan m;
	struct entry_wire *entry;
	Tombola__V1__Entry **entries;
	Tombola__V1__Refused *refusal;
	Tombola__V1__Refused **refused;
};

static void plan_wire_fini(struct plan_wire *w, size_t entries)
{
	for (size_t i = 0; w->entry && i < entries; i++)
		rd_query_wire_fini(&w->entry[i].query);
	free(w->entry);
	free(w->entries);
	free(w->refusal);
	free(w->refused);
}

static enum cm_rc entry_wire(const struct rd_entry *e, struct entry_wire *w, struct cm_err *err)
{
	tombola__v1__entry__init(&w->m);
	rd_randomizer_wire(&e->randomizer, &w->randomizer);
	w->m.number = e->number;
	w->m.query = &w->query.m;
	w->m.randomizer = &w->randomizer.m;
	w->m.computing = rd_computing_wire(&e->computing, &w->computing);
	w->m.payload_max = e->payload_max;
	w->m.min_reports = e->min_reports;
	w->m.target = e->target;
	w->m.epsilon0 = e->epsilon0;
	w->m.epsilon_round = e->epsilon_round;
	w->m.epsilon_total = e->epsilon_total;
	return rd_query_wire(&e->query, &w->query, err);
}

static void fill(const struct rd_plan *p, Tombola__V1__Plan *m)
{
	tombola__v1__plan__init(m);
	m->version = RD_VERSION;
	m->population = rd_wire_text(p->population);
	m->name = rd_wire_text(p->name);
	m->mode = rd_wire_text(p->mode);
	m->unit = rd_wire_text(p->unit);
	m->number = p->number;
	m->previous = rd_wire_bytes(p->previous, p->number > 1 ? sizeof p->previous : 0);
	m->epsilon = p->epsilon;
	m->delta = p->delta;
	m->honest_fraction = p->honest_fraction;
	m->colluders = p->colluders;
	m->tries = p->tries;
	m->file_hash = rd_wire_bytes(p->file_hash, sizeof p->file_hash);
}

static enum cm_rc plan_wire(const struct rd_plan *p, struct plan_wire *w, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	fill(p, &w->m);
	w->entry = calloc(p->entries + 1, sizeof *w->entry);
	w->entries = calloc(p->entries + 1, sizeof(Tombola__V1__Entry *));
	w->refusal = calloc(p->refusals + 1, sizeof *w->refusal);
	w->refused = calloc(p->refusals + 1, sizeof(Tombola__V1__Refused *));
	if (!w->entry || !w->entries || !w->refusal || !w->refused)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < p->entries; i++) {
		rc = entry_wire(&p->entry[i], &w->entry[i], err);
		w->entries[i] = &w->entry[i].m;
	}
	for (size_t i = 0; i < p->refusals; i++) {
		tombola__v1__refused__init(&w->refusal[i]);
		w->refusal[i].number = p->refused[i].number;
		w->refusal[i].query = rd_wire_text(p->refused[i].query);
		w->refusal[i].epsilon_round = p->refused[i].epsilon_round;
		w->refusal[i].epsilon_total = p->refused[i].epsilon_total;
		w->refused[i] = &w->refusal[i];
	}
	w->m.n_entries = p->entries;
	w->m.entries = w->entries;
	w->m.n_refused = p->refusals;
	w->m.refused = w->refused;
	return rc;
}

enum cm_rc rd_plan_size(const struct rd_plan *p, size_t *out, struct cm_err *err)
{
	struct plan_wire w = { 0 };
	enum cm_rc rc = plan_wire(p, &w, err);

	if (rc == CM_OK)
		*out = protobuf_c_message_get_packed_size(&w.m.base);
	plan_wire_fini(&w, p->entries);
	return rc;
}

enum cm_rc rd_plan_encode(const struct rd_plan *p, struct cm_buf *out, struct cm_err *err)
{
	struct plan_wire w = { 0 };
	struct rd_plan back;
	size_t start = out->len;
	enum cm_rc rc = plan_wire(p, &w, err);

	if (rc == CM_OK)
		rc = pr_doc_encode(&w.m.base, out, err);
	plan_wire_fini(&w, p->entries);
	if (rc != CM_OK)
		return rc;
	/* Never sign bytes that nobody would accept. */
	rc = rd_plan_decode(out->data + start, out->len - start, &back, err);
	rd_plan_fini(&back);
	if (rc != CM_OK) {
		out->len = start;
		err->code = CM_EINTERNAL;
		return cm_context(err, "own");
	}
	return CM_OK;
}

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

/* One pass over the entries, in order: an entry that does not fit beside those taken is passed over.  If
 * all fit together, each fits beside those before it, so all are taken. */
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

/* a / b to 15 digits, which is exact if the quotient is a decimal of few digits. */
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

	memcpy(out, population, n + 1); /* its NUL is the 0 byte that separates */
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
