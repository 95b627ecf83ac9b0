/* rd_plan.c - the signed plan: its bytes to checked fields and back. */
#include "rd_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "pr_msg.h"
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

/* An epsilon that the analyzer states: shown to people, used for nothing. */
static enum cm_rc check_stated(double v, bool bounded, const char *field, struct cm_err *err)
{
	if (!(v >= 0.0) || (isinf(v) && bounded))
		return cm_fail(err, CM_EPROTO, "%s: not finite, or negative", field);
	return CM_OK;
}

static enum cm_rc read_entry(const Tombola__V1__Entry *m, struct rd_entry *e, struct cm_err *err)
{
	/* Query and randomizer are read as those of a descriptor are. */
	struct rd_descriptor d = { 0 };
	enum cm_rc rc = rd_query_read(m->query, &d.query, err);

	if (rc == CM_OK)
		rc = rd_randomizer_read(m->randomizer, &d, err);
	if (rc == CM_OK)
		rc = rd_batch_read(m->min_reports, m->target, &d, err);
	if (rc == CM_OK)
		rc = rd_computing_read(m->computing, m->payload_max, &e->computing, err);
	if (rc == CM_OK && !(m->epsilon0 >= 0.0))
		rc = cm_fail(err, CM_EPROTO, "epsilon0: negative");
	if (rc == CM_OK)
		rc = check_stated(m->epsilon_round, true, "epsilon_round", err);
	if (rc == CM_OK)
		rc = check_stated(m->epsilon_total, true, "epsilon_total", err);
	/* What was read is freed with the plan, whatever became of the rest. */
	e->query = d.query;
	e->randomizer = d.randomizer;
	e->payload_max = m->payload_max;
	e->min_reports = d.min_reports;
	e->target = d.target;
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

/* What protobuf-c's structures point to while the plan is packed. */
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
	/* Never sign what nobody would accept. */
	rc = rd_plan_decode(out->data + start, out->len - start, &back, err);
	rd_plan_fini(&back);
	if (rc != CM_OK) {
		out->len = start;
		err->code = CM_EINTERNAL;
		return cm_context(err, "own");
	}
	return CM_OK;
}
