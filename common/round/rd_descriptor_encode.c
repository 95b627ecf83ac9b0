/* rd_descriptor_encode.c - a descriptor's fields to the bytes that are signed. */
#include <stdbool.h>

#include "pr_msg.h"
#include "rd_computing.h"
#include "rd_query.h"
#include "rd_randomizer.h"
#include "rd_wire.h"

static bool is_zero(const uint8_t *p, size_t n)
{
	uint8_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= p[i];
	return any == 0;
}

static void fill_privacy(const struct rd_privacy *from, Tombola__V1__PrivacyStatement *p)
{
	tombola__v1__privacy_statement__init(p);
	p->epsilon0 = from->epsilon0;
	p->epsilon_round = from->epsilon_round;
	p->epsilon_total = from->epsilon_total;
	p->epsilon_limit = from->epsilon_limit;
	p->delta = from->delta;
}

static void fill(const struct rd_descriptor *d, Tombola__V1__Descriptor *m)
{
	m->version = RD_VERSION;
	m->population = rd_wire_text(d->population);
	m->round_id = rd_wire_bytes(d->round_id, sizeof d->round_id);
	m->sequence = d->sequence;
	m->previous =
		rd_wire_bytes(d->previous, is_zero(d->previous, sizeof d->previous) ? 0 : sizeof d->previous);
	m->messages_per_client = d->messages_per_client;
	m->record_length = d->record_len;
	m->min_reports = d->min_reports;
	m->target = d->target;
	m->honest_fraction = d->honest_fraction;
	m->colluders = d->colluders;
	m->opens_ms = d->opens_ms;
	m->deadline_ms = d->deadline_ms;
	m->hpke_suite = (uint32_t)d->suite;
	m->hpke_key = rd_wire_bytes(d->hpke_key, sizeof d->hpke_key);
	m->unit = rd_wire_text(d->unit);
	m->mode = rd_wire_text(d->mode);
	m->plan_hash = rd_wire_bytes(d->plan_hash, sizeof d->plan_hash);
	m->entry = d->entry;
	m->attempt = d->attempt;
	m->void_manifest = rd_wire_bytes(d->void_manifest, d->attempt > 1 ? sizeof d->void_manifest : 0);
	m->payload_max = d->payload_max;
	m->payload_size = d->payload_size;
	m->payload_hash = rd_wire_bytes(d->payload_hash, d->payload_size == 0 ? 0 : sizeof d->payload_hash);
	m->ledger_seq = d->ledger_seq;
	m->ledger_head = rd_wire_bytes(d->ledger_head, d->ledger_seq == 0 ? 0 : sizeof d->ledger_head);
}

enum cm_rc rd_descriptor_encode(const struct rd_descriptor *d, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Descriptor m = TOMBOLA__V1__DESCRIPTOR__INIT;
	Tombola__V1__PrivacyStatement privacy;
	struct rd_randomizer_wire randomizer;
	struct rd_computing_wire computing;
	struct rd_query_wire query;
	struct rd_descriptor back;
	size_t start = out->len;
	enum cm_rc rc;

	fill(d, &m);
	rd_randomizer_wire(&d->randomizer, &randomizer);
	fill_privacy(&d->privacy, &privacy);
	m.query = &query.m;
	m.randomizer = &randomizer.m;
	m.computing = rd_computing_wire(&d->computing, &computing);
	m.privacy = &privacy;
	rc = rd_query_wire(&d->query, &query, err);
	if (rc == CM_OK)
		rc = pr_doc_encode(&m.base, out, err);
	rd_query_wire_fini(&query);
	if (rc != CM_OK)
		return rc;
	/* Never sign what nobody would accept. */
	rc = rd_descriptor_decode(out->data + start, out->len - start, &back, err);
	rd_descriptor_fini(&back);
	if (rc != CM_OK) {
		out->len = start;
		err->code = CM_EINTERNAL;
		return cm_context(err, "own descriptor");
	}
	return CM_OK;
}
