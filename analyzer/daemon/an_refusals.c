/* an_refusals.c - explains the rounds that the budget refused. */
#include "an_refusals.h"

#include <stdlib.h>

#include "an_dashboard.h"
#include "an_result.h"
#include "cm_clock.h"

#define INTEREST_MS 5000 /* after a request, continue to make explanations for this long */
/* How many refused rounds are explained, the last ones of the plan; the ledger has the reason of every
 * one. */
#define EXPLAINED 8u

struct refusal {
	uint32_t number; /* number of the round; 0 if this slot is free */
	size_t voids;    /* how many rounds were void when the explanation was made */
	json_t *doc;     /* the explanation; NULL if it could not be made */
};

struct an_refusals {
	struct an_context *context;
	atomic_bool stop;
	struct refusal refusal[EXPLAINED];
	struct refusal *explaining; /* used only by the thread that explains; NULL if it does not run */
	uv_work_t work;
	int64_t asked_ms; /* when a page was last requested */
};

/* Whether this round is one of those to explain: the last ones of the plan that the budget refused. */
static bool is_explained(const struct an_state *s, const struct an_round_state *r)
{
	size_t after = 0;

	for (size_t i = r->plan->number; i < s->plan->rounds; i++)
		after += an_round_blocked(&s->round[i]) && !an_round_blocked_again(s, &s->round[i]);
	return an_round_blocked(r) && !an_round_blocked_again(s, r) && after < EXPLAINED;
}

/* Whether an explanation is still valid.  It is until an earlier round becomes void and returns its
 * budget. */
static bool holds(const struct refusal *e, const struct an_state *s, const struct an_round_state *r)
{
	return e->number == r->plan->number && e->voids == an_state_count(s, AN_VOID);
}

static struct refusal *explanation_of(struct an_refusals *x, const struct an_round_state *r)
{
	for (size_t i = 0; i < EXPLAINED; i++)
		if (holds(&x->refusal[i], &x->context->files.state, r))
			return &x->refusal[i];
	return NULL;
}

/* Find a slot for one more explanation: a free one, or one whose explanation is invalid or no longer
 * shown. */
static struct refusal *place(struct an_refusals *x)
{
	const struct an_state *s = &x->context->files.state;

	for (size_t i = 0; i < EXPLAINED; i++) {
		struct refusal *e = &x->refusal[i];
		const struct an_round_state *r = e->number != 0 ? &s->round[e->number - 1] : NULL;

		if (!r || !is_explained(s, r) || !holds(e, s, r))
			return e;
	}
	return NULL;
}

static void explain(uv_work_t *w)
{
	struct an_refusals *x = w->data;
	struct cm_err err = { 0 };

	if (an_dashboard_explain(
		    x->context->conf, x->explaining->number, &x->stop, &x->explaining->doc, &err) != CM_OK)
		x->explaining->doc = NULL; /* without it the page shows the ledger's reason only */
}

static void have_explained(struct an_refusals *x);

static void explained(uv_work_t *w, int status)
{
	struct an_refusals *x = w->data;

	(void)status;
	x->explaining = NULL;
	if (!atomic_load(&x->stop) && cm_clock_mono_ms() - x->asked_ms < INTEREST_MS)
		have_explained(x);
}

static void have_explained(struct an_refusals *x)
{
	const struct an_state *s = &x->context->files.state;
	struct refusal *e = NULL;

	for (size_t i = s->plan->rounds; !x->explaining && !e && i-- > 0;) {
		const struct an_round_state *r = &s->round[i];

		if (!is_explained(s, r) || explanation_of(x, r))
			continue;
		e = place(x);
		if (!e)
			return;
		json_decref(e->doc);
		*e = (struct refusal){ .number = r->plan->number, .voids = an_state_count(s, AN_VOID) };
	}
	if (!e)
		return;
	x->explaining = e;
	x->work.data = x;
	if (uv_queue_work(&x->context->loop, &x->work, explain, explained) != 0) {
		x->explaining = NULL;
		e->number = 0;
	}
}

unsigned an_refusals_made(const struct an_refusals *x)
{
	unsigned n = 0;

	for (size_t i = 0; i < EXPLAINED; i++)
		n += &x->refusal[i] != x->explaining && x->refusal[i].doc;
	return n;
}

char *an_refusals_text(struct an_refusals *x)
{
	const struct an_state *s = &x->context->files.state;
	json_t *list = json_array(), *doc;
	char *text;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct refusal *e =
			is_explained(s, &s->round[i]) ? explanation_of(x, &s->round[i]) : NULL;

		if (e && e != x->explaining && e->doc && json_array_append(list, e->doc) != 0) {
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

void an_refusals_want(struct an_refusals *x)
{
	if (atomic_load(&x->stop))
		return;
	x->asked_ms = cm_clock_mono_ms();
	have_explained(x);
}

enum cm_rc an_refusals_new(struct an_context *context, struct an_refusals **out, struct cm_err *err)
{
	struct an_refusals *x = calloc(1, sizeof *x);

	if (!x)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = x;
	x->context = context;
	return CM_OK;
}

void an_refusals_close(struct an_refusals *x)
{
	if (x)
		atomic_store(&x->stop, true);
}

void an_refusals_free(struct an_refusals *x)
{
	for (size_t i = 0; x && i < EXPLAINED; i++)
		json_decref(x->refusal[i].doc);
	free(x);
}
