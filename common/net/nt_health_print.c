/* nt_health_print.c - prints the answer of `check` in the requested format. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_metrics.h"
#include "cm_round.h"
#include "cm_text.h"
#include "nt_health.h"

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
	print_json_number("budget_spent", h->spent, out);
	print_json_number("certificate_left_s", h->cert_left_s, out);
	print_json_number("round_age_s", h->round_age_s, out);
	print_json_number("ledger_records", h->ledger_records, out);
	(void)fputs("}\n", out);
}

/* Prints a limit of performance data; nothing where there is none. */
static void print_limit(double v, const char *after, FILE *out)
{
	if (isfinite(v))
		(void)fprintf(out, "%.15g%s", v, after);
}

/* 'label'=value unit;warn;crit;min, as the plugin guidelines require; a limit with ':' is a lower one. */
static void print_performance(const struct nt_health *h, FILE *out)
{
	const struct nt_health_limits *l = &h->limits;
	const char *before = " | ";

	if (!isnan(h->spent)) {
		(void)fprintf(out, "%s'budget_spent'=%.6g%%;", before, cm_percent_up(h->spent, 4));
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
		(void)fputc(*c == '|' ? '/' : *c, out); /* a bar would begin the performance data */
	print_performance(h, out);
	(void)fputc('\n', out);
}

static void print_prometheus(const struct nt_health *h, FILE *out)
{
	enum { STATUS, SPENT, CERTIFICATE, ROUND, RECORDS, ROWS };
	/* Before it: CR_ROLE_NONE. */
	static const char *const roles[] = { "client", "shuffler", "analyzer", "intake", NULL };
	static const struct cm_metric_row rows[ROWS] = {
		[STATUS] = { "tombola_check_status", CM_METRIC_GAUGE,
			"What check says: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.", "role", roles, NULL },
		[SPENT] = { "tombola_check_budget_spent_ratio", CM_METRIC_GAUGE,
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
