/* acct_answers.h - asks the accountant about one round, and checks that its interval contains the true
 * value. */
#pragma once

#include <math.h>

#include "acct.h"

static inline struct acct_bound delta_at(const struct acct_round *r, double eps)
{
	struct acct_bound d = { NAN, NAN };

	assert_int_equal(acct_delta(r, 1, eps, &d), ACCT_OK);
	assert_true(d.lower >= 0 && d.lower <= d.upper && d.upper <= 1);
	return d;
}

static inline struct acct_bound epsilon(const struct acct_round *r, double delta)
{
	struct acct_bound e = { NAN, NAN };

	assert_int_equal(acct_epsilon(r, 1, delta, &e), ACCT_OK);
	assert_true(e.lower >= 0 && e.lower <= e.upper);
	return e;
}

/* Assert that the truth is within the interval, and that the interval is at most `tolerance` of it wide. */
static inline void expect(struct acct_bound got, double truth, double tolerance)
{
	if (!(got.lower <= truth * (1 + 1e-9) && got.upper >= truth * (1 - 1e-9)))
		fail_msg("[%.15g, %.15g] misses %.15g", got.lower, got.upper, truth);
	assert_true(got.upper - got.lower <= tolerance * truth);
}
