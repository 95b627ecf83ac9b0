/* pl_search.c - inside of pl_choose.h: one row with one number of levels, its epsilon0 and its dummies. */
#include "pl_search.h"

#include <math.h>
#include <string.h>

/* Two machines whose libm differ in a last digit choose alike unless an answer falls in here. */
#define EPSILON_MARGIN 1e-9
#define ERROR_MARGIN   1e-6
/* Bytes are not spent on less than this part of the error. */
#define ERROR_WORTH 0.03
/* A round whose guess is this far above what it may cost is not asked about: the guess errs low, by a tenth,
 * but for very few reports, and such answers are the accountant's dearest. */
#define GUESS_EXCESS 1.4
#define NOISE_TRIES  20

/* Values of epsilon0 by index: three significant digits from 0.001 up, below the greatest; the greatest; and
 * "inf" where it may be. */
#define DIGITS 900
static double epsilon0_step(uint32_t i)
{
	static const double unit[] = { 1e5, 1e4, 1e3, 1e2, 1e1 };

	return (100 + i % DIGITS) / unit[i / DIGITS];
}

static double value_at(const struct pl_search *s, uint32_t i)
{
	if (i < s->steps)
		return epsilon0_step(i);
	return i == s->steps ? fmin(s->need->epsilon0, PT_EPSILON0_MAX) : (double)INFINITY;
}

void pl_search_init(struct pl_search *s, const struct pl_need *need, struct pl_choice *out)
{
	double greatest = fmin(need->epsilon0, PT_EPSILON0_MAX);

	memset(s, 0, sizeof *s);
	s->need = need;
	s->out = out;
	s->ratio = 1.1;
	*out = (struct pl_choice){ 0 };
	while (epsilon0_step(s->steps) < greatest)
		s->steps++;
	s->top = s->steps + (isinf(need->epsilon0) ? 1 : 0);
	s->mu = pl_mu(need->epsilon, need->delta);
}

/* Parts of a dummy by index: three significant digits from 0.0001 up beside none, hundredths beside some. */
#define RARE_STEPS (4 * DIGITS)
static double rare_step(const struct pl_option *o, uint32_t i)
{
	static const double unit[] = { 1e6, 1e5, 1e4, 1e3 };

	return o->whole > 0 ? o->whole + (i + 1) / 100.0 : (100 + i % DIGITS) / unit[i / DIGITS];
}

bool pl_search_refine(const struct pl_option *o, uint32_t end, struct pl_option *out)
{
	*out = *o;
	if (!o->row->device->rare_dummy || o->shuffler || o->fine || end == 0 || end > o->dummies_max)
		return false;
	out->fine = true;
	out->whole = end - 1;
	out->dummies_max = (out->whole > 0 ? 99 : RARE_STEPS) - 1;
	return true;
}

/* ---- one candidate ---- */

bool pl_search_make(const struct pl_search *s, const struct pl_option *o, uint32_t dummies, uint32_t i,
	struct pl_candidate *c)
{
	const struct pl_need *n = s->need;
	struct cm_err ignored = { 0 };

	*c = (struct pl_candidate){ .protocol = o->row,
		.request = { .epsilon0 = value_at(s, i),
			.levels = o->levels,
			.dummies = o->shuffler || o->fine ? 0 : dummies,
			.size = o->size,
			.slots = o->slots,
			.min_reports = n->reports,
			.shuffler_dummies = o->shuffler ? dummies : 0 } };
	if (o->fine)
		pt_request_dummies(&c->request, rare_step(o, dummies));
	if (pt_derive(o->row, n->query, &c->request, &c->randomizer, &ignored) != CM_OK)
		return false;
	c->bytes = pl_bytes(o->row, &c->randomizer);
	return o->row->device->epsilon0(&c->randomizer) <= n->epsilon0;
}

/* The blanket as Gaussian noise: cell j holds a mean, and variance, of omega_j (others + the levels' shares +
 * dummies / sum omega) messages, and the victim shifts it by omega_j (u_j - v_j).  Squares of mu add up. */
static double guessed_square(const struct acct_round *r)
{
	double whole = 0, shift = 0, levels = 0;

	for (size_t i = 0; i < r->cells; i++) {
		double d = r->cell[i].u - r->cell[i].v;

		whole += r->cell[i].omega;
		shift += r->cell[i].omega * d * d;
	}
	for (size_t i = 0; i < r->levels; i++)
		levels += r->level[i].share * (double)r->level[i].count;
	return shift / ((double)r->others + levels + (double)r->dummies / whole);
}

