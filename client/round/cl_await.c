/* cl_await.c - limits the time in which a round's payload is fetched. */
#include "cl_await.h"

#include "cm_clock.h"

#define PART 3 /* the fetch takes at most one part in PART of the time that a round is still open */

static const char late[] = "it did not come in time";

static void on_timer(uv_timer_t *t)
{
	struct cl_await *a = t->data;

	a->on_over(a->user);
}

void cl_await_init(struct cl_await *a, const struct cl_context *context, struct cl_plans *plans,
	void (*on_over)(void *user), void *user)
{
	*a = (struct cl_await){ .context = context, .plans = plans, .on_over = on_over, .user = user };
	(void)uv_timer_init((uv_loop_t *)&context->loop, &a->timer);
	a->timer.data = a;
}

void cl_await_close(struct cl_await *a)
{
	if (a->timer.data && !uv_is_closing((uv_handle_t *)&a->timer))
		uv_close((uv_handle_t *)&a->timer, NULL);
}

static bool is_running(const struct cl_await *a)
{
	return uv_is_active((const uv_handle_t *)&a->timer) != 0;
}

static void start(struct cl_await *a, const struct rd_descriptor *d)
{
	int64_t now = cm_clock_wall_ms(), most = (d->deadline_ms - now) / PART,
		wanted = a->context->setup->conf.fetch_ms, ms = wanted < most ? wanted : most;

	ms = ms > 0 ? ms : 0;
	a->round = d->sequence;
	a->until_ms = now + ms;
	(void)uv_timer_start(&a->timer, on_timer, (uint64_t)ms, 0);
}

enum cm_rc cl_await_begin(struct cl_await *a, const struct rd_descriptor *d, struct cm_err *err)
{
	struct cl_payload *p = &a->plans->payload;
	enum cm_rc rc = cl_payload_begin(p, d, err);

	if (rc != CM_OK)
		return rc;
	if (a->round != d->sequence)
		start(a, d);
	else if (!is_running(a))
		cl_payload_give_up(p, late);
	return CM_OK;
}

bool cl_await_waits(const struct cl_await *a)
{
	return is_running(a) && a->plans->payload.state != CL_PAYLOAD_WANTED;
}

int64_t cl_await_until(const struct cl_await *a)
{
	return a->round > 0 ? a->until_ms : 0;
}

void cl_await_stop(struct cl_await *a)
{
	(void)uv_timer_stop(&a->timer);
	a->round = 0;
}

void cl_await_forget(struct cl_await *a)
{
	struct cm_err err;

	cl_await_stop(a);
	if (cl_payload_forget(&a->plans->payload, &err) != CM_OK)
		cl_say(a->context, CM_LOG_ERROR, "payload", &err);
}
