/* cl_policy.h - the limits that this client accepts, whatever a descriptor asks.
 *
 * No I/O except loading.  The client judges with the more cautious assumptions: the smaller of the policy's
 * and the descriptor's honest fraction, the larger of their numbers of colluders. */
#pragma once

#include <stdio.h>

#include "rd_policy.h"
#include "rd_rehearsal.h"

#define CL_DEVICE_FIELDS_MAX 64u

struct cl_policy {
	struct rd_policy shared;
	bool accept_shuffler_dummies;            /* count on the dummies that the shuffler must add */
	struct cf_strings queries, fields, maps; /* allowed names; an empty list allows any */
	int64_t max_rounds;                      /* largest number of rounds within window_ms; 0: no limit */
	int64_t window_ms;
	bool rehearse;  /* answer rehearsals of plans (cl_rehearse.h) */
	char *plan;     /* the text "sha256:..." of the file; NULL: any plan */
	bool plan_only; /* accept only the plan whose hash is plan_hash */
	uint8_t plan_hash[PR_HASH_LEN];
	/* Names of the fields that name the device; no query may ask for them, since they identify people.
	 * Not read from the file, but set after loading; borrowed.  The list ends with NULL.  It is empty
	 * if rows are numbered, or topics name the device. */
	const char *device_field[CL_DEVICE_FIELDS_MAX + 1];
	/* Hashes (SHA-256) of the programs that this client may run; there are `programs` of them.  Not
	 * read from the file either, but set after loading; borrowed. */
	const uint8_t (*program)[PR_HASH_LEN];
	size_t programs;
};

extern const struct cf_row cl_policy_rows[];
/* Load a policy.  Every fault is printed to `faults` as file:line: text.  *file is as of cf_load, also when a
 * fault was found after loading; it may become out->shared.file.  Call cl_policy_free on success and on
 * failure, and cf_file_free unless the policy owns the file. */
CM_CHECK enum cm_rc cl_policy_load(
	const char *path, struct cl_policy *out, struct cf_file **file, FILE *faults, struct cm_err *err);
void cl_policy_free(struct cl_policy *p);
/* Say where in the policy's file the keys stand that these reasons name. */
void cl_policy_places(const struct cl_policy *p, struct rd_faults *faults);

/* Choose the class of these devices in a round with classes: the largest local epsilon up to max_epsilon0.
 * Returns false if every class exceeds max_epsilon0; *level is then the strongest class.  Rounds without
 * classes have class 0. */
bool cl_policy_class(const struct cl_policy *p, const struct rd_descriptor *d, uint32_t *level);
/* Local epsilon of one report of these devices, rounded up. */
double cl_policy_epsilon0(const struct cl_policy *p, const struct rd_descriptor *d);
/* Check whether this client would answer an entry of a plan, given as the descriptor that rd_plan_descriptor
 * makes.  CM_EPERM with the first reason in one sentence; faults, unless it is NULL, gets every reason. */
CM_CHECK enum cm_rc cl_policy_entry(const struct cl_policy *p, const struct rd_descriptor *d,
	struct rd_faults *faults, struct cm_err *err);
/* Check whether this client may take part in d.  recent: rounds charged in the last window_ms.  Checks what
 * cl_policy_entry checks, and the parts that only a round has: its statement, its try, the window. */
CM_CHECK enum cm_rc cl_policy_check(
	const struct cl_policy *p, const struct rd_descriptor *d, uint64_t recent, struct cm_err *err);
/* Number of honest participants that this client assumes in d; at least 1. */
uint64_t cl_policy_honest(const struct cl_policy *p, const struct rd_descriptor *d);
/* Whether this client relies on dummies that the shuffler must add to d; false if d has none. */
bool cl_policy_rests_on_shuffler(const struct cl_policy *p, const struct rd_descriptor *d);
/* The loss that this client charges for d: computed with cl_policy_honest participants, and with the
 * shuffler's dummies only if the client relies on them. */
CM_CHECK enum cm_rc cl_policy_loss(
	const struct cl_policy *p, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err);
