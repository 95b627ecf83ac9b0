/* an_status.c - describes the state of the analyzer in words and as JSON. */
#include "an_status.h"

#include <stdio.h>
#include <string.h>

#include "an_result.h"
#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_table.h"
#include "cm_text.h"

#define DAY_S 86400

/* ---- words ---- */

const char *an_status_code(const struct an_status *s)
{
	if (s->stopping)
		return "stopping";
	if (*s->ledger.fault != '\0')
		return "fault";
	if (s->not_signed && *s->not_signed != '\0')
		return "unsigned";
	if (s->doing == AN_IDLE && s->next)
		return "scheduled";
	if (s->doing == AN_IDLE)
		return an_state_blocked(s->state, NULL) > 0 ? "refused" : "done";
	if (s->doing != AN_JUDGING && *s->shuffler.away != '\0')
		return "unreachable";
	return s->doing == AN_AWAITING && s->shuffler.connected ? "waiting" : "running";
}

/* Write a time such as "14:05:03 UTC", preceded by the day unless that is today. */
static void moment(int64_t ms, int64_t now_ms, char out[48])
{
	char at[32], now[32];

	cm_clock_text(ms, at); /* a text such as 2026-11-21T02:30:17Z */
	cm_clock_text(now_ms, now);
	if (strncmp(at, now, 10) == 0)
		(void)snprintf(out, 48, "%.8s UTC", at + 11);
	else
		(void)snprintf(out, 48, "%.10s %.8s UTC", at, at + 11);
}

static void waiting(const struct an_status *s, char *out, size_t size)
{
	const struct an_round_state *r = s->round;
	char needed[32], target[32], until[48], sealed[80] = "";

	(void)cm_thousands((int64_t)r->descriptor.min_reports, needed);
	moment((int64_t)r->descriptor.deadline_ms, s->now_ms, until);
	if (r->descriptor.target < PR_ROUND_REPORTS_MAX)
		(void)snprintf(sealed, sizeof sealed, "at %s or ",
			cm_thousands((int64_t)r->descriptor.target, target));
	(void)snprintf(out, size, "waiting for reports of round %u (%s): it needs %s and closes %sat %s",
		r->plan->number, r->plan->label, needed, sealed, until);
}

static void at_work(const struct an_status *s, char *out, size_t size)
{
	static const char *const what[] = {
		[AN_JUDGING] = "judging whether the budget has room for",
		[AN_ANNOUNCING] = "announcing",
		[AN_AWAITING] = "connecting to the shuffler for",
		[AN_OPENING] = "opening the reports of",
		[AN_CLOSING] = "writing down",
	};
	bool dialling = s->doing != AN_JUDGING && !s->shuffler.connected;

	if (!s->round)
		(void)snprintf(out, size, "running");
	else
		(void)snprintf(out, size, "running: %s round %u (%s)",
			what[dialling ? AN_AWAITING : s->doing], s->round->plan->number,
			s->round->plan->label);
}

static void through(const struct an_status *s, char *out, size_t size)
{
	const struct an_state *b = s->state;
	size_t charged = an_state_count(b, AN_SETTLED) + an_state_count(b, AN_CHARGED);
	const struct an_round_state *r;
	size_t refused = an_state_blocked(b, &r);
	size_t empty = an_state_count(b, AN_VOID), open = an_state_count(b, AN_WAITING),
	       idle = an_state_count(b, AN_REFUSED) - refused;
	char blocked[PR_TEXT_MAX + 120] = "", more[48] = "", nothing[48] = "", left_out[48] = "";
	char waits[48] = "", missed[48] = "", payload[48] = "";
	size_t late = an_schedule_missed(b, s->now_ms), without = an_schedule_waiting(b);

	if (refused > 1)
		(void)snprintf(more, sizeof more, " and %zu round%s before it", refused - 1,
			refused == 2 ? "" : "s");
	if (r)
		(void)snprintf(blocked, sizeof blocked, "the budget blocks round %u (%s)%s; ",
			r->plan->number, r->plan->label, more);
	if (empty > 0)
		(void)snprintf(nothing, sizeof nothing, ", %zu void", empty);
	if (open > 0)
		(void)snprintf(waits, sizeof waits, ", %zu waiting for another try", open);
	if (idle > 0)
		(void)snprintf(left_out, sizeof left_out, ", %zu left out", idle);
	if (late > 0)
		(void)snprintf(missed, sizeof missed, ", %zu missed", late);
	if (without > 0)
		(void)snprintf(payload, sizeof payload, ", %zu waiting for a payload", without);
	(void)snprintf(out, size, "%sthe plan is through: %zu of %zu rounds charged%s%s%s%s%s", blocked,
		charged, b->plan->rounds, nothing, waits, missed, left_out, payload);
}

