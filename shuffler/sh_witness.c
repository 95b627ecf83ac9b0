/* sh_witness.c - the ledger as this shuffler has seen it: its head, and the account of its rounds. */
#include "sh_witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"

/* What is remembered of a record. */
struct seen {
	enum rd_record_kind kind;
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t head[PR_HASH_LEN];    /* after it */
	uint8_t subject[PR_HASH_LEN]; /* RESERVE: hash of the descriptor; CHARGE: of the manifest */
	uint64_t sequence;            /* RESERVE: the descriptor's */
};

struct fate {
	uint8_t round_id[PR_ROUND_ID_LEN];
	enum sh_fate fate;
};

struct sh_witness {
	char population[PR_TEXT_MAX + 1];
	double limit, delta;
	struct rd_chain chain;
	struct rd_account *account; /* in the ledger's mode; before it is opened in mode plan, and empty */
	struct seen *seen;          /* record i + 1 */
	size_t seen_cap;
	struct fate *fate;
	size_t fates, fate_cap;
};

enum cm_rc sh_witness_new(
	const char *population, double limit, double delta, struct sh_witness **out, struct cm_err *err)
{
	struct sh_witness *w = calloc(1, sizeof *w);

	if (w) {
		w->limit = limit;
		w->delta = delta;
		w->account = rd_account_new(limit, delta);
	}
	if (!w || !w->account || strlen(population) >= sizeof w->population) {
		sh_witness_free(w);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	(void)snprintf(w->population, sizeof w->population, "%s", population);
	*out = w;
	return CM_OK;
}

void sh_witness_free(struct sh_witness *w)
{
	if (!w)
		return;
	rd_account_free(w->account);
	free(w->seen);
	free(w->fate);
	free(w);
}

struct rd_chain sh_witness_head(const struct sh_witness *w)
{
	return w->chain;
}

static struct fate *find_fate(struct fate *fate, size_t n, const uint8_t *round_id)
{
	/* From the end: what is asked for is nearly always recent. */
	while (n-- > 0)
		if (memcmp(fate[n].round_id, round_id, PR_ROUND_ID_LEN) == 0)
			return &fate[n];
	return NULL;
}

enum sh_fate sh_witness_fate(const struct sh_witness *w, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	const struct fate *f = find_fate(w->fate, w->fates, round_id);

	return f ? f->fate : SH_FATE_NONE;
}

/* ---- The rules of a ledger ---- */

/* From which fate to which a record leads; kinds without a row concern no round's fate. */
static const struct {
	enum rd_record_kind kind;
	enum sh_fate from, to;
} moves[] = {
	{ RD_RESERVE, SH_FATE_NONE, SH_FATE_RESERVED },
	{ RD_CHARGE, SH_FATE_RESERVED, SH_FATE_CHARGED },
	{ RD_SETTLE, SH_FATE_CHARGED, SH_FATE_SETTLED },
	{ RD_VOID, SH_FATE_RESERVED, SH_FATE_VOID },
};

static const char *fate_name(enum sh_fate fate)
{
	static const char *const name[] = { "unknown", "reserved", "charged", "settled", "void" };

	return name[fate];
}

/* Whom and what the first record must name. */
static enum cm_rc check_open(const struct sh_witness *w, const struct rd_record *r, struct cm_err *err)
{
	if ((r->kind == RD_OPEN) != (r->seq == 1))
		return cm_fail(err, CM_EDATA, "record %llu is %s", (unsigned long long)r->seq,
			rd_record_kind_name(r->kind));
	if (r->kind != RD_OPEN)
		return CM_OK;
	if (strcmp(r->population, w->population) != 0)
		return cm_fail(err, CM_EDATA, "the ledger is that of population \"%.60s\", not \"%.60s\"",
			r->population, w->population);
	return CM_OK;
}

/* The first record names the mode, for good. */
static enum cm_rc open_account(struct sh_witness *w, const struct rd_record *r, struct cm_err *err)
{
	struct rd_account *account = rd_account_new_mode(w->limit, w->delta, r->mode);

	if (!account)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rd_account_free(w->account);
	w->account = account;
	return CM_OK;
}

/* Follow the table; *index is the row, or the table's length for a kind without one. */
static enum cm_rc check_move(const struct rd_record *r, enum sh_fate from, size_t *index, struct cm_err *err)
{
	size_t i = 0;

	while (i < sizeof moves / sizeof moves[0] && moves[i].kind != r->kind)
		i++;
	*index = i;
	if (CM_CHECKED("shuffler.witness") && i < sizeof moves / sizeof moves[0] && moves[i].from != from)
		return cm_fail(err, CM_EDATA, "record %llu: %s of a round that is %s",
			(unsigned long long)r->seq, rd_record_kind_name(r->kind), fate_name(from));
	return CM_OK;
}

/* A reservation's descriptor: its hash and sequence number into *seen, and what its round costs. */
static enum cm_rc read_reserve(
	const struct rd_record *r, struct seen *seen, struct pt_loss *loss, struct cm_err *err)
{
	struct rd_descriptor d;

	enum cm_rc rc = rd_descriptor_decode(r->descriptor.data, r->descriptor.len, &d, err);
	if (rc != CM_OK)
		return cm_fail(err, CM_EDATA, "record %llu: a descriptor that cannot be accounted here",
			(unsigned long long)r->seq);
	memcpy(seen->subject, d.hash, PR_HASH_LEN);
	seen->sequence = d.sequence;
	if (memcmp(d.round_id, r->round_id, PR_ROUND_ID_LEN) != 0)
		rc = cm_fail(err, CM_EDATA, "record %llu: the descriptor is that of another round",
			(unsigned long long)r->seq);
	else
		rc = rd_loss(&d, loss, err);
	rd_descriptor_fini(&d);
	return rc;
}

/* ---- Extending ---- */

static enum cm_rc fork(struct sh_refusal *no, uint64_t seq)
{
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
		"ledger does not extend the head known here (seq %llu): restored from an older copy?",
		(unsigned long long)seq);
}

