/* cm_health.c - the `check` verb all daemons share. */
#include "cm_health.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_http.h"
#include "cm_text.h"

#define ASK_MS 3000
#define DAY_MS 86400000.0

enum { WARN_SPENT, CRIT_SPENT, WARN_CERT };

/* A number that may be followed by its unit. */
static enum cm_rc read_limit(
	const struct cm_cli *cli, int option, const char *what, char unit, double *value, struct cm_err *err)
{
	const char *text = cli->option[option];
	size_t n = text != NULL ? strlen(text) : 0;
	char number[64];

	if (text == NULL)
		return CM_OK;
	if (n > 1 && n < sizeof number && text[n - 1] == unit)
		n--;
	(void)snprintf(number, sizeof number, "%.*s", (int)n, text);
	return cm_cli_double(number, what, 0, 100000, value, err);
}

enum cm_rc cm_health_limits(const struct cm_cli *cli, struct cm_health_limits *out, struct cm_err *err)
{
	double warn = 80, crit = 100, days = 7;
	enum cm_rc rc = read_limit(cli, WARN_SPENT, "--warn-spent", '%', &warn, err);

	if (rc == CM_OK)
		rc = read_limit(cli, CRIT_SPENT, "--crit-spent", '%', &crit, err);
	if (rc == CM_OK)
		rc = read_limit(cli, WARN_CERT, "--warn-cert", 'd', &days, err);
	*out = (struct cm_health_limits){ warn / 100, crit / 100, days };
	return rc;
}

void cm_health_say(struct cm_health *h, enum cm_health_state state, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (state > h->state)
		h->state = state;
	if (h->at > 0 && h->at + 2 < sizeof h->text)
		h->at += (size_t)snprintf(h->text + h->at, sizeof h->text - h->at, "; ");
	va_start(ap, fmt);
	n = vsnprintf(h->text + h->at, sizeof h->text - h->at, fmt, ap);
	va_end(ap);
	h->at += n > 0 ? (size_t)n : 0;
	if (h->at >= sizeof h->text)
		h->at = sizeof h->text - 1;
}

void cm_health_budget(struct cm_health *h, const struct cm_health_limits *limits, double spent, double limit)
{
	double part = spent / limit;
	bool critical = !(part < limits->crit_spent), warning = !(part < limits->warn_spent);

	cm_health_say(h,
		critical  ? CM_HEALTH_CRITICAL
		: warning ? CM_HEALTH_WARNING
			  : CM_HEALTH_OK,
		"budget %.0f%% spent", part * 100);
}

void cm_health_certificate(struct cm_health *h, const struct cm_health_limits *limits, const char *path,
	enum cm_role role, int64_t now_ms)
{
	struct cm_pki_info info;
	struct cm_err err = { 0 };
	double days;

	if (cm_pki_show(path, &info, &err) != CM_OK) {
		cm_health_say(h, CM_HEALTH_CRITICAL, "%s", err.msg);
		return;
	}
	days = ((double)info.not_after * 1000 - (double)now_ms) / DAY_MS;
	if (info.identity.role != role)
		cm_health_say(h, CM_HEALTH_CRITICAL, "certificate is of role %s, not %s",
			cm_role_name(info.identity.role), cm_role_name(role));
	else if (days <= 0)
		cm_health_say(h, CM_HEALTH_CRITICAL, "certificate expired");
	else if ((double)info.not_before * 1000 > (double)now_ms)
		cm_health_say(h, CM_HEALTH_CRITICAL, "certificate not valid yet (check the clock)");
	else
		/* Whole days that are left for certain. */
		cm_health_say(h, days < limits->warn_cert_days ? CM_HEALTH_WARNING : CM_HEALTH_OK,
			"certificate %lld d left", (long long)days);
}

void cm_health_daemon(struct cm_health *h, const char *address)
{
	struct cm_err err = { 0 };
	char *body = NULL;
	int status = 0;

	if (address == NULL || *address == '\0')
		return;
	if (cm_http_get(address, "/readyz", ASK_MS, &status, &body, &err) != CM_OK)
		cm_health_say(h, CM_HEALTH_CRITICAL, "daemon does not answer (%s)", err.msg);
	else if (status != 200)
		cm_health_say(h, CM_HEALTH_WARNING, "daemon not ready: %.*s",
			body != NULL ? (int)strcspn(body, "\r\n") : 0, body != NULL ? body : "");
	else
		cm_health_say(h, CM_HEALTH_OK, "daemon ready");
	free(body);
}

int cm_health_print(const struct cm_health *h, bool json, bool color, FILE *out)
{
	static const char *const word[] = { "OK", "WARNING", "CRITICAL" };
	static const char *const paint[] = { "\x1b[32m", "\x1b[33m", "\x1b[31m" };
	char text[sizeof h->text];

	cm_text_copy(text, sizeof text, h->text);
	if (!json) {
		(void)fprintf(out, "%s%s%s %s\n", color ? paint[h->state] : "", word[h->state],
			color ? "\x1b[0m" : "", text);
		return (int)h->state;
	}
	(void)fprintf(out, "{\"schema\":\"tombola.check/1\",\"status\":\"%s\",\"text\":\"", word[h->state]);
	/* What cm_text_copy leaves needs no other escape. */
	for (const char *c = text; *c != '\0'; c++)
		(void)fprintf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
	(void)fputs("\"}\n", out);
	return (int)h->state;
}
