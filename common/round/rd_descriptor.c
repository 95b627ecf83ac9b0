/* rd_descriptor.c - the signed description of a round: decodes it to checked fields, encodes it, and
 * computes what follows from them: sealing context, honest participants, messages, loss. */
#include "rd_descriptor.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "acct_decimal.h"
#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_computing.h"
#include "rd_query.h"
#include "rd_randomizer.h"
#include "rd_text.h"
#include "rd_wire.h"

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of the year 9999 */

/* Copy bytes: pr_read has checked that they are present with their length, or absent. */
static enum cm_rc copy_bytes(
	const ProtobufCBinaryData *from, const char *field, uint8_t *out, size_t n, struct cm_err *err)
{
	if (from->len != n)
		return cm_fail(err, CM_EPROTO, "%s: missing", field);
	memcpy(out, from->data, n);
	return CM_OK;
}

static enum cm_rc read_identity(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc;

	if (m->version != RD_VERSION)
		return cm_fail(err, CM_EPROTO, "version: %lu, this program knows %u",
			(unsigned long)m->version, RD_VERSION);
	if (m->n_critical > 0)
		return cm_fail(err, CM_EPROTO, "critical: unknown extension '%.40s'",
			rd_is_name(m->critical[0]) ? m->critical[0] : "?");
	rc = rd_copy_name(m->population, "population", d->population, sizeof d->population, err);
	if (rc == CM_OK)
		rc = copy_bytes(&m->round_id, "round_id", d->round_id, sizeof d->round_id, err);
	if (rc != CM_OK)
		return rc;
	if (m->sequence == 0)
		return cm_fail(err, CM_EPROTO, "sequence: counts from 1");
	if ((m->sequence == 1) != (m->previous.len == 0))
		return cm_fail(err, CM_EPROTO, "previous: belongs to every descriptor but the first");
	d->sequence = m->sequence;
	if (m->sequence > 1) {
		if (memcmp(m->previous.data, d->previous, sizeof d->previous) == 0)
			return cm_fail(err, CM_EPROTO, "previous: 32 zero bytes are no hash");
		memcpy(d->previous, m->previous.data, sizeof d->previous);
	}
	return CM_OK;
}

/* The protocol determines these lengths; the descriptor states them so that a shuffler need not know the
 * protocol. */
static enum cm_rc read_shape(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	uint32_t messages = d->randomizer.row->messages(&d->randomizer);
	uint32_t record_len = d->randomizer.row->record_len(&d->randomizer);

	if (m->messages_per_client != messages || messages == 0 || messages > PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "messages_per_client: %lu, the protocol sends %lu",
			(unsigned long)m->messages_per_client, (unsigned long)messages);
	if (m->record_length != record_len || record_len > PR_SEALED_MAX - CR_HPKE_OVERHEAD)
		return cm_fail(err, CM_EPROTO, "record_length: %lu, the protocol's is %lu",
			(unsigned long)m->record_length, (unsigned long)record_len);
	d->messages_per_client = messages;
	d->record_len = record_len;
	if ((uint64_t)messages * rd_message_len(d) > PR_FRAME_MAX - 256)
		return cm_fail(err, CM_EPROTO, "messages_per_client: one submission would exceed a frame");
	return CM_OK;
}

/* Read what devices compute, and the payload.  Each round has a payload of its own; the plan's entry fixes
 * only how large it may be. */
static enum cm_rc read_payload(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = rd_computing_read(m->computing, m->payload_max, &d->computing, err);

	if (rc != CM_OK)
		return rc;
	if ((m->payload_max > 0) != (m->payload_hash.len > 0))
		return cm_fail(err, CM_EPROTO, "payload_hash: belongs to every round that has payload_max");
	if (m->payload_size > m->payload_max || (m->payload_max > 0 && m->payload_size == 0))
		return cm_fail(err, CM_EPROTO, "payload_size: not in 1..payload_max");
	if (m->payload_hash.len > 0)
		memcpy(d->payload_hash, m->payload_hash.data, sizeof d->payload_hash);
	d->payload_max = m->payload_max;
	d->payload_size = m->payload_size;
	return CM_OK;
}

