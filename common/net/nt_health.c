/* nt_health.c - the `check` verb that all daemons share: reads its options, collects findings, and prints
 * the answer. */
#include "nt_health.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_metrics.h"
#include "cm_round.h"
#include "cm_text.h"
#include "nt_http.h"

#define ASK_MS 3000
#define DAY_S  86400.0

enum { WARN_SPENT, CRIT_SPENT, WARN_CERT, WARN_ROUND, CRIT_ROUND, FORMAT };

/* Read a number and its unit, one of `units` (which may be left out when it is the only one); *value is
 * multiplied by the unit's size. */
static enum cm_rc read_limit(const struct cm_cli *cli, int option, const char *what, const char *units,
	double *value, struct cm_err *err)
{
	static const struct {
		char unit;
		double factor;
	} factors[] = { { '%', 0.01 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_S } };
	const char *text = cli->option[option];
	size_t n = text ? strlen(text) : 0;
	char number[64], unit = units[0];
	enum cm_rc rc;

	if (!text)
		return CM_OK;
	if (n > 1 && n < sizeof number && strchr(units, text[n - 1]))
		unit = text[--n];
	else if (units[1] != '\0')
		return cm_fail(err, CM_EUSAGE, "%s: '%.40s' is not a number with one of the units %s", what,
			text, units);
	(void)snprintf(number, sizeof number, "%.*s", (int)n, text);
	rc = cm_cli_double(number, what, 0, 1e9, value, err);
	for (size_t i = 0; rc == CM_OK && i < sizeof factors / sizeof factors[0]; i++)
		if (factors[i].unit == unit)
			*value *= factors[i].factor;
	return rc;
}

static enum cm_rc read_format(const struct cm_cli *cli, enum nt_health_format *out, struct cm_err *err)
{
	static const char *const names[] = { "text", "json", "nagios", "prometheus" };
	const char *text = cli->option[FORMAT];

	*out = cli->json ? NT_HEALTH_JSON : NT_HEALTH_TEXT;
	if (!text)
		return CM_OK;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(names[i], text) != 0)
			continue;
		*out = (enum nt_health_format)i;
		return cli->json && *out != NT_HEALTH_JSON
			       ? cm_fail(err, CM_EUSAGE, "--json or --format %s, not both", text)
			       : CM_OK;
	}
	return cm_fail(err, CM_EUSAGE, "--format: text, json, nagios or prometheus, not '%.40s'", text);
}

enum cm_rc nt_health_begin(
	const struct cm_cli *cli, enum cr_role role, struct nt_health *h, struct cm_err *err)
{
	struct nt_health_limits *l = &h->limits;
	enum cm_rc rc;

	*h = (struct nt_health){ .role = role,
		.color = cli->color,
		.limits = { .warn_spent = 0.8,
			.crit_spent = 1,
			.warn_cert_s = 7 * DAY_S,
			.warn_round_s = INFINITY,
			.crit_round_s = INFINITY },
		.spent = (double)NAN,
		.cert_left_s = (double)NAN,
		.cert_ends = (double)NAN,
		.round_age_s = (double)NAN,
		.ledger_records = (double)NAN };
	rc = read_limit(cli, WARN_SPENT, "--warn-spent", "%", &l->warn_spent, err);
	if (rc == CM_OK)
		rc = read_limit(cli, CRIT_SPENT, "--crit-spent", "%", &l->crit_spent, err);
	if (rc == CM_OK)
		rc = read_limit(cli, WARN_CERT, "--warn-cert", "d", &l->warn_cert_s, err);
	if (rc == CM_OK)
		rc = read_limit(cli, WARN_ROUND, "--warn-round", "smhd", &l->warn_round_s, err);
	if (rc == CM_OK)
		rc = read_limit(cli, CRIT_ROUND, "--crit-round", "smhd", &l->crit_round_s, err);
	return rc == CM_OK ? read_format(cli, &h->format, err) : rc;
}

