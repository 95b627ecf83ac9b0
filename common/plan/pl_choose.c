/* pl_choose.c - protocol "auto": the row and the parameters of least expected error. */
#include "pl_choose.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_hpke.h"
#include "pr_limits.h"

/* Two machines whose libm differ in a last digit choose alike unless an answer falls in here. */
#define EPSILON_MARGIN 1e-9
#define ERROR_MARGIN   1e-6
/* A round whose guess is this far above what it may cost is not asked about: the guess errs low, by a tenth,
 * but for very few reports, and such answers are the accountant's dearest. */
#define GUESS_EXCESS 1.4

/* Numbers of levels that are tried for a mean, and how many of them exactly. */
static const uint32_t level_bins[] = { 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65 };
#define LEVEL_BINS   (sizeof level_bins / sizeof *level_bins)
#define LEVELS_EXACT 3

/* Values of epsilon0 by index: three significant digits from 0.001 up, below the greatest; the greatest; and
 * "inf" where it may be. */
#define DIGITS 900
static double epsilon0_step(uint32_t i)
{
	static const double unit[] = { 1e5, 1e4, 1e3, 1e2, 1e1 };

	return (100 + i % DIGITS) / unit[i / DIGITS];
}

struct search {
	const struct pl_need *need;
	struct pl_choice *out;
	uint32_t steps;  /* indices below this one are three-digit values */
	uint32_t top;    /* the last index */
	uint32_t bytes0; /* dummies beyond which a row is not tried, whatever the bytes */
	double mu;       /* what the round may cost, as a Gaussian mechanism */
	double ratio;    /* true mu over guessed_mu where it was last compared */
	enum acct_rc rc; /* ACCT_ENOMEM ends the search */
};

/* One row with a number of levels. */
struct option {
	const struct pt_protocol *row;
	uint32_t levels;
	uint32_t dummies_max; /* within the bytes */
	double guess;         /* of the error */
	uint32_t dummies;     /* at which it is guessed */
};

uint64_t pl_bytes(const struct pt_protocol *row, const struct pt_params *p)
{
	return (uint64_t)row->messages(p) * (row->record_len(p) + (uint64_t)CM_HPKE_OVERHEAD);
}

static double value_at(const struct search *s, uint32_t i)
{
	if (i < s->steps)
		return epsilon0_step(i);
	return i == s->steps ? fmin(s->need->epsilon0, PT_EPSILON0_MAX) : (double)INFINITY;
}

static void search_init(struct search *s, const struct pl_need *need, struct pl_choice *out)
{
	double greatest = fmin(need->epsilon0, PT_EPSILON0_MAX);

	*s = (struct search){ .need = need, .out = out, .bytes0 = PR_MESSAGES_MAX - 1, .ratio = 1.1 };
	*out = (struct pl_choice){ 0 };
	while (epsilon0_step(s->steps) < greatest)
		s->steps++;
	s->top = s->steps + (isinf(need->epsilon0) ? 1 : 0);
	s->mu = pl_mu(need->epsilon, need->delta);
}

/* ---- one candidate ---- */

static bool make(
	const struct search *s, const struct option *o, uint32_t dummies, uint32_t i, struct pl_candidate *c)
{
	const struct pl_need *n = s->need;
	struct cm_err ignored = { 0 };

	*c = (struct pl_candidate){ .protocol = o->row,
		.request = { .epsilon0 = value_at(s, i),
			.levels = o->levels,
			.dummies = dummies,
			.min_batch = n->reports } };
	if (o->row->derive(n->query, &c->request, &c->params, &ignored) != CM_OK)
		return false;
	c->bytes = pl_bytes(o->row, &c->params);
	return o->row->epsilon0(&c->params) <= n->epsilon0;
}

/* The blanket as Gaussian noise: cell j holds a mean, and variance, of omega_j (others + dummies / sum omega)
 * messages, and the victim shifts it by omega_j (u_j - v_j). */
