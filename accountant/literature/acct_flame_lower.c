/* acct_flame_lower.c (acct_flame.h) - lower bounds by one data set and one test, with exact chances.
 *
 * Other users' messages and dummies lie below 1/2 with chance one half, the victim's with chance `below`
 * under one input and with its complement under the other.  A test that says yes with chance P under one
 * input and Q under the other shows that epsilon is at least log((P - delta)/Q). */
#include <math.h>
#include <stdlib.h>

#include "acct_binomial.h"
#include "acct_ends.h"
#include "acct_fault.h"
#include "acct_flame_slot.h"

/* the coins' sum is counted within so many deviations of its mean; less than 1e-36 lies beyond */
#define DEVIATIONS 13.0
#define COARSE     32 /* thresholds per deviation in the first search for the best one */
#define FINE       16 /* thresholds between two of these, in the second search */
#define LEAST_LOG                                                                                            \
	(-92.0) /* log of the part of the law of the victim's number that is left out: 1e-40, which is added \
		   to the error */
#define MOST_COINS     (1u << 24)
#define MOST_OVERFLOW  1e-9
#define LEAST_OVERFLOW 1e-60 /* the search for a smaller bound on `overflow` ends here */
#define FALL           1e-3

/* A test that counts messages below 1/2: upper tails of Bin(coins, 1/2), for those of others, and the law
 * of the victim's number. */
struct test {
	double coins;
	double first;  /* the least number of messages for which there is a tail */
	double *tail;  /* tail[i] is a lower bound on the chance of at least first + i messages */
	double error;  /* bound on the relative error of each tail, without what lies beyond the last */
	double beyond; /* chance of a number beyond the last */
	size_t size;
	/* chance that from + j of the victim's messages are below 1/2, under its first input */
	double *victim;
	double from, sent;
	size_t numbers;
	double victim_error; /* bound on the relative error of each */
	double missed;       /* chance of all numbers that are left out */
	/* chance that an index was chosen too often, so that the messages are not as counted */
	double overflow;
};

static void test_fini(struct test *t)
{
	free(t->tail);
	free(t->victim);
}

static enum acct_rc coins_init(struct test *t)
{
	double middle = floor(t->coins / 2), width = floor(DEVIATIONS * sqrt(t->coins) / 2 + 8);
	double last = fmin(t->coins, middle + width), at;

	/* fewer have a chance below 1e-36, so the first tail is 1 up to that */
	t->first = fmax(0, middle - fmin(t->sent, width));
	if (last - t->first > MOST_COINS)
		return ACCT_ELIMIT;
	t->size = (size_t)(last - t->first) + 1;
	t->tail = malloc(t->size * sizeof *t->tail);
	if (!t->tail)
		return ACCT_ENOMEM;
	t->tail[0] = at = exp(acct_binomial_log(t->coins, 0.5, t->first));
	for (size_t i = 1; i < t->size; i++) {
		double k = t->first + (double)i;

		t->tail[i] = at *= (t->coins - k + 1) / k;
	}
	double fall = acct_binomial_ratio(t->coins, 0.5, last);
	t->beyond = last < t->coins ? at * fall / (1 - fall) * 2 : 0; /* doubled, to cover rounding */
	for (size_t i = t->size - 1; i > 0; i--)
		t->tail[i - 1] += t->tail[i];
	t->error = 2 * acct_binomial_error(t->coins, 0.5, t->first) + 8 * ACCT_FLAME_ULP * (double)t->size;
	return ACCT_OK;
}

static enum acct_rc victim_init(struct test *t, double below)
{
	double from = 0, last = t->sent;

	while (from < t->sent && acct_binomial_log(t->sent, below, from) < LEAST_LOG)
		from++;
	while (last > from && acct_binomial_log(t->sent, below, last) < LEAST_LOG)
		last--;
	t->from = from;
	t->numbers = (size_t)(last - from) + 1;
	t->victim = malloc(t->numbers * sizeof *t->victim);
	if (!t->victim)
		return ACCT_ENOMEM;
	for (size_t j = 0; j < t->numbers; j++) {
		double at = from + (double)j;

		t->victim[j] = exp(acct_binomial_log(t->sent, below, at));
		t->victim_error = acct_larger(t->victim_error, 2 * acct_binomial_error(t->sent, below, at));
	}
	t->missed = t->sent * exp(LEAST_LOG) * 2;
	return ACCT_OK;
}

static double tail_at(const struct test *t, double k)
{
	if (k <= t->first)
		return 1;
	if (k > t->first + (double)(t->size - 1))
		return 0;
	return t->tail[(size_t)(k - t->first)];
}

/* The epsilon that the data shows if the test says yes from `threshold` on: log((P - delta)/Q); -INFINITY
 * if P is not above delta. */