static enum cm_rc read_batch(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = rd_batch_check(m->min_reports, m->target, &d->randomizer, err);

	if (rc == CM_OK)
		rc = rd_honest_check(m->honest_fraction, m->colluders, err);
	if (rc != CM_OK)
		return rc;
	if (m->opens_ms < 0 || m->opens_ms >= m->deadline_ms || m->deadline_ms > TIME_MAX_MS)
		return cm_fail(err, CM_EPROTO, "deadline_ms: not after opens_ms, or neither is a date");
	d->min_reports = m->min_reports;
	d->target = m->target;
	d->honest_fraction = m->honest_fraction;
	d->colluders = m->colluders;
	d->opens_ms = m->opens_ms;
	d->deadline_ms = m->deadline_ms;
	return CM_OK;
}

static enum cm_rc read_seal(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	switch (m->hpke_suite) {
	case CR_HPKE_AES128GCM:
		d->suite = CR_HPKE_AES128GCM;
		break;
	case CR_HPKE_CHACHA20POLY1305:
		d->suite = CR_HPKE_CHACHA20POLY1305;
		break;
	default:
		return cm_fail(err, CM_EPROTO, "hpke_suite: %lu is unknown", (unsigned long)m->hpke_suite);
	}
	return copy_bytes(&m->hpke_key, "hpke_key", d->hpke_key, sizeof d->hpke_key, err);
}

static enum cm_rc read_privacy(
	const Tombola__V1__PrivacyStatement *m, struct rd_descriptor *d, struct cm_err *err)
{
	if (!m)
		return cm_fail(err, CM_EPROTO, "privacy: missing");
	if (!(m->epsilon0 >= 0.0) ||
		(isinf(m->epsilon0) && !isinf(d->randomizer.row->epsilon0(&d->randomizer))))
		return cm_fail(err, CM_EPROTO,
			"privacy.epsilon0: neither a guarantee nor the infinity of keep_always");
	if (!(m->epsilon_round >= 0.0) || isinf(m->epsilon_round))
		return cm_fail(err, CM_EPROTO, "privacy.epsilon_round: not finite, or negative");
	if (!(m->epsilon_total >= 0.0) || isinf(m->epsilon_total))
		return cm_fail(err, CM_EPROTO, "privacy.epsilon_total: not finite, or negative");
	if (!(m->epsilon_limit > 0.0) || isinf(m->epsilon_limit))
		return cm_fail(err, CM_EPROTO, "privacy.epsilon_limit: not finite and above 0");
	if (!(m->delta > 0.0 && m->delta < 1.0))
		return cm_fail(err, CM_EPROTO, "privacy.delta: not in (0, 1)");
	d->privacy = (struct rd_privacy){
		.epsilon0 = m->epsilon0,
		.epsilon_round = m->epsilon_round,
		.epsilon_total = m->epsilon_total,
		.epsilon_limit = m->epsilon_limit,
		.delta = m->delta,
	};
	return CM_OK;
}

/* Read the entry and its try; only mode plan has entries. */
static enum cm_rc read_entry(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	bool planned = rd_mode_filter(d->mode) == 0;

	if ((m->entry > 0) != planned)
		return cm_fail(err, CM_EPROTO, "entry: belongs to every round of mode plan, and to no other");
	if ((m->attempt > 0) != planned || m->attempt > PR_TRIES_MAX)
		return cm_fail(err, CM_EPROTO, "attempt: not in 1..%u of mode plan, or given in another mode",
			PR_TRIES_MAX);
	if ((m->attempt > 1) != (m->void_manifest.len > 0))
		return cm_fail(err, CM_EPROTO, "void_manifest: belongs to every try but the first");
	d->entry = m->entry;
	d->attempt = m->attempt;
	if (m->attempt > 1)
		memcpy(d->void_manifest, m->void_manifest.data, sizeof d->void_manifest);
	return CM_OK;
}

