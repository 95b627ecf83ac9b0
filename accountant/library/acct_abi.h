/* acct_abi.h - an account behind a handle, for bindings in other languages.
 *
 * Rounds are given as text (acct_spec.h); a text of several slots adds all of them together.  No struct
 * crosses the boundary.  Bounds are as in acct.h: publish the upper bound, which is rounded up, and decide
 * on it.  Epsilons are in nats.  This interface is only extended: functions keep their signatures for as
 * long as the library is libtombola-accountant.so.0.
 *
 * Threads: questions about one account may be asked from several threads at once; acct_abi_add must not run
 * beside another call on the same account.
 *
 * why has room bytes, and may be NULL with room 0; text is cut to fit.  On anything but ACCT_OK it holds
 * one sentence, outputs are untouched and the account is unchanged. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

struct acct_abi;

/* The version, such as "0.1.0". */
const char *acct_abi_version(void);

/* Create an empty account, to be freed by acct_abi_free; NULL when out of memory. */
struct acct_abi *acct_abi_new(void);
void acct_abi_free(struct acct_abi *a); /* NULL is fine */

/* Add the round `times` times; if the text has `count=`, as many times that.  Adding a text again adds
 * repetitions of the same round.  times is 1..ACCT_MAX_COUNT, and so is the sum for one text. */
ACCT_CHECK enum acct_rc acct_abi_add(
	struct acct_abi *a, const char *text, uint64_t times, char *why, size_t room);

/* The number of rounds added, counting each slot and each repetition. */
uint64_t acct_abi_rounds(const struct acct_abi *a);

/* Compute epsilon at delta (0, 1), or delta at epsilon [0, inf): acct_epsilon and acct_delta of the
 * account.  Without rounds both bounds are 0.  On ACCT_OK why holds the assumptions of the answer, or is
 * empty. */
ACCT_CHECK enum acct_rc acct_abi_epsilon(
	const struct acct_abi *a, double delta, double *lower, double *upper, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_delta(
	const struct acct_abi *a, double epsilon, double *lower, double *upper, char *why, size_t room);

/* The same by one of the analyses of acct_method.h.  *worth is an enum acct_worth: the upper bound is a
 * guarantee only if this is ACCT_PROVED. */
ACCT_CHECK enum acct_rc acct_abi_epsilon_by(const struct acct_abi *a, const char *method, double delta,
	double *lower, double *upper, int *worth, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_delta_by(const struct acct_abi *a, const char *method, double epsilon,
	double *lower, double *upper, int *worth, char *why, size_t room);

/* Compute epsilon at each of 1 or more deltas, into as many elements of lower and upper.  pld composes the
 * rounds once for all of them, so an interval may differ from acct_abi_epsilon's.  *worth is the worst of
 * all answers. */
ACCT_CHECK enum acct_rc acct_abi_epsilons_by(const struct acct_abi *a, const char *method,
	const double *delta, size_t deltas, double *lower, double *upper, int *worth, char *why, size_t room);

/* The name of analysis i, and one line about it; NULL past the last. */
const char *acct_abi_method(size_t i);
const char *acct_abi_method_summary(size_t i);

/* acct_optimise of n texts, each with eps0=?, sigma=? or scale=? or none of these; weights may be NULL, for
 * 1 each.  value[i] is the value of the open key, NAN if there is none; error[i] is as in acct_share_error.
 * *lower and *upper are epsilon of all rounds together.  If no values fit, *upper is INFINITY, and the
 * values mean nothing. */
ACCT_CHECK enum acct_rc acct_abi_optimise(const char *const *text, const double *weight, size_t n,
	int targets, double epsilon, double delta, double *value, double *error, double *lower, double *upper,
	char *why, size_t room);

/* A growing account at one fixed delta: struct acct_state, with its rounds as text (acct_state.h describes
 * new, free, and the guarantees).  epsilon is that of all rounds added, and of the candidate `times` times
 * on top; if the candidate is NULL, of the rounds added alone.  One thread at a time. */
struct acct_state;
ACCT_CHECK enum acct_rc acct_abi_state_add(
	struct acct_state *s, const char *text, uint64_t times, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_state_epsilon(struct acct_state *s, const char *candidate, uint64_t times,
	double *lower, double *upper, char *why, size_t room);

/* A filter (acct_filter.h) and the rounds it has admitted.  The parameters of a round may depend on all
 * answers before it.  kind is "gdp" or "renyi", epsilon (0, 600], delta [1e-15, 1).  Free it with
 * acct_abi_filter_free. */
struct acct_abi_filter;
ACCT_CHECK enum acct_rc acct_abi_filter_new(
	const char *kind, double epsilon, double delta, struct acct_abi_filter **out, char *why, size_t room);
void acct_abi_filter_free(struct acct_abi_filter *f); /* NULL is fine */
/* Admit the round, `times` times, if it fits: returns 1 if it does, else 0.  On an error it is not
 * admitted. */
ACCT_CHECK enum acct_rc acct_abi_filter_try(
	const struct acct_abi_filter *f, const char *text, uint64_t times, int *fits, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_filter_admit(
	struct acct_abi_filter *f, const char *text, uint64_t times, int *admitted, char *why, size_t room);
/* The share of the budget that is spent, [0, 1]. */
double acct_abi_filter_share(const struct acct_abi_filter *f);

#ifdef __cplusplus
}
#endif
