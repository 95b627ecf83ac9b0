/* sh_metrics.c - the table of the shuffler's metrics, and the code that sets their values. */
#include "sh_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "sh_databases.h"

enum {
	EVENTS,
	UNDER_WAY,
	NUMBER,
	PARTICIPANTS,
	MIN_REPORTS,
	TARGET,
	DEADLINE,
	REPORTS,
	MESSAGES,
	DUMMIES,
	LEFT_OUT,
	REFUSED,
	QUOTAS,
	COMMIT_SECONDS,
	COMMIT_REPORTS,
	SEAL_SECONDS,
	WAITING,
	PAUSED,
	PEERS,
	LAST_SEALED,
	ANALYZER_SEEN,
	DATABASE_UP,
	ROWS
};

static const char *const events[] = { "opened", "sealed", "void", "lost", "released", "erased", NULL };
static const char *const states[] = { "collecting", "sealed", "releasing", NULL };
enum { ACCEPTED, DUPLICATE, CONFLICT, CLOSED, OVER_LIMIT, OUTCOMES };
static const char *const outcomes[] = { "accepted", "duplicate", "conflict", "closed", "over_limit", NULL };
/* indexed by Tombola__V1__ErrorCode */
static const char *const reasons[] = { "other", "not_found", "round_closed", "conflict", "policy", "budget",
	"batch_too_small", "bad_message", "bad_role", "busy", "version", "storage", "ledger", "signature",
	"unknown_kind", "clock", NULL };
enum { QUOTA_PAUSED, JUNK, DISPLACED };
static const char *const quotas[] = { "paused", "junk", "displaced", NULL };
static const char *const roles[] = { "client", "analyzer", "intake", NULL };
static const double crowd[] = { 1, 10, 50, 100, 250, 500, 1000, 2500, 5000, 10000, INFINITY };

static const struct cm_metric_row rows[ROWS] = {
	[EVENTS] = { "tombola_shuffler_rounds_total", CM_METRIC_COUNTER, "Rounds by event.", "event", events,
		NULL },
	[UNDER_WAY] = { "tombola_shuffler_rounds_under_way", CM_METRIC_GAUGE, "Rounds that are not over.",
		"state", states, NULL },
	[NUMBER] = CM_GAUGE("tombola_shuffler_round_number",
		"Sequence number of the newest round that was announced here."),
	[PARTICIPANTS] = CM_GAUGE("tombola_shuffler_round_participants",
		"Participants of the round that is collecting whose reports are durable."),
	[MIN_REPORTS] = CM_GAUGE(
		"tombola_shuffler_round_min_participants", "Participants below which that round is void."),
	[TARGET] = CM_GAUGE("tombola_shuffler_round_target_participants",
		"Participants at which that round is sealed before its deadline."),
	[DEADLINE] = CM_GAUGE("tombola_shuffler_round_deadline_timestamp_seconds",
		"When that round is sealed at the latest, in unix seconds."),
	[REPORTS] = { "tombola_shuffler_reports_total", CM_METRIC_COUNTER,
		"Reports by the outcome their devices were told; accepted ones are durable.", "outcome",
		outcomes, NULL },
	[MESSAGES] = CM_COUNTER(
		"tombola_shuffler_messages_total", "Sealed messages of accepted reports made durable."),
	[DUMMIES] = CM_COUNTER("tombola_shuffler_dummies_total",
		"Messages that the shuffler made of its own, to be added to rounds."),
	[LEFT_OUT] = { "tombola_shuffler_left_out_total", CM_METRIC_COUNTER,
		"Devices that a round did not take, by reason, once it is sealed or over.", "reason",
		rd_left_out_names, NULL },
	[REFUSED] = { "tombola_shuffler_requests_refused_total", CM_METRIC_COUNTER,
		"Requests answered with an error.", "reason", reasons, NULL },
	[QUOTAS] = { "tombola_shuffler_quota_total", CM_METRIC_COUNTER,
		"Connections that were paused, ended for junk or displaced because of what one certificate "
		"uses.",
		"event", quotas, NULL },
	[COMMIT_SECONDS] = { "tombola_shuffler_commit_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to make a batch of reports durable.", NULL, NULL, lk_metrics_seconds },
	[COMMIT_REPORTS] = { "tombola_shuffler_commit_reports", CM_METRIC_HISTOGRAM,
		"Reports in one commit: the crowd in which they are stored.", NULL, NULL, crowd },
	[SEAL_SECONDS] = { "tombola_shuffler_seal_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to read a round back, hash it and sign its manifest.", NULL, NULL, lk_metrics_minutes },
	[WAITING] = CM_GAUGE("tombola_shuffler_waiting_bytes", "Bytes of reports that are not durable yet."),
	[PAUSED] = CM_GAUGE("tombola_shuffler_paused",
		"1 while clients are not read from because too much waits to be durable."),
	[PEERS] = { "tombola_shuffler_peers", CM_METRIC_GAUGE, "Peers connected now, by role.", "role", roles,
		NULL },
	[LAST_SEALED] = CM_GAUGE("tombola_shuffler_last_sealed_timestamp_seconds",
		"When a round was last sealed since the start, in unix seconds."),
	[ANALYZER_SEEN] = CM_GAUGE("tombola_shuffler_analyzer_seen_timestamp_seconds",
		"When the analyzer last said something since the start, in unix seconds."),
	[DATABASE_UP] = { "tombola_shuffler_database_up", CM_METRIC_GAUGE,
		"0 when a connection to a database is lost, which ends the shuffler within seconds, else 1.",
		"number", sh_databases_numbers, NULL },
};