static enum cm_rc read_ledger(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = rd_copy_name(m->unit, "unit", d->unit, sizeof d->unit, err);

	if (rc == CM_OK)
		rc = rd_copy_name(m->mode, "mode", d->mode, sizeof d->mode, err);
	if (rc != CM_OK)
		return rc;
	if (!rd_mode_is_known(d->mode))
		return cm_fail(err, CM_EPROTO, "mode: '%s' is unknown", d->mode);
	rc = copy_bytes(&m->plan_hash, "plan_hash", d->plan_hash, sizeof d->plan_hash, err);
	if (rc == CM_OK)
		rc = read_entry(m, d, err);
	if (rc != CM_OK)
		return rc;
	if ((m->ledger_seq == 0) != (m->ledger_head.len == 0))
		return cm_fail(err, CM_EPROTO, "ledger_head: belongs to every ledger that has a record");
	d->ledger_seq = m->ledger_seq;
	if (m->ledger_seq > 0)
		memcpy(d->ledger_head, m->ledger_head.data, sizeof d->ledger_head);
	return CM_OK;
}

static enum cm_rc read_all(const Tombola__V1__Descriptor *m, struct rd_descriptor *d, struct cm_err *err)
{
	enum cm_rc rc = read_identity(m, d, err);

	if (rc == CM_OK)
		rc = rd_query_read(m->query, &d->query, err);
	if (rc == CM_OK)
		rc = rd_randomizer_read(m->randomizer, &d->query, &d->randomizer, err);
	if (rc == CM_OK)
		rc = read_shape(m, d, err);
	if (rc == CM_OK)
		rc = read_payload(m, d, err);
	if (rc == CM_OK)
		rc = read_batch(m, d, err);
	if (rc == CM_OK)
		rc = read_seal(m, d, err);
	if (rc == CM_OK)
		rc = read_privacy(m->privacy, d, err);
	if (rc == CM_OK)
		rc = read_ledger(m, d, err);
	return rc;
}

enum cm_rc rd_descriptor_decode(
	const uint8_t *bytes, size_t len, struct rd_descriptor *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	rc = pr_doc_decode(&tombola__v1__descriptor__descriptor, bytes, len, PR_DESCRIPTOR_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_all((const Tombola__V1__Descriptor *)doc.msg, out, err);
	pr_doc_free(&doc);
	if (rc != CM_OK) {
		rd_descriptor_fini(out);
		(void)cm_context(err, "descriptor");
		return rc;
	}
	cr_sha256(bytes, len, out->hash);
	return CM_OK;
}

void rd_descriptor_fini(struct rd_descriptor *d)
{
	qy_query_fini(&d->query);
	memset(d, 0, sizeof *d);
}

enum cm_rc rd_descriptor_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_descriptor *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_DESCRIPTOR_MAX)
		return cm_fail(err, CM_EPROTO, "descriptor: %zu bytes, at most %u", len, PR_DESCRIPTOR_MAX);
	rc = cr_verify(analyzer, RD_PURPOSE_DESCRIPTOR, bytes, len, signature, err);
	if (CM_CHECKED("round.descriptor.signature") && rc != CM_OK)
		return cm_context(err, "descriptor");
	return rd_descriptor_decode(bytes, len, out, err);
}

enum cm_rc rd_in_time(int64_t opens_ms, int64_t deadline_ms, int64_t now_ms, struct cm_err *err)
{
	if (now_ms >= deadline_ms)
		return cm_fail(err, CM_ELATER, "the deadline has passed by %lld s (check the clocks)",
			(long long)((now_ms - deadline_ms) / 1000));
	if (opens_ms - now_ms > RD_CLOCK_SLACK_MS)
		return cm_fail(err, CM_ELATER, "it opens only in %lld s (check the clocks)",
			(long long)((opens_ms - now_ms) / 1000));
	return CM_OK;
}

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
	/* Never sign bytes that nobody would accept. */
	rc = rd_descriptor_decode(out->data + start, out->len - start, &back, err);
	rd_descriptor_fini(&back);
	if (rc != CM_OK) {
		out->len = start;
		err->code = CM_EINTERNAL;
		return cm_context(err, "own descriptor");
	}
	return CM_OK;
}