static double guessed_mu(const struct search *s, const struct pl_candidate *c)
{
	struct acct_round r = { 0 };
	struct cm_err ignored = { 0 };
	double whole = 0, shift = 0;

	if (c->protocol->cells(&c->params, s->need->honest, &r, &ignored) != CM_OK)
		return INFINITY;
	for (size_t i = 0; i < r.cells; i++) {
		double d = r.cell[i].u - r.cell[i].v;

		whole += r.cell[i].omega;
		shift += r.cell[i].omega * d * d;
	}
	return sqrt(shift / ((double)r.others + (double)r.dummies / whole));
}

/* Epsilon of the round alone; INFINITY where the accountant has no answer. */
static double exact_epsilon(struct search *s, const struct pl_candidate *c)
{
	struct acct_round r = { 0 };
	struct acct_bound b = { 0, INFINITY };
	struct cm_err ignored = { 0 };
	enum acct_rc rc;

	if (c->protocol->cells(&c->params, s->need->honest, &r, &ignored) != CM_OK)
		return INFINITY;
	rc = acct_epsilon(&r, 1, s->need->delta, &b);
	if (rc == ACCT_ENOMEM)
		s->rc = rc;
	return rc == ACCT_OK && b.upper >= 0 ? b.upper : (double)INFINITY;
}

/* The local guarantee alone is enough, or the guess says so. */
static bool seems_to_fit(const struct search *s, const struct pl_candidate *c, double excess)
{
	return c->protocol->epsilon0(&c->params) < s->need->epsilon || guessed_mu(s, c) <= s->mu * excess;
}

/* Does it fit?  The comparison of the guess with the truth serves the next guess. */
static bool fits(struct search *s, struct pl_candidate *c)
{
	double mu, guessed = guessed_mu(s, c);

	if (!seems_to_fit(s, c, GUESS_EXCESS))
		return false;
	c->epsilon = exact_epsilon(s, c);
	if (isfinite(c->epsilon) && c->epsilon > 0 && isfinite(guessed)) {
		mu = pl_mu(c->epsilon, s->need->delta);
		s->ratio = fmin(fmax(mu / guessed, 0.5), 2);
	}
	return c->epsilon <= s->need->epsilon * (1 - EPSILON_MARGIN);
}

static bool same_params(const struct pt_params *a, const struct pt_params *b)
{
	return a->bins == b->bins && a->dummies == b->dummies && a->keep_always == b->keep_always &&
	       a->keep == b->keep && a->size == b->size && a->other == b->other;
}

static bool better(const struct pl_candidate *a, const struct pl_candidate *b)
{
	if (b->protocol == NULL || a->error < b->error * (1 - ERROR_MARGIN))
		return true;
	return a->error <= b->error * (1 + ERROR_MARGIN) && a->bytes < b->bytes;
}

/* The runner-up is another row, or another number of levels. */
static bool rivals(const struct pl_candidate *a, const struct pl_candidate *b)
{
	return !same_params(&a->params, &b->params) &&
	       (a->protocol != b->protocol || a->params.bins != b->params.bins);
}

static void offer(struct search *s, struct pl_candidate *c)
{
	struct pl_choice *out = s->out;

	c->error = c->protocol->expected_error(s->need->query, &c->params, s->need->reports);
	if (!isfinite(c->error))
		return;
	if (better(c, &out->best)) {
		if (out->best.protocol != NULL && rivals(c, &out->best))
			out->next = out->best;
		out->best = *c;
		if (out->next.protocol != NULL && !rivals(c, &out->next))
			out->next = (struct pl_candidate){ 0 };
	} else if (rivals(c, &out->best) && better(c, &out->next)) {
		out->next = *c;
	}
}

/* ---- epsilon0 for a number of dummies, dummies for an epsilon0 ---- */

