/* account_rounds.h - the rounds of an account by number, added and judged by what the accountant is told. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "loss_of.h"
#include "rd_account.h"

/* The round id of number i; valid until the next call. */
static inline const uint8_t *id(unsigned i)
{
	static uint8_t bytes[PR_ROUND_ID_LEN];

	memset(bytes, 0, sizeof bytes);
	bytes[3] = (uint8_t)(i >> 8);
	bytes[15] = (uint8_t)i;
	return bytes;
}

static inline enum cm_rc add_round(
	struct rd_account *a, const uint8_t *round_id, const struct acct_round *r, struct cm_err *e)
{
	struct pt_loss loss = loss_of(r);

	return rd_account_add(a, round_id, &loss, e);
}

static inline enum cm_rc judge_round(
	const struct rd_account *a, const struct acct_round *r, struct rd_verdict *v, struct cm_err *e)
{
	struct pt_loss loss = loss_of(r);

	return rd_account_judge(a, &loss, v, e);
}

static inline void near(double have, double want)
{
	/* A handful of roundings of numbers below 2^10. */
	assert_true(fabs(have - want) <= 1e-12);
}