struct sh_metrics {
	struct lk_metrics *shared;
	struct cm_metrics *table;
	char *state_file;
	const struct sh_store *store;
	uint64_t pending[OUTCOMES]; /* reports that are counted with the next commit */
};

struct sh_metrics *sh_metrics_new(
	const struct cr_files *files, const char *state_dir, const char *ledger, const struct sh_store *store)
{
	struct sh_metrics *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->shared = lk_metrics_new("shuffler", files, true);
	m->table = cm_metrics_new(rows, ROWS);
	m->store = store;
	m->state_file = cm_file_join(state_dir, ledger);
	if (!m->shared || !m->table || !m->state_file) {
		sh_metrics_free(m);
		return NULL;
	}
	return m;
}

void sh_metrics_free(struct sh_metrics *m)
{
	if (!m)
		return;
	lk_metrics_free(m->shared);
	cm_metrics_free(m->table);
	free(m->state_file);
	free(m);
}

struct lk_metrics *sh_metrics_shared(struct sh_metrics *m)
{
	return m->shared;
}

/* ---- events ---- */

static double now_s(void)
{
	return floor((double)cm_clock_wall_ms() / 1e3);
}

void sh_metrics_event(struct sh_metrics *m, enum sh_event what, uint64_t n)
{
	cm_metrics_add(m->table, EVENTS, what, (double)n);
	if (what == SH_EVENT_SEALED)
		cm_metrics_set(m->table, LAST_SEALED, 0, now_s());
}

void sh_metrics_outcomes(struct sh_metrics *m, const struct sh_receipt *receipt, uint64_t fresh)
{
	/* indexed by Tombola__V1__Outcome */
	static const int of[] = { -1, DUPLICATE, CONFLICT, CLOSED, OVER_LIMIT };

	for (size_t i = 0; i < receipt->n; i++)
		if (receipt->outcomes[i] < sizeof of / sizeof of[0] && of[receipt->outcomes[i]] >= 0)
			m->pending[of[receipt->outcomes[i]]]++;
	/* New reports are counted when they are durable. */
	m->pending[DUPLICATE] -= fresh;
}

static void count_pending(struct sh_metrics *m)
{
	for (size_t i = 0; i < OUTCOMES; i++) {
		cm_metrics_add(m->table, REPORTS, i, (double)m->pending[i]);
		m->pending[i] = 0;
	}
}

void sh_metrics_left_out(struct sh_metrics *m, unsigned why, uint64_t devices)
{
	cm_metrics_add(m->table, LEFT_OUT, rd_left_out_place(why), (double)devices);
}

void sh_metrics_refused(struct sh_metrics *m, Tombola__V1__ErrorCode code)
{
	size_t known = sizeof reasons / sizeof reasons[0] - 1;

	cm_metrics_add(m->table, REFUSED, (size_t)code < known ? (size_t)code : 0, 1);
}

