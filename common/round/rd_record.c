/* rd_record.c - encodes and decodes ledger records, and extends their hash chain. */
#include "rd_record.h"

#include <math.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_text.h"
#include "pr_msg.h"
#include "rd_text.h"
#include "rd_wire.h"

static const char *const kind_names[] = {
	[RD_OPEN] = "open",
	[RD_RESERVE] = "reserve",
	[RD_CHARGE] = "charge",
	[RD_SETTLE] = "settle",
	[RD_VOID] = "void",
	[RD_REFUSE] = "refuse",
	[RD_PLAN] = "plan",
};

const char *rd_record_kind_name(enum rd_record_kind kind)
{
	return kind >= RD_OPEN && kind <= RD_PLAN ? kind_names[kind] : "unknown";
}

/* Is there a hash?  32 zero bytes stand for none. */
static bool has_hash(const ProtobufCBinaryData *hash)
{
	static const uint8_t zero[PR_HASH_LEN];

	return hash->len == PR_HASH_LEN && memcmp(hash->data, zero, PR_HASH_LEN) != 0;
}

/* K: the bit of a kind of record.  The table below says which kinds may have a field, and whether the
 * record on the wire has it. */
#define K(kind) (1u << (kind))
#define ROUNDS  (K(RD_RESERVE) | K(RD_CHARGE) | K(RD_SETTLE) | K(RD_VOID) | K(RD_REFUSE))

static enum cm_rc check_presence(const Tombola__V1__Record *w, struct cm_err *err)
{
	const struct {
		const char *field;
		unsigned kinds; /* kinds that may have the field */
		unsigned must;  /* kinds that must have it */
		int present;
	} row[] = {
		{ "population", K(RD_OPEN), K(RD_OPEN), w->population[0] != 0 },
		{ "unit", K(RD_OPEN), K(RD_OPEN), w->unit[0] != 0 },
		{ "plan_hash", K(RD_RESERVE) | K(RD_REFUSE), K(RD_RESERVE) | K(RD_REFUSE),
			w->plan_hash.len > 0 },
		{ "plan", K(RD_PLAN), K(RD_PLAN), w->plan.len > 0 },
		{ "signature", K(RD_PLAN), K(RD_PLAN), w->signature.len > 0 },
		{ "epsilon_limit", K(RD_OPEN), K(RD_OPEN), w->epsilon_limit != 0.0 },
		{ "delta", K(RD_OPEN), K(RD_OPEN), w->delta != 0.0 },
		{ "round_id", ROUNDS, ROUNDS, w->round_id.len > 0 },
		{ "descriptor", K(RD_RESERVE), K(RD_RESERVE), w->descriptor.len > 0 },
		/* A round may be given up before it has a manifest. */
		{ "manifest_hash", K(RD_CHARGE) | K(RD_VOID), K(RD_CHARGE), has_hash(&w->manifest_hash) },
		{ "participants", K(RD_CHARGE) | K(RD_VOID), K(RD_CHARGE), w->participants > 0 },
		{ "epsilon_round", K(RD_RESERVE) | K(RD_CHARGE) | K(RD_REFUSE), 0, w->epsilon_round != 0.0 },
		{ "epsilon_total", K(RD_RESERVE) | K(RD_CHARGE) | K(RD_REFUSE), 0, w->epsilon_total != 0.0 },
		{ "result_hash", K(RD_SETTLE), K(RD_SETTLE), w->result_hash.len > 0 },
		/* In a SETTLE: why the round has no result, when an operator gave it up. */
		{ "reason", K(RD_VOID) | K(RD_REFUSE) | K(RD_SETTLE), K(RD_VOID) | K(RD_REFUSE),
			w->reason[0] != 0 },
		{ "plan_round", K(RD_RESERVE) | K(RD_REFUSE), K(RD_RESERVE) | K(RD_REFUSE),
			w->plan_round > 0 },
		{ "query", K(RD_REFUSE), K(RD_REFUSE), w->query[0] != 0 },
	};
	unsigned kind = K(w->kind);

	/* Before plans were slices, OPEN named the one plan of its ledger. */
	if (w->kind == TOMBOLA__V1__RECORD_KIND__RECORD_OPEN && w->plan_hash.len > 0)
		return cm_fail(err, CM_EDATA,
			"the ledger is of an earlier version, which had no slices: give the population a new "
			"name and each party a new state_dir; this one keeps its results");
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		if (row[i].present && (row[i].kinds & kind) == 0)
			return cm_fail(
				err, CM_EDATA, "%s: not of a %s record", row[i].field, kind_names[w->kind]);
		if (!row[i].present && (row[i].must & kind) != 0)
			return cm_fail(err, CM_EDATA, "%s: missing", row[i].field);
	}
	return CM_OK;
}