void nt_health_say(struct nt_health *h, enum nt_health_state state, const char *fmt, ...)
{
	char text[sizeof h->text];
	va_list ap;

	if (state > h->state)
		h->state = state;
	if (h->at > 0 && h->at + 2 < sizeof h->text)
		h->at += (size_t)snprintf(h->text + h->at, sizeof h->text - h->at, "; ");
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	cm_text_copy(h->text + h->at, sizeof h->text - h->at, text);
	h->at = strlen(h->text);
}

static enum nt_health_state budget_state(const struct nt_health *h, double share)
{
	return !(share < h->limits.crit_spent)   ? NT_HEALTH_CRITICAL
	       : !(share < h->limits.warn_spent) ? NT_HEALTH_WARNING
						 : NT_HEALTH_OK;
}

/* A share in percent, rounded up. */
static double percent(double share)
{
	return cm_percent_up(share, 1);
}

void nt_health_slices(struct nt_health *h, double used, double pinned)
{
	h->spent = used;
	nt_health_say(h, budget_state(h, used), "budget %.1f%% used, %.1f%% pinned by plans", percent(used),
		percent(pinned));
}

void nt_health_certificate(struct nt_health *h, const char *path, int64_t now_ms)
{
	struct cr_pki_info info;
	struct cm_err err = { 0 };
	double left;

	if (cr_pki_show(path, &info, &err) != CM_OK) {
		nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
		return;
	}
	h->cert_ends = (double)info.not_after;
	left = h->cert_left_s = h->cert_ends - (double)now_ms / 1000;
	if (info.identity.role != h->role)
		nt_health_say(h, NT_HEALTH_CRITICAL, "certificate is of role %s, not %s",
			cr_role_name(info.identity.role), cr_role_name(h->role));
	else if (left <= 0)
		nt_health_say(h, NT_HEALTH_CRITICAL, "certificate expired");
	else if ((double)info.not_before * 1000 > (double)now_ms)
		nt_health_say(h, NT_HEALTH_CRITICAL, "certificate not valid yet (check the clock)");
	else
		/* Say the whole days that certainly remain. */
		nt_health_say(h, left < h->limits.warn_cert_s ? NT_HEALTH_WARNING : NT_HEALTH_OK,
			"certificate %lld d left", (long long)(left / DAY_S));
}

void nt_health_trust(struct nt_health *h, const struct cr_files *files, int64_t now_ms)
{
	struct cr_dates dates;
	struct cm_err err;

	for (unsigned i = CR_SERVICES_CA; i < CR_FILES; i++) {
		if (cr_file_check(files, (enum cr_file)i, now_ms / 1000, &err) != CM_OK) {
			nt_health_say(h, NT_HEALTH_CRITICAL, "%s", err.msg);
		} else if (files->path[i] && cr_file_dates(files, (enum cr_file)i, &dates, &err) == CM_OK) {
			double left = (double)dates.ends - (double)now_ms / 1000;

			if (left < h->limits.warn_cert_s)
				nt_health_say(h, NT_HEALTH_WARNING, "%s %lld d left", cr_file_names[i],
					(long long)(left / DAY_S));
		}
	}
}

void nt_health_ledger(struct nt_health *h, uint64_t records)
{
	h->ledger_records = (double)records;
	nt_health_say(h, NT_HEALTH_OK, "ledger intact (%llu records)", (unsigned long long)records);
}

void nt_health_round(struct nt_health *h, int64_t last_ms, int64_t now_ms)
{
	double age = h->round_age_s = ((double)now_ms - (double)last_ms) / 1000;
	bool critical = age > h->limits.crit_round_s, warning = age > h->limits.warn_round_s;
	const char *unit = age < 120 ? "s" : age < 7200 ? "min" : age < 2 * DAY_S ? "h" : "d";
	double each = age < 120 ? 1 : age < 7200 ? 60 : age < 2 * DAY_S ? 3600 : DAY_S;

	if (isinf(h->limits.warn_round_s) && isinf(h->limits.crit_round_s))
		return;
	nt_health_say(h,
		critical  ? NT_HEALTH_CRITICAL
		: warning ? NT_HEALTH_WARNING
			  : NT_HEALTH_OK,
		"last round %.0f %s ago", floor(age / each), unit);
}

