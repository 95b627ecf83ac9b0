/* sh_policy.h - what the shuffler's operator allows, whatever the analyzer signs.  No I/O but loading.
 *
 * A file of its own, so that it can be owned and reviewed apart from the daemon's configuration. */
#pragma once

#include <stdio.h>

#include "cm_conf.h"
#include "rd_descriptor.h"
#include "sh_refusal.h"

struct sh_policy {
	char *population;    /* the one this shuffler serves */
	double max_epsilon0; /* of a round's local guarantee; may be INFINITY */
	int64_t min_batch;   /* floor for every round's min_batch */
	double max_epsilon;  /* of all rounds together, at delta */
	double delta;
	struct cm_conf_strings protocols; /* allowed names; none: all */
	int64_t max_target;               /* participants of one round: bounds memory */
	int64_t max_shuffler_dummies;     /* messages it adds to one round at most */
	int64_t max_window_ms;            /* from now to a round's deadline */
	double max_honest_fraction;       /* the largest share of honest clients a round may assume */
	bool accept_adaptive;             /* rounds of a ledger whose later rounds may follow from answers */
};

/* The rows of the file, for config-sample. */
extern const struct cm_conf_row sh_policy_rows[];

/* Load and check; faults as cm_conf_load.  Free with sh_policy_fini in both cases. */
CM_CHECK enum cm_rc sh_policy_load(const char *path, struct sh_policy *out, FILE *faults, struct cm_err *err);
void sh_policy_fini(struct sh_policy *p);

/* Is this descriptor allowed now?  Everything but signature, sequence, ledger and budget.  CM_EPROTO with *no
 * filled. */
CM_CHECK enum cm_rc sh_policy_judge(
	const struct sh_policy *p, const struct rd_descriptor *d, int64_t now_ms, struct sh_refusal *no);
