/* an_policy.c - asks the shuffler for its policy before a plan is signed, and waits while the plan does not
 * fit it. */
#include "an_policy.h"

#include <stdio.h>
#include <stdlib.h>

#include "an_fit.h"
#include "cm_log.h"

#define AGAIN_MS 30000u /* pause between two questions; a shuffler that restarts is asked at once */

struct an_policy {
	struct an_policy_conf conf;
	const struct an_context *context;
	uv_timer_t again;
	const struct rd_plan *made; /* the plan that is asked about; NULL if there is none */
	bool pinned;
	size_t faults;   /* number of faults that were found in the plan */
	char fault[320]; /* the first fault, while the plan waits; otherwise empty */
};

enum cm_rc an_policy_new(const struct an_policy_conf *conf, struct an_policy **out, struct cm_err *err)
{
	struct an_policy *p = calloc(1, sizeof *p);

	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = p;
	p->conf = *conf;
	p->context = conf->context;
	return an_timer_init(p->context, &p->again, p, err);
}

void an_policy_close(struct an_policy *p)
{
	if (!p)
		return;
	an_timer_close(&p->again);
	p->made = NULL;
}

void an_policy_free(struct an_policy *p)
{
	free(p);
}

static void on_again(uv_timer_t *t)
{
	an_policy_connected(t->data);
}

void an_policy_connected(struct an_policy *p)
{
	Tombola__V1__GetPolicy get = TOMBOLA__V1__GET_POLICY__INIT;

	if (!p->made || !an_link_ready(p->conf.link))
		return;
	(void)uv_timer_stop(&p->again);
	/* protobuf-c's types are not const; nothing is written */
	get.population = (char *)p->context->files.plan.population;
	an_link_send(p->conf.link, PR_FRAME(GET_POLICY, get_policy, &get));
}

/* The stream on which `check` prints: with --json, standard output is for JSON only. */
static FILE *out_of(const struct an_policy *p)
{
	return p->context->run->json ? stderr : stdout;
}

static void say(void *user, const struct pl_round *r, const char *text)
{
	struct an_policy *p = user;
	char at[256];

	if (r)
		(void)snprintf(at, sizeof at, "%s:%d", p->context->conf->plan, r->line);
	else
		(void)snprintf(at, sizeof at, "%s", p->context->conf->plan);
	if (p->fault[0] == '\0' && r)
		(void)snprintf(p->fault, sizeof p->fault, "round %u (%s): %s", r->number, r->label, text);
	else if (p->fault[0] == '\0')
		(void)snprintf(p->fault, sizeof p->fault, "%s", text);
	if (p->context->run->check && r)
		(void)fprintf(out_of(p), "%s: round %u (%s): %s\n", at, r->number, r->label, text);
	else if (p->context->run->check)
		(void)fprintf(out_of(p), "%s: %s\n", at, text);
	else if (r)
		cm_log(CM_LOG_WARN, "a round does not fit the shuffler's policy", CM_S("at", at),
			CM_I("round", r->number), CM_S("query", r->label), CM_S("reason", text));
	else
		cm_log(CM_LOG_WARN, "the plan does not fit the shuffler's policy", CM_S("at", at),
			CM_S("reason", text));
}

/* Pin nothing while the policy refuses the plan: end a run that a person watches, and let a daemon ask again
 * later. */
static void wait_for_policy(struct an_policy *p)
{
	struct cm_err err = { 0 };

	if (p->context->run->check)
		(void)cm_fail(&err, CM_ECONFIG, "the plan does not fit the shuffler's policy");
	else
		(void)cm_fail(&err, CM_ECONFIG, "the plan is not signed, nothing is spent: %.120s", p->fault);
	if (an_context_attended(p->context) || p->context->run->check) {
		p->conf.on_end(p->conf.user, &err);
		return;
	}
	cm_log_plain(CM_LOG_WARN,
		"the plan is not signed, and nothing of the budget is spent, before it fits the "
		"shuffler's policy");
	(void)uv_timer_start(&p->again, on_again, AGAIN_MS, 0);
}