static double shown(const struct test *t, double threshold, double delta)
{
	double p = 0, q = 0, error = t->error + t->victim_error + ACCT_FLAME_ULP * (double)(t->numbers + 4);

	for (size_t j = 0; j < t->numbers; j++) {
		double number = t->from + (double)j;

		p += t->victim[j] * tail_at(t, threshold - number);
		q += t->victim[j] * tail_at(t, threshold - (t->sent - number));
	}
	p *= (1 - error) * (1 - t->overflow);
	q = q * (1 + error) + t->beyond + t->missed + t->overflow;
	return p > delta ? log((p - delta) / q) - 4 * ACCT_FLAME_ULP : -INFINITY;
}

static double best_test(const struct test *t, double delta)
{
	double deviation = fmax(1, sqrt(t->coins) / 2), step = fmax(1, floor(deviation / COARSE));
	double middle = floor((t->coins + t->sent) / 2), best = 0, at = middle;

	for (double x = middle, e; (e = shown(t, x, delta)) > -INFINITY; x += step)
		if (e > best) {
			best = e;
			at = x;
		}
	double small = fmax(1, floor(step / FINE));
	for (double x = fmax(middle, at - step); x <= at + step; x += small)
		best = fmax(best, shown(t, x, delta));
	return best;
}

/* Make the test that counts `messages` messages, some of which are the victim's. */
static enum acct_rc counting(const struct acct_flame_sparse *s, double messages, double overflow,
	double delta, double *epsilon, const char **why)
{
	struct test t = {
		.sent = (double)s->sent, .coins = messages - (double)s->sent, .overflow = overflow
	};
	enum acct_rc rc;

	if (messages > (double)ACCT_MAX_REPORTS)
		return acct_fault(why, "all messages together must be at most 1e12");
	rc = coins_init(&t);
	if (!rc)
		rc = victim_init(&t, acct_flame_below(&s->slot));
	if (!rc)
		*epsilon = best_test(&t, delta);
	test_fini(&t);
	return rc;
}

/* Bound the chance that an index is chosen too often, so that the messages are not as the test counts
 * them. */
static enum acct_rc check_fits(const struct acct_flame_sparse *s, double *overflow, const char **why)
{
	if (!acct_flame_fits(s, MOST_OVERFLOW))
		return acct_fault(why, "padding is too small: an index may be chosen more often");
	*overflow = s->users > s->padded ? MOST_OVERFLOW : 0;
	while (*overflow > LEAST_OVERFLOW && acct_flame_fits(s, *overflow * FALL))
		*overflow *= FALL;
	return ACCT_OK;
}

enum acct_rc acct_flame_double_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why)
{
	double overflow;
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(s, why)) || (rc = acct_flame_check_delta(delta, why)) ||
		(rc = check_fits(s, &overflow, why)))
		return rc;
	return counting(s, (double)s->padded * (double)s->length, overflow, delta, epsilon, why);
}

enum acct_rc acct_flame_topk_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why)
{
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(s, why)) || (rc = acct_flame_check_delta(delta, why)))
		return rc;
	if (((double)s->users - 1) * (double)s->sent > ((double)s->padded - 1) * (double)s->length)
		return acct_fault(why, "padding is too small: some index must be chosen more often");
	return counting(s, (double)s->padded * (double)s->sent, 0, delta, epsilon, why);
}

/* Here the test says yes if some message has at least so many coordinates below 1/2.  P is at least the
 * chance that the victim's message has, Q at most the sum over all messages. */
enum acct_rc acct_flame_linked_lower(
	const struct acct_flame_sparse *s, double delta, double *epsilon, const char **why)
{
	double overflow = 0;
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(s, why)) || (rc = acct_flame_check_delta(delta, why)) ||
		(rc = check_fits(s, &overflow, why)))
		return rc;
	double k = (double)s->sent, below = acct_flame_below(&s->slot), best = 0;
	double rows = ceil((double)s->padded * (double)s->length / k);
	/* tails from the largest number on, extended downwards step by step */
	double error = 0, own = 0, coins = 0, other = 0;
	for (double t = k; t >= 0 && other < 1; t--) {
		own += exp(acct_binomial_log(k, below, t));
		coins += exp(acct_binomial_log(k, 0.5, t));
		other += exp(acct_binomial_log(k, below, k - t));
		error = acct_larger(
			error, acct_larger(acct_binomial_error(k, below, t), acct_binomial_error(k, 0.5, t)));
		error = acct_larger(error, acct_binomial_error(k, below, k - t));
		double off = 2 * error + ACCT_FLAME_ULP * (k + 8);
		double p = own * (1 - off) * (1 - overflow),
		       q = (rows * coins + other) * (1 + off) + overflow;
		if (p > delta)
			best = fmax(best, log((p - delta) / q) - 4 * ACCT_FLAME_ULP);
	}
	*epsilon = best;
	return ACCT_OK;
}
