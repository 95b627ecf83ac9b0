/* cl_check.c - makes the findings of `check` for a client. */
#include "cl_check.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cd_times.h"
#include "cl_budget.h"
#include "cl_db.h"
#include "cl_evidence.h"
#include "cl_fate.h"
#include "cl_ledger.h"
#include "cl_left_out.h"
#include "cl_metrics.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "nt_http.h"

#define ASK_MS 2000

/* Report what became of the newest round, until there is another. */
static void check_round(const struct cl_setup *setup, struct cl_db *db, struct nt_health *h)
{
	struct cl_newest last;
	struct cl_counts counts;
	struct cm_err err;
	char words[360];

	if (cl_ledger_fate(db, cm_clock_wall_ms(), &last, &err) != CM_OK) {
		nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
		return;
	}
	if (last.fate == CL_FATE_REFUSED)
		nt_health_say(h, NT_HEALTH_WARNING, "round %" PRIu64 " (%s) was refused here: %s",
			last.sequence, last.query, last.note);
	else if (last.fate == CL_FATE_MISSED)
		nt_health_say(h, NT_HEALTH_WARNING,
			"round %" PRIu64 " (%s) went by without this client: its log says why", last.sequence,
			last.query);
	if (last.fate != CL_FATE_OVER)
		return;
	cl_counts_read(last.note, &counts);
	if (!cl_left_out_any(&counts))
		return;
	cl_left_out_words(setup, last.target, &counts, words, sizeof words);
	nt_health_say(h, NT_HEALTH_WARNING, "round %" PRIu64 " (%s), %" PRIu64 " devices: %s", last.sequence,
		last.query, counts.total, words);
}

static void check_ledger(const struct cl_setup *setup, struct nt_health *h)
{
	struct cl_budget usage = { .plans = 0 };
	struct cl_loss loss = { .lost = false };
	struct cl_db *db = NULL;
	struct cm_err err;
	int64_t records = 0, over_ms = 0;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, &err);

	if (rc == CM_ENOINPUT) {
		nt_health_say(h, NT_HEALTH_OK, "no round yet");
		return;
	}
	if (rc == CM_OK)
		rc = cl_budget_read(db, &setup->policy, &usage, &err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, &err);
	if (rc == CM_OK)
		rc = cl_ledger_extent(db, &records, &over_ms, &err);
	if (rc == CM_OK) {
		nt_health_slices(h, usage.figure.ratio, rd_figure_pinned(&usage.figure));
		h->ledger_records = (double)records;
	} else {
		nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
	}
	if (rc == CM_OK && loss.lost)
		nt_health_say(h, NT_HEALTH_CRITICAL,
			loss.conflict
				? "another copy of this client's state answered a round, or the shuffler lies: see "
				  "tombola-client accept-loss"
				: "the ledger was restored, cloned or lost: see tombola-client accept-loss");
	uint64_t evidence = cl_evidence_files(setup->conf.state_dir);
	if (evidence > 0)
		nt_health_say(h, NT_HEALTH_CRITICAL,
			"%" PRIu64
			" files %s/evidence-* show what the shuffler did wrong: see tombola evidence verify",
			evidence, setup->conf.state_dir);
	if (over_ms > 0)
		nt_health_round(h, over_ms, cm_clock_wall_ms());
	if (rc == CM_OK)
		check_round(setup, db, h);
	cl_db_close(db);
}

/* Report programs whose spawner has ended; readiness leaves them out (not_ready in cl_loop.c).  A daemon
 * that does not answer is reported by nt_health_daemon. */
static void check_programs(const struct cl_setup *setup, struct nt_health *h)
{
	struct cm_err err;
	char *body = NULL;
	int status = 0;

	if (!setup->conf.http || *setup->conf.http == '\0')
		return;
	if (nt_http_get(setup->conf.http, "/programs", ASK_MS, &status, &body, &err) == CM_OK && body &&
		strcmp(body, "ended\n") == 0)
		nt_health_say(h, NT_HEALTH_WARNING,
			"the spawner of programs has ended, so that no device has an answer: start the "
			"client again");
	free(body);
}

/* Warn when sealing is late.  Readings are read until a fixed moment, and sealing comes after it and needs
 * many times the processor time: a host that seals late may not have read all readings.  How long reading
 * took is not shown to anybody. */
