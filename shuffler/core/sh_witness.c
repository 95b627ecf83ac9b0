/* sh_witness.c - keeps the analyzer's ledger as this shuffler has seen it: its head, and the fate of its
 * rounds. */
#include "sh_witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "sh_fates.h"

/* The part of a record that is kept in memory. */
struct seen {
	enum rd_record_kind kind;
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t head[PR_HASH_LEN];    /* the ledger's head after the record */
	uint8_t subject[PR_HASH_LEN]; /* RESERVE: hash of the descriptor; CHARGE: of the manifest */
};

/* The newest reservation, which the next one must follow. */
struct last {
	uint64_t sequence; /* 0 if there is no reservation yet */
	uint8_t hash[PR_HASH_LEN];
};

struct sh_witness {
	char population[PR_TEXT_MAX + 1];
	struct sh_plans *plans;
	struct rd_chain chain;
	struct last last;
	struct sh_head_row demand; /* the head of sh_witness_demand; seq 0 if there is none */
	struct seen *seen;         /* seen[i] is record i + 1 */
	size_t seen_cap;
	struct sh_fates fates;
};

enum cm_rc sh_witness_new(
	const char *population, struct sh_plans *plans, struct sh_witness **out, struct cm_err *err)
{
	struct sh_witness *w = calloc(1, sizeof *w);

	if (!w || strlen(population) >= sizeof w->population) {
		free(w);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	(void)snprintf(w->population, sizeof w->population, "%s", population);
	w->plans = plans;
	*out = w;
	return CM_OK;
}

void sh_witness_free(struct sh_witness *w)
{
	if (!w)
		return;
	sh_fates_fini(&w->fates);
	free(w->seen);
	free(w);
}

struct rd_chain sh_witness_head(const struct sh_witness *w)
{
	return w->chain;
}

enum sh_fate sh_witness_fate(const struct sh_witness *w, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	const struct sh_fate_row *f = sh_fates_find(&w->fates, round_id);

	return f ? (enum sh_fate)f->fate : SH_FATE_NONE;
}

/* ---- The rules of a ledger ---- */

/* The allowed changes of a round's fate by kind of record.  Kinds without a row change no fate. */
static const struct move {
	enum rd_record_kind kind;
	enum sh_fate from, to;
} moves[] = {
	{ RD_RESERVE, SH_FATE_NONE, SH_FATE_RESERVED },
	{ RD_CHARGE, SH_FATE_RESERVED, SH_FATE_CHARGED },
	{ RD_SETTLE, SH_FATE_CHARGED, SH_FATE_SETTLED },
	{ RD_VOID, SH_FATE_RESERVED, SH_FATE_VOID },
};

static const struct move *move_of(enum rd_record_kind kind)
{
	for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
		if (moves[i].kind == kind)
			return &moves[i];
	return NULL;
}

static const char *fate_name(enum sh_fate fate)
{
	static const char *const name[] = { "unknown", "reserved", "charged", "settled", "void" };

	return name[fate];
}

/* Check that the first record names the population. */
static enum cm_rc check_open(const struct sh_witness *w, const struct rd_record *r, struct cm_err *err)
{
	if (r->kind != RD_OPEN || strcmp(r->population, w->population) == 0)
		return CM_OK;
	return cm_fail(err, CM_EDATA, "the ledger is that of population \"%.60s\", not \"%.60s\"",
		r->population, w->population);
}

/* Check a record against the table of allowed changes. */
static enum cm_rc check_move(const struct rd_record *r, enum sh_fate from, struct cm_err *err)
{
	const struct move *move = move_of(r->kind);

	if (CM_CHECKED("shuffler.witness") && move && move->from != from)
		return cm_fail(err, CM_EDATA, "record %llu: %s of a round that is %s",
			(unsigned long long)r->seq, rd_record_kind_name(r->kind), fate_name(from));
	return CM_OK;
}

/* ---- Extending ---- */

static enum cm_rc fork(struct sh_refusal *no, uint64_t seq)
{
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"ledger does not extend the head known here (seq %llu): restored from an older copy?",
		(unsigned long long)seq);
}

