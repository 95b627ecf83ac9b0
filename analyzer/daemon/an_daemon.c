/* an_daemon.c - runs the analyzer's parts, and decides what follows when one of them reports. */
#include "an_daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_asks.h"
#include "an_copy.h"
#include "an_judge.h"
#include "an_pin.h"
#include "an_policy.h"
#include "an_rehearsal.h"
#include "an_replan.h"
#include "an_schedule.h"
#include "an_sleep.h"
#include "an_tables.h"
#include "an_turns.h"
#include "an_web.h"
#include "an_work.h"
#include "cf_change.h"
#include "cm_clock.h"
#include "cm_log.h"
#include "nt_confine.h"
#include "nt_loop.h"

struct an_daemon {
	struct an_context context;
	struct nt_loop *signals;
	struct an_link *link;
	struct an_copy *copy;
	struct an_policy *policy;
	struct an_asks *asks;
	struct an_pin *pin;
	struct an_turns turns;
	struct an_judge *judge;
	struct an_sleep *sleep;
	struct an_work *work;
	struct an_web *web; /* NULL if no HTTP is served */
	/* plan to be pinned once the ledger is known to be complete; NULL if there is none */
	const struct rd_plan *made;
	bool pinned;   /* with `check`: the plan's slice was taken before this run */
	bool idle;     /* no round is left to run, or the next one opens later */
	size_t shown;  /* rounds of the plan printed to run->table so far */
	bool stopping; /* the run is ending, with `result` */
	bool again;    /* ... and begins again, with another plan */
	struct cm_err result;
};

/* Close every handle so that uv_run returns; a bucket being opened is finished first. */
static void close_all(struct an_daemon *d)
{
	d->stopping = true;
	an_link_close(d->link);
	an_pin_close(d->pin);
	an_judge_close(d->judge);
	an_work_close(d->work);
	an_sleep_close(d->sleep);
	an_policy_close(d->policy);
	an_asks_close(d->asks);
	an_web_close(d->web);
	if (d->signals)
		nt_loop_free(d->signals);
	d->signals = NULL;
}

/* End the run with this result; later calls change nothing. */
static void stop(void *user, const struct cm_err *why)
{
	struct an_daemon *d = user;

	if (d->stopping)
		return;
	d->result = *why;
	if (d->signals)
		nt_loop_stopping(d->signals);
	close_all(d);
}

/* ---- the rounds in their order ---- */

static void show_rows(struct an_daemon *d, size_t to)
{
	FILE *table = d->context.run->table;

	if (!table || to == d->shown)
		return;
	an_rounds_print_some(&d->context.files, d->shown, to, cm_clock_wall_ms(), table);
	(void)fflush(table);
	d->shown = to;
}

/* Print the rounds that have ended since the last call. */
static void show_ended(struct an_daemon *d)
{
	const struct an_state *s = &d->context.files.state;
	size_t to = d->shown;

	while (to < s->plan->rounds && an_round_ended(&s->round[to]))
		to++;
	show_rows(d, to);
}

/* The selected round, or the plan, is finished: end the run. */
static void finish(struct an_daemon *d)
{
	const struct an_state *s = &d->context.files.state;
	uint32_t only = d->context.run->only;
	const struct an_round_state *r = only != 0 ? &s->round[only - 1] : NULL;
	struct cm_err err = { 0 };

	d->idle = true;
	an_sleep_say_later(&d->context);
	show_rows(d, s->plan->rounds);
	if (r && r->stage == AN_REFUSED)
		(void)cm_fail(&err, an_round_left_out(r) ? CM_EDATA : CM_EBUDGET, "round %u (%s) refused: %s",
			r->plan->number, r->plan->label, r->reason);
	else if (r && (r->stage == AN_VOID || r->stage == AN_WAITING))
		(void)cm_fail(&err,
			strncmp(r->reason, AN_REFUSED_BUDGET, sizeof AN_REFUSED_BUDGET - 1) == 0 ? CM_EBUDGET
												 : CM_ELATER,
			"round %u (%s) is %s: %s", r->plan->number, r->plan->label,
			r->stage == AN_VOID ? "void" : "void and may be tried again", r->reason);
	if (an_context_attended(&d->context)) {
		stop(d, &err);
		return;
	}
	cm_log(CM_LOG_INFO, "the plan is through", CM_I("settled", an_state_count(s, AN_SETTLED)),
		CM_I("refused", an_state_count(s, AN_REFUSED)), CM_I("void", an_state_count(s, AN_VOID)),
		CM_I("waiting", an_state_count(s, AN_WAITING)), CM_I("no_payload", an_schedule_waiting(s)));
	an_link_rest(d->link);
}

/* Nothing can run now: wait for the next scheduled round, or finish. */
static void rest(struct an_daemon *d)
{
	if (!an_sleep_begin(d->sleep)) {
		finish(d);
		return;
	}
	d->idle = true;
	an_link_rest(d->link);
}

