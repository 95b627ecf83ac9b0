/* sh_serve_status.c (sh_serve.h) - reports the shuffler's state: for /status, /metrics and the service
 * manager. */
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "cm_oom.h"
#include "cm_round.h"
#include "sh_serve_private.h"

static const char *state_name(const struct sh_round *r)
{
	static const char *const name[] = { "", "COLLECTING", "SEALED", "RELEASING", "ERASED", "VOID" };

	return name[r->state];
}

/* The newest plans are shown, oldest first: what was taken of each, and how far it is. */
#define PLANS_SHOWN 16u

static json_t *plan_json(const struct sh_plan *plan)
{
	json_int_t answered = 0, waiting = 0;

	for (size_t i = 0; i < plan->tries; i++) {
		answered += !plan->tried[i].open && !plan->tried[i].is_void;
		waiting += plan->tried[i].is_void;
	}
	return json_pack("{s:I,s:s,s:s,s:s,s:f,s:f,s:I,s:I,s:I,s:I,s:I,s:f}", "plan",
		(json_int_t)plan->number, "name", plan->name, "mode", plan->mode, "state",
		sh_pin_state_name(plan->state), "epsilon", plan->epsilon, "delta", plan->delta, "entries",
		(json_int_t)plan->entries, "taken",
		plan->pin ? (json_int_t)rd_pin_count(plan->pin) : (json_int_t)0, "answered", answered, "void",
		waiting, "rounds", (json_int_t)plan->rounds, "share", plan->share);
}

static json_t *plans(const struct sh_core *core)
{
	json_t *array = json_array();
	size_t n = 0;

	while (sh_core_plan_at(core, n))
		n++;
	for (size_t i = n > PLANS_SHOWN ? n - PLANS_SHOWN : 0; i < n; i++)
		(void)json_array_append_new(array, plan_json(sh_core_plan_at(core, i)));
	return array;
}

/* What clients have stated about the ledger. */
static json_t *hearing(const struct sh_core *core)
{
	const struct sh_hearing h = sh_core_hearing(core);

	return json_pack("{s:b,s:I,s:I,s:I,s:I,s:I}", "waits", h.waits, "certificates",
		(json_int_t)h.certificates, "devices", (json_int_t)h.devices, "colluders",
		(json_int_t)h.colluders, "closed_to", (json_int_t)h.closed_to, "lacking",
		(json_int_t)h.lacking);
}

char *sh_serve_status(struct sh_serve *s)
{
	const struct sh_core *core = s->conf.core;
	struct rd_chain head = sh_core_witness(core);
	json_t *rounds = json_array();
	const struct sh_round *r;

	for (size_t i = 0; (r = sh_core_round(core, i)); i++)
		(void)json_array_append_new(
			rounds, json_pack("{s:I,s:s,s:s,s:I,s:I,s:I,s:I}", "round", (json_int_t)r->d.sequence,
					"query", r->d.query.name, "state", state_name(r), "participants",
					(json_int_t)r->intake.participants, "min_reports",
					(json_int_t)r->d.min_reports, "target", (json_int_t)r->d.target,
					"deadline_ms", (json_int_t)r->d.deadline_ms));
	size_t pinned;
	struct rd_figure figure = sh_core_figure(core, &pinned);
	int64_t sealed_ms = sh_metrics_last_sealed_ms(s->conf.metrics);
	json_t *root = json_pack("{s:s,s:b,s:I,s:o,s:I,s:I,s:o,s:o,s:I,s:o,s:o}", "schema",
		"tombola.shuffler/3", "stopping", s->gate.stopping, "started_ms", (json_int_t)s->started_ms,
		"last_sealed_ms", sealed_ms > 0 ? json_integer((json_int_t)sealed_ms) : json_null(),
		"connections", (json_int_t)sh_gate_count(&s->gate), "ledger_seq", (json_int_t)head.seq,
		"stated", hearing(core), "population_budget", json_pack(RD_FIGURE_PACK(&figure)),
		"pinned_plans", (json_int_t)pinned, "plans", plans(core), "rounds", rounds);
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(root);
	if (cm_oom_happened()) { /* jansson leaves something out when memory runs out */
		free(text);
		return NULL;
	}
	return text;
}

int sh_serve_metrics(struct sh_serve *s, struct nt_http_reply *out)
{
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	struct sh_metrics_now now = { .core = s->conf.core,
		.not_durable = sh_core_not_durable(s->conf.core),
		.waiting_bytes = r ? sh_intake_bytes(&r->intake) : 0,
		.paused = s->gate.paused,
		.quota_pauses = s->gate.pauses,
		.quota_junks = s->gate.junks,
		.ready = !sh_gate_not_ready(&s->gate) };

	for (const struct peer *p = first_peer(s); p; p = next_peer(p))
		if (p->base.link)
			*(p->base.who.role == CR_ROLE_CLIENT         ? &now.clients
				: p->base.who.role == CR_ROLE_INTAKE ? &now.intakes
								     : &now.analyzers) += 1;
	return sh_metrics_reply(s->conf.metrics, &now, out);
}

/* Write how far plans are used up.  Rounded up, so that it is never too little. */
static void spent_text(const struct sh_serve *s, char *text, size_t room)
{
	size_t plans;
	struct rd_figure f = sh_core_figure(s->conf.core, &plans);

	(void)snprintf(text, room, "plans pinned %.2f %% of epsilon %g, %.2f %% used",
		cm_percent_up(rd_figure_pinned(&f), 2), f.limit, cm_percent_up(f.ratio, 2));
}

void sh_serve_say(struct sh_serve *s, char *text, size_t room)
{
	const struct sh_round *r = NULL, *last = NULL;
	char spent[96];

	spent_text(s, spent, sizeof spent);
	for (size_t i = 0; (r = sh_core_round(s->conf.core, i)); i++)
		last = r;
	const struct sh_hearing h = sh_core_hearing(s->conf.core);
	if (h.waits)
		(void)snprintf(text, room,
			"state lost: waits for clients of more than %" PRIu64 " devices, heard are %" PRIu64,
			h.colluders, h.devices);
	else if (h.lacking > 0)
		(void)snprintf(text, room,
			"refuses rounds: a client holds the analyzer's signature on ledger record %" PRIu64
			", which is not known here",
			h.lacking);
	else if (!last)
		(void)snprintf(text, room, "no round under way; %s", spent);
	else
		(void)snprintf(text, room,
			"round %" PRIu64 " (%s) %s, %" PRIu64 " of %" PRIu64 " participants; %s",
			last->d.sequence, last->d.query.name, state_name(last),
			(uint64_t)last->intake.participants,
			(uint64_t)(last->d.target > 0 ? last->d.target : last->d.min_reports), spent);
}
