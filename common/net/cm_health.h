/* cm_health.h - the `check` verb all daemons share: findings, and a word and an exit code as monitoring
 * plugins give them.
 *
 * Findings are said one after the other and the worst of them is the state.  Blocking; for verbs, not loops.
 */
#pragma once

#include "cm_cli.h"
#include "cm_pki.h"

/* Also the exit codes. */
enum cm_health_state { CM_HEALTH_OK, CM_HEALTH_WARNING, CM_HEALTH_CRITICAL, CM_HEALTH_UNKNOWN };
enum cm_health_format { CM_HEALTH_TEXT, CM_HEALTH_JSON, CM_HEALTH_NAGIOS, CM_HEALTH_PROMETHEUS };

struct cm_health_limits {
	double warn_spent, crit_spent;     /* part of the budget, 1 is all of it */
	double warn_cert_s;                /* seconds left */
	double warn_round_s, crit_round_s; /* age of the last round; INFINITY: not looked at */
};

struct cm_health {
	enum cm_role role;
	enum cm_health_format format;
	bool color;
	struct cm_health_limits limits;
	enum cm_health_state state; /* the worst so far */
	char text[800];
	size_t at;
	/* What was found, as numbers; NAN: nothing. */
	double spent, cert_left_s, round_age_s, ledger_records;
	double cert_ends; /* unix seconds */
};

/* The options of the verb, in this order from option 0; the defaults are what cm_health_begin starts from.  A
 * percentage may end in %, days in d; an age is a number and one of s, m, h, d. */
#define CM_HEALTH_OPTIONS                                                                                   \
	{ "warn-spent", "PERCENT", "WARNING when so much of the budget is spent (default 80)", false },     \
		{ "crit-spent", "PERCENT", "CRITICAL when so much is spent (default 100)", false },         \
		{ "warn-cert", "DAYS", "WARNING when the certificate has fewer days left (default 7)",      \
			false },                                                                            \
		{ "warn-round", "AGE", "WARNING when the last round is older, as 26h (default: any age)",   \
			false },                                                                            \
		{ "crit-round", "AGE", "CRITICAL when the last round is older (default: any age)", false }, \
	{                                                                                                   \
		"format", "text|json|nagios|prometheus", "of the answer (default text)", false              \
	}

/* Read the options.  CM_EUSAGE with a line naming the option. */
CM_CHECK enum cm_rc cm_health_begin(
	const struct cm_cli *cli, enum cm_role role, struct cm_health *h, struct cm_err *err);

/* Add a finding; what does not fit is cut. */
void cm_health_say(struct cm_health *h, enum cm_health_state state, const char *fmt, ...) CM_PRINTF(3, 4);
/* "budget 80.3% spent", rounded up; share: of the budget, 1 is all of it. */
void cm_health_budget(struct cm_health *h, double share);
/* "certificate 89 d left"; a file that is none, another role or an expired one is critical. */
void cm_health_certificate(struct cm_health *h, const char *path, int64_t now_ms);
/* "ledger intact (12 records)". */
void cm_health_ledger(struct cm_health *h, uint64_t records);
/* "last round 3 h ago", of a deployment that has rounds to come; said only when there is a limit. */
void cm_health_round(struct cm_health *h, int64_t last_ms, int64_t now_ms);
/* Ask the daemon at its HTTP address (NULL or "": not asked): silence is critical, not ready a warning, and
 * so is a certificate in use that is not the file's. */
void cm_health_daemon(struct cm_health *h, const char *address);

/* Print the answer and return the exit code.  why: CM_OK, or what kept the verb from looking (UNKNOWN).
 *
 *	text        WARNING budget 80.3% spent; certificate 89 d left; daemon ready
 *	json        {"schema":"tombola.check/1","status":"WARNING","text":...,"budget_spent":0.8029,...}
 *	nagios      TOMBOLA CLIENT WARNING - budget 80.3% spent; ... | 'budget_spent'=80.29%;80;100;0 ...
 *	prometheus  gauges tombola_check_..., label role, for a textfile collector */
int cm_health_end(struct cm_health *h, enum cm_rc rc, const struct cm_err *why, FILE *out);