/* Hashes the bytes without parsing them, because they are not authenticated yet. */
static enum cm_rc check_signature(const struct sh_witness *w, const struct sh_extend *e,
	const struct cr_verifier *analyzer, struct sh_refusal *no, struct cm_err *err)
{
	uint8_t head[PR_HASH_LEN] = { 0 }, bytes[RD_HEAD_MAX];

	if (e->signature.len != CR_SIGN_LEN)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, 0,
			"ledger: records without the analyzer's signature");
	if (e->first > 1)
		memcpy(head, w->seen[e->first - 2].head, PR_HASH_LEN);
	for (size_t i = 0; i < e->n; i++) {
		const struct cr_span spans[] = { { head, PR_HASH_LEN }, e->records[i] };
		uint8_t next[PR_HASH_LEN];
		cr_sha256_spans(spans, 2, next);
		memcpy(head, next, sizeof head);
	}
	size_t len = rd_head_bytes(w->population, e->first + e->n - 1, head, bytes);
	enum cm_rc rc = cr_verify(analyzer, RD_PURPOSE_LEDGER, bytes, len, e->signature.data, err);
	if (rc == CM_EINTERNAL)
		return rc;
	return rc == CM_OK
		       ? CM_OK
		       : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, 0,
				 "ledger: records that the analyzer did not sign after the head known here "
				 "(seq %llu)",
				 (unsigned long long)w->chain.seq);
}

/* Check that records known already are byte for byte the same. */
static enum cm_rc check_known(
	const struct sh_witness *w, const struct sh_extend *e, size_t n, struct sh_refusal *no)
{
	struct rd_chain at = { .seq = e->first - 1 };
	struct cm_err ignored;

	if (e->first > 1)
		memcpy(at.head, w->seen[e->first - 2].head, PR_HASH_LEN);
	for (size_t i = 0; i < n; i++) {
		if (rd_chain_extend(&at, e->records[i].data, e->records[i].len, NULL, &ignored) != CM_OK)
			return fork(no, w->chain.seq);
		if (memcmp(at.head, w->seen[at.seq - 1].head, PR_HASH_LEN) != 0)
			return fork(no, w->chain.seq);
	}
	return CM_OK;
}

/* The ledger as it would be after part of a batch: the batch's own fates override the witness's. */
struct trial {
	const struct sh_witness *w;
	const struct cr_verifier *analyzer;
	struct rd_chain chain;
	struct last last;
	struct sh_plan_tail tail;
	struct sh_fate_row fate[PR_RECORDS_MAX];
	size_t fates;
};