/* Start the next round of the plan, or finish. */
static void go_on(void *user)
{
	struct an_daemon *d = user;
	struct an_state *s = &d->context.files.state;
	struct an_round_state *r;

	if (d->stopping || an_work_round(d->work) || an_pin_works(d->pin) || an_judge_works(d->judge) ||
		an_copy_asks(d->copy))
		return;
	show_ended(d);
	an_sleep_say_missed(d->sleep);
	r = an_turns_next(&d->turns, s);
	if (r && an_sleep_next(d->sleep)) {
		an_sleep_end(d->sleep);
		d->idle = false;
	}
	if (!r && !s->current) {
		an_pin_begin(d->pin);
	} else if (!r) {
		rest(d);
	} else if (an_turns_decided(&d->turns, r)) {
		an_work_begin(d->work, r);
	} else if (!an_copy_whole(d->copy)) {
		an_copy_begin(d->copy);
	} else {
		an_turns_tried(&d->turns, r);
		an_judge_begin(d->judge, r);
	}
}

static void on_judged(void *user, struct an_round_state *r, bool take)
{
	struct an_daemon *d = user;

	if (take)
		an_work_begin(d->work, r);
	else
		go_on(d);
}

/* A shuffler that alters batches would cost one round after the other.  So the round is settled and the run
 * ends, and a person decides whether to continue. */
static void on_round_done(void *user, const struct an_round_state *r, const struct cm_err *spoiled)
{
	struct an_daemon *d = user;

	an_turns_ended(&d->turns, r);
	if (spoiled->code == CM_OK) {
		go_on(d);
		return;
	}
	show_ended(d);
	stop(d, spoiled);
}

/* ---- the plan and the shuffler ---- */

/* Ask whether the plan that was made fits the shuffler's policy, unless no round of it fits the budget. */
static void ask_policy(struct an_daemon *d)
{
	const struct rd_plan *made = d->made;

	d->made = NULL;
	if (made->entries > 0 || rd_plan_is_adaptive(made) || d->context.run->check)
		an_policy_begin(d->policy, made, d->pinned);
	else
		an_pin_sign(d->pin);
}

/* Go on once the plan is made.  Ask the shuffler what it has seen of the ledger, unless none of the plan's
 * rounds fits and the population has no ledger yet. */
static void on_made(void *user, const struct rd_plan *made)
{
	struct an_daemon *d = user;

	d->made = made;
	if (made->entries > 0 || rd_plan_is_adaptive(made) || d->context.files.state.opened)
		an_copy_begin(d->copy);
	else
		ask_policy(d);
}

static void on_whole(void *user)
{
	struct an_daemon *d = user;

	if (d->made)
		ask_policy(d);
	else
		go_on(d);
}

static void on_fits(void *user)
{
	struct an_daemon *d = user;

	if (d->context.run->fits)
		*d->context.run->fits = an_policy_faults(d->policy) == 0;
	if (d->context.run->wait_ms > 0) {
		an_asks_begin(d->asks, &d->context.files.state.current->signed_plan);
		return;
	}
	if (d->context.run->check) {
		stop(d, &(struct cm_err){ .code = CM_OK });
		return;
	}
	cm_log_flush();
	an_pin_sign(d->pin);
}

/* The rehearsal was printed: end the run, with a fault if anything would go wrong. */
static void on_answer(void *user, size_t faults)
{
	struct an_daemon *d = user;
	struct cm_err err = { 0 };

	faults += an_policy_faults(d->policy);
	if (faults > 0)
		(void)cm_fail(&err, CM_ECONFIG,
			"%zu thing%s would go wrong; nothing is signed, nothing is spent", faults,
			faults == 1 ? "" : "s");
	stop(d, &err);
}

static void on_link_ready(void *user)
{
	struct an_daemon *d = user;

	an_copy_connected(d->copy);
	an_policy_connected(d->policy);
	an_asks_connected(d->asks);
	an_work_connected(d->work);
}

static void on_link_frame(void *user, const Tombola__V1__Frame *frame)
{
	struct an_daemon *d = user;

	if (!d->stopping && !an_copy_frame(d->copy, frame) && !an_policy_frame(d->policy, frame) &&
		!an_asks_frame(d->asks, frame))
		an_work_frame(d->work, frame);
}

/* ---- who looks on ---- */

static const char *not_ready(void *user)
{
	const struct an_daemon *d = user;

	if (d->stopping)
		return "stopping";
	const char *expired = lk_metrics_expired(an_metrics_shared(d->context.metrics));
	if (expired)
		return expired;
	if (*an_pin_missing(d->pin) != '\0')
		return "the plan is not signed: `tombola-analyzer plan sign`";
	if (!d->idle && !an_link_ready(d->link))
		return "no connection to the shuffler";
	return *an_policy_fault(d->policy) != '\0'
		       ? "the plan does not fit the shuffler's policy and is not signed"
		       : NULL;
}

