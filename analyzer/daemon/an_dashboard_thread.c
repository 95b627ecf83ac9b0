/* an_dashboard_thread.c - keeps the dashboard's view of the ledger current. */
#include "an_dashboard_thread.h"

#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_log.h"

#define INTEREST_MS 5000 /* after a request, keep the view current for this long */
#define RETRY_MS    2000 /* pause after a view that could not be made */

struct an_dashboard_thread {
	struct an_context *context;
	atomic_bool stop;
	struct an_dashboard view;       /* the newest finished view */
	struct an_dashboard fresh;      /* the view being made */
	struct an_dashboard_memo *memo; /* used only by the thread that makes the view */
	int64_t tried_ms, asked_ms;     /* when the last view was begun; when a page was last requested */
	uv_work_t work;
	bool making;
	enum cm_rc rc; /* the result of the work, together with err */
	struct cm_err err;
	char fault[320]; /* why the last view could not be made; empty if it was made */
};

static void have_made(struct an_dashboard_thread *v);

static void make_view(uv_work_t *w)
{
	struct an_dashboard_thread *v = w->data;

	v->rc = an_dashboard_make(v->context->conf, v->memo, &v->stop, &v->fresh, &v->err);
}

static void say_fault(struct an_dashboard_thread *v, const struct cm_err *err)
{
	if (strcmp(v->fault, err->msg) != 0)
		cm_log(CM_LOG_ERROR, "the ledger files cannot be read again", CM_S("reason", err->msg));
	memcpy(v->fault, err->msg, sizeof v->fault);
	an_dashboard_fini(&v->fresh);
}

static void view_made(uv_work_t *w, int status)
{
	struct an_dashboard_thread *v = w->data;
	struct cm_err err = { 0 };

	v->making = false;
	if (status != 0 || atomic_load(&v->stop))
		return;
	if (v->rc != CM_OK)
		err = v->err;
	else if (!an_ledger_is_prefix(v->context->files.ledger, &v->fresh.chain))
		(void)cm_fail(&err, CM_EDATA, "%s/ledger is not the one this analyzer writes",
			v->context->conf->state_dir);
	if (err.code != CM_OK) {
		say_fault(v, &err);
		return;
	}
	v->fault[0] = '\0';
	an_dashboard_fini(&v->view);
	v->view = v->fresh;
	memset(&v->fresh, 0, sizeof v->fresh);
	if (cm_clock_mono_ms() - v->asked_ms < INTEREST_MS)
		have_made(v);
}

bool an_dashboard_thread_is_current(const struct an_dashboard_thread *v)
{
	return v->view.rounds && v->view.chain.seq >= an_ledger_chain(v->context->files.ledger)->seq;
}

static void have_made(struct an_dashboard_thread *v)
{
	int64_t now = cm_clock_mono_ms();
	bool failed = *v->fault != '\0';

	if (v->making || (!failed && an_dashboard_thread_is_current(v)) ||
		(failed && now - v->tried_ms < RETRY_MS))
		return;
	v->tried_ms = now;
	v->work.data = v;
	v->making = uv_queue_work(&v->context->loop, &v->work, make_view, view_made) == 0;
}

void an_dashboard_thread_want(struct an_dashboard_thread *v)
{
	if (atomic_load(&v->stop))
		return;
	v->asked_ms = cm_clock_mono_ms();
	have_made(v);
}

const struct an_dashboard *an_dashboard_thread_view(const struct an_dashboard_thread *v)
{
	return &v->view;
}

const char *an_dashboard_thread_fault(const struct an_dashboard_thread *v)
{
	return v->fault;
}

enum cm_rc an_dashboard_thread_new(
	struct an_context *context, struct an_dashboard_thread **out, struct cm_err *err)
{
	struct an_dashboard_thread *v = calloc(1, sizeof *v);

	if (!v)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = v;
	v->context = context;
	v->memo = an_dashboard_memo_new();
	if (!v->memo)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	have_made(v);
	return CM_OK;
}

void an_dashboard_thread_close(struct an_dashboard_thread *v)
{
	if (v)
		atomic_store(&v->stop, true);
}

void an_dashboard_thread_free(struct an_dashboard_thread *v)
{
	if (!v)
		return;
	an_dashboard_memo_free(v->memo);
	an_dashboard_fini(&v->view);
	an_dashboard_fini(&v->fresh);
	free(v);
}
