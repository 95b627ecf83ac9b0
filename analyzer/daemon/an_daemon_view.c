/* an_daemon_view.c - makes the dashboard's view and explanations, on threads that share nothing with the
 * loop: a view of the current ledger, and one after the other the explanations of the last refusals. */
#include <string.h>

#include "an_daemon_private.h"
#include "an_result.h"
#include "cm_clock.h"
#include "cm_log.h"

#define INTEREST_MS 5000 /* after a request, keep the view current for this long */
#define RETRY_MS    2000 /* pause after a view that could not be made */

static bool watched(const struct an_daemon *d)
{
	return !d->stopping && cm_clock_mono_ms() - d->page.asked_ms < INTEREST_MS;
}

/* ---- the ledger ---- */

static void have_view_made(struct an_daemon *d);

static void make_view(uv_work_t *w)
{
	struct an_daemon *d = w->data;

	d->page.rc = an_view_make(d->conf, d->page.memo, &d->page.stop, &d->page.fresh, &d->page.err);
}

static void say_fault(struct an_daemon *d, const struct cm_err *err)
{
	if (strcmp(d->page.fault, err->msg) != 0)
		cm_log(CM_LOG_ERROR, "the ledger files cannot be read again", CM_S("reason", err->msg));
	memcpy(d->page.fault, err->msg, sizeof d->page.fault);
	an_view_fini(&d->page.fresh);
}

static void view_made(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;
	struct cm_err err = { 0 };

	d->page.making = false;
	if (status != 0 || d->stopping)
		return;
	if (d->page.rc != CM_OK)
		err = d->page.err;
	else if (!an_ledger_is_prefix(d->files.ledger, &d->page.fresh.chain))
		(void)cm_fail(
			&err, CM_EDATA, "%s/ledger is not the one this analyzer writes", d->conf->state_dir);
	if (err.code != CM_OK) {
		say_fault(d, &err);
		return;
	}
	d->page.fault[0] = '\0';
	an_view_fini(&d->page.view);
	d->page.view = d->page.fresh;
	memset(&d->page.fresh, 0, sizeof d->page.fresh);
	if (watched(d))
		have_view_made(d);
}

bool an_view_is_current(const struct an_daemon *d)
{
	return d->page.view.rounds != NULL && d->page.view.chain.seq >= an_ledger_chain(d->files.ledger)->seq;
}

static void have_view_made(struct an_daemon *d)
{
	int64_t now = cm_clock_mono_ms();
	bool failed = *d->page.fault != '\0';

	if (d->page.making || (!failed && an_view_is_current(d)) ||
		(failed && now - d->page.tried_ms < RETRY_MS))
		return;
	d->page.tried_ms = now;
	d->page.work.data = d;
	d->page.making = uv_queue_work(&d->loop, &d->page.work, make_view, view_made) == 0;
}

/* ---- refusals ---- */

/* Whether this round is among those to explain: the last ones of the plan that the budget refused. */
static bool is_explained(const struct an_state *s, const struct an_round_state *r)
{
	size_t after = 0;

	for (size_t i = r->plan->number; i < s->plan->rounds; i++)
		after += an_round_blocked(&s->round[i]) && !an_round_blocked_again(s, &s->round[i]);
	return an_round_blocked(r) && !an_round_blocked_again(s, r) && after < AN_EXPLAINED;
}

/* Whether an explanation is still valid: it is until an earlier round becomes void and returns its budget. */
static bool holds(const struct an_refusal *e, const struct an_state *s, const struct an_round_state *r)
{
	return e->number == r->plan->number && e->voids == an_state_count(s, AN_VOID);
}

static struct an_refusal *explanation_of(struct an_daemon *d, const struct an_round_state *r)
{
	for (size_t i = 0; i < AN_EXPLAINED; i++)
		if (holds(&d->page.refusal[i], &d->files.state, r))
			return &d->page.refusal[i];
	return NULL;
}

/* Find a place for one more explanation: a free one, or one whose explanation is invalid or no longer
 * shown. */
static struct an_refusal *place(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;

	for (size_t i = 0; i < AN_EXPLAINED; i++) {
		struct an_refusal *e = &d->page.refusal[i];
		const struct an_round_state *r = e->number != 0 ? &s->round[e->number - 1] : NULL;

		if (r == NULL || !is_explained(s, r) || !holds(e, s, r))
			return e;
	}
	return NULL;
}

static void explain(uv_work_t *w)
{
	struct an_daemon *d = w->data;
	struct cm_err err = { 0 };

	if (an_view_explain(d->conf, d->page.explaining->number, &d->page.stop, &d->page.explaining->doc,
		    &err) != CM_OK)
		d->page.explaining->doc = NULL; /* only the ledger's reason is shown */
}

static void have_explained(struct an_daemon *d);

static void explained(uv_work_t *w, int status)
{
	struct an_daemon *d = w->data;

	(void)status;
	d->page.explaining = NULL;
	if (watched(d))
		have_explained(d);
}

static void have_explained(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	struct an_refusal *e = NULL;

	for (size_t i = s->plan->rounds; d->page.explaining == NULL && e == NULL && i-- > 0;) {
		const struct an_round_state *r = &s->round[i];

		if (!is_explained(s, r) || explanation_of(d, r) != NULL)
			continue;
		e = place(d);
		if (e == NULL)
			return;
		json_decref(e->doc);
		*e = (struct an_refusal){ .number = r->plan->number, .voids = an_state_count(s, AN_VOID) };
	}
	if (e == NULL)
		return;
	d->page.explaining = e;
	d->page.explain.data = d;
	if (uv_queue_work(&d->loop, &d->page.explain, explain, explained) != 0) {
		d->page.explaining = NULL;
		e->number = 0;
	}
}

unsigned an_view_explained(const struct an_daemon *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < AN_EXPLAINED; i++)
		n += &d->page.refusal[i] != d->page.explaining && d->page.refusal[i].doc != NULL;
	return n;
}

char *an_view_refusals(struct an_daemon *d)
{
	const struct an_state *s = &d->files.state;
	json_t *list = json_array(), *doc;
	char *text;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_refusal *e =
			is_explained(s, &s->round[i]) ? explanation_of(d, &s->round[i]) : NULL;

		if (e != NULL && e != d->page.explaining && e->doc != NULL &&
			json_array_append(list, e->doc) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	doc = json_pack(
		"{s:s, s:s, s:o}", "schema", "tombola.refusals/1", "plan", s->plan->name, "refusals", list);
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	return text;
}

/* ---- */

void an_view_want(struct an_daemon *d)
{
	if (d->stopping)
		return;
	d->page.asked_ms = cm_clock_mono_ms();
	have_view_made(d);
	have_explained(d);
}

enum cm_rc an_view_init(struct an_daemon *d, struct cm_err *err)
{
	d->page.started_ms = cm_clock_wall_ms();
	d->page.memo = an_view_memo_new();
	if (d->page.memo == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	have_view_made(d);
	return CM_OK;
}

void an_view_close(struct an_daemon *d)
{
	atomic_store(&d->page.stop, true);
}

void an_view_free(struct an_daemon *d)
{
	for (size_t i = 0; i < AN_EXPLAINED; i++)
		json_decref(d->page.refusal[i].doc);
	an_view_memo_free(d->page.memo);
	an_view_fini(&d->page.view);
	an_view_fini(&d->page.fresh);
}
