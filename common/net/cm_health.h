/* cm_health.h - the `check` verb all daemons share: one line and an exit code, as monitoring plugins give
 * them.
 *
 * Findings are said one after the other and the worst of them is the state.  Blocking; for verbs, not loops.
 */
#pragma once

#include "cm_cli.h"
#include "cm_pki.h"

enum cm_health_state { CM_HEALTH_OK, CM_HEALTH_WARNING, CM_HEALTH_CRITICAL }; /* also the exit codes */

struct cm_health {
	enum cm_health_state state; /* the worst so far */
	char text[800];
	size_t at;
};

struct cm_health_limits {
	double warn_spent, crit_spent; /* part of the budget, 1 is all of it */
	double warn_cert_days;
};

/* The options of the verb, in this order from option 0; the defaults are what cm_health_limits starts from.
 * A percentage may end in %, days in d. */
#define CM_HEALTH_OPTIONS                                                                                  \
	{ "warn-spent", "PERCENT", "WARNING when so much of the budget is spent (default 80)", false },    \
		{ "crit-spent", "PERCENT", "CRITICAL when so much is spent (default 100)", false },        \
	{                                                                                                  \
		"warn-cert", "DAYS", "WARNING when the certificate has fewer days left (default 7)", false \
	}
/* CM_EUSAGE with a line naming the option. */
CM_CHECK enum cm_rc cm_health_limits(
	const struct cm_cli *cli, struct cm_health_limits *out, struct cm_err *err);

/* Add a finding; what does not fit is cut. */
void cm_health_say(struct cm_health *h, enum cm_health_state state, const char *fmt, ...) CM_PRINTF(3, 4);
/* "budget 81% spent". */
void cm_health_budget(struct cm_health *h, const struct cm_health_limits *limits, double spent, double limit);
/* "certificate 89 d left"; a file that is none, another role or an expired one is critical. */
void cm_health_certificate(struct cm_health *h, const struct cm_health_limits *limits, const char *path,
	enum cm_role role, int64_t now_ms);
/* Ask the daemon at its HTTP address (NULL or "": not asked): silence is critical, not ready a warning. */
void cm_health_daemon(struct cm_health *h, const char *address);

/* "WARNING budget 81% spent; ..." or {"schema":"tombola.check/1","status":"WARNING","text":...}; returns the
 * exit code. */
int cm_health_print(const struct cm_health *h, bool json, bool color, FILE *out);
