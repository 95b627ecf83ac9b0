/* an_books.c - opens and keeps plan, ledger and state together. */
#include "an_books.h"

#include <stdlib.h>
#include <string.h>

#include "an_keys.h"
#include "an_reserve.h"
#include "cm_begun.h"
#include "cm_fault.h"
#include "cm_file.h"

static enum cm_rc fold(struct an_books *b, struct cm_err *err)
{
	uint64_t last = an_ledger_chain(b->ledger)->seq;
	enum cm_rc rc = CM_OK;

	for (uint64_t seq = 1; rc == CM_OK && seq <= last; seq++) {
		struct an_entry e = an_ledger_entry(b->ledger, seq);
		struct rd_record r;

		rc = rd_record_decode(e.bytes, e.len, &r, err);
		if (rc == CM_OK) {
			rc = an_state_take(&b->state, &r, e.head, err);
			rd_record_fini(&r);
		}
		if (rc == CM_EDATA)
			(void)cm_context(
				err, "%s/ledger at byte %llu", b->state_dir, (unsigned long long)e.offset);
	}
	return rc;
}

/* These folders are ours alone once the lock is. */
static enum cm_rc sweep(const char *state_dir, struct cm_err *err)
{
	static const char *const folder[] = { "", "keys", "results" };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < sizeof folder / sizeof *folder; i++) {
		char *path = cm_file_join(state_dir, folder[i]);

		rc = path != NULL ? cm_file_sweep(path, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
		free(path);
	}
	return rc;
}

/* An empty ledger in the place of one that is lost would say that nothing was spent. */
static enum cm_rc say_lost(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"%s: this analyzer has been in service and its ledger is missing or empty, so what was spent "
		"is "
		"not known: restore the newest copy, or begin another population in another state_dir",
		path);
}

static enum cm_rc open_ledger(struct an_books *b, const char *path, bool write, struct cm_err *err)
{
	struct cm_begun begun;
	bool there = true;
	enum cm_rc rc = cm_begun_read(b->state_dir, &begun, err);

	if (rc == CM_OK)
		rc = an_ledger_exists(path, &there, err);
	begun.there = begun.there && CM_CHECKED("analyzer.in_service");
	if (rc == CM_OK && begun.there && !there)
		rc = say_lost(path, err);
	if (rc == CM_OK)
		rc = an_ledger_open(path, write, &b->ledger, &b->torn, err);
	if (rc == CM_OK && begun.there && an_ledger_chain(b->ledger)->seq == 0)
		rc = say_lost(path, err);
	if (rc == CM_OK && write && an_ledger_chain(b->ledger)->seq > 0)
		rc = cm_begun_note(b->state_dir, err);
	return rc;
}

enum cm_rc an_books_open(const struct an_conf *conf, bool write, struct an_books *b, struct cm_err *err)
{
	char *path;
	enum cm_rc rc;

	*b = (struct an_books){ .state_dir = conf->state_dir };
	path = cm_file_join(conf->state_dir, "ledger");
	if (path == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = pl_plan_load(conf->plan, NULL, &b->plan, err);
	if (rc == CM_OK && write)
		rc = cm_file_mkdir(conf->state_dir, err);
	if (rc == CM_OK && write)
		rc = cm_file_lock(conf->state_dir, err);
	if (rc == CM_OK && write)
		rc = sweep(conf->state_dir, err);
	if (rc == CM_OK)
		rc = open_ledger(b, path, write, err);
	if (rc == CM_OK)
		rc = an_state_init(&b->state, &b->plan, err);
	if (rc == CM_OK)
		rc = fold(b, err);
	free(path);
	return rc;
}

void an_books_close(struct an_books *b)
{
	an_ledger_free(b->ledger);
	if (b->state.plan != NULL)
		an_state_fini(&b->state);
	pl_plan_fini(&b->plan);
	memset(b, 0, sizeof *b);
}

enum cm_rc an_books_append(struct an_books *b, struct rd_record *r, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc;

	r->time_ms = now_ms;
	rc = an_ledger_append(b->ledger, r, err);
	if (rc == CM_OK)
		rc = an_state_take(&b->state, r, an_ledger_chain(b->ledger)->head, err);
	/* Before anything is spent. */
	return rc == CM_OK && r->kind == RD_OPEN ? cm_begun_note(b->state_dir, err) : rc;
}

static enum cm_rc reserve(
	struct an_books *b, struct an_reservation *v, const struct cm_rng *rng, struct cm_err *err)
{
	struct rd_record record = { 0 };
	enum cm_rc rc = an_key_create(b->state_dir, v->round_id, rng, v->hpke_key, err);

	if (rc == CM_OK)
		rc = an_reserve_record(&b->state, v, &record, err);
	if (rc == CM_OK)
		rc = an_books_append(b, &record, v->now_ms, err);
	rd_record_fini(&record);
	return rc;
}

enum cm_rc an_books_decide(struct an_books *b, const struct pl_round *r, const struct an_decision *decision,
	const struct cm_rng *rng, int64_t now_ms, struct cm_err *err)
{
	struct rd_chain chain;
	struct an_reservation v = { .round = r,
		.query = decision->query != NULL ? decision->query : &r->query,
		.verdict = decision->verdict,
		.chain = &chain,
		.now_ms = now_ms };
	struct rd_record record;
	enum cm_rc rc;

	if (!b->state.opened) {
		an_open_record(&b->plan, now_ms, &record);
		rc = an_books_append(b, &record, now_ms, err);
		if (rc != CM_OK)
			return rc;
	}
	chain = *an_ledger_chain(b->ledger);
	rng->fill(rng->ctx, v.round_id, sizeof v.round_id);
	if (decision->take)
		return reserve(b, &v, rng, err);
	an_refuse_record(&v, decision->refusal, &record);
	return an_books_append(b, &record, now_ms, err);
}