void sh_metrics_committed(struct sh_metrics *m, size_t submissions, size_t messages, double duration)
{
	m->pending[ACCEPTED] += submissions;
	count_pending(m);
	cm_metrics_add(m->table, MESSAGES, 0, (double)messages);
	cm_metrics_observe(m->table, COMMIT_SECONDS, duration);
	cm_metrics_observe(m->table, COMMIT_REPORTS, (double)submissions);
}

void sh_metrics_dummies(struct sh_metrics *m, uint64_t messages)
{
	cm_metrics_add(m->table, DUMMIES, 0, (double)messages);
}

void sh_metrics_sealed(struct sh_metrics *m, double duration)
{
	cm_metrics_observe(m->table, SEAL_SECONDS, duration);
}

void sh_metrics_analyzer_spoke(struct sh_metrics *m)
{
	cm_metrics_set(m->table, ANALYZER_SEEN, 0, now_s());
}

/* ---- answering a request ---- */

int64_t sh_metrics_last_sealed_ms(const struct sh_metrics *m)
{
	double s = cm_metrics_get(m->table, LAST_SEALED, 0);

	return isnan(s) ? 0 : (int64_t)s * 1000;
}

static void take_rounds(struct sh_metrics *m, const struct sh_metrics_now *now)
{
	static const enum sh_state of[] = { SH_COLLECTING, SH_SEALED, SH_RELEASING };
	const struct sh_round *r = NULL;

	for (size_t i = 0; i < sizeof of / sizeof of[0]; i++)
		cm_metrics_set(m->table, UNDER_WAY, i, (double)sh_core_count(now->core, of[i]));
	for (size_t i = 0; (r = sh_core_round(now->core, i)) && r->state != SH_COLLECTING;)
		i++;
	cm_metrics_set(m->table, NUMBER, 0, (double)sh_core_newest(now->core));
	cm_metrics_set(m->table, PARTICIPANTS, 0,
		r ? (double)(r->intake.participants - now->not_durable) : (double)NAN);
	cm_metrics_set(m->table, MIN_REPORTS, 0, r ? (double)r->d.min_reports : (double)NAN);
	cm_metrics_set(m->table, TARGET, 0, r ? (double)r->d.target : (double)NAN);
	cm_metrics_set(m->table, DEADLINE, 0, r ? (double)r->d.deadline_ms / 1e3 : (double)NAN);
}

static void take_budget(struct sh_metrics *m, const struct sh_core *core)
{
	size_t plans;
	const struct rd_figure figure = sh_core_figure(core, &plans);
	const struct lk_metrics_budget budget = { .limit = figure.limit,
		.delta = figure.delta,
		.pinned = figure.pinned,
		.used = figure.used,
		.ratio = figure.ratio,
		.free = rd_figure_free(&figure) };

	lk_metrics_budget(m->shared, &budget);
	lk_metrics_ledger(m->shared, sh_core_witness(core).seq, m->state_file);
}

int sh_metrics_reply(struct sh_metrics *m, const struct sh_metrics_now *now, struct nt_http_reply *out)
{
	if (now->not_durable == 0)
		count_pending(m);
	take_rounds(m, now);
	take_budget(m, now->core);
	if (m->store->database)
		sh_databases_set(m->table, DATABASE_UP, m->store->database, m->store->ctx);
	cm_metrics_set(m->table, QUOTAS, QUOTA_PAUSED, (double)now->quota_pauses);
	cm_metrics_set(m->table, QUOTAS, JUNK, (double)now->quota_junks);
	cm_metrics_set(m->table, QUOTAS, DISPLACED, (double)lk_metrics_counts(m->shared)->displaced);
	cm_metrics_set(m->table, WAITING, 0, (double)now->waiting_bytes);
	cm_metrics_set(m->table, PAUSED, 0, now->paused);
	cm_metrics_set(m->table, PEERS, 0, (double)now->clients);
	cm_metrics_set(m->table, PEERS, 1, (double)now->analyzers);
	cm_metrics_set(m->table, PEERS, 2, (double)now->intakes);
	return lk_metrics_reply(
		m->shared, m->table, now->ready, now->clients + now->analyzers + now->intakes, out);
}
