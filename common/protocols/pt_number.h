/* pt_number.h - what the rows that send one symbol of a bounded number, and no dummies, have in common.
 *
 * bins is the number of levels, 0..b; keep and, where a row has one, size are all that defines the law, so
 * that every party has the same one to the last bit. */
#pragma once

#include "pt_mean.h"
#include "pt_record.h"
#include "pt_single.h"

#define PT_NUMBER_COLUMNS                                                                            \
	.kinds = PT_MEAN | PT_SUM, .derive = derive, .check = check, .messages = pt_single_messages, \
	.record_len = pt_number_record_len, .tally = tally, .estimate = estimate,                    \
	.expected_error = expected_error

struct pt_number {
	const char *name;
	uint32_t levels_max; /* bins; 2 or more */
	bool sized;          /* has a size, 1..b */
	struct pt_rule rule;
	/* Keep, and the size if it is 0 and the row has one, from bins: towards noise. */
	void (*set)(struct pt_params *p, double epsilon0);
	/* Local guarantee, rounded up; not above 0 or NaN: none that says anything. */
	double (*epsilon0)(const struct pt_params *p);
};

/* Without levels in the plan: those of 2..PT_NUMBER_LEVELS whose worst variance, rounding included, is least.
 */
#define PT_NUMBER_LEVELS 64u
CM_CHECK enum cm_rc pt_number_derive(const struct pt_number *row, const struct pt_query *q,
	const struct pt_request *r, struct pt_params *out, struct cm_err *err);
CM_CHECK enum cm_rc pt_number_check(
	const struct pt_number *row, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
uint32_t pt_number_record_len(const struct pt_params *p);
/* A record counts as its symbol. */
CM_CHECK enum cm_rc pt_number_tally(const struct pt_number *row, const struct pt_params *p,
	const uint8_t *record, uint64_t *counts, struct cm_err *err);
CM_CHECK enum cm_rc pt_number_estimate(const struct pt_number *row, const struct pt_query *q,
	const struct pt_params *p, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err);

/* INFINITY out of memory. */
double pt_number_expected_error(const struct pt_number *row, const struct pt_query *q,
	const struct pt_params *p, uint64_t participants);

/* 2^-64 of keep and of its complement, exact. */
long double pt_number_keep(const struct pt_params *p);
long double pt_number_drop(const struct pt_params *p);

/* The functions of PT_NUMBER_COLUMNS, from a row's struct pt_number. */
#define PT_NUMBER_FUNCTIONS(row)                                                                         \
	static enum cm_rc derive(const struct pt_query *q, const struct pt_request *r,                   \
		struct pt_params *out, struct cm_err *err)                                               \
	{                                                                                                \
		return pt_number_derive(&(row), q, r, out, err);                                         \
	}                                                                                                \
                                                                                                         \
	static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err) \
	{                                                                                                \
		return pt_number_check(&(row), q, p, err);                                               \
	}                                                                                                \
                                                                                                         \
	static enum cm_rc tally(                                                                         \
		const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)  \
	{                                                                                                \
		return pt_number_tally(&(row), p, record, counts, err);                                  \
	}                                                                                                \
                                                                                                         \
	static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p,                  \
		const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err)   \
	{                                                                                                \
		return pt_number_estimate(&(row), q, p, counts, reports, out, err);                      \
	}                                                                                                \
                                                                                                         \
	static double expected_error(                                                                    \
		const struct pt_query *q, const struct pt_params *p, uint64_t participants)              \
	{                                                                                                \
		return pt_number_expected_error(&(row), q, p, participants);                             \
	}