static enum cm_rc check_numbers(const Tombola__V1__Record *w, struct cm_err *err)
{
	/* the loss of a refused round may be infinite */
	int bounded = w->kind != TOMBOLA__V1__RECORD_KIND__RECORD_REFUSE;

	if (w->seq == 0 || (w->seq == 1) != (w->kind == TOMBOLA__V1__RECORD_KIND__RECORD_OPEN))
		return cm_fail(err, CM_EDATA, "seq: %llu of a %s record", (unsigned long long)w->seq,
			kind_names[w->kind]);
	if (w->time_ms < 0)
		return cm_fail(err, CM_EDATA, "time_ms: before 1970");
	if (!(w->epsilon_round >= 0.0) || (isinf(w->epsilon_round) && bounded))
		return cm_fail(err, CM_EDATA, "epsilon_round: not finite, or negative");
	if (!(w->epsilon_total >= 0.0) || (isinf(w->epsilon_total) && bounded))
		return cm_fail(err, CM_EDATA, "epsilon_total: not finite, or negative");
	if (!(w->epsilon_limit >= 0.0) || isinf(w->epsilon_limit))
		return cm_fail(err, CM_EDATA, "epsilon_limit: not finite, or negative");
	if (!(w->delta >= 0.0 && w->delta < 1.0))
		return cm_fail(err, CM_EDATA, "delta: not in (0, 1)");
	if (w->participants > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "participants: above %u", PR_ROUND_REPORTS_MAX);
	return CM_OK;
}

static enum cm_rc check(const Tombola__V1__Record *w, struct cm_err *err)
{
	enum cm_rc rc;

	if (w->kind < TOMBOLA__V1__RECORD_KIND__RECORD_OPEN ||
		w->kind > TOMBOLA__V1__RECORD_KIND__RECORD_PLAN)
		return cm_fail(err, CM_EDATA, "kind: %d is unknown", (int)w->kind);
	rc = check_numbers(w, err);
	if (rc == CM_OK)
		rc = check_presence(w, err);
	return rc;
}

/* A zero hash means that there is none, in a kind of record that may lack it. */
static ProtobufCBinaryData hash_of(const uint8_t hash[PR_HASH_LEN])
{
	static const uint8_t zero[PR_HASH_LEN];

	return rd_wire_bytes(hash, memcmp(hash, zero, PR_HASH_LEN) == 0 ? 0 : PR_HASH_LEN);
}

static void fill(const struct rd_record *r, Tombola__V1__Record *w)
{
	w->kind = (Tombola__V1__RecordKind)r->kind;
	w->seq = r->seq;
	w->time_ms = r->time_ms;
	w->population = rd_wire_text(r->population);
	w->unit = rd_wire_text(r->unit);
	w->epsilon_limit = r->epsilon_limit;
	w->delta = r->delta;
	if (r->kind == RD_RESERVE || r->kind == RD_REFUSE)
		w->plan_hash = rd_wire_bytes(r->plan_hash, PR_HASH_LEN);
	w->plan = rd_wire_bytes(r->plan.data, r->plan.len);
	if (r->kind == RD_PLAN)
		w->signature = rd_wire_bytes(r->signature, CR_SIGN_LEN);
	else if (r->kind != RD_OPEN)
		w->round_id = rd_wire_bytes(r->round_id, PR_ROUND_ID_LEN);
	w->descriptor = rd_wire_bytes(r->descriptor.data, r->descriptor.len);
	w->manifest_hash = hash_of(r->manifest_hash);
	w->participants = r->participants;
	w->epsilon_round = r->epsilon_round;
	w->epsilon_total = r->epsilon_total;
	if (r->kind == RD_SETTLE)
		w->result_hash = rd_wire_bytes(r->result_hash, PR_HASH_LEN);
	w->reason = rd_wire_text(r->reason);
	w->plan_round = r->plan_round;
	w->query = rd_wire_text(r->query);
}

