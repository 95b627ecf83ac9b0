/* lk_metrics.c - the metrics that all daemons share. */
#include "lk_metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <uv.h>

#include "cm_clock.h"
#include "cm_log.h"

const double lk_metrics_seconds[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
	INFINITY };
const double lk_metrics_minutes[] = { 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300, INFINITY };

enum {
	BUILD,
	START,
	READY,
	CERTIFICATE,
	TRUST,
	RELOADS,
	LINKS,
	LINKS_TOTAL,
	REFUSED,
	FRAMES_IN,
	FRAMES_OUT,
	BYTES_IN,
	BYTES_OUT,
	LIMIT,
	DELTA,
	PINNED,
	USED,
	RATIO,
	FREE,
	RECORDS,
	LEDGER_OK,
	CPU, /* CPU and MEMORY, the last rows, vary with the data */
	MEMORY,
	ROWS
};

static const char *const build_labels[] = { "role", "version", NULL };
static const char *const reload_outcomes[] = { "ok", "failed", NULL };
static const char *const refused_reasons[] = { "certificate", "protocol", "network", "limit", "other", NULL };

static const struct cm_metric_row rows[ROWS] = {
	[BUILD] = { "tombola_build_info", CM_METRIC_INFO, "Which program this is.", NULL, build_labels,
		NULL },
	[START] = CM_GAUGE("tombola_start_time_seconds", "When the daemon started, in unix seconds."),
	[READY] = CM_GAUGE("tombola_ready", "1 while /readyz says ready."),
	[CPU] = CM_COUNTER("tombola_cpu_seconds_total", "Processor time used, user and system."),
	[MEMORY] = CM_GAUGE("tombola_resident_memory_bytes", "Memory in use."),
	[CERTIFICATE] = CM_GAUGE("tombola_certificate_expiry_timestamp_seconds",
		"When the daemon's own certificate ends, in unix seconds."),
	[TRUST] = CM_GAUGE("tombola_trust_expiry_timestamp_seconds",
		"When the first of the CAs and revocation lists that peers are judged by ends, in unix seconds."),
	[RELOADS] = { "tombola_certificate_reloads_total", CM_METRIC_COUNTER,
		"Certificates read again, on SIGHUP or because their files changed.", "outcome",
		reload_outcomes, NULL },
	[LINKS] = CM_GAUGE("tombola_connections", "Peers connected now."),
	[LINKS_TOTAL] = CM_COUNTER(
		"tombola_connections_total", "Peers that were connected: TLS up, role verified, greeted."),
	[REFUSED] = { "tombola_connections_refused_total", CM_METRIC_COUNTER,
		"Connections that ended before the peers had greeted each other.", "reason", refused_reasons,
		NULL },
	[FRAMES_IN] = CM_COUNTER("tombola_frames_received_total", "Frames read from peers."),
	[FRAMES_OUT] = CM_COUNTER("tombola_frames_sent_total", "Frames sent to peers."),
	[BYTES_IN] =
		CM_COUNTER("tombola_frames_received_bytes_total", "Bytes of the frames read, before TLS."),
	[BYTES_OUT] = CM_COUNTER("tombola_frames_sent_bytes_total", "Bytes of the frames sent, before TLS."),
	[LIMIT] = CM_GAUGE(
		"tombola_budget_epsilon_limit", "Epsilon that this party lets all rounds together cost."),
	[DELTA] = CM_GAUGE("tombola_budget_delta", "Delta that epsilons are stated at."),
	[PINNED] = CM_GAUGE("tombola_budget_epsilon_pinned",
		"Sum of the slices of all pinned plans, each spent whole: the privacy loss, an upper bound."),
	[USED] = CM_GAUGE(
		"tombola_budget_epsilon_used", "Epsilon of what is pinned that announced rounds have used."),
	[RATIO] =
		CM_GAUGE("tombola_budget_used_ratio", "Epsilon used as a part of the limit, 1 is all of it."),
	[FREE] = CM_GAUGE("tombola_budget_free_ratio",
		"Part of the budget that no plan has pinned, of epsilon or delta the smaller; at 0 no further "
		"plan fits."),
	[RECORDS] = CM_GAUGE("tombola_ledger_records", "Records of this party's ledger."),
	[LEDGER_OK] = CM_GAUGE("tombola_ledger_ok",
		"1 while the ledger's file is in its place, 0 when it was moved, deleted, emptied or "
		"replaced."),
};

struct lk_metrics {
	struct cm_metrics *table;
	struct lk_counts counts;
	char *path[CR_FILES];
	/* the dates of the files that the party uses now; valid where is_read */
	struct cr_dates dates[CR_FILES];
	bool is_read[CR_FILES];
	struct cm_err expired;
	dev_t ledger_dev;
	ino_t ledger_ino;
	bool ledger_seen;
	bool usage; /* export processor time and memory */
};

static void say(void *user, enum cr_file which, const struct cm_err *why)
{
	(void)user;
	(void)which;
	cm_log(CM_LOG_WARN, "a file of TLS does not hold", CM_S("reason", why->msg));
}