/* The greatest index that seems to fit.  Below a row's range is seen as fitting, above it not. */
static uint32_t guess_index(const struct search *s, const struct option *o, uint32_t dummies)
{
	uint32_t low = 0, high = s->top + 1;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		struct pl_candidate c;
		bool good = make(s, o, dummies, mid, &c) ? seems_to_fit(s, &c, 1 / s->ratio)
							 : isfinite(value_at(s, mid));

		if (good)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Offer the greatest epsilon0 that fits. */
static void tune(struct search *s, const struct option *o, uint32_t dummies)
{
	struct pl_candidate c, found = { 0 };
	int64_t low = -1, high = (int64_t)s->top + 1, i = guess_index(s, o, dummies), stride = 1;

	while (high - low > 1 && s->rc == ACCT_OK) {
		bool possible = make(s, o, dummies, (uint32_t)i, &c), good = possible && fits(s, &c);
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
	if (found.protocol != NULL)
		offer(s, &found);
}

/* The fewest dummies with which the greatest epsilon0 fits; dummies_max + 1 if there are none. */
static uint32_t fewest(struct search *s, const struct option *o, bool exact, struct pl_candidate *found)
{
	int64_t low = -1, high = (int64_t)o->dummies_max + 1,
		i = exact ? fewest(s, o, false, found) : high / 2;
	int64_t stride = 1;

	if (exact && i >= high)
		i = high - 1;
	while (high - low > 1 && s->rc == ACCT_OK) {
		struct pl_candidate c;
		bool good = make(s, o, (uint32_t)i, s->top, &c) &&
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
static void guess_dummies(const struct search *s, struct option *o, uint32_t end)
{
	o->guess = INFINITY;
	for (uint32_t m = 0; m < end; m++) {
		struct pl_candidate c;
		double error;

		if (!make(s, o, m, guess_index(s, o, m), &c))
			continue;
		error = o->row->expected_error(s->need->query, &c.params, s->need->reports);
		if (error < o->guess * (1 - ERROR_MARGIN)) {
			o->guess = error;
			o->dummies = m;
		}
	}
}

/* Offer what the option has: most epsilon0 with few dummies, and less with what dummies are worth. */
static void consider(struct search *s, struct option *o)
{
	struct pl_candidate at_top = { 0 };
	uint32_t end = 1, last = UINT32_MAX;

	if (o->row->automatic & PT_AUTO_DUMMIES) {
		end = fewest(s, o, true, &at_top);
		if (end <= o->dummies_max) {
			s->ratio = 1;
			(void)fits(s, &at_top);
			offer(s, &at_top);
		}
	}
	for (int i = 0; i < 3 && s->rc == ACCT_OK; i++) {
		guess_dummies(s, o, end);
		if (isinf(o->guess) || o->dummies == last)
			break;
		tune(s, o, o->dummies);
		last = o->dummies;
	}
}

/* ---- options ---- */

/* Dummies within the bytes; false if even one message is too long.  Records have one length whatever the
 * dummies. */
static bool within_bytes(const struct search *s, struct option *o)
{
	struct pl_candidate c;
	uint64_t each, most;
	uint32_t m = o->row->automatic & PT_AUTO_DUMMIES ? 1 : 0;

	/* Rows without a local guarantee know only the last index, all others the one before, too. */
	if (!make(s, o, m, s->steps, &c) && !make(s, o, m, s->top, &c))
		return false;
	each = o->row->record_len(&c.params) + (uint64_t)CM_HPKE_OVERHEAD;
	most = s->need->max_bytes / each;
	if (most == 0)
		return false;
	o->dummies_max = most - 1 < s->bytes0 ? (uint32_t)(most - 1) : s->bytes0;
	if (!(o->row->automatic & PT_AUTO_DUMMIES))
		o->dummies_max = 0;
	return true;
}

static void consider_row(struct search *s, const struct pt_protocol *row)
{
	struct option option[LEVEL_BINS];
	bool by_levels = row->automatic & PT_AUTO_LEVELS;
	size_t n = 0;

	for (size_t i = 0; i < (by_levels ? LEVEL_BINS : 1); i++) {
		struct option o = { .row = row, .levels = by_levels ? level_bins[i] : 0 };

		if (!within_bytes(s, &o))
			continue;
		if (by_levels) {
			struct pl_candidate c = { 0 };
			uint32_t end = o.row->automatic & PT_AUTO_DUMMIES ? fewest(s, &o, false, &c) : 0;

			guess_dummies(s, &o, end < o.dummies_max ? end + 1 : o.dummies_max + 1);
		}
		option[n++] = o;
	}
	/* The best by guess first, few of them. */
	for (size_t i = 0; i < n && i < LEVELS_EXACT && s->rc == ACCT_OK; i++) {
		size_t best = i;
		struct option o;

		for (size_t j = i + 1; j < n; j++)
			best = option[j].guess < option[best].guess ? j : best;
		o = option[best];
		option[best] = option[i];
		option[i] = o;
		consider(s, &option[i]);
	}
}

/* Would more dummies than the bytes allow be better, by guess? */
static bool bytes_bind(struct search *s)
{
	const struct pl_candidate *best = &s->out->best;
	struct option o = { .row = best->protocol, .levels = best->request.levels };
	struct pl_candidate c = { 0 };
	uint32_t within, end;
	const struct pt_protocol *row;

	for (size_t i = 0; (row = pt_row(i)) != NULL; i++) {
		if (!(row->kinds & (unsigned)s->need->query->kind) || !(row->automatic & PT_AUTO_DUMMIES))
			continue;
		o.row = row;
		o.levels = row->automatic & PT_AUTO_LEVELS ? best->params.bins : 0;
		if (!within_bytes(s, &o) || o.dummies_max >= s->bytes0)
			continue;
		within = o.dummies_max;
		o.dummies_max = s->bytes0;
		end = fewest(s, &o, false, &c);
		guess_dummies(s, &o, end < o.dummies_max ? end + 1 : o.dummies_max + 1);
		/* Guesses are good to a few percent. */
		if (o.dummies > within && o.guess < best->error * 0.95)
			return true;
	}
	return false;
}

static enum cm_rc nothing(const struct search *s, struct cm_err *err)
{
	const struct pl_need *n = s->need;
	uint64_t least = UINT64_MAX;
	const struct pt_protocol *row;

	if (s->rc != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(s->rc));
	for (size_t i = 0; (row = pt_row(i)) != NULL; i++) {
		struct option o = { .row = row };
		struct pl_candidate c;

		if ((row->kinds & (unsigned)n->query->kind) && row->automatic != 0 &&
			make(s, &o, 0, s->steps, &c) && c.bytes < least)
			least = c.bytes;
	}
	if (least == UINT64_MAX)
		return cm_fail(err, CM_ECONFIG, "auto: no protocol can be chosen for this type of question");
	if (least > n->max_bytes)
		return cm_fail(err, CM_ECONFIG,
			"auto: max_bytes %" PRIu64 " is less than one sealed message: at least %" PRIu64
			" are needed",
			n->max_bytes, least);
	return cm_fail(err, CM_ECONFIG,
		"auto: nothing fits epsilon %.4g at delta %g with %" PRIu64
		" honest reports; epsilon %.4g would do",
		n->epsilon, n->delta, n->honest, epsilon0_step(0) * (1 + ERROR_MARGIN));
}

enum cm_rc pl_choose(const struct pl_need *need, struct pl_choice *out, struct cm_err *err)
{
	const struct pt_protocol *row;
	struct search s;

	search_init(&s, need, out);
	for (size_t i = 0; (row = pt_row(i)) != NULL && s.rc == ACCT_OK; i++)
		if (row->automatic != 0 && (row->kinds & (unsigned)need->query->kind))
			consider_row(&s, row);
	if (out->best.protocol == NULL || s.rc != ACCT_OK)
		return nothing(&s, err);
	if (isfinite(need->epsilon0) && out->best.request.epsilon0 >= value_at(&s, s.top))
		out->limit = PL_LIMIT_LOCAL;
	else if (bytes_bind(&s))
		out->limit = PL_LIMIT_BYTES;
	return CM_OK;
}