/* Records known already must be, byte for byte, those known. */
static enum cm_rc check_known(const struct sh_witness *w, uint64_t first, const struct cm_span *records,
	size_t n, struct sh_refusal *no)
{
	struct rd_chain at = { .seq = first - 1 };
	struct cm_err ignored;

	if (first > 1)
		memcpy(at.head, w->seen[first - 2].head, PR_HASH_LEN);
	for (size_t i = 0; i < n; i++) {
		if (rd_chain_extend(&at, records[i].data, records[i].len, NULL, &ignored) != CM_OK)
			return fork(no, w->chain.seq);
		if (memcmp(at.head, w->seen[at.seq - 1].head, PR_HASH_LEN) != 0)
			return fork(no, w->chain.seq);
	}
	return CM_OK;
}

/* Fates as they would be while a batch is checked: the batch's own, over the witness's. */
struct trial {
	const struct sh_witness *w;
	struct rd_chain chain;
	struct fate fate[PR_RECORDS_MAX];
	size_t fates;
};

static enum cm_rc try_record(struct trial *t, const struct cm_span *record, struct cm_err *err)
{
	struct rd_record r;
	struct pt_loss loss;
	struct seen unused;
	size_t move;

	enum cm_rc rc = rd_chain_extend(&t->chain, record->data, record->len, &r, err);
	if (rc != CM_OK)
		return rc;
	const struct fate *mine = find_fate(t->fate, t->fates, r.round_id);
	enum sh_fate from = mine ? mine->fate : sh_witness_fate(t->w, r.round_id);
	rc = check_open(t->w, &r, err);
	if (rc == CM_OK)
		rc = check_move(&r, from, &move, err);
	if (rc == CM_OK && r.kind == RD_RESERVE)
		rc = read_reserve(&r, &unused, &loss, err);
	if (rc == CM_OK && move < sizeof moves / sizeof moves[0]) {
		struct fate *f = &t->fate[t->fates++];
		memcpy(f->round_id, r.round_id, PR_ROUND_ID_LEN);
		f->fate = moves[move].to;
	}
	rd_record_fini(&r);
	return rc;
}

enum cm_rc sh_witness_check(const struct sh_witness *w, uint64_t first, const struct cm_span *records,
	size_t n, size_t *skip, struct sh_refusal *no, struct cm_err *err)
{
	struct trial trial = { .w = w, .chain = w->chain };
	enum cm_rc rc;

	if (first == 0 || n > PR_RECORDS_MAX)
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "records are numbered from 1");
	if (first > w->chain.seq + 1)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"ledger records from %llu do not follow the head known here (seq %llu)",
			(unsigned long long)first, (unsigned long long)w->chain.seq);
	uint64_t known = w->chain.seq + 1 - first;
	*skip = known < n ? (size_t)known : n;
	if (CM_CHECKED("shuffler.witness") && (rc = check_known(w, first, records, *skip, no)) != CM_OK)
		return rc;
	for (size_t i = *skip; i < n; i++) {
		rc = try_record(&trial, &records[i], err);
		if (rc == CM_EINTERNAL)
			return rc;
		if (rc != CM_OK)
			return sh_refuse(
				no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0, "ledger: %.180s", err->msg);
	}
	return CM_OK;
}

/* Room for one more of each, before anything changes. */
static enum cm_rc grow(struct sh_witness *w, struct cm_err *err)
{
	struct seen *seen = cm_grow(w->seen, w->chain.seq, &w->seen_cap, sizeof *seen);
	w->seen = seen ? seen : w->seen;
	struct fate *fate = cm_grow(w->fate, w->fates, &w->fate_cap, sizeof *fate);
	w->fate = fate ? fate : w->fate;
	return seen && fate ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

static enum cm_rc move_fate(
	struct sh_witness *w, const struct rd_record *r, struct seen *seen, struct cm_err *err)
{
	struct fate *f = find_fate(w->fate, w->fates, r->round_id);
	struct pt_loss loss;
	size_t move;

