/* cl_policy.h - what this client agrees to, whatever a descriptor asks.
 *
 * Pure but for loading.  The client judges with its own view: of the honest fraction the smaller, of the
 * colluders the larger of the two. */
#pragma once

#include <stdio.h>

#include "cm_conf.h"
#include "rd_descriptor.h"

struct cl_policy {
	char *population;
	double max_epsilon0; /* local guarantee of one round, nats; INFINITY: the mix alone may protect */
	double max_epsilon;  /* central, of every round in this client's ledger together */
	double delta;        /* at which max_epsilon holds */
	int64_t min_batch;   /* participants */
	double honest_fraction;
	int64_t colluders;
	bool accept_shuffler_dummies; /* count the messages that the shuffler is to add */
	bool accept_adaptive;         /* rounds that may follow from earlier answers */
	struct cm_conf_strings queries, fields, protocols; /* allowed; none listed: any */
	int64_t max_rounds;                                /* in window_ms; 0: no limit */
	int64_t window_ms;
};

extern const struct cm_conf_row cl_policy_rows[];
/* Faults go to `faults` as file:line: text.  Free with cl_policy_free in both cases. */
CM_CHECK enum cm_rc cl_policy_load(const char *path, struct cl_policy *out, FILE *faults, struct cm_err *err);
void cl_policy_free(struct cl_policy *p);

/* Of a round with classes, the class these devices choose: the largest local epsilon up to max_epsilon0.
 * False if all are above; *level is then the strongest.  Of other rounds class 0. */
bool cl_policy_class(const struct cl_policy *p, const struct rd_descriptor *d, uint32_t *level);
/* Local epsilon of one report as these devices give it, rounded up. */
double cl_policy_epsilon0(const struct cl_policy *p, const struct rd_descriptor *d);
/* May this client take part in d?  recent: rounds it was charged for in the last window_ms.  CM_EPERM with
 * the reason in one sentence. */
CM_CHECK enum cm_rc cl_policy_check(
	const struct cl_policy *p, const struct rd_descriptor *d, uint64_t recent, struct cm_err *err);
/* Participants this client counts on in d: never below 1. */
uint64_t cl_policy_honest(const struct cl_policy *p, const struct rd_descriptor *d);
/* Does this client count the messages that the shuffler is to add to d?  False when there are none. */
bool cl_policy_rests_on_shuffler(const struct cl_policy *p, const struct rd_descriptor *d);
/* What this client charges for d: the round's loss at cl_policy_honest, without the shuffler's messages
 * unless it counts on them. */
CM_CHECK enum cm_rc cl_policy_loss(
	const struct cl_policy *p, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err);
