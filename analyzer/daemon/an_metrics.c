/* an_metrics.c - lists the analyzer's metrics, and sets their values. */
#include "an_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "an_budget.h"
#include "cm_file.h"

enum {
	STAGES,
	PHASE,
	NUMBER,
	MIN_REPORTS,
	TARGET,
	DEADLINE,
	PARTICIPANTS,
	MESSAGES,
	APPEND_SECONDS,
	OPEN_SECONDS,
	JUDGE_SECONDS,
	LAST_CHARGED,
	LAST_MISSED,
	SHUFFLER_SEEN,
	ROWS
};

/* Names of the members of enum an_stage, in its order. */
static const char *const stages[] = { "planned", "reserved", "charged", "settled", "refused", "void",
	"waiting", NULL };
/* Names of the members of enum an_phase, in its order. */
static const char *const phases[] = { "idle", "judging", "away", "talking", "waiting", "opening", NULL };
static const char *const messages[] = { "counted", "bad", "duplicate", NULL };

static const struct cm_metric_row rows[ROWS] = {
	[STAGES] = { "tombola_analyzer_rounds", CM_METRIC_GAUGE, "Rounds of the plan by where they stand.",
		"stage", stages, NULL },
	[PHASE] = { "tombola_analyzer_phase", CM_METRIC_GAUGE, "1 for what the analyzer is at.", "phase",
		phases, NULL },
	[NUMBER] = CM_GAUGE("tombola_analyzer_round_number", "Number in the plan of the round at hand."),
	[MIN_REPORTS] = CM_GAUGE(
		"tombola_analyzer_round_min_participants", "Participants below which that round is void."),
	[TARGET] = CM_GAUGE("tombola_analyzer_round_target_participants",
		"Participants at which that round is sealed before its deadline."),
	[DEADLINE] = CM_GAUGE("tombola_analyzer_round_deadline_timestamp_seconds",
		"When that round is sealed at the latest, in unix seconds."),
	[PARTICIPANTS] = CM_COUNTER("tombola_analyzer_participants_total",
		"Participants of all rounds of the plan that were charged, by the ledger."),
	[MESSAGES] = { "tombola_analyzer_messages_total", CM_METRIC_COUNTER,
		"Sealed messages opened since the start, by what they held.", "outcome", messages, NULL },
	[APPEND_SECONDS] = { "tombola_analyzer_ledger_append_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to make a ledger record durable and count it.", NULL, NULL, lk_metrics_seconds },
	[OPEN_SECONDS] = { "tombola_analyzer_open_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to open one bucket of messages.", NULL, NULL, lk_metrics_minutes },
	[JUDGE_SECONDS] = { "tombola_analyzer_judge_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to judge whether a round fits the budget.", NULL, NULL, lk_metrics_minutes },
	[LAST_CHARGED] = CM_GAUGE("tombola_analyzer_last_charged_timestamp_seconds",
		"When a round of the plan was last charged, by the ledger, in unix seconds."),
	[LAST_MISSED] = CM_GAUGE("tombola_analyzer_last_missed_timestamp_seconds",
		"When the last recurrence that was not answered should have been, at the latest, in unix "
		"seconds."),
	[SHUFFLER_SEEN] = CM_GAUGE("tombola_analyzer_shuffler_seen_timestamp_seconds",
		"When the shuffler last said something since the start, in unix seconds."),
};

struct an_metrics {
	const struct an_ledger_files *files;
	struct lk_metrics *shared;
	struct cm_metrics *table;
	char *ledger_file;
	uint64_t records;
	size_t held; /* number of plans and announced rounds at the last composition */
	bool composed;
};

struct an_metrics *an_metrics_new(const struct an_conf *conf, const struct an_ledger_files *files)
{
	const struct cr_files tls = an_conf_files(conf);
	struct an_metrics *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->files = files;
	m->shared = lk_metrics_new("analyzer", &tls, true);
	m->table = cm_metrics_new(rows, ROWS);
	m->ledger_file = cm_file_join(conf->state_dir, "ledger");
	if (!m->shared || !m->table || !m->ledger_file) {
		an_metrics_free(m);
		return NULL;
	}
	an_metrics_read_ledger(m);
	return m;
}

void an_metrics_free(struct an_metrics *m)
{
	if (!m)
		return;
	lk_metrics_free(m->shared);
	cm_metrics_free(m->table);
	free(m->ledger_file);
	free(m);
}