/* A daemon that has not loaded a newly installed certificate still fails when the old one expires. */
static void check_loaded(struct nt_health *h, const char *address)
{
	static const char name[] = "\ntombola_certificate_expiry_timestamp_seconds ";
	const char *at;
	struct cm_err err;
	char *body = NULL, when[32];
	int status = 0;
	double ends;

	if (isnan(h->cert_ends) || nt_http_get(address, "/metrics", ASK_MS, &status, &body, &err) != CM_OK)
		return;
	at = status == 200 && body ? strstr(body, name) : NULL;
	ends = at ? strtod(at + sizeof name - 1, NULL) : (double)NAN;
	if (ends > 0 && ends < 1e15 && ends != h->cert_ends) {
		cm_clock_text((int64_t)ends * 1000, when);
		nt_health_say(h, NT_HEALTH_WARNING, "daemon uses another certificate, until %.10s: reload it",
			when);
	}
	free(body);
}

void nt_health_daemon(struct nt_health *h, const char *address)
{
	struct cm_err err = { 0 };
	char *body = NULL;
	int status = 0;

	if (!address || *address == '\0')
		return;
	if (nt_http_get(address, "/readyz", ASK_MS, &status, &body, &err) != CM_OK)
		nt_health_say(h, NT_HEALTH_CRITICAL, "daemon does not answer (%s)", err.msg);
	else if (status != 200)
		nt_health_say(h, NT_HEALTH_WARNING, "daemon not ready: %.*s",
			body ? (int)strcspn(body, "\r\n") : 0, body ? body : "");
	else
		nt_health_say(h, NT_HEALTH_OK, "daemon ready");
	if (err.code == CM_OK)
		check_loaded(h, address);
	free(body);
}

/* ---- the answer, in the form that was asked for ---- */