static enum sh_fate trial_fate(const struct trial *t, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	for (size_t i = t->fates; i-- > 0;)
		if (memcmp(t->fate[i].round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return (enum sh_fate)t->fate[i].fate;
	return sh_witness_fate(t->w, round_id);
}

/* Check that a reservation is of the next descriptor.  Its plan is looked up when the round is announced. */
static enum cm_rc try_reserve(struct trial *t, const struct rd_record *r, struct cm_err *err)
{
	const unsigned long long seq = r->seq;
	struct rd_descriptor d;

	enum cm_rc rc = rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &d, err);
	if (rc != CM_OK)
		return rc == CM_EINTERNAL ? rc : cm_context(err, "record %llu", seq);
	if (memcmp(d.round_id, r->round_id, PR_ROUND_ID_LEN) != 0)
		rc = cm_fail(err, CM_EDATA, "record %llu: the descriptor is that of another round", seq);
	else if (strcmp(d.population, t->w->population) != 0)
		rc = cm_fail(err, CM_EDATA, "record %llu: the descriptor is of another population", seq);
	else if (CM_CHECKED("shuffler.sequence") && d.sequence != t->last.sequence + 1)
		rc = cm_fail(err, CM_EDATA, "record %llu: sequence number %llu where %llu is next", seq,
			(unsigned long long)d.sequence, (unsigned long long)t->last.sequence + 1);
	else if (CM_CHECKED("shuffler.sequence") && memcmp(d.previous, t->last.hash, PR_HASH_LEN) != 0)
		rc = cm_fail(err, CM_EDATA,
			"record %llu: the descriptor does not follow the one reserved before it", seq);
	else if (memcmp(d.plan_hash, r->plan_hash, PR_HASH_LEN) != 0)
		rc = cm_fail(err, CM_EDATA, "record %llu: the descriptor is of another plan", seq);
	t->last.sequence = d.sequence;
	memcpy(t->last.hash, d.hash, PR_HASH_LEN);
	rd_descriptor_fini(&d);
	return rc;
}

/* The analyzer signed a descriptor that follows `before` and is reserved by record `seq`, so the ledger must
 * contain that record. */
static enum cm_rc check_demand(const struct trial *t, const uint8_t head_before[PR_HASH_LEN],
	const struct rd_record *r, struct cm_err *err)
{
	const struct sh_head_row *demand = &t->w->demand;
	uint8_t hash[PR_HASH_LEN];

	if (!CM_CHECKED("shuffler.head") || r->seq != demand->seq)
		return CM_OK;
	cr_sha256(r->descriptor.data, r->descriptor.len, hash);
	if (r->kind == RD_RESERVE && memcmp(hash, demand->descriptor_hash, PR_HASH_LEN) == 0 &&
		memcmp(head_before, demand->before, PR_HASH_LEN) == 0)
		return CM_OK;
	return cm_fail(err, CM_EDATA,
		"record %llu is not the one that a client holds the analyzer's signature on: restored from "
		"an older copy?",
		(unsigned long long)r->seq);
}

static enum cm_rc try_record(struct trial *t, const struct cr_span *record, struct cm_err *err)
{
	const struct rd_chain before = t->chain;
	struct rd_record r;

	enum cm_rc rc = rd_chain_extend(&t->chain, record->data, record->len, &r, err);
	if (rc != CM_OK)
		return rc;
	const struct move *move = move_of(r.kind);
	rc = check_open(t->w, &r, err);
	if (rc == CM_OK)
		rc = check_demand(t, before.head, &r, err);
	if (rc == CM_OK)
		rc = check_move(&r, trial_fate(t, r.round_id), err);
	if (rc == CM_OK && r.kind == RD_RESERVE)
		rc = try_reserve(t, &r, err);
	if (rc == CM_OK && r.kind == RD_PLAN)
		rc = sh_plans_check(t->w->plans, &t->tail, &r, t->analyzer, err);
	if (rc == CM_OK && move) {
		struct sh_fate_row *f = &t->fate[t->fates++];
		memcpy(f->round_id, r.round_id, PR_ROUND_ID_LEN);
		f->fate = (int)move->to;
	}
	rd_record_fini(&r);
	return rc;
}

enum cm_rc sh_witness_check(const struct sh_witness *w, const struct sh_extend *e,
	const struct cr_verifier *analyzer, size_t *skip, struct sh_refusal *no, struct cm_err *err)
{
	struct trial trial = { .w = w,
		.analyzer = analyzer,
		.chain = w->chain,
		.last = w->last,
		.tail = sh_plans_tail(w->plans) };
	enum cm_rc rc = CM_OK;

	if (e->first == 0 || e->n > PR_RECORDS_MAX)
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "records are numbered from 1");
	if (e->first > w->chain.seq + 1)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"ledger records from %llu do not follow the head known here (seq %llu)",
			(unsigned long long)e->first, (unsigned long long)w->chain.seq);
	if (CM_CHECKED("shuffler.ledger.signature"))
		rc = check_signature(w, e, analyzer, no, err);
	if (rc != CM_OK)
		return rc;
	uint64_t known = w->chain.seq + 1 - e->first;
	*skip = known < e->n ? (size_t)known : e->n;
	if (CM_CHECKED("shuffler.witness") && (rc = check_known(w, e, *skip, no)) != CM_OK)
		return rc;
	for (size_t i = *skip; i < e->n; i++) {
		rc = try_record(&trial, &e->records[i], err);
		if (rc == CM_EINTERNAL)
			return rc;
		if (rc != CM_OK)
			return sh_refuse(
				no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0, "ledger: %.180s", err->msg);
	}
	return CM_OK;
}

/* Store a record that was checked before. */
static enum cm_rc remember(
	struct sh_witness *w, const struct rd_record *r, struct seen *seen, struct cm_err *err)
{
	const struct move *move = move_of(r->kind);

	if (r->kind == RD_PLAN)
		return sh_plans_add(w->plans, r, err);
	if (!move)
		return CM_OK;
	enum cm_rc rc = check_move(r, sh_witness_fate(w, r->round_id), err);
	if (rc != CM_OK)
		return rc;
	struct sh_fate_row *f = sh_fates_at(&w->fates, r->round_id);
	if (!f)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->fate = (int)move->to;
	if (r->kind == RD_CHARGE)
		memcpy(seen->subject, r->manifest_hash, PR_HASH_LEN);
	if (r->kind != RD_RESERVE)
		return CM_OK;
	cr_sha256(r->descriptor.data, r->descriptor.len, seen->subject);
	w->last.sequence++;
	memcpy(w->last.hash, seen->subject, PR_HASH_LEN);
	return CM_OK;
}