struct lk_metrics *an_metrics_shared(struct an_metrics *m)
{
	return m->shared;
}

/* ---- events ---- */

static void take_rounds(struct an_metrics *m)
{
	const struct an_state *s = &m->files->state;
	double participants = 0;
	int64_t last_ms = 0;

	for (size_t i = 0; stages[i]; i++)
		cm_metrics_set(m->table, STAGES, i, (double)an_state_count(s, (enum an_stage)i));
	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (r->stage != AN_CHARGED && r->stage != AN_SETTLED)
			continue;
		participants += (double)r->participants;
		last_ms = r->charged_ms > last_ms ? r->charged_ms : last_ms;
	}
	cm_metrics_set(m->table, PARTICIPANTS, 0, participants);
	if (last_ms > 0)
		cm_metrics_set(m->table, LAST_CHARGED, 0, floor((double)last_ms / 1e3));
}

/* Compose again only when a round has started or stopped holding budget. */
static void take_budget(struct an_metrics *m)
{
	const struct an_state *s = &m->files->state;
	const struct rd_slices all = an_ledger_files_budget(m->files);
	struct lk_metrics_budget b = { .limit = all.epsilon,
		.delta = all.delta,
		.pinned = s->slices.epsilon,
		.used = (double)NAN,
		.ratio = (double)NAN };
	struct rd_figure figure;
	size_t held = s->plans;
	struct cm_err unused;

	for (size_t i = 0; i < s->plan->rounds; i++)
		held += s->round[i].decided_seq != 0 && s->round[i].stage != AN_VOID;
	if (m->composed && held == m->held)
		return;
	m->composed = true;
	m->held = held;
	if (an_budget_figure(s, &all, &figure, &unused) == CM_OK) {
		b.used = figure.used;
		b.ratio = figure.ratio;
	}
	b.free = rd_figure_free(&figure);
	lk_metrics_budget(m->shared, &b);
}

void an_metrics_read_ledger(struct an_metrics *m)
{
	take_budget(m);
	m->records = an_ledger_chain(m->files->ledger)->seq;
	take_rounds(m);
}

void an_metrics_appended(struct an_metrics *m, double duration)
{
	cm_metrics_observe(m->table, APPEND_SECONDS, duration);
}

void an_metrics_opened(struct an_metrics *m, double duration)
{
	cm_metrics_observe(m->table, OPEN_SECONDS, duration);
}

void an_metrics_judged(struct an_metrics *m, double duration)
{
	cm_metrics_observe(m->table, JUDGE_SECONDS, duration);
}

void an_metrics_published(struct an_metrics *m, const struct an_tally *t)
{
	cm_metrics_add(m->table, MESSAGES, 0, (double)t->counted);
	cm_metrics_add(m->table, MESSAGES, 1, (double)t->bad);
	cm_metrics_add(m->table, MESSAGES, 2, (double)t->duplicates);
}

/* ---- answering a request ---- */

int an_metrics_reply(struct an_metrics *m, const struct an_metrics_now *now, struct nt_http_reply *out)
{
	const struct an_round_state *r = now->round;
	bool known = r && r->descriptor_bytes.len > 0;

	cm_metrics_choose(m->table, PHASE, now->phase);
	cm_metrics_set(m->table, NUMBER, 0, r ? (double)r->plan->number : (double)NAN);
	cm_metrics_set(m->table, MIN_REPORTS, 0, known ? (double)r->descriptor.min_reports : (double)NAN);
	cm_metrics_set(m->table, TARGET, 0, known ? (double)r->descriptor.target : (double)NAN);
	cm_metrics_set(m->table, DEADLINE, 0, known ? (double)r->descriptor.deadline_ms / 1e3 : (double)NAN);
	cm_metrics_set(m->table, LAST_MISSED, 0,
		now->missed_ms > 0 ? floor((double)now->missed_ms / 1e3) : (double)NAN);
	if (now->shuffler_seen_ms > 0)
		cm_metrics_set(m->table, SHUFFLER_SEEN, 0, floor((double)now->shuffler_seen_ms / 1e3));
	lk_metrics_ledger(m->shared, m->records, m->ledger_file);
	return lk_metrics_reply(m->shared, m->table, now->ready, now->connected ? 1 : 0, out);
}
