/* rd_policy.h - the limits that the policies of client and shuffler share: the keys of the policy file, and
 * the checks of an entry and of a round against them.  No I/O.
 *
 * Client and shuffler have one such file each, which also has keys of its own. */
#pragma once

#include "cf_conf.h"
#include "rd_descriptor.h"

struct rd_policy {
	char *population;
	/* Largest local guarantee of one round, in nats.  INFINITY: a round need not have one, since
	 * shuffling may protect alone. */
	double max_epsilon0;
	double max_epsilon; /* largest central guarantee over the slices of all pinned plans together */
	double delta;       /* delta at which max_epsilon must hold */
	int64_t min_batch;  /* least min_reports that a round may have */
	/* fraction of participants taken to be honest, (0, 1]; the smaller of this and the round's
	 * counts */
	double honest_fraction;
	int64_t colluders;    /* participants who may collude; the larger of this and the round's counts */
	bool accept_adaptive; /* accept plans whose later rounds may depend on earlier answers */
	/* names of the protocols that rounds may have; an empty list allows all */
	struct cf_strings protocols;
	int64_t max_tries;        /* most tries of one entry of a plan */
	int64_t max_payload;      /* largest payload of a round, in bytes; 0: no round that has one */
	int64_t max_plan_entries; /* a plan with more entries is refused before it is composed */
	/* the file that has these keys, owned by the party's policy; NULL: there is none */
	struct cf_file *file;
};

/* The rows of these keys in a party's table; at_(field): the offset of rd_policy.field.  max_epsilon0 is the
 * party's own row, for only one of them has a default. */
#define RD_POLICY_ROWS(at_)                                                                                 \
	CF_REQUIRED("population", CF_STRING, at_(population),                                               \
		"the population that is served, or taken part in"),                                         \
		CF_REQUIRED("max_epsilon", CF_DOUBLE(1e-6, 1000), at_(max_epsilon),                         \
			"largest central epsilon of all plans together: their slices add up"),              \
		CF_REQUIRED("delta", CF_DOUBLE(1e-15, 0.01), at_(delta), "at this delta"),                  \
		CF_REQUIRED("min_batch", CF_INT(1, PR_ROUND_REPORTS_MAX), at_(min_batch),                   \
			"smallest min_reports of a round that is accepted (participants)"),                 \
		CF_REQUIRED("honest_fraction", CF_DOUBLE(1e-6, 1), at_(honest_fraction),                    \
			"share of a round's participants that you believe honest, 1.0: all, whoever comes " \
			"first; the smaller of this and the round's counts"),                               \
		CF_REQUIRED("colluders", CF_INT(0, PR_ROUND_REPORTS_MAX), at_(colluders),                   \
			"participants that may collude with the analyzer, 0: none; say all places of "      \
			"certificates that you do not vouch for; the larger counts"),                       \
		CF_DEFAULT("accept_adaptive", CF_BOOL, at_(accept_adaptive), "false",                       \
			"accept rounds of mode adaptive, which may follow from earlier answers; a filter "  \
			"keeps the budget"),                                                                \
		CF_OPTIONAL("protocols", CF_STRINGS(0, 100), at_(protocols),                                \
			"randomizers that are accepted; none listed: any"),                                 \
		CF_DEFAULT("max_tries", CF_INT(1, PR_TRIES_MAX), at_(max_tries), "3",                       \
			"tries of one entry of a plan: each is one more epsilon0 against shuffler and "     \
			"analyzer together"),                                                               \
		CF_DEFAULT("max_payload", CF_INT(0, PR_PAYLOAD_MAX), at_(max_payload), "16777216",          \
			"bytes of a round's payload at most; 0: no round that has one"),                    \
		CF_DEFAULT("max_plan_entries", CF_INT(1, PR_ENTRIES_MAX), at_(max_plan_entries), "400",     \
			"entries of a plan: each costs one composition of 0.01 to 1 s, once")

/* Is the name on the list?  An empty list has every name. */
bool rd_policy_lists(const struct cf_strings *list, const char *name);
/* Report the protocols that do not exist as faults of the file, as cf_fault_at does. */
void rd_policy_check(const struct rd_policy *p, const struct cf_file *file, FILE *faults, struct cm_err *err);

/* The following four return CM_EPERM with the reason in one sentence. */

/* Check what an entry fixes: population, mode, payload, protocol. */
CM_CHECK enum cm_rc rd_policy_entry(
	const struct rd_policy *p, const struct rd_descriptor *d, struct cm_err *err);
/* Check the local guarantee of a report, in nats. */
CM_CHECK enum cm_rc rd_policy_epsilon0(const struct rd_policy *p, double epsilon0, struct cm_err *err);
/* Check the number of participants that a batch is guaranteed to have.  `whose` is printed after this number:
 * "", or " of its class". */
CM_CHECK enum cm_rc rd_policy_batch(
	const struct rd_policy *p, uint64_t batch, const char *whose, struct cm_err *err);
/* Check what a round has beyond its entry: the epsilon0 that it states, and that its key can be sealed to. */
CM_CHECK enum cm_rc rd_policy_round(const struct rd_descriptor *d, struct cm_err *err);