enum cm_rc rd_record_encode(const struct rd_record *r, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Record w = TOMBOLA__V1__RECORD__INIT;
	char reason[sizeof r->reason];
	size_t start = out->len;
	struct rd_record back;
	enum cm_rc rc;

	fill(r, &w);
	/* The reason may quote a peer, cut inside a character. */
	cm_text_copy(reason, sizeof reason, r->reason);
	w.reason = reason;
	rc = pr_doc_encode(&w.base, out, err);
	if (rc != CM_OK)
		return rc;
	/* Never append a record that no reader would accept: the ledger could not be opened again. */
	rc = rd_record_decode(out->data + start, out->len - start, &back, err);
	rd_record_fini(&back);
	if (rc != CM_OK) {
		out->len = start;
		err->code = CM_EINTERNAL;
		return cm_context(err, "own");
	}
	return CM_OK;
}

static void copy_bytes(const ProtobufCBinaryData *from, uint8_t *out)
{
	if (from->len > 0)
		memcpy(out, from->data, from->len); /* of the exact length, as pr_read has checked */
}

static enum cm_rc read_texts(const Tombola__V1__Record *w, struct rd_record *r, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (w->kind == TOMBOLA__V1__RECORD_KIND__RECORD_OPEN) {
		rc = rd_copy_name(w->population, "population", r->population, sizeof r->population, err);
		if (rc == CM_OK)
			rc = rd_copy_name(w->unit, "unit", r->unit, sizeof r->unit, err);
	}
	if (rc == CM_OK && w->reason[0] != 0)
		rc = rd_copy_text(w->reason, "reason", r->reason, sizeof r->reason, err);
	if (rc == CM_OK && w->query[0] != 0)
		rc = rd_copy_name(w->query, "query", r->query, sizeof r->query, err);
	return rc;
}

static enum cm_rc read_all(const Tombola__V1__Record *w, struct rd_record *r, struct cm_err *err)
{
	enum cm_rc rc = check(w, err);

	if (rc == CM_OK)
		rc = read_texts(w, r, err);
	if (rc != CM_OK)
		return rc;
	r->kind = (enum rd_record_kind)w->kind;
	r->seq = w->seq;
	r->time_ms = w->time_ms;
	r->epsilon_limit = w->epsilon_limit;
	r->delta = w->delta;
	copy_bytes(&w->plan_hash, r->plan_hash);
	copy_bytes(&w->round_id, r->round_id);
	copy_bytes(&w->signature, r->signature);
	copy_bytes(&w->manifest_hash, r->manifest_hash);
	copy_bytes(&w->result_hash, r->result_hash);
	r->participants = w->participants;
	r->epsilon_round = w->epsilon_round;
	r->epsilon_total = w->epsilon_total;
	r->plan_round = w->plan_round;
	if (cm_buf_put(&r->descriptor, w->descriptor.data, w->descriptor.len) != CM_OK ||
		cm_buf_put(&r->plan, w->plan.data, w->plan.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return CM_OK;
}

enum cm_rc rd_record_decode(const uint8_t *bytes, size_t len, struct rd_record *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	cm_buf_init(&out->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&out->plan, PR_PLAN_MAX);
	rc = pr_doc_decode(&tombola__v1__record__descriptor, bytes, len, PR_RECORD_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_all((const Tombola__V1__Record *)doc.msg, out, err);
	pr_doc_free(&doc);
	if (rc == CM_OK)
		return CM_OK;
	rd_record_fini(out);
	if (rc == CM_EPROTO) /* the ledger may come from a file, not from a peer */
		err->code = CM_EDATA;
	return cm_context(err, "ledger record");
}

void rd_record_fini(struct rd_record *r)
{
	cm_buf_fini(&r->descriptor);
	cm_buf_fini(&r->plan);
	memset(r, 0, sizeof *r);
}

enum cm_rc rd_chain_extend(
	struct rd_chain *chain, const uint8_t *bytes, size_t len, struct rd_record *out, struct cm_err *err)
{
	const struct cr_span spans[] = { { chain->head, PR_HASH_LEN }, { bytes, len } };
	uint8_t head[PR_HASH_LEN];
	struct rd_record r;
	uint64_t seq;
	enum cm_rc rc = rd_record_decode(bytes, len, &r, err);

	if (out)
		memset(out, 0, sizeof *out);
	if (rc != CM_OK)
		return rc;
	seq = r.seq;
	if (CM_CHECKED("round.chain") && seq != chain->seq + 1) {
		rd_record_fini(&r);
		return cm_fail(err, CM_EDATA, "ledger record: number %llu follows number %llu",
			(unsigned long long)seq, (unsigned long long)chain->seq);
	}
	cr_sha256_spans(spans, 2, head);
	memcpy(chain->head, head, sizeof head);
	chain->seq = seq;
	if (out)
		*out = r;
	else
		rd_record_fini(&r);
	return CM_OK;
}
