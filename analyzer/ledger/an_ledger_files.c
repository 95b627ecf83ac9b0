/* an_ledger_files.c - opens plan and ledger together, and appends records to ledger and state. */
#include "an_ledger_files.h"

#include <stdlib.h>
#include <string.h>

#include "an_budget.h"
#include "an_keys.h"
#include "an_reserve.h"
#include "cm_fault.h"
#include "cm_file.h"
#include "cm_lock.h"
#include "cm_log.h"
#include "cm_marker.h"
#include "pl_load.h"
#include "pl_make.h"

#define PARTY     "analyzer"
#define KEPT_FILE "auto" /* in the state directory: what protocol "auto" chose */

static enum cm_rc fold(struct an_ledger_files *b, struct cm_err *err)
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

/* Delete what crashes left in these folders; the lock guarantees that no other process uses them. */
static enum cm_rc sweep(const char *state_dir, struct cm_err *err)
{
	static const char *const folder[] = { "", "keys", "manifests", "results" };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < sizeof folder / sizeof *folder; i++) {
		char *path = cm_file_join(state_dir, folder[i]);

		rc = path ? cm_file_sweep(path, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
		free(path);
	}
	return rc;
}

/* Refuse to start, because an empty ledger in place of a lost one would claim that nothing was spent. */
static enum cm_rc say_lost(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"%s: this analyzer has been in service and its ledger is missing or empty, so what was spent "
		"is not known: restore the newest copy, or begin another population in another state_dir",
		path);
}

static enum cm_rc open_ledger(struct an_ledger_files *b, const char *path, bool write, struct cm_err *err)
{
	struct cm_marker marker;
	bool there = true, forgot;
	enum cm_rc rc = cm_marker_read(b->state_dir, &marker, err);

	if (rc == CM_OK)
		rc = an_ledger_exists(path, &there, err);
	forgot = rc == CM_OK && !marker.there;
	marker.there = marker.there && CM_CHECKED("analyzer.in_service");
	if (rc == CM_OK && marker.there && !there)
		rc = say_lost(path, err);
	if (rc == CM_OK)
		rc = an_ledger_open(path, write, &b->ledger, &b->torn, err);
	if (rc == CM_OK && marker.there && an_ledger_chain(b->ledger)->seq == 0)
		rc = say_lost(path, err);
	if (rc == CM_OK && write && forgot && an_ledger_chain(b->ledger)->seq > 0)
		cm_log(CM_LOG_WARN,
			"the file in-service was missing beside a ledger, and is made again: without it "
			"the loss of the ledger would not be noticed",
			CM_S("state_dir", b->state_dir));
	if (rc == CM_OK && write && an_ledger_chain(b->ledger)->seq > 0)
		rc = cm_marker_make(b->state_dir, err);
	return rc;
}

static enum cm_rc check_budget(const struct an_ledger_files *b, struct cm_err *err)
{
	const struct an_state *s = &b->state;

	if (!s->opened || b->epsilon <= 0 || (s->epsilon == b->epsilon && s->delta == b->delta))
		return CM_OK;
	return cm_fail(err, CM_ECONFIG,
		"the population's budget is epsilon %g at delta %g since its ledger was opened, 'budget' "
		"says %g at %g: it holds for life",
		s->epsilon, s->delta, b->epsilon, b->delta);
}

enum cm_rc an_plan_load(const struct an_conf *conf, FILE *faults, struct pl_plan *out, struct cm_err *err)
{
	char *kept = conf->state_dir ? cm_file_join(conf->state_dir, KEPT_FILE) : NULL;
	enum cm_rc rc = pl_plan_load_kept(conf->plan, kept, faults, out, err);

	free(kept);
	return rc;
}

/* Keep what protocol "auto" chose, so that the next verb does not search again. */
static enum cm_rc keep_choices(const struct an_conf *conf, const struct pl_plan *plan, struct cm_err *err)
{
	char *kept = cm_file_join(conf->state_dir, KEPT_FILE);
	enum cm_rc rc = kept ? pl_plan_keep(plan, kept, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

	free(kept);
	return rc;
}

enum cm_rc an_ledger_files_open(
	const struct an_conf *conf, bool write, struct an_ledger_files *b, struct cm_err *err)
{
	char *path;
	enum cm_rc rc;

	*b = (struct an_ledger_files){
		.state_dir = conf->state_dir, .epsilon = conf->epsilon, .delta = conf->delta
	};
	path = cm_file_join(conf->state_dir, "ledger");
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = an_plan_load(conf, NULL, &b->plan, err);
	if (rc == CM_OK && write)
		rc = cm_file_mkdir(conf->state_dir, err);
	if (rc == CM_OK)
		rc = write ? cm_lock_take(conf->state_dir, PARTY, err)
			   : cm_lock_check(conf->state_dir, PARTY, err);
	if (rc == CM_OK && write)
		rc = sweep(conf->state_dir, err);
	if (rc == CM_OK && write)
		rc = keep_choices(conf, &b->plan, err);
	if (rc == CM_OK)
		rc = open_ledger(b, path, write, err);
	if (rc == CM_OK)
		rc = an_state_init(&b->state, &b->plan, err);
	if (rc == CM_OK)
		rc = fold(b, err);
	if (rc == CM_OK)
		rc = check_budget(b, err);
	free(path);
	return rc;
}

void an_ledger_files_close(struct an_ledger_files *b)
{
	an_ledger_free(b->ledger);
	if (b->state.plan)
		an_state_fini(&b->state);
	pl_plan_fini(&b->plan);
	memset(b, 0, sizeof *b);
}

enum cm_rc an_ledger_files_append(
	struct an_ledger_files *b, struct rd_record *r, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc;

	r->time_ms = now_ms;
	rc = an_ledger_append(b->ledger, r, err);
	if (rc == CM_OK)
		rc = an_state_take(&b->state, r, an_ledger_chain(b->ledger)->head, err);
	/* Create the marker before anything is spent. */
	return rc == CM_OK && r->kind == RD_OPEN ? cm_marker_make(b->state_dir, err) : rc;
}

static enum cm_rc reserve(struct an_ledger_files *b, struct an_reservation *v,
	const struct an_payload *payload, const struct cr_rng *rng, struct cm_err *err)
{
	struct rd_record record = { 0 };
	enum cm_rc rc = CM_OK;

	if (v->round->plan->payload_max > 0 && !payload->bytes)
		return cm_fail(err, CM_EUSAGE, "the round wants a payload: --payload FILE");
	if (v->round->plan->payload_max > 0) {
		v->payload_size = payload->len;
		rc = an_payload_keep(b->state_dir, payload, v->payload_hash, err);
	}
	if (rc == CM_OK)
		rc = an_key_create(b->state_dir, v->round_id, rng, v->hpke_key, err);
	if (rc == CM_OK)
		rc = an_reserve_record(&b->state, v, &record, err);
	if (rc == CM_OK)
		rc = an_ledger_files_append(b, &record, v->now_ms, err);
	rd_record_fini(&record);
	return rc;
}

struct rd_slices an_ledger_files_budget(const struct an_ledger_files *b)
{
	struct rd_slices all = { b->state.epsilon, b->state.delta };

