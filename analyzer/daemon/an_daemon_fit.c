/* an_daemon_fit.c - asks the shuffler for its policy before a plan is signed, and waits while the plan does
 * not fit it: what is signed takes its slice of the budget for ever. */
#include <stdio.h>
#include <string.h>

#include "an_daemon_private.h"
#include "an_fit.h"
#include "cm_log.h"

#define AGAIN_MS 30000u /* a shuffler that starts anew with another policy is asked at once */

static void on_timer_closed(uv_handle_t *h)
{
	struct an_daemon *d = h->data;

	d->timers--;
}

enum cm_rc an_fit_init(struct an_daemon *d, struct cm_err *err)
{
	int rc = uv_timer_init(&d->loop, &d->fit.again);

	if (rc != 0)
		return cm_fail(err, CM_EINTERNAL, "timer: %s", uv_strerror(rc));
	d->fit.again.data = d;
	d->timers++;
	return CM_OK;
}

void an_fit_close(struct an_daemon *d)
{
	if (d->fit.again.data != NULL && !uv_is_closing((uv_handle_t *)&d->fit.again))
		uv_close((uv_handle_t *)&d->fit.again, on_timer_closed);
	d->fit.asks = false;
	rd_plan_fini(&d->fit.made);
}

static void on_again(uv_timer_t *t)
{
	an_fit_connected(t->data);
}

void an_fit_connected(struct an_daemon *d)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__GetPolicy get = TOMBOLA__V1__GET_POLICY__INIT;

	if (!d->fit.asks || !d->ready)
		return;
	(void)uv_timer_stop(&d->fit.again);
	get.population = d->files.plan.population;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_GET_POLICY;
	frame.get_policy = &get;
	an_link_send(d, &frame);
}

static void say(void *user, const struct pl_round *r, const char *text)
{
	struct an_daemon *d = user;
	char at[256];

	if (r != NULL)
		(void)snprintf(at, sizeof at, "%s:%d", d->conf->plan, r->line);
	else
		(void)snprintf(at, sizeof at, "%s", d->conf->plan);
	if (d->fit.why[0] == '\0' && r != NULL)
		(void)snprintf(d->fit.why, sizeof d->fit.why, "round %u (%s): %s", r->number, r->label, text);
	else if (d->fit.why[0] == '\0')
		(void)snprintf(d->fit.why, sizeof d->fit.why, "%s", text);
	if (d->run->check && r != NULL)
		(void)printf("%s: round %u (%s): %s\n", at, r->number, r->label, text);
	else if (d->run->check)
		(void)printf("%s: %s\n", at, text);
	else if (r != NULL)
		cm_log(CM_LOG_WARN, "a round does not fit the shuffler's policy", CM_S("at", at),
			CM_I("round", r->number), CM_S("query", r->label), CM_S("reason", text));
	else
		cm_log(CM_LOG_WARN, "the plan does not fit the shuffler's policy", CM_S("at", at),
			CM_S("reason", text));
}

/* Nothing is signed.  Who looks on is told, and a daemon asks again. */
static void wait_for_policy(struct an_daemon *d)
{
	struct cm_err err = { 0 };

	if (d->run->check)
		(void)cm_fail(&err, CM_ECONFIG, "the plan does not fit the shuffler's policy");
	else
		(void)cm_fail(
			&err, CM_ECONFIG, "the plan is not signed, nothing is spent: %.120s", d->fit.why);
	if (d->run->once || d->run->only != 0 || d->run->check) {
		an_stop(d, err.code, &err);
		return;
	}
	cm_log_plain(CM_LOG_WARN,
		"the plan is not signed, and nothing of the budget is spent, before it fits the "
		"shuffler's policy");
	(void)uv_timer_start(&d->fit.again, on_again, AGAIN_MS, 0);
}

static void go_on(struct an_daemon *d)
{
	struct cm_err none = { 0 };

	d->fit.asks = false;
	rd_plan_fini(&d->fit.made);
	if (d->run->check) {
		an_stop(d, CM_OK, &none);
		return;
	}
	cm_log_flush();
	an_pin_go_on(d);
}

/* Whose honest part is smaller than the plan says costs the shuffler more than the plan says; what then does
 * not fit the slice is known when it has composed the plan. */
static void warn_of_honesty(const struct an_daemon *d, const Tombola__V1__Policy *says)
{
	const struct pl_plan *p = &d->files.plan;

	if (says->honest_fraction >= p->honest_fraction && says->colluders <= p->colluders)
		return;
	if (d->run->check)
		(void)printf(
			"%s: note: the shuffler's policy counts with honest_fraction = %g and colluders = "
			"%llu, the plan with %g and %llu; so rounds cost more there, and the last ones may "
			"not fit its slice\n",
			d->conf->plan, says->honest_fraction, (unsigned long long)says->colluders,
			p->honest_fraction, (unsigned long long)p->colluders);
	else
		cm_log(CM_LOG_WARN,
			"the shuffler counts with fewer honest participants than the plan: rounds cost more "
			"there",
			CM_D("honest_fraction", says->honest_fraction), CM_I("colluders", says->colluders));
}

static void on_policy(struct an_daemon *d, const Tombola__V1__Policy *says)
{
	const struct rd_plan *made =
		d->files.state.current != NULL ? &d->files.state.current->signed_plan : &d->fit.made;

	warn_of_honesty(d, says);
	if (an_fit_plan(&d->files.plan, made, d->fit.pinned, says, say, d) > 0)
		wait_for_policy(d);
	else
		go_on(d);
}

static void on_error(struct an_daemon *d, const Tombola__V1__Error *e)
{
	struct cm_err err = { 0 };

	switch (e->code) {
	case TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND: /* an older one */
		if (d->run->check) {
			(void)cm_fail(&err, CM_EUNAVAIL, "the shuffler is too old to say its policy");
			an_stop(d, err.code, &err);
		} else {
			go_on(d);
		}
		return;
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
		say(d, NULL, "population is another than in the shuffler's policy");
		wait_for_policy(d);
		return;
	default:
		/* As for a round: what may pass is asked again, a refusal for good ends the run. */
		(void)lk_error(e, &err);
		if (err.code == CM_EUNAVAIL || err.code == CM_ELATER)
			an_link_drop(d, &err);
		else
			an_stop(d, err.code, &err);
	}
}

bool an_fit_frame(struct an_daemon *d, const Tombola__V1__Frame *frame)
{
	if (!d->fit.asks)
		return false;
	d->fit.why[0] = '\0';
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_POLICY)
		on_policy(d, frame->policy);
	else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR)
		on_error(d, frame->error);
	else
		an_link_drop(d, &(struct cm_err){
					.code = CM_EPROTO, .msg = "the shuffler answers another question" });
	return true;
}

void an_fit_begin(struct an_daemon *d, bool pinned)
{
	d->fit.asks = true;
	d->fit.pinned = pinned;
	d->fit.why[0] = '\0';
	if (d->ready)
		an_fit_connected(d);
	else
		an_link_want(d);
}