	enum cm_rc rc = check_move(r, f ? f->fate : SH_FATE_NONE, &move, err);
	if (rc != CM_OK || move == sizeof moves / sizeof moves[0])
		return rc;
	if (r->kind == RD_RESERVE) {
		rc = read_reserve(r, seen, &loss, err);
		if (rc == CM_OK)
			rc = rd_account_add(w->account, r->round_id, &loss, err);
		if (rc != CM_OK)
			return rc;
	}
	if (!f) {
		f = &w->fate[w->fates++];
		memcpy(f->round_id, r->round_id, PR_ROUND_ID_LEN);
	}
	if (r->kind == RD_CHARGE)
		memcpy(seen->subject, r->manifest_hash, PR_HASH_LEN);
	if (r->kind == RD_VOID)
		(void)rd_account_remove(w->account, r->round_id);
	f->fate = moves[move].to;
	return CM_OK;
}

enum cm_rc sh_witness_apply(struct sh_witness *w, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	struct rd_chain chain = w->chain;
	struct seen seen = { 0 };
	struct rd_record r;

	enum cm_rc rc = grow(w, err);
	if (rc == CM_OK)
		rc = rd_chain_extend(&chain, bytes, len, &r, err);
	if (rc != CM_OK)
		return rc;
	rc = check_open(w, &r, err);
	if (rc == CM_OK && r.kind == RD_OPEN)
		rc = open_account(w, &r, err);
	if (rc == CM_OK)
		rc = move_fate(w, &r, &seen, err);
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

/* ---- Questions ---- */

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

enum cm_rc sh_witness_follows(
	const struct sh_witness *w, const struct rd_descriptor *d, struct sh_refusal *no)
{
	static const struct seen none;
	uint64_t seq = d->ledger_seq < w->chain.seq ? d->ledger_seq : w->chain.seq;

	while (seq > 0 && w->seen[seq - 1].kind != RD_RESERVE)
		seq--;
	const struct seen *last = seq > 0 ? &w->seen[seq - 1] : &none;
	if (d->sequence != last->sequence + 1)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"sequence number %llu where %llu is next", (unsigned long long)d->sequence,
			(unsigned long long)last->sequence + 1);
	if (memcmp(d->previous, last->subject, PR_HASH_LEN) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"the descriptor does not follow the one reserved before it");
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

enum cm_rc sh_witness_judge(struct sh_witness *w, const struct rd_descriptor *d, struct rd_verdict *verdict,
	struct sh_refusal *no, struct cm_err *err)
{
	struct pt_loss loss;

	if (strcmp(d->mode, rd_account_mode(w->account)) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_LEDGER, 0,
			"the descriptor is of mode %s, the ledger of mode %s", d->mode,
			rd_account_mode(w->account));
	enum cm_rc rc = rd_loss(d, &loss, err);
	if (rc == CM_EINTERNAL)
		return rc;
	if (rc != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"the round cannot be accounted: %.160s", err->msg);
	/* Its own reservation must not count twice. */
	bool counted = sh_witness_fate(w, d->round_id) == SH_FATE_RESERVED;
	if (counted)
		(void)rd_account_remove(w->account, d->round_id);
	enum cm_rc judged = rd_account_judge(w->account, &loss, verdict, err);
	if (judged != CM_OK)
		(void)sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"the accountant cannot answer: %.160s", err->msg);
	if (counted && (rc = rd_account_add(w->account, d->round_id, &loss, err)) != CM_OK)
		return rc;
	if (judged != CM_OK)
		return CM_EPROTO;
	if (CM_CHECKED("shuffler.budget") && !verdict->fits && verdict->adaptive)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: the round needs %.4g %% of the filter's budget, %.4g %% is spent",
			100 * verdict->share, 100 * verdict->share_spent);
	if (CM_CHECKED("shuffler.budget") && !verdict->fits)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUDGET_EXHAUSTED, 0,
			"budget: the round needs epsilon %.4g, %.4g is spent, together %.4g over the limit "
			"%.4g",
			verdict->epsilon_round, verdict->spent, verdict->total, verdict->limit);
	return CM_OK;
}

enum cm_rc sh_witness_share(const struct sh_witness *w, double *share, struct cm_err *err)
{
	return rd_account_share(w->account, share, err);
}

const char *sh_witness_mode(const struct sh_witness *w)
{
	return rd_account_mode(w->account);
}

enum cm_rc sh_witness_spent(const struct sh_witness *w, double *epsilon, struct cm_err *err)
{
	return rd_account_spent(w->account, epsilon, err);
}