static double guessed_mu(const struct pl_search *s, const struct pl_candidate *c)
{
	struct pt_loss loss;
	struct cm_err ignored = { 0 };
	double sum = 0;

	if (pt_loss(&c->randomizer, s->need->honest, &loss, &ignored) != CM_OK)
		return INFINITY;
	for (size_t i = 0; i < loss.parts; i++)
		sum += (double)loss.part[i].count * guessed_square(&loss.part[i]);
	return sqrt(sum);
}

/* Epsilon of the round alone; INFINITY where the accountant has no answer. */
static double exact_epsilon(struct pl_search *s, const struct pl_candidate *c)
{
	struct pt_loss loss;
	struct acct_bound b = { 0, INFINITY };
	struct cm_err ignored = { 0 };
	enum acct_rc rc;

	if (pt_loss(&c->randomizer, s->need->honest, &loss, &ignored) != CM_OK)
		return INFINITY;
	rc = acct_epsilon(loss.part, loss.parts, s->need->delta, &b);
	if (rc == ACCT_ENOMEM)
		s->rc = rc;
	return rc == ACCT_OK && b.upper >= 0 ? b.upper : (double)INFINITY;
}

/* The local guarantee alone is enough, or the guess says so. */
static bool seems_to_fit(const struct pl_search *s, const struct pl_candidate *c, double excess)
{
	return c->randomizer.row->epsilon0(&c->randomizer) < s->need->epsilon ||
	       guessed_mu(s, c) <= s->mu * excess;
}

/* Does it fit?  The comparison of the guess with the truth serves the next guess. */
static bool fits(struct pl_search *s, struct pl_candidate *c)
{
	double guessed = guessed_mu(s, c);

	if (!seems_to_fit(s, c, GUESS_EXCESS))
		return false;
	c->epsilon = exact_epsilon(s, c);
	if (isfinite(c->epsilon) && c->epsilon > 0 && isfinite(guessed)) {
		double mu = pl_mu(c->epsilon, s->need->delta);

		s->ratio = fmin(fmax(mu / guessed, 0.5), 2);
	}
	return c->epsilon <= s->need->epsilon * (1 - EPSILON_MARGIN);
}

/* Rows may have one randomizer under two names.  The runner-up is another row, or another number of levels or
 * slots, or other words. */
static bool rivals(const struct pl_candidate *a, const struct pl_candidate *b)
{
	return !pt_randomizer_alike(&a->randomizer, &b->randomizer) &&
	       (a->protocol != b->protocol ||
		       pt_parameter(&a->randomizer, "bins") != pt_parameter(&b->randomizer, "bins") ||
		       a->request.slots != b->request.slots ||
		       (a->request.slots > 0 && a->request.size != b->request.size) ||
		       (a->randomizer.shuffler.dummies > 0) != (b->randomizer.shuffler.dummies > 0) ||
		       (a->randomizer.shuffler.noise_mean > 0) != (b->randomizer.shuffler.noise_mean > 0));
}

void pl_search_offer(struct pl_search *s, struct pl_candidate *c)
{
	c->error = pt_expected_error(s->need->query, &c->randomizer, s->need->reports);
	if (isfinite(c->error) && s->offers < PL_OFFERS_MAX)
		s->offer[s->offers++] = *c;
}

void pl_search_end(const struct pl_search *s)
{
	struct pl_choice *out = s->out;
	double least = INFINITY, limit;

	for (size_t i = 0; i < s->offers; i++)
		least = fmin(least, s->offer[i].error);
	limit = least * (1 + ERROR_WORTH);
	for (size_t i = 0; i < s->offers; i++) {
		const struct pl_candidate *c = &s->offer[i];

		if (c->error <= limit && (!out->best.protocol || c->bytes < out->best.bytes ||
						 (c->bytes == out->best.bytes &&
							 c->error < out->best.error * (1 - ERROR_MARGIN))))
			out->best = *c;
	}
	for (size_t i = 0; i < s->offers; i++) {
		const struct pl_candidate *c = &s->offer[i];

		if (rivals(c, &out->best) &&
			(!out->next.protocol || c->error < out->next.error * (1 - ERROR_MARGIN)))
			out->next = *c;
	}
}