static void scheduled(const struct an_status *s, char *out, size_t size)
{
	const struct an_state *b = s->state;
	size_t missed = an_schedule_missed(b, s->now_ms);
	char at[48], late[48] = "";

	moment(an_round_opens_ms(s->next), s->now_ms, at);
	if (missed > 0)
		(void)snprintf(late, sizeof late, ", %zu missed", missed);
	(void)snprintf(out, size, "waiting until %s, when round %u (%s) opens: %zu of %zu rounds charged%s",
		at, s->next->plan->number, s->next->plan->label,
		an_state_count(b, AN_SETTLED) + an_state_count(b, AN_CHARGED), b->plan->rounds, late);
}

void an_status_words(const struct an_status *s, char *out, size_t size)
{
	const char *code = an_status_code(s);

	if (strcmp(code, "stopping") == 0)
		(void)snprintf(out, size, "stopping");
	else if (strcmp(code, "fault") == 0)
		(void)snprintf(out, size, "ledger fault: %s", s->ledger.fault);
	else if (strcmp(code, "unsigned") == 0)
		(void)snprintf(out, size, "the plan is not signed yet, nothing is spent: %s", s->not_signed);
	else if (strcmp(code, "scheduled") == 0)
		scheduled(s, out, size);
	else if (s->doing == AN_IDLE)
		through(s, out, size);
	else if (strcmp(code, "unreachable") == 0)
		(void)snprintf(out, size, "shuffler unreachable, round %u (%s) waits for it: %s",
			s->round->plan->number, s->round->plan->label, s->shuffler.away);
	else if (strcmp(code, "waiting") == 0)
		waiting(s, out, size);
	else
		at_work(s, out, size);
}

/* ---- the document ---- */

static json_t *time_json(int64_t ms)
{
	return ms > 0 ? json_integer((json_int_t)ms) : json_null();
}

/* A fault may quote a peer, so escape it. */
static json_t *fault_json(const char *text)
{
	char shown[400];

	if (*text == '\0')
		return json_null();
	cm_text_copy(shown, sizeof shown, text);
	return json_string(shown);
}

static json_t *state_json(const struct an_status *s)
{
	char words[700], shown[700];

	an_status_words(s, words, sizeof words);
	cm_text_copy(shown, sizeof shown, words);
	return json_pack("{s:s, s:s}", "code", an_status_code(s), "text", shown);
}

static json_t *round_json(const struct an_status *s)
{
	const struct an_round_state *r = s->round;

	if (!r)
		return json_null();
	return json_pack("{s:i, s:s, s:s, s:I}", "round", (int)r->plan->number, "query", r->plan->query.name,
		"stage", an_stage_name(r->stage), "min_reports", (json_int_t)r->plan->min_reports);
}

static json_t *certificate_json(const struct an_status *s)
{
	int64_t left = s->certificate.not_after - s->now_ms / 1000;

	if (!s->certificate.known)
		return json_pack("{s:n, s:o}", "days", "fault", fault_json(s->certificate.fault));
	return json_pack("{s:I, s:n}", "days", (json_int_t)(left > 0 ? left / DAY_S : 0), "fault");
}

static json_t *pipeline_json(const struct an_pipeline *p)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "rounds", (json_int_t)p->rounds, "participants",
		(json_int_t)p->participants, "messages", (json_int_t)p->messages, "accepted",
		(json_int_t)p->opened, "duplicates", (json_int_t)p->duplicates, "bad", (json_int_t)p->bad);
}

json_t *an_status_json(const struct an_status *s)
{
	const struct pl_plan *p = s->state->plan;

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:{s:b, s:o, s:o}, s:{s:I, s:o, s:I, "
			 "s:o}, s:i, s:o, s:o, s:o, s:o}",
		"schema", "tombola.status/1", "version", TOMBOLA_VERSION, "plan", p->name, "population",
		p->population, "unit", p->unit, "mode", p->mode, "now_ms", time_json(s->now_ms), "started_ms",
		time_json(s->started_ms), "state", state_json(s), "shuffler", "connected",
		(int)s->shuffler.connected, "last_seen_ms", time_json(s->shuffler.seen_ms), "fault",
		fault_json(s->shuffler.away), "ledger", "seq", (json_int_t)s->ledger.chain->seq, "head",
		an_json_hex(s->ledger.chain->head, PR_HASH_LEN), "shown_seq", (json_int_t)s->view->chain.seq,
		"fault", fault_json(s->ledger.fault), "refusals_explained", (int)s->explained, "round",
		round_json(s), "pipeline", s->view->rounds ? pipeline_json(&s->view->pipeline) : json_null(),
		"certificate", certificate_json(s), "population_budget",
		s->figure ? json_pack(RD_FIGURE_PACK(s->figure)) : json_null());
}