static void check_prepare(const struct cl_setup *setup, struct nt_health *h)
{
	static const char name[] = CL_SEALED_METRIC;
	char line[sizeof name + 2];
	double prepare = (double)setup->conf.prepare_ms / 1e3, sealed = 0;
	const char *at;
	struct cm_err err;
	char *body = NULL;
	int status = 0;

	/* With a shorter `prepare` a round gives reading more time than `prepare` says. */
	if (!setup->conf.http || *setup->conf.http == '\0' || setup->conf.prepare_ms < CD_TIMES_PREPARE_MS ||
		nt_http_get(setup->conf.http, "/metrics", ASK_MS, &status, &body, &err) != CM_OK)
		return;
	(void)snprintf(line, sizeof line, "\n%s ", name);
	at = status == 200 && body ? strstr(body, line) : NULL;
	sealed = at ? strtod(at + strlen(line), NULL) : 0;
	if (sealed > 0.75 * prepare)
		nt_health_say(h, NT_HEALTH_WARNING,
			"the last round was sealed %.1f s after it came, and `prepare` is %g s: what is not read in "
			"half of that does not count, so raise it to %.0f s",
			sealed, prepare, ceil(2 * sealed));
	free(body);
}

void cl_check(const struct cl_setup *setup, struct nt_health *h)
{
	const struct cr_files files = cl_setup_files(setup);

	check_ledger(setup, h);
	nt_health_certificate(h, setup->conf.cert, cm_clock_wall_ms());
	nt_health_trust(h, &files, cm_clock_wall_ms());
	nt_health_daemon(h, setup->conf.http);
	check_programs(setup, h);
	check_prepare(setup, h);
}

static void check_file(const char *path, FILE *faults, struct cm_err *first)
{
	struct cm_err why;
	struct stat st;

	if (cl_readings_lasting(path, &why) != CM_OK)
		cf_finding(&why, faults, first);
	else if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)cm_fail(&why, CM_EDATA, "%s: is a folder", path);
		cf_finding(&why, faults, first);
	}
}

static enum cm_rc stop(void *user, const struct cl_row *row, struct cm_err *err)
{
	(void)user;
	(void)row;
	return cm_fail(err, CM_ELATER, "the first row is enough");
}

/* Print one line that is not a fault, with the place of its key; `then` ends the line. */
static void note(
	const struct cl_setup *s, const char *key, const struct cm_err *what, const char *then, FILE *out)
{
	struct cm_err said = *what, placed = { .code = CM_OK };

	(void)cm_context(&said, "%s", key);
	cf_fault_at(s->file, key, &said, NULL, &placed);
	(void)fprintf(out, "%s%s\n", placed.msg, then);
}

/* Print notes on the files of readings, for a person at a terminal only: whether a service starts must not
 * depend on a file that another program writes. */
static void note_readings(const struct cl_setup *s)
{
	const struct cl_conf *c = &s->conf;
	const char *const fields[] = { c->device_field };
	const struct cl_reader_conf conf = {
		.format = s->format,
		.name = c->input,
		.device_field = c->device_field,
		.field = fields,
		.fields = 1,
		.map = &c->map,
		.csv = c->csv,
		.on_row = stop,
	};
	const char *then = c->devices ? ", the listed devices take part as if without readings"
				      : ", no device takes part";
	struct cm_err why;

	if (access(c->input, R_OK) != 0) {
		(void)cm_fail(&why, CM_ENOINPUT, "%s: %s; until it is there", c->input, strerror(errno));
		note(s, "input.path", &why, then, stdout);
	} else if (c->device_field && s->format != CL_FORMAT_NPY && s->format != CL_FORMAT_GUESS &&
		   cl_readings_file(c->input, &conf, &why) == CM_EDATA) {
		note(s, "input.device_field", &why, "", stdout);
		(void)printf("correct one of the two; as long as it is so%s\n", then);
	}
}

/* Note a list that is too long.  This is not a fault; otherwise a gateway whose list has grown could not be
 * started again. */
static void note_too_many(const struct cl_setup *s, FILE *out)
{
	static const struct cr_key any;
	struct cl_devices *devices = NULL;
	struct cr_pki_info info;
	struct cm_err what;

	if (s->devices && s->conf.population && s->conf.cert &&
		cr_pki_show(s->conf.cert, &info, &what) == CM_OK && info.identity.role == CR_ROLE_CLIENT &&
		cl_setup_devices(s, &any, &devices, &what) == CM_OK &&
		cl_devices_n(devices) > info.identity.devices) {
		(void)cm_fail(&what, CM_EDATA, "%s lists %zu devices, and %s speaks for %u", s->devices,
			cl_devices_n(devices), s->conf.cert, (unsigned)info.identity.devices);
		note(s, s->devices == s->conf.mqtt.devices ? "mqtt.devices" : "input.devices", &what,
			", and the shuffler takes no more of them: `tombola pki renew --devices`", out);
	}
	cl_devices_free(devices);
}

void cl_check_input(const struct cl_setup *s, FILE *faults, struct cm_err *first)
{
	const struct cl_conf *c = &s->conf;
	struct cm_err of_files = { .code = CM_OK };

	if (c->input)
		check_file(c->input, faults, &of_files);
	if (c->labels)
		check_file(c->labels, faults, &of_files);
	if (c->input && of_files.code == CM_OK && isatty(STDOUT_FILENO))
		note_readings(s);
	if (first->code == CM_OK)
		*first = of_files;
	note_too_many(s, faults);
}