static void go_on(struct an_policy *p)
{
	p->made = NULL;
	p->conf.on_fits(p->conf.user);
}

/* Warn if the shuffler assumes fewer honest participants than the plan does: then rounds cost more in the
 * shuffler's composition, and only that composition shows which of them do not fit the slice. */
static void warn_of_honesty(const struct an_policy *p, const Tombola__V1__Policy *says)
{
	const struct pl_plan *plan = &p->context->files.plan;

	if (says->honest_fraction >= plan->honest_fraction && says->colluders <= plan->colluders)
		return;
	if (p->context->run->check)
		(void)fprintf(out_of(p),
			"%s: note: the shuffler's policy counts with honest_fraction = %g and colluders = "
			"%llu, the plan with %g and %llu; so rounds cost more there, and the last ones may "
			"not fit its slice\n",
			p->context->conf->plan, says->honest_fraction, (unsigned long long)says->colluders,
			plan->honest_fraction, (unsigned long long)plan->colluders);
	else
		cm_log(CM_LOG_WARN,
			"the shuffler counts with fewer honest participants than the plan: rounds cost more "
			"there",
			CM_D("honest_fraction", says->honest_fraction), CM_I("colluders", says->colluders));
}

static void on_policy(struct an_policy *p, const Tombola__V1__Policy *says)
{
	warn_of_honesty(p, says);
	p->faults = an_fit_plan(&p->context->files.plan, p->made, p->pinned, says, say, p);
	if (p->faults > 0 && p->context->run->wait_ms == 0)
		wait_for_policy(p);
	else
		go_on(p);
}

static void on_error(struct an_policy *p, const Tombola__V1__Error *e)
{
	struct cm_err err = { 0 };
	char text[280];

	switch (e->code) {
	/* an older shuffler, which does not know the question */
	case TOMBOLA__V1__ERROR_CODE__ERROR_UNKNOWN_KIND:
		if (p->context->run->check) {
			(void)cm_fail(&err, CM_EUNAVAIL, "the shuffler is too old to say its policy");
			p->conf.on_end(p->conf.user, &err);
		} else {
			go_on(p);
		}
		return;
	case TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND:
		(void)pr_error(e, &err);
		(void)snprintf(text, sizeof text,
			"population is another than in the shuffler's policy: %.200s", err.msg);
		say(p, NULL, text);
		wait_for_policy(p);
		return;
	default:
		/* As with a round, a refusal that may pass is followed by another request, and a final one
		 * ends the run. */
		(void)pr_error(e, &err);
		if (err.code == CM_EUNAVAIL || err.code == CM_ELATER)
			an_link_drop(p->conf.link, &err);
		else
			p->conf.on_end(p->conf.user, &err);
	}
}

bool an_policy_frame(struct an_policy *p, const Tombola__V1__Frame *frame)
{
	if (!p->made)
		return false;
	p->fault[0] = '\0';
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_POLICY)
		on_policy(p, frame->policy);
	else if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_ERROR)
		on_error(p, frame->error);
	else
		an_link_drop(p->conf.link, &(struct cm_err){ .code = CM_EPROTO,
						   .msg = "the shuffler answers another question" });
	return true;
}

void an_policy_begin(struct an_policy *p, const struct rd_plan *made, bool pinned)
{
	p->made = made;
	p->pinned = pinned;
	p->fault[0] = '\0';
	if (an_link_ready(p->conf.link))
		an_policy_connected(p);
	else
		an_link_want(p->conf.link);
}

bool an_policy_asks(const struct an_policy *p)
{
	return p->made;
}

size_t an_policy_faults(const struct an_policy *p)
{
	return p->faults;
}

const char *an_policy_fault(const struct an_policy *p)
{
	return p->fault;
}