static const char info_label[16] = "tombola/1 report"; /* without its NUL: the separator follows */

size_t rd_sealed_len(const struct rd_descriptor *d)
{
	return (size_t)d->record_len + CR_HPKE_OVERHEAD;
}

size_t rd_message_len(const struct rd_descriptor *d)
{
	return rd_sealed_len(d) + (d->randomizer.shuffler.tags > 0 ? PR_TAG_LEN : 0);
}

void rd_hpke_info(const struct rd_descriptor *d, uint8_t info[RD_INFO_LEN])
{
	memcpy(info, info_label, sizeof info_label);
	info[sizeof info_label] = 0;
	memcpy(info + sizeof info_label + 1, d->hash, PR_HASH_LEN);
}

void rd_hpke_aad(const struct rd_descriptor *d, uint8_t aad[RD_AAD_LEN])
{
	memcpy(aad, d->hash, RD_AAD_LEN);
}

uint64_t rd_share_of(double share, uint64_t n)
{
	uint64_t part = acct_decimal_floor(share, n);

	return part < n ? part : n;
}

uint64_t rd_honest(uint64_t n, double honest_fraction, uint64_t colluders)
{
	uint64_t honest = rd_share_of(honest_fraction, n);

	return honest > colluders && honest - colluders > 1 ? honest - colluders : 1;
}

uint64_t rd_honest_as(const struct rd_descriptor *d, double honest_fraction, uint64_t colluders)
{
	double h = d->honest_fraction < honest_fraction ? d->honest_fraction : honest_fraction;
	uint64_t c = d->colluders > colluders ? d->colluders : colluders;

	return rd_honest(d->min_reports, h, c);
}

uint64_t rd_messages(const struct rd_descriptor *d, uint64_t participants)
{
	const struct pt_shuffler *s = &d->randomizer.shuffler;

	return s->tag_messages > 0 ? s->tags * s->tag_messages
				   : participants * d->messages_per_client + s->dummies +
					     (uint64_t)pt_noise_bins(&d->randomizer) * s->noise_mean;
}

/* The most others in the largest batch.  If only the victim is certainly honest, there may be no others at
 * all. */
static double most_others(const struct rd_batch *b)
{
	if (b->honest >= b->least)
		return 0;
	if (b->honest <= 1)
		return (double)b->most;
	return ceil((double)(b->least - b->honest) / (double)b->least * (double)b->most * (1 + 1e-15));
}

static void keep_honest_tags(const struct rd_batch *b, struct pt_randomizer *randomizer)
{
	const struct pt_device *row = randomizer->row;
	struct pt_shuffler *s = &randomizer->shuffler;
	double others = most_others(b), each = row->messages(randomizer), messages = others * each;

	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++)
		if (s->tag_least[i] > 0)
			s->tag_least[i] =
				others + 1 < s->tag_least[i] ? s->tag_least[i] - (uint32_t)others : 1;
	if (s->tag_messages == 0)
		return;
	if (row->routes_by_value && others > 0 && (double)s->tag_messages < (double)b->most * each)
		s->tag_messages = 0;
	else
		s->tag_messages =
			messages + 1 < (double)s->tag_messages ? s->tag_messages - (uint64_t)messages : 1;
}

enum cm_rc rd_loss_of(
	const struct pt_randomizer *p, const struct rd_batch *b, struct pt_loss *out, struct cm_err *err)
{
	struct pt_randomizer honest = *p;

	if (p->shuffler.tags > 0)
		keep_honest_tags(b, &honest);
	return pt_loss(&honest, b->honest, out, err);
}

enum cm_rc rd_loss(const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, rd_honest(d->min_reports, d->honest_fraction, d->colluders), true, out, err);
}

enum cm_rc rd_loss_for(
	const struct rd_descriptor *d, uint64_t honest, bool trusted, struct pt_loss *out, struct cm_err *err)
{
	const struct rd_batch b = { .least = d->min_reports, .honest = honest, .most = d->target };
	struct pt_randomizer p = d->randomizer;

	if (!trusted)
		pt_without_shuffler(&p);
	return rd_loss_of(&p, &b, out, err);
}