	if (!b->state.opened && b->epsilon > 0)
		all = (struct rd_slices){ b->epsilon, b->delta };
	else if (!b->state.opened)
		all = (struct rd_slices){ b->plan.epsilon, b->plan.delta };
	return all;
}

enum cm_rc an_ledger_files_slice(const struct an_ledger_files *b, struct cm_err *err)
{
	const struct rd_plan slice = { .epsilon = b->plan.epsilon, .delta = b->plan.delta };
	struct rd_slices all = an_ledger_files_budget(b);

	return rd_slices_fit(&b->state.slices, &slice, all.epsilon, all.delta)
		       ? CM_OK
		       : an_slice_refused(&b->state, &b->plan, all.epsilon, all.delta, err);
}

enum cm_rc an_ledger_files_pin(struct an_ledger_files *b, const struct cm_buf *plan,
	const struct cr_signer *signer, int64_t now_ms, struct cm_err *err)
{
	struct rd_slices all = an_ledger_files_budget(b);
	struct rd_record open, pin = { .kind = RD_PLAN };
	enum cm_rc rc = an_ledger_files_slice(b, err);

	if (rc == CM_OK)
		rc = cr_sign(signer, RD_PURPOSE_PLAN, plan->data, plan->len, pin.signature, err);
	if (rc == CM_OK && !b->state.opened) {
		an_open_record(&b->plan, all.epsilon, all.delta, now_ms, &open);
		rc = an_ledger_files_append(b, &open, now_ms, err);
	}
	pin.plan = *plan;
	return rc == CM_OK ? an_ledger_files_append(b, &pin, now_ms, err) : rc;
}

enum cm_rc an_ledger_files_draft(
	const struct an_ledger_files *b, const atomic_bool *stop, struct cm_buf *plan, struct cm_err *err)
{
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = an_state_next_plan(&b->state, previous);
	enum cm_rc rc = an_ledger_files_slice(b, err);

	return rc == CM_OK ? pl_plan_make(&b->plan, number, previous, stop, plan, err) : rc;
}

enum cm_rc an_ledger_files_show(struct an_ledger_files *b, const struct cm_buf *plan, struct cm_err *err)
{
	struct rd_slices all = an_ledger_files_budget(b);

	b->state.epsilon = all.epsilon;
	b->state.delta = all.delta;
	return an_state_pin(&b->state, plan->data, plan->len, err);
}

enum cm_rc an_ledger_files_preview(struct an_ledger_files *b, const atomic_bool *stop, struct cm_err *err)
{
	struct cm_buf plan;
	enum cm_rc rc;

	if (b->state.current)
		return CM_OK;
	cm_buf_init(&plan, PR_PLAN_MAX);
	rc = an_ledger_files_draft(b, stop, &plan, err);
	if (rc == CM_OK)
		rc = an_ledger_files_show(b, &plan, err);
	cm_buf_fini(&plan);
	return rc;
}

enum cm_rc an_ledger_files_decide(struct an_ledger_files *b, const struct an_round_state *r,
	const struct an_decision *decision, const struct cr_rng *rng, int64_t now_ms, struct cm_err *err)
{
	struct rd_chain chain = *an_ledger_chain(b->ledger);
	struct an_reservation v = { .round = r,
		.query = decision->query ? decision->query : &r->plan->query,
		.verdict = decision->verdict,
		.chain = &chain,
		.now_ms = now_ms };
	struct rd_record record;

	rng->fill(rng->ctx, v.round_id, sizeof v.round_id);
	if (decision->take)
		return reserve(b, &v, &decision->payload, rng, err);
	an_refuse_record(&v, decision->refusal, &record);
	return an_ledger_files_append(b, &record, now_ms, err);
}
