/* acct_states.h - states of the accountant, asked and compared. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>

#include "acct_examples.h"
#include "acct_state.h"

static inline struct acct_state *new_state(double delta)
{
	struct acct_state *s = acct_state_new(delta);

	assert_non_null(s);
	return s;
}

static inline void add(struct acct_state *s, struct acct_round r)
{
	assert_int_equal(acct_state_add(s, &r), ACCT_OK);
}

static inline struct acct_bound with(struct acct_state *s, const struct acct_round *candidate)
{
	struct acct_bound b = { -1, -1 };

	assert_int_equal(acct_state_epsilon(s, candidate, &b), ACCT_OK);
	assert_true(b.lower >= 0 && b.lower <= b.upper);
	return b;
}

/* Two intervals for one truth, the first within the stated tolerance of the second. */
static inline void agree(struct acct_bound have, struct acct_bound want)
{
	assert_true(have.upper >= want.lower && want.upper >= have.lower);
	assert_true(have.upper <= 1.001 * want.upper);
}
