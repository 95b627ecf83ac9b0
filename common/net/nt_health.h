/* nt_health.h - the `check` verb that all daemons share: collects findings, and prints a word and an exit
 * code as monitoring plugins do.  Each finding has a state, and the answer has the worst of them.
 * Blocking; for verbs, not for event loops. */
#pragma once

#include "cm_cli.h"
#include "cr_files.h"
#include "cr_pki.h"

/* The states, which are also the exit codes. */
enum nt_health_state { NT_HEALTH_OK, NT_HEALTH_WARNING, NT_HEALTH_CRITICAL, NT_HEALTH_UNKNOWN };
enum nt_health_format { NT_HEALTH_TEXT, NT_HEALTH_JSON, NT_HEALTH_NAGIOS, NT_HEALTH_PROMETHEUS };

struct nt_health_limits {
	/* the part of the budget from which on the state is WARNING or CRITICAL; 1 is all of it */
	double warn_spent, crit_spent;
	double warn_cert_s; /* WARNING if fewer seconds are left until the certificate ends */
	/* age of the last round from which on the state is WARNING or CRITICAL; INFINITY: not checked */
	double warn_round_s, crit_round_s;
};

struct nt_health {
	enum cr_role role;
	enum nt_health_format format;
	bool color;
	struct nt_health_limits limits;
	enum nt_health_state state; /* the worst state of the findings so far */
	char text[800];
	size_t at;
	/* the findings as numbers, for machines; NAN: not found out */
	double spent, cert_left_s, round_age_s, ledger_records;
	double cert_ends; /* when the certificate ends, in unix seconds */
};

/* The options of the verb, in this order from option 0; nt_health_begin starts from their defaults.  A
 * percentage may end in %, a number of days in d; an age is a number and one of s, m, h, d. */
#define NT_HEALTH_OPTIONS                                                                                   \
	CM_OPTION("warn-spent", "PERCENT", "WARNING when so much of the budget is spent (default 80)"),     \
		CM_OPTION("crit-spent", "PERCENT", "CRITICAL when so much is spent (default 100)"),         \
		CM_OPTION("warn-cert", "DAYS",                                                              \
			"WARNING when a certificate or revocation list has fewer days left (default 7)"),   \
		CM_OPTION("warn-round", "AGE",                                                              \
			"WARNING when the last round is older, as 26h (default: any age)"),                 \
		CM_OPTION("crit-round", "AGE", "CRITICAL when the last round is older (default: any age)"), \
		CM_OPTION("format", "text|json|nagios|prometheus", "of the answer (default text)")

/* Read the options.  CM_EUSAGE with a line that names the option. */
CM_CHECK enum cm_rc nt_health_begin(
	const struct cm_cli *cli, enum cr_role role, struct nt_health *h, struct cm_err *err);

/* Add a finding; text that does not fit is cut. */
void nt_health_say(struct nt_health *h, enum nt_health_state state, const char *fmt, ...) CM_PRINTF(3, 4);
/* Add "budget 40.0% used, 100.0% pinned by plans", both rounded up; 1 is all of the budget.  A plan's slice
 * is spent whole when the plan is pinned.  The state follows from `used`, the part whose entries were
 * answered, since a deployment of one plan has all of its budget pinned from the start. */
void nt_health_slices(struct nt_health *h, double used, double pinned);
/* Add "certificate 89 d left".  Critical: the file is no certificate, has another role or is expired. */
void nt_health_certificate(struct nt_health *h, const char *path, int64_t now_ms);
/* Judge the CAs and revocation lists that peers are verified by.  Warning: "clients_crl 5 d left".
 * Critical: one is expired.  Otherwise nothing is added. */
void nt_health_trust(struct nt_health *h, const struct cr_files *files, int64_t now_ms);
/* Add "ledger intact (12 records)". */
void nt_health_ledger(struct nt_health *h, uint64_t records);
/* Add "last round 3 h ago", for a deployment that expects more rounds; it is printed only when there is a
 * limit. */
void nt_health_round(struct nt_health *h, int64_t last_ms, int64_t now_ms);
/* Ask the daemon at its HTTP address (NULL or "": do not ask).  Critical: no answer, or the certificate in
 * use is not the file's.  Warning: not ready. */
void nt_health_daemon(struct nt_health *h, const char *address);

/* Print the answer and return the exit code. why: CM_OK, or the fault that kept the verb from checking
 * (UNKNOWN).
 *
 * - text: WARNING budget 80.3% used, 100.0% pinned by plans; certificate 89 d left; daemon ready
 * - json: {"schema":"tombola.check/1","status":"WARNING","text":...,"budget_used":0.8029,...}
 * - nagios: TOMBOLA CLIENT WARNING - budget 80.3% used, ... | 'budget_used'=80.29%;80;100;0 ...
 * - prometheus: gauges tombola_check_..., label role, for a textfile collector */
int nt_health_end(struct nt_health *h, enum cm_rc rc, const struct cm_err *why, FILE *out);
