/* an_asks.c - sends the shuffler a plan as a question, and prints what would become of it. */
#include "an_asks.h"

#include <stdlib.h>

#include "an_rehearsal.h"
#include "an_result.h"
#include "cm_clock.h"

/* longest pause before a busy shuffler is asked again; it says itself how long to wait */
#define AGAIN_MAX_MS 5000u
#define AGAIN_TIMES  20u

struct an_asks {
	struct an_asks_conf conf;
	const struct an_context *context;
	uv_timer_t again;
	const struct rd_plan *plan; /* the plan that is asked about; NULL if there is none */
	unsigned busy;              /* how often the shuffler was busy */
	struct cm_buf draft;
};

static void on_again(uv_timer_t *t)
{
	an_asks_connected(t->data);
}

enum cm_rc an_asks_new(const struct an_asks_conf *conf, struct an_asks **out, struct cm_err *err)
{
	struct an_asks *a = calloc(1, sizeof *a);

	if (!a)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = a;
	a->conf = *conf;
	a->context = conf->context;
	cm_buf_init(&a->draft, PR_PLAN_MAX);
	return an_timer_init(a->context, &a->again, a, err);
}

void an_asks_close(struct an_asks *a)
{
	if (!a)
		return;
	an_timer_close(&a->again);
	a->plan = NULL;
}

void an_asks_free(struct an_asks *a)
{
	if (a)
		cm_buf_fini(&a->draft);
	free(a);
}

static void end(struct an_asks *a, const struct cm_err *why)
{
	a->plan = NULL;
	a->conf.on_end(a->conf.user, why);
}

void an_asks_connected(struct an_asks *a)
{
	Tombola__V1__Rehearse question;
	uint8_t signature[CR_SIGN_LEN];
	struct cm_err err = { 0 };

	if (!a->plan || !an_link_ready(a->conf.link))
		return;
	if (an_rehearse_ask(a->plan, a->context->signer, cm_clock_wall_ms(), &a->draft, signature, &question,
		    &err) != CM_OK) {
		end(a, &err);
		return;
	}
	question.wait_ms = a->context->run->wait_ms;
	an_link_send(a->conf.link, PR_FRAME(REHEARSE, rehearse, &question));
}

void an_asks_begin(struct an_asks *a, const struct rd_plan *plan)
{
	a->plan = plan;
	an_asks_connected(a);
}

/* ---- The answer ---- */

static enum cm_rc print(const struct an_asks *a, const struct an_rehearsal *r, struct cm_err *err)
{
	const struct pl_plan *plan = &a->context->files.plan;
	json_t *doc = NULL;

	if (!a->context->run->json) {
		an_rehearsal_print(r, plan, a->context->conf->plan, stdout);
		return CM_OK;
	}
	doc = an_rehearsal_json(r, plan);
	if (!doc)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (a->context->run->rehearsal) {
		*a->context->run->rehearsal = doc;
		return CM_OK;
	}

	enum cm_rc rc = an_json_print(doc, 0, stdout, err);
	json_decref(doc);
	return rc;
}

static void take(struct an_asks *a, const Tombola__V1__Rehearsed *answer)
{
	struct an_rehearsal r;
	struct cm_err err = { 0 };
	size_t faults = 0;

	enum cm_rc rc = an_rehearse_read(a->plan, answer, &r, &err);
	if (rc == CM_OK)
		rc = print(a, &r, &err);
	if (rc == CM_OK)
		faults = an_rehearse_faults(&r);
	an_rehearse_fini(&r);
	if (rc != CM_OK) {
		end(a, &err);
		return;
	}
	a->plan = NULL;
	a->conf.on_answer(a->conf.user, faults);
}

static void take_error(struct an_asks *a, const Tombola__V1__Error *e)
{
	uint32_t later = e->retry_after_ms < AGAIN_MAX_MS ? e->retry_after_ms : AGAIN_MAX_MS;
	struct cm_err err = { 0 };

	if (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY && a->busy++ < AGAIN_TIMES) {
		(void)uv_timer_start(&a->again, on_again, later, 0);
		return;
	}
	(void)pr_error(e, &err);
	if (e->code == TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND)
		(void)cm_fail(&err, CM_EUNAVAIL, "the shuffler is too old to rehearse a plan");
	end(a, &err);
}

bool an_asks_frame(struct an_asks *a, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };

	if (!a->plan)
		return false;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_REHEARSED) {
		take(a, frame->rehearsed);
	} else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR) {
		take_error(a, frame->error);
	} else {
		(void)cm_fail(&err, CM_EPROTO, "the shuffler answers another question");
		end(a, &err);
	}
	return true;
}
