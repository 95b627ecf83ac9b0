/* cl_fetch.c (cl_loop.h) - fetches the first round that the shuffler offers, and its plan.  It opens no
 * database and takes part in no round. */
#include <stdlib.h>
#include <string.h>

#include "cl_asker.h"
#include "nt_confine.h"
#include "nt_loop.h"

struct fetch {
	struct cl_context context;
	struct nt_loop *signals;
	struct nt_tls_ctx *tls;
	struct cl_links *links;
	struct cl_plans plans;
	struct cl_asker *asker;
	struct cl_fetched *out;
	bool ending;
	struct cm_err result;
};

void cl_fetched_init(struct cl_fetched *f)
{
	*f = (struct cl_fetched){ .signature = { 0 } };
	cm_buf_init(&f->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&f->plan, PR_PLAN_MAX);
}

void cl_fetched_fini(struct cl_fetched *f)
{
	cm_buf_fini(&f->descriptor);
	cm_buf_fini(&f->plan);
}

static void on_links_closed(void *user)
{
	((struct fetch *)user)->links = NULL;
}

static void finish(void *user, const struct cm_err *why)
{
	struct fetch *f = user;

	if (f->ending)
		return;
	f->ending = true;
	f->result = *why;
	cl_asker_close(f->asker);
	if (f->links)
		cl_links_close(f->links);
	nt_loop_free(f->signals);
	f->signals = NULL;
}

static void done(void *user)
{
	finish(user, &(struct cm_err){ .code = CM_OK });
}

/* ---- the dialogue ---- */

static void request(void *user, Tombola__V1__GetRound *get)
{
	(void)user;
	get->wait_ms = PR_WAIT_MAX_MS;
}

static bool on_none(void *user, const Tombola__V1__Error *e)
{
	(void)user;
	(void)e;
	return false;
}

static void on_fault(void *user, const char *msg, const struct cm_err *why)
{
	(void)msg;
	finish(user, why);
}

/* Keep the round, and ask for its plan.  A round that cannot be read is returned without its plan. */
static void on_round(void *user, const Tombola__V1__Round *round)
{
	struct fetch *f = user;
	struct cm_buf *descriptor = &f->out->descriptor;
	struct rd_descriptor d;
	struct cm_err err;

	descriptor->len = 0;
	if (round->descriptor.len == 0 || round->signature.len != PR_SIGNATURE_LEN ||
		cm_buf_put(descriptor, round->descriptor.data, round->descriptor.len) != CM_OK) {
		(void)cm_fail(&err, CM_EPROTO, "a round without descriptor or signature");
		finish(f, &err);
		return;
	}
	memcpy(f->out->signature, round->signature.data, PR_SIGNATURE_LEN);
	cl_plans_begin(&f->plans);
	if (rd_descriptor_decode(descriptor->data, descriptor->len, &d, &err) != CM_OK) {
		done(f);
		return;
	}
	f->plans.need.kind = CD_NEED_PLAN;
	memcpy(f->plans.need.plan_hash, d.plan_hash, PR_HASH_LEN);
	rd_descriptor_fini(&d);
	cl_asker_begin(f->asker, 0);
}

/* ---- connections ---- */

static void on_up(void *user, unsigned i)
{
	cl_asker_up(((struct fetch *)user)->asker, i);
}

static void on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame)
{
	struct fetch *f = user;

	if (!f->ending)
		cl_asker_frame(f->asker, i, frame);
}

static void on_down(void *user, unsigned i, bool was_up, const struct cm_err *why)
{
	struct fetch *f = user;

	if (!f->ending)
		cl_asker_down(f->asker, i, was_up, why);
}

/* ---- start and end ---- */

static enum cm_rc start(struct fetch *f, struct cm_err *err)
{
	static const struct nt_loop_handler signals = { .on_stop = done };
	struct cl_context *c = &f->context;
	const struct cl_links_conf links = { .loop = &c->loop,
		.address = c->setup->conf.shuffler.item,
		.addresses = c->setup->conf.shuffler.n,
		.tls = f->tls,
		.n = 1,
		.user = f,
		.on_up = on_up,
		.on_frame = on_frame,
		.on_down = on_down,
		.on_closed = on_links_closed };
	enum cm_rc rc = cl_links_new(&links, &f->links, err);

	if (rc != CM_OK)
		return rc;
	rc = cl_asker_new(&(struct cl_asker_conf){ .context = c,
				  .links = f->links,
				  .plans = &f->plans,
				  .user = f,
				  .request = request,
				  .on_round = on_round,
				  .on_none = on_none,
				  .on_answer = done,
				  .on_fault = on_fault,
				  .on_over = finish },
		&f->asker, err);
	if (rc == CM_OK)
		rc = nt_loop_new(&c->loop, &signals, f, &f->signals, err);
	if (rc == CM_OK)
		cl_asker_wait(f->asker);
	return rc;
}

static enum cm_rc run_loop(struct fetch *f, struct cm_err *err)
{
	enum cm_rc rc;

	nt_confine(CM_LOG_DEBUG);
	if (uv_loop_init(&f->context.loop) != 0)
		return cm_fail(err, CM_EINTERNAL, "no event loop");
	rc = start(f, err);
	if (rc != CM_OK)
		finish(f, err);
	(void)uv_run(&f->context.loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&f->context.loop) != 0 && rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "handles were left on the loop");
	if (rc == CM_OK && f->result.code != CM_OK) {
		*err = f->result;
		rc = err->code;
	}
	cl_asker_free(f->asker);
	return rc;
}

static enum cm_rc take_plan(const struct fetch *f, struct cm_err *err)
{
	const struct cl_plans *p = &f->plans;

	if (f->out->descriptor.len == 0)
		return cm_fail(err, CM_ELATER, "stopped before a round came");
	if (cm_buf_put(&f->out->plan, p->fetched.data, p->fetched.len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(f->out->plan_signature, p->fetched_signature, PR_SIGNATURE_LEN);
	return CM_OK;
}

enum cm_rc cl_loop_fetch(
	const struct cl_setup *setup, int64_t wait_ms, struct cl_fetched *out, struct cm_err *err)
{
	const struct cl_loop_conf conf = {
		.setup = setup, .wait_ms = wait_ms, .stop_on_fault = true, .quiet = true
	};
	struct fetch *f = calloc(1, sizeof *f);
	enum cm_rc rc;

	if (!f)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->context.run = &conf;
	f->context.setup = setup;
	f->out = out;
	rc = cl_setup_tls(setup, &f->tls, err);
	if (rc == CM_OK)
		rc = cl_plans_init(&f->plans, setup, NULL, NULL, err);
	if (rc == CM_OK)
		rc = run_loop(f, err);
	if (rc == CM_OK)
		rc = take_plan(f, err);
	cl_plans_fini(&f->plans);
	nt_tls_ctx_free(f->tls);
	free(f);
	return rc;
}