static void say_status(void *user, char *text, size_t room)
{
	const struct an_daemon *d = user;
	const char *why = not_ready(user);

	an_say(&d->context.files, an_work_round(d->work), an_sleep_next(d->sleep), d->idle, text, room);
	size_t n = strnlen(text, room);
	if (why && n < room)
		(void)snprintf(text + n, room - n, "; not ready: %s", why);
}

static enum an_doing doing(const struct an_daemon *d)
{
	const struct an_round_state *r = an_work_round(d->work);

	if (d->idle)
		return AN_IDLE;
	if (!r)
		return AN_JUDGING;
	if (r->stage == AN_CHARGED)
		return AN_OPENING;
	if (r->stage != AN_RESERVED)
		return AN_CLOSING;
	return an_work_step(d->work) == AN_AT_MANIFEST ? AN_AWAITING : AN_ANNOUNCING;
}

static void status(void *user, struct an_status *out)
{
	const struct an_daemon *d = user;
	const struct an_round_state *r = an_work_round(d->work);
	const char *missing = an_pin_missing(d->pin);
	const char *fault = *missing != '\0' ? missing : an_policy_fault(d->policy);

	out->doing = doing(d);
	out->round = out->doing == AN_IDLE ? NULL : r ? r : an_judge_round(d->judge);
	out->next = an_sleep_next(d->sleep);
	out->stopping = d->stopping;
	out->not_signed =
		(d->made || an_policy_asks(d->policy)) && *fault == '\0' ? an_link_away(d->link) : fault;
	out->shuffler.connected = an_link_ready(d->link);
	out->shuffler.seen_ms = an_link_seen_ms(d->link);
	out->shuffler.away = an_link_away(d->link);
}

static enum an_phase phase(const struct an_daemon *d)
{
	if (d->idle)
		return AN_PHASE_IDLE;
	if (!an_work_round(d->work))
		return AN_PHASE_JUDGING;
	if (!an_link_ready(d->link))
		return AN_PHASE_AWAY;
	if (an_work_step(d->work) == AN_AT_MANIFEST)
		return AN_PHASE_WAITING;
	return an_work_opens(d->work) ? AN_PHASE_OPENING : AN_PHASE_TALKING;
}

static void metrics(void *user, struct an_metrics_now *out)
{
	struct an_daemon *d = user;

	*out = (struct an_metrics_now){ .phase = phase(d),
		.round = an_work_round(d->work),
		.shuffler_seen_ms = an_link_seen_ms(d->link),
		.missed_ms = an_schedule_missed_ms(&d->context.files.state, cm_clock_wall_ms()),
		.connected = an_link_ready(d->link),
		.ready = not_ready(d) == NULL };
}

/* ---- the run ---- */

static void on_stop(void *user)
{
	struct an_daemon *d = user;
	struct cm_err err = { 0 };

	cm_log_plain(CM_LOG_INFO, "stopping");
	if (d->context.run->check)
		(void)cm_fail(&err, CM_ELATER, "stopped before the shuffler has answered");
	else if (an_context_attended(&d->context) && !d->idle)
		(void)cm_fail(&err, CM_ELATER, "stopped before the plan was through; run again to go on");
	stop(d, &err);
}

static void on_reload(void *user)
{
	struct an_daemon *d = user;
	const struct an_context *c = &d->context;
	bool busy = an_work_round(d->work) || an_judge_works(d->judge);

	if (d->stopping)
		return;
	an_link_reload(d->link, true);
	/* A command that ends by itself keeps what it began with. */
	if (c->run->check || an_context_attended(c))
		return;
	cf_changes_wait(c->run->path, an_conf_rows, c->conf, sizeof *c->conf);
	d->again = an_replan(c, busy);
	if (d->again)
		close_all(d);
}

static void on_certificates(void *user)
{
	an_link_reload(((struct an_daemon *)user)->link, false);
}

static enum cm_rc watch(struct an_daemon *d, struct cm_err *err)
{
	const struct an_conf *conf = d->context.conf;
	const struct cr_files files = an_conf_files(conf);

	return nt_loop_watch_tls(d->signals, &files, conf->tls_key, on_certificates, err);
}

static enum cm_rc start(struct an_daemon *d, struct cm_err *err)
{
	static const struct nt_loop_handler signals = {
		.on_stop = on_stop, .on_reload = on_reload, .status = say_status
	};
	struct an_context *c = &d->context;
	const struct an_link_conf link = { c, d, on_link_ready, on_link_frame, stop };
	const struct an_pin_conf pin = { c, d, on_made, go_on, stop };
	const struct an_judge_conf judge = { c, d, on_judged, stop };
	const struct an_web_conf web = { c, d, status, metrics, not_ready };
	bool serves = *c->conf->http != '\0' && c->run->only == 0 && !c->run->check;
	enum cm_rc rc = an_link_new(&link, &d->link, err);

