/* cl_payload_wait.c - limits the time in which a round's payload is fetched. */
#include "cl_payload_wait.h"

#include "cm_clock.h"

#define PART 3 /* the fetch takes at most one part in PART of the time that a round is still open */

static const char late[] = "it did not come in time";

static void on_timer(uv_timer_t *t)
{
	struct cl_payload_wait *w = t->data;

	w->on_over(w->user);
}

void cl_payload_wait_init(struct cl_payload_wait *w, const struct cl_context *context, struct cl_plans *plans,
	void (*on_over)(void *user), void *user)
{
	*w = (struct cl_payload_wait){ .context = context, .plans = plans, .on_over = on_over, .user = user };
	(void)uv_timer_init((uv_loop_t *)&context->loop, &w->timer);
	w->timer.data = w;
}

void cl_payload_wait_close(struct cl_payload_wait *w)
{
	if (w->timer.data && !uv_is_closing((uv_handle_t *)&w->timer))
		uv_close((uv_handle_t *)&w->timer, NULL);
}

static bool is_running(const struct cl_payload_wait *w)
{
	return uv_is_active((const uv_handle_t *)&w->timer) != 0;
}

static void start(struct cl_payload_wait *w, const struct rd_descriptor *d)
{
	int64_t now = cm_clock_wall_ms(), most = (d->deadline_ms - now) / PART,
		wanted = w->context->setup->conf.fetch_ms, ms = wanted < most ? wanted : most;

	ms = ms > 0 ? ms : 0;
	w->round = d->sequence;
	w->until_ms = now + ms;
	(void)uv_timer_start(&w->timer, on_timer, (uint64_t)ms, 0);
}

enum cm_rc cl_payload_wait_begin(struct cl_payload_wait *w, const struct rd_descriptor *d, struct cm_err *err)
{
	struct cl_payload *p = &w->plans->payload;
	enum cm_rc rc = cl_payload_begin(p, d, err);

	if (rc != CM_OK)
		return rc;
	if (w->round != d->sequence)
		start(w, d);
	else if (!is_running(w))
		cl_payload_give_up(p, late);
	return CM_OK;
}

bool cl_payload_wait_lasts(const struct cl_payload_wait *w)
{
	return is_running(w) && w->plans->payload.state != CL_PAYLOAD_WANTED;
}

int64_t cl_payload_wait_until(const struct cl_payload_wait *w)
{
	return w->round > 0 ? w->until_ms : 0;
}

void cl_payload_wait_stop(struct cl_payload_wait *w)
{
	(void)uv_timer_stop(&w->timer);
	w->round = 0;
}

void cl_payload_wait_forget(struct cl_payload_wait *w)
{
	struct cm_err err;

	cl_payload_wait_stop(w);
	if (cl_payload_forget(&w->plans->payload, &err) != CM_OK)
		cl_say(w->context, CM_LOG_ERROR, "payload", &err);
}