enum cm_rc sh_witness_apply(struct sh_witness *w, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	struct rd_chain chain = w->chain;
	struct seen seen = { 0 };
	struct rd_record r;

	void *room = cm_grow(w->seen, w->chain.seq, &w->seen_cap, sizeof *w->seen);
	if (!room)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	w->seen = room;
	enum cm_rc rc = rd_chain_extend(&chain, bytes, len, &r, err);
	if (rc != CM_OK)
		return rc;
	rc = check_open(w, &r, err);
	if (rc == CM_OK)
		rc = remember(w, &r, &seen, err);
	if (rc == CM_OK) {
		seen.kind = r.kind;
		memcpy(seen.round_id, r.round_id, PR_ROUND_ID_LEN);
		memcpy(seen.head, chain.head, PR_HASH_LEN);
		w->seen[chain.seq - 1] = seen;
		w->chain = chain;
	}
	rd_record_fini(&r);
	return rc;
}

/* ---- Queries ---- */

enum sh_head_place sh_witness_place(const struct sh_witness *w, const struct sh_head_row *head)
{
	static const uint8_t none[PR_HASH_LEN];

	if (head->seq > w->chain.seq)
		return SH_HEAD_BEYOND;
	const struct seen *s = &w->seen[head->seq - 1];
	const uint8_t *before = head->seq > 1 ? w->seen[head->seq - 2].head : none;
	return s->kind == RD_RESERVE && memcmp(s->subject, head->descriptor_hash, PR_HASH_LEN) == 0 &&
			       memcmp(before, head->before, PR_HASH_LEN) == 0
		       ? SH_HEAD_HERE
		       : SH_HEAD_FORK;
}

void sh_witness_demand(struct sh_witness *w, const struct sh_head_row *head)
{
	w->demand = head ? *head : (struct sh_head_row){ .seq = 0 };
}

enum cm_rc sh_witness_reserved(
	const struct sh_witness *w, const struct rd_descriptor *d, struct sh_refusal *no)
{
	static const uint8_t none[PR_HASH_LEN];

	if (!CM_CHECKED("shuffler.witness"))
		return CM_OK;
	if (d->ledger_seq >= w->chain.seq)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the descriptor follows ledger record %llu, known here are %llu: extend the witness "
			"first",
			(unsigned long long)d->ledger_seq, (unsigned long long)w->chain.seq);
	const uint8_t *head = d->ledger_seq ? w->seen[d->ledger_seq - 1].head : none;
	if (memcmp(head, d->ledger_head, PR_HASH_LEN) != 0)
		return fork(no, d->ledger_seq);
	const struct seen *s = &w->seen[d->ledger_seq];
	if (s->kind != RD_RESERVE || memcmp(s->round_id, d->round_id, PR_ROUND_ID_LEN) != 0 ||
		memcmp(s->subject, d->hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"ledger record %llu does not reserve this descriptor",
			(unsigned long long)d->ledger_seq + 1);
	enum sh_fate fate = sh_witness_fate(w, d->round_id);
	if (fate != SH_FATE_RESERVED)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the ledger says that this round is %s", fate_name(fate));
	return CM_OK;
}

enum cm_rc sh_witness_charged(const struct sh_witness *w, uint64_t seq, const uint8_t head[PR_HASH_LEN],
	const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t manifest_hash[PR_HASH_LEN],
	struct sh_refusal *no)
{
	if (seq == 0 || seq > w->chain.seq)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the charge is ledger record %llu, known here are %llu: extend the witness first",
			(unsigned long long)seq, (unsigned long long)w->chain.seq);
	const struct seen *s = &w->seen[seq - 1];
	if (memcmp(s->head, head, PR_HASH_LEN) != 0)
		return fork(no, seq);
	if (s->kind != RD_CHARGE || memcmp(s->round_id, round_id, PR_ROUND_ID_LEN) != 0 ||
		memcmp(s->subject, manifest_hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"ledger record %llu does not charge this round and manifest",
			(unsigned long long)seq);
	return CM_OK;
}