	if (rc == CM_OK)
		rc = an_copy_new(&(struct an_copy_conf){ c, d->link, d, on_whole, stop }, &d->copy, err);
	if (rc == CM_OK)
		rc = an_policy_new(&(struct an_policy_conf){ c, d->link, d, on_fits, stop }, &d->policy, err);
	if (rc == CM_OK)
		rc = an_asks_new(&(struct an_asks_conf){ c, d->link, d, on_answer, stop }, &d->asks, err);
	if (rc == CM_OK)
		rc = an_pin_new(&pin, &d->pin, err);
	if (rc == CM_OK)
		rc = an_turns_init(&d->turns, c, err);
	if (rc == CM_OK)
		rc = an_judge_new(&judge, &d->judge, err);
	if (rc == CM_OK)
		rc = an_sleep_new(c, go_on, d, &d->sleep, err);
	if (rc == CM_OK)
		rc = an_work_new(&(struct an_work_conf){ c, d->link, d, on_round_done, stop }, &d->work, err);
	if (rc == CM_OK)
		rc = nt_loop_new(&c->loop, &signals, d, &d->signals, err);
	/* A command that ends by itself uses the files that it began with. */
	if (rc == CM_OK && !c->run->check && !an_context_attended(c))
		rc = watch(d, err);
	if (rc == CM_OK && serves)
		rc = an_web_new(&web, &d->web, err);
	return rc;
}

static enum cm_rc run_loop(struct an_daemon *d, struct cm_err *err)
{
	struct an_context *c = &d->context;
	enum cm_rc rc = start(d, err);

	if (rc == CM_OK && c->run->check) {
		d->made = &c->files.state.current->signed_plan;
		an_copy_begin(d->copy);
	} else if (rc == CM_OK) {
		cm_log(CM_LOG_INFO, "analyzer started", CM_S("plan", c->files.plan.name),
			CM_I("rounds", c->files.plan.rounds),
			CM_I("ledger_records", an_ledger_chain(c->files.ledger)->seq),
			CM_S("x25519", cr_hpke_way()));
		nt_loop_ready(d->signals);
		go_on(d);
	} else {
		stop(d, err);
	}
	(void)uv_run(&c->loop, UV_RUN_DEFAULT);
	if (uv_loop_close(&c->loop) != 0)
		cm_log_plain(CM_LOG_ERROR, "handles were left open");
	if (d->result.code != CM_OK)
		*err = d->result;
	return d->result.code;
}

static enum cm_rc prepare(struct an_daemon *d, const struct an_daemon_conf *conf, struct cm_err *err)
{
	enum cm_rc rc = an_context_open(&d->context, conf, err);

	d->pinned = rc == CM_OK && d->context.files.state.current;
	if (rc == CM_OK && conf->check)
		rc = an_ledger_files_preview(&d->context.files, NULL, err);
	if (rc == CM_OK && conf->check)
		rc = an_rehearsal_fit(&d->context.files, conf->conf->plan, d->pinned ? 0 : cm_clock_wall_ms(),
			conf->json ? stderr : stdout, err);
	return rc;
}

/* One run with one plan.  *again: another is to follow, because the plan file has changed. */
static enum cm_rc run_plan(const struct an_daemon_conf *conf, bool first, bool *again, struct cm_err *err)
{
	struct an_daemon *d = calloc(1, sizeof *d);
	enum cm_rc rc;

	*again = false;
	if (!d)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = prepare(d, conf, err);
	if (rc == CM_OK && first)
		nt_confine(CM_LOG_INFO);
	if (rc == CM_OK && uv_loop_init(&d->context.loop) != 0)
		rc = cm_fail(err, CM_EINTERNAL, "cannot start a loop");
	else if (rc == CM_OK)
		rc = run_loop(d, err);
	*again = d->again;
	an_web_free(d->web);
	an_work_free(d->work);
	an_sleep_free(d->sleep);
	an_judge_free(d->judge);
	an_turns_fini(&d->turns);
	an_pin_free(d->pin);
	an_policy_free(d->policy);
	an_asks_free(d->asks);
	an_copy_free(d->copy);
	an_link_free(d->link);
	an_context_close(&d->context);
	free(d);
	return rc;
}

enum cm_rc an_daemon_run(const struct an_daemon_conf *conf, struct cm_err *err)
{
	bool again = false;
	enum cm_rc rc = run_plan(conf, true, &again, err);

	while (again)
		rc = run_plan(conf, false, &again, err);
	return rc;
}