static void read_files(struct lk_metrics *m)
{
	struct cr_files files = { 0 };
	struct cr_pki_info info;
	int64_t first = INT64_MAX;
	struct cm_err err;

	for (size_t i = 0; i < CR_FILES; i++)
		files.path[i] = m->path[i];
	cm_metrics_set(m->table, CERTIFICATE, 0,
		cr_pki_show(m->path[CR_OWN], &info, &err) == CM_OK ? (double)info.not_after : (double)NAN);
	for (unsigned i = 0; i < CR_FILES; i++) {
		m->is_read[i] =
			m->path[i] && cr_file_dates(&files, (enum cr_file)i, &m->dates[i], &err) == CM_OK;
		if (m->is_read[i] && i != CR_OWN && m->dates[i].ends < first)
			first = m->dates[i].ends;
	}
	cm_metrics_set(m->table, TRUST, 0, first == INT64_MAX ? (double)NAN : (double)first);
	cr_files_check(&files, CR_ROLE_NONE, cm_clock_wall_ms() / 1000, say, NULL);
}

static bool copy_paths(struct lk_metrics *m, const struct cr_files *files)
{
	for (size_t i = 0; i < CR_FILES; i++)
		if (files->path[i] && !(m->path[i] = strdup(files->path[i])))
			return false;
	return true;
}

struct lk_metrics *lk_metrics_new(const char *role, const struct cr_files *files, bool usage)
{
	struct lk_metrics *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->usage = usage;
	m->table = cm_metrics_new(rows, usage ? ROWS : CPU);
	if (!m->table || !copy_paths(m, files)) {
		lk_metrics_free(m);
		return NULL;
	}
	cm_metrics_info(m->table, BUILD, 0, role);
	cm_metrics_info(m->table, BUILD, 1, TOMBOLA_VERSION);
	cm_metrics_set(m->table, START, 0, (double)cm_clock_wall_ms() / 1e3);
	read_files(m);
	return m;
}

void lk_metrics_free(struct lk_metrics *m)
{
	if (!m)
		return;
	cm_metrics_free(m->table);
	for (size_t i = 0; i < CR_FILES; i++)
		free(m->path[i]);
	free(m);
}

struct lk_counts *lk_metrics_counts(struct lk_metrics *m)
{
	return &m->counts;
}

void lk_metrics_reloaded(struct lk_metrics *m, bool ok)
{
	cm_metrics_add(m->table, RELOADS, ok ? 0 : 1, 1);
	if (ok)
		read_files(m);
}

const char *lk_metrics_expired(struct lk_metrics *m)
{
	int64_t now_s = cm_clock_wall_ms() / 1000;

	for (unsigned i = 0; i < CR_FILES; i++)
		if (m->is_read[i] && cr_dates_check(m->path[i], (enum cr_file)i, &m->dates[i], now_s,
					     &m->expired) != CM_OK)
			return m->expired.msg;
	return NULL;
}

void lk_metrics_budget(struct lk_metrics *m, const struct lk_metrics_budget *b)
{
	cm_metrics_set(m->table, LIMIT, 0, b->limit);
	cm_metrics_set(m->table, DELTA, 0, b->delta);
	cm_metrics_set(m->table, PINNED, 0, b->pinned);
	cm_metrics_set(m->table, USED, 0, b->used);
	cm_metrics_set(m->table, RATIO, 0, b->ratio);
	cm_metrics_set(m->table, FREE, 0, b->free);
}

void lk_metrics_ledger(struct lk_metrics *m, uint64_t records, const char *path)
{
	struct stat st;
	bool there = stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;

	if (there && !m->ledger_seen) {
		m->ledger_seen = true;
		m->ledger_dev = st.st_dev;
		m->ledger_ino = st.st_ino;
	}
	cm_metrics_set(m->table, RECORDS, 0, (double)records);
	cm_metrics_set(m->table, LEDGER_OK, 0,
		there && st.st_dev == m->ledger_dev && st.st_ino == m->ledger_ino ? 1 : 0);
}

static void take_counts(struct lk_metrics *m)
{
	const struct lk_counts *c = &m->counts;

	cm_metrics_set(m->table, LINKS_TOTAL, 0, (double)c->links);
	for (size_t i = 0; i < LK_REFUSED_REASONS; i++)
		cm_metrics_set(m->table, REFUSED, i, (double)c->refused[i]);
	cm_metrics_set(m->table, FRAMES_IN, 0, (double)c->frames_in);
	cm_metrics_set(m->table, FRAMES_OUT, 0, (double)c->frames_out);
	cm_metrics_set(m->table, BYTES_IN, 0, (double)c->bytes_in);
	cm_metrics_set(m->table, BYTES_OUT, 0, (double)c->bytes_out);
}

static void take_process(struct lk_metrics *m)
{
	uv_rusage_t use;
	size_t bytes;

	if (!m->usage)
		return;
	if (uv_getrusage(&use) == 0)
		cm_metrics_set(m->table, CPU, 0,
			(double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
				(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
	if (uv_resident_set_memory(&bytes) == 0)
		cm_metrics_set(m->table, MEMORY, 0, (double)bytes);
}

int lk_metrics_reply(struct lk_metrics *m, const struct cm_metrics *own, bool ready, size_t links,
	struct nt_http_reply *out)
{
	struct cm_buf text;

	cm_metrics_set(m->table, READY, 0, ready);
	cm_metrics_set(m->table, LINKS, 0, (double)links);
	take_counts(m);
	take_process(m);
	cm_buf_init(&text, CM_METRICS_MAX);
	if (cm_metrics_print(m->table, &text) != CM_OK || cm_metrics_print(own, &text) != CM_OK) {
		cm_buf_fini(&text);
		return -1;
	}
	*out = (struct nt_http_reply){ .type = CM_METRICS_TYPE, .body = (char *)text.data, .len = text.len };
	return 0;
}