static const char *const words[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

static void print_text(const struct nt_health *h, const char *text, FILE *out)
{
	static const char *const paint[] = { "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[35m" };

	(void)fprintf(out, "%s%s%s %s\n", h->color ? paint[h->state] : "", words[h->state],
		h->color ? "\x1b[0m" : "", text);
}

static void print_json_number(const char *name, double v, FILE *out)
{
	(void)fprintf(out, ",\"%s\":", name);
	if (isfinite(v))
		(void)fprintf(out, "%.17g", v);
	else
		(void)fputs("null", out);
}

static void print_json(const struct nt_health *h, const char *text, FILE *out)
{
	(void)fprintf(out, "{\"schema\":\"tombola.check/1\",\"role\":\"%s\",\"status\":\"%s\",\"text\":\"",
		cr_role_name(h->role), words[h->state]);
	/* Text cleaned by cm_text_copy needs no other escape. */
	for (const char *c = text; *c != '\0'; c++)
		(void)fprintf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
	(void)fputc('"', out);
	print_json_number("budget_used", h->spent, out);
	print_json_number("certificate_left_s", h->cert_left_s, out);
	print_json_number("round_age_s", h->round_age_s, out);
	print_json_number("ledger_records", h->ledger_records, out);
	(void)fputs("}\n", out);
}

/* Print a limit of performance data; nothing if there is no limit. */
static void print_limit(double v, const char *after, FILE *out)
{
	if (isfinite(v))
		(void)fprintf(out, "%.15g%s", v, after);
}

/* Print 'label'=value unit;warn;crit;min, as the plugin guidelines require; a limit with ':' is a lower
 * limit. */
static void print_performance(const struct nt_health *h, FILE *out)
{
	const struct nt_health_limits *l = &h->limits;
	const char *before = " | ";

	if (!isnan(h->spent)) {
		(void)fprintf(out, "%s'budget_used'=%.6g%%;", before, cm_percent_up(h->spent, 4));
		print_limit(l->warn_spent * 100, ";", out);
		print_limit(l->crit_spent * 100, ";0", out);
		before = " ";
	}
	if (!isnan(h->cert_left_s)) {
		(void)fprintf(out, "%s'certificate_left'=%.0fs;", before, h->cert_left_s);
		print_limit(l->warn_cert_s, ":;0:", out);
		before = " ";
	}
	if (!isnan(h->round_age_s)) {
		(void)fprintf(out, "%s'round_age'=%.0fs;", before, h->round_age_s);
		print_limit(l->warn_round_s, "", out);
		(void)fputc(';', out);
		print_limit(l->crit_round_s, "", out);
		(void)fputs(";0", out);
		before = " ";
	}
	if (!isnan(h->ledger_records))
		(void)fprintf(out, "%s'ledger_records'=%.0f;;;0", before, h->ledger_records);
}

static void print_nagios(const struct nt_health *h, const char *text, FILE *out)
{
	(void)fputs("TOMBOLA ", out);
	for (const char *c = cr_role_name(h->role); *c != '\0'; c++)
		(void)fputc(toupper((unsigned char)*c), out);
	(void)fprintf(out, " %s - ", words[h->state]);
	for (const char *c = text; *c != '\0'; c++)
		(void)fputc(*c == '|' ? '/' : *c, out); /* in this format a bar begins the performance data */
	print_performance(h, out);
	(void)fputc('\n', out);
}

static void print_prometheus(const struct nt_health *h, FILE *out)
{
	enum { STATUS, SPENT, CERTIFICATE, ROUND, RECORDS, ROWS };
	/* Indexed by role; the first is CR_ROLE_NONE. */
	static const char *const roles[] = { "client", "shuffler", "analyzer", "intake", NULL };
	static const struct cm_metric_row rows[ROWS] = {
		[STATUS] = { "tombola_check_status", CM_METRIC_GAUGE,
			"What check says: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.", "role", roles, NULL },
		[SPENT] = { "tombola_check_budget_used_ratio", CM_METRIC_GAUGE,
			"Part of the budget that is used, 1 is all of it.", "role", roles, NULL },
		[CERTIFICATE] = { "tombola_check_certificate_left_seconds", CM_METRIC_GAUGE,
			"Time until the certificate ends.", "role", roles, NULL },
		[ROUND] = { "tombola_check_round_age_seconds", CM_METRIC_GAUGE, "Time since the last round.",
			"role", roles, NULL },
		[RECORDS] = { "tombola_check_ledger_records", CM_METRIC_GAUGE, "Records of the ledger.",
			"role", roles, NULL },
	};
	struct cm_metrics *m = cm_metrics_new(rows, ROWS);
	size_t role = (size_t)h->role - CR_ROLE_CLIENT;
	struct cm_buf text;

	if (!m)
		return;
	cm_metrics_set(m, STATUS, role, h->state);
	cm_metrics_set(m, SPENT, role, h->spent);
	cm_metrics_set(m, CERTIFICATE, role, h->cert_left_s);
	cm_metrics_set(m, ROUND, role, h->round_age_s);
	cm_metrics_set(m, RECORDS, role, h->ledger_records);
	cm_buf_init(&text, CM_METRICS_MAX);
	if (cm_metrics_print(m, &text) == CM_OK)
		(void)fwrite(text.data, 1, text.len, out);
	cm_buf_fini(&text);
	cm_metrics_free(m);
}

int nt_health_end(struct nt_health *h, enum cm_rc rc, const struct cm_err *why, FILE *out)
{
	char text[sizeof h->text];

	if (rc != CM_OK)
		nt_health_say(h, NT_HEALTH_UNKNOWN, "%s", why->msg);
	cm_text_copy(text, sizeof text, h->text);
	switch (h->format) {
	case NT_HEALTH_TEXT:
		print_text(h, text, out);
		break;
	case NT_HEALTH_JSON:
		print_json(h, text, out);
		break;
	case NT_HEALTH_NAGIOS:
		print_nagios(h, text, out);
		break;
	case NT_HEALTH_PROMETHEUS:
		print_prometheus(h, out);
		break;
	}
	return (int)h->state;
}