/* Noise for an epsilon costs that epsilon, but for the accountant's rounding: a few thousandths at most. */
void pl_search_noise(struct pl_search *s, const struct pt_protocol *row)
{
	const struct pl_need *n = s->need;

	for (uint32_t i = 0; i < NOISE_TRIES && s->rc == ACCT_OK; i++) {
		struct cm_err ignored = { 0 };
		struct pl_candidate c = { .protocol = row,
			.request = { .epsilon0 = INFINITY,
				.min_reports = n->reports,
				.noise_epsilon = n->epsilon * (1 - 0.001 * i),
				.noise_delta = n->noise_delta } };

		if (pt_derive(row, n->query, &c.request, &c.randomizer, &ignored) != CM_OK)
			return;
		c.bytes = pl_bytes(row, &c.randomizer);
		if (c.bytes > n->max_bytes || row->device->epsilon0(&c.randomizer) > n->epsilon0)
			return;
		c.epsilon = exact_epsilon(s, &c);
		if (c.epsilon <= n->epsilon * (1 - EPSILON_MARGIN)) {
			pl_search_offer(s, &c);
			return;
		}
	}
}

/* ---- epsilon0 for a number of dummies, dummies for an epsilon0 ---- */

/* The greatest index that seems to fit.  Below a row's range is seen as fitting, above it not; nor what gives
 * away too much in all slots together, which has bytes already. */
static uint32_t guess_index(const struct pl_search *s, const struct pl_option *o, uint32_t dummies)
{
	uint32_t low = 0, high = s->top + 1;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		struct pl_candidate c;
		bool good = pl_search_make(s, o, dummies, mid, &c)
				    ? seems_to_fit(s, &c, 1 / s->ratio)
				    : c.bytes == 0 && isfinite(value_at(s, mid));

		if (good)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Offer the greatest epsilon0 that fits. */
void pl_search_tune(struct pl_search *s, const struct pl_option *o, uint32_t dummies)
{
	struct pl_candidate c, found = { 0 };
	int64_t low = -1, high = (int64_t)s->top + 1, i = guess_index(s, o, dummies), stride = 1;

	while (high - low > 1 && s->rc == ACCT_OK) {
		bool possible = pl_search_make(s, o, dummies, (uint32_t)i, &c),
		     good = possible && fits(s, &c);
		int64_t next;

		if (good) {
			low = i;
			found = c;
		} else {
			high = i;
		}
		/* The guess again, better informed; then away from where it was wrong, ever faster. */
		next = possible ? (int64_t)guess_index(s, o, dummies) : i - stride;
		if (next <= low || next >= high) {
			next = good ? low + stride : high - stride;
			stride *= 2;
		}
		if (next <= low || next >= high)
			next = low + (high - low) / 2;
		i = next;
	}
	if (found.protocol)
		pl_search_offer(s, &found);
}

/* The fewest dummies with which the greatest epsilon0 fits; dummies_max + 1 if there are none. */
uint32_t pl_search_fewest(
	struct pl_search *s, const struct pl_option *o, bool exact, struct pl_candidate *found)
{
	int64_t low = -1, high = (int64_t)o->dummies_max + 1,
		i = exact ? pl_search_fewest(s, o, false, found) : high / 2;
	int64_t stride = 1 + i / 64; /* the guess is good to a few percent */

	if (exact && i >= high)
		i = high - 1;
	while (high - low > 1 && s->rc == ACCT_OK) {
		struct pl_candidate c;
		bool good = pl_search_make(s, o, (uint32_t)i, s->top, &c) &&
			    (exact ? fits(s, &c) : seems_to_fit(s, &c, 1 / s->ratio));

		if (good) {
			high = i;
			*found = c;
		} else {
			low = i;
		}
		i = exact ? (good ? high - stride : low + stride) : -1;
		stride *= 2;
		if (i <= low || i >= high)
			i = low + (high - low) / 2;
	}
	return (uint32_t)high;
}

/* The number of dummies, below `end`, of least error as guessed. */
void pl_search_guess(const struct pl_search *s, struct pl_option *o, uint32_t end)
{
	o->guess = INFINITY;
	for (uint32_t m = 0; m < end; m++) {
		struct pl_candidate c;
		double error;

		if (!pl_search_make(s, o, m, guess_index(s, o, m), &c))
			continue;
		error = pt_expected_error(s->need->query, &c.randomizer, s->need->reports);
		if (error < o->guess * (1 - ERROR_MARGIN)) {
			o->guess = error;
			o->dummies = m;
		}
	}
}
