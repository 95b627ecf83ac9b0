/* sh_serve_compose.c - composing plans and judging adaptive rounds on a worker thread, beside the other
 * tasks. */
#include <string.h>

#include "sh_serve_private.h"

/* On the worker thread. */
static void compose_run(uv_work_t *work)
{
	const struct composing *c = work->data;

	sh_compose_run(c->what, &c->stop);
}

static void log_pin(const struct sh_compose *w, double seconds)
{
	const struct sh_plan *plan = w->plan;

	const char *said = plan->state == SH_PIN_TAKEN   ? "plan pinned"
			   : plan->state == SH_PIN_WAITS ? "plan not composed, trying again"
							 : "plan not taken";

	cm_log(plan->state == SH_PIN_TAKEN ? CM_LOG_INFO : CM_LOG_WARN, said, CM_I("plan", plan->number),
		CM_S("name", plan->name), CM_S("state", sh_pin_state_name(plan->state)),
		CM_I("entries", plan->entries), CM_I("taken", plan->pin ? rd_pin_count(plan->pin) : 0),
		CM_D("epsilon", plan->epsilon), CM_D("delta", plan->delta), CM_D("seconds", seconds),
		CM_S("reason", w->rc == CM_OK ? "" : w->err.msg));
}

static void compose_done(uv_work_t *work, int status)
{
	struct composing *c = work->data;
	struct sh_serve *s = c->serve;
	struct cm_err err = { 0 };

	(void)status; /* never cancelled */
	c->under_way = false;
	if (sh_core_composed(s->conf.core, c->what, &err) != CM_OK)
		sh_serve_fatal(&err);
	if (!c->what->judges && c->what->rc != CM_ELATER)
		log_pin(c->what, (double)(uv_hrtime() - c->began_ns) / 1e9);
	sh_compose_free(c->what);
	c->what = NULL;
	sh_serve_pump(s);
}

void sh_serve_compose(struct sh_serve *s)
{
	struct composing *c = &s->composing;
	struct cm_err err = { 0 };

	if (c->under_way || s->stopping)
		return;
	if (sh_core_compose(s->conf.core, &c->what, &err) != CM_OK)
		sh_serve_fatal(&err);
	if (!c->what)
		return;
	c->work.data = c;
	c->serve = s;
	c->began_ns = uv_hrtime();
	c->under_way = true;
	int rc = uv_queue_work(s->loop, &c->work, compose_run, compose_done);
	if (rc != 0) {
		(void)cm_fail(&err, CM_EINTERNAL, "worker thread: %s", uv_strerror(rc));
		sh_serve_fatal(&err);
	}
}
