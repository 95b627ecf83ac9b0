/* pl_choose.c - protocol "auto": finds the row and the parameters with the least expected error. */
#include "pl_choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cr_hpke.h"
#include "pl_mu.h"
#include "pr_limits.h"

/* The numbers of levels that are tried for a mean; and the accountant is asked about so many of them. */
static const uint32_t level_bins[] = { 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65 };
/* The same for the number of cells of a hash. */
static const uint32_t hash_cells[] = { 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };
/* The same for the number of slots, each with every size of a word. */
static const uint32_t slot_counts[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
static const uint32_t word_sizes[] = { 1, 2, 3, 4, 6 };
#define WORD_SIZES     (sizeof word_sizes / sizeof *word_sizes)
#define VARIANTS_MAX   45
#define VARIANTS_EXACT 3
_Static_assert(sizeof level_bins / sizeof *level_bins <= VARIANTS_MAX &&
		       sizeof hash_cells / sizeof *hash_cells <= VARIANTS_MAX &&
		       sizeof slot_counts / sizeof *slot_counts * WORD_SIZES <= VARIANTS_MAX,
	"room for all variants");

/* an epsilon this near to the limit counts as equal, so that machines whose libm differ choose alike */
#define EPSILON_MARGIN 1e-9
#define ERROR_MARGIN   1e-6
/* more bytes are not worth a gain of less than this part of the error */
#define ERROR_WORTH 0.03
/* If the guessed epsilon exceeds the allowed one by this factor, the accountant is not asked: the guess is
 * too low, by a tenth, except for very few reports, whose answers are the accountant's most expensive. */
#define GUESS_EXCESS 1.4
#define NOISE_TRIES  20

#define OFFERS_MAX     512   /* rows, client or shuffler, variants, numbers of dummies: 16 * 2 * 3 * 5 */
#define LEAST_EPSILON0 0.001 /* the epsilon0 with index 0 */

struct search {
	const struct pl_need *need;
	struct pl_choice *out;
	uint32_t steps; /* indices below this stand for values of epsilon0 of three digits */
	uint32_t top;   /* the last index: the largest epsilon0 that is allowed */
	double mu;    /* the most that the round may cost, as mu of a Gaussian mechanism that loses as much */
	double ratio; /* true mu divided by the guessed one: corrects the next guess */
	enum acct_rc rc; /* ACCT_ENOMEM ends the search; other errors only exclude a candidate */
	struct pl_candidate offer[OFFERS_MAX];
	size_t offers;
};

struct option {
	const struct pt_protocol *row;
	uint32_t levels, size, slots; /* as in struct pt_request */
	bool shuffler;                /* the shuffler adds the dummies */
	bool fine;                    /* the last dummy is sent by chance, so parts of one count */
	uint32_t whole;
	uint32_t dummies_max; /* most dummies that the bytes allow */
	double guess;         /* the guessed error with this option */
	uint32_t dummies;     /* number of dummies for which `guess` holds */
};

uint64_t pl_bytes(const struct pt_protocol *row, const struct pt_randomizer *p)
{
	return (uint64_t)row->device->messages(p) * (row->device->record_len(p) + (uint64_t)CR_HPKE_OVERHEAD +
							    (p->shuffler.tags > 0 ? PR_TAG_LEN : 0));
}

/* Values of epsilon0 by index: three significant digits from 0.001 up, below the largest; then the largest;
 * and then "inf" where that is allowed. */
#define DIGITS 900
static double epsilon0_step(uint32_t i)
{
	static const double unit[] = { 1e5, 1e4, 1e3, 1e2, 1e1 };

	return (100 + i % DIGITS) / unit[i / DIGITS];
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

/* Parts of a dummy by index: three digits from 0.0001 up if there is no whole dummy, else hundredths. */
#define RARE_STEPS (4 * DIGITS)
static double rare_step(const struct option *o, uint32_t i)
{
	static const double unit[] = { 1e6, 1e5, 1e4, 1e3 };

	return o->whole > 0 ? o->whole + (i + 1) / 100.0 : (100 + i % DIGITS) / unit[i / DIGITS];
}

/* Make the option between the whole numbers of dummies below `end` and at it; false if its row has none.
 * It takes as many messages as `end` does. */
static bool refine(const struct option *o, uint32_t end, struct option *out)
{
	*out = *o;
	if (!o->row->device->rare_dummy || o->shuffler || o->fine || end == 0 || end > o->dummies_max)
		return false;
	out->fine = true;
	out->whole = end - 1;
	out->dummies_max = (out->whole > 0 ? 99 : RARE_STEPS) - 1;
	return true;
}

/* Make the candidate with so many dummies at index i.  False if the row does not allow them, or its
 * guarantee is too weak. */
static bool make(
	const struct search *s, const struct option *o, uint32_t dummies, uint32_t i, struct pl_candidate *c)
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

/* The square of the guessed mu of a round.  It takes the blanket as Gaussian noise: cell j has a mean, and
 * variance, of omega_j (others + the levels' shares + dummies / sum omega) messages, and the victim shifts
 * it by omega_j (u_j - v_j).  Squares of mu add up. */
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

static double guessed_mu(const struct search *s, const struct pl_candidate *c)
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

/* Epsilon of the round alone; INFINITY if the accountant has no answer. */
static double exact_epsilon(struct search *s, const struct pl_candidate *c)
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

/* Is the local guarantee alone enough, or does the guess say that it fits? */
static bool seems_to_fit(const struct search *s, const struct pl_candidate *c, double excess)
{
	return c->randomizer.row->epsilon0(&c->randomizer) < s->need->epsilon ||
	       guessed_mu(s, c) <= s->mu * excess;
}

/* Does the candidate fit the budget, by the accountant?  Its answer corrects the next guess. */
static bool fits(struct search *s, struct pl_candidate *c)
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

/* Is b another candidate, fit to be the runner-up?  Rows may have one randomizer under two names, so it
 * must be another row, or another number of levels or slots, or other words. */
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

/* Offer a candidate whose epsilon is known to fit. */
static void add_offer(struct search *s, struct pl_candidate *c)
{
	c->error = pt_expected_error(s->need->query, &c->randomizer, s->need->reports);
	if (isfinite(c->error) && s->offers < OFFERS_MAX)
		s->offer[s->offers++] = *c;
}

/* Among the offers with nearly the least error choose that of fewest bytes; and find the runner-up. */
static void pick(const struct search *s)
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

/* Offer noise drawn by the shuffler for the epsilon allowed: it costs that, up to a few thousandths. */
static void offer_noise(struct search *s, const struct pt_protocol *row)
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
			add_offer(s, &c);
			return;
		}
	}
}

/* The largest index that seems to fit.  An index below a row's range counts as fitting, one above it does
 * not; nor does one that discloses too much in all slots together, whose bytes are counted already. */
static uint32_t guess_index(const struct search *s, const struct option *o, uint32_t dummies)
{
	uint32_t low = 0, high = s->top + 1;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		struct pl_candidate c;
		bool good = make(s, o, dummies, mid, &c) ? seems_to_fit(s, &c, 1 / s->ratio)
							 : c.bytes == 0 && isfinite(value_at(s, mid));

		if (good)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Offer the largest epsilon0 that fits. */
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
		/* Guess again with what is known; then move away from the wrong guess, ever faster. */
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
		add_offer(s, &found);
}

/* The fewest dummies with which the largest epsilon0 fits, by the accountant or (not exact) by guess. */
static uint32_t fewest(struct search *s, const struct option *o, bool exact, struct pl_candidate *found)
{
	int64_t low = -1, high = (int64_t)o->dummies_max + 1,
		i = exact ? fewest(s, o, false, found) : high / 2;
	int64_t stride = 1 + i / 64; /* first step away from the guess, which is good to a few percent */

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

/* The number of dummies, below `end`, with the least guessed error: sets o->dummies and o->guess (INFINITY:
 * there is none). */
static void guess_dummies(const struct search *s, struct option *o, uint32_t end)
{
	o->guess = INFINITY;
	for (uint32_t m = 0; m < end; m++) {
		struct pl_candidate c;
		double error;

		if (!make(s, o, m, guess_index(s, o, m), &c))
			continue;
		error = pt_expected_error(s->need->query, &c.randomizer, s->need->reports);
		if (error < o->guess * (1 - ERROR_MARGIN)) {
			o->guess = error;
			o->dummies = m;
		}
	}
}

/* Offer what the option can give: the largest epsilon0 with few dummies, the last of them by chance where
 * that is enough; and a smaller epsilon0 with as many dummies as are worth it. */
static void consider(struct search *s, struct option *o)
{
	struct pl_candidate at_top = { 0 };
	uint32_t end = 1, last = UINT32_MAX;

	if (o->row->automatic & PT_AUTO_DUMMIES) {
		struct option fine;

		end = fewest(s, o, true, &at_top);
		if (end <= o->dummies_max)
			add_offer(s, &at_top);
		/* the same number of messages with the last dummy by chance has less noise */
		if (refine(o, end, &fine) && fewest(s, &fine, true, &at_top) <= fine.dummies_max)
			add_offer(s, &at_top);
	}
	/* The shuffler's dummies cost a device no bytes, so as many are taken as lower the error. */
	for (int i = 0; i < 3 && !o->shuffler && s->rc == ACCT_OK; i++) {
		guess_dummies(s, o, end);
		if (isinf(o->guess) || o->dummies == last)
			break;
		tune(s, o, o->dummies);
		last = o->dummies;
	}
}

/* Limit the dummies by the bytes that a device may send; false if even one message is too long, or the row
 * does not allow it.  All records have one length, whatever the dummies are. */
static bool within_bytes(const struct search *s, struct option *o)
{
	struct pl_candidate c;
	uint64_t each, most;
	uint32_t m = o->row->automatic & PT_AUTO_DUMMIES ? 1 : 0;

	if (o->shuffler && (m == 0 || !o->row->device->dummy))
		return false;
	/* Rows without a local guarantee allow only the last index, all others also the one before; with
	 * many slots each has less than all together may have. */
	if (!make(s, o, m, s->steps, &c) && !make(s, o, m, s->top, &c) && !make(s, o, m, 0, &c))
		return false;
	each = c.bytes / (m + 1); /* with several slots, one message for each */
	most = s->need->max_bytes / each;
	if (most == 0)
		return false;
	o->dummies_max = most > PR_BLANKET_MAX ? PR_BLANKET_MAX - 1 : (uint32_t)(most - 1);
	if (m == 0)
		o->dummies_max = 0;
	if (o->shuffler)
		o->dummies_max = PT_SHUFFLER_DUMMIES_MAX;
	return true;
}

/* Compute the guessed error. */
static void guess(struct search *s, struct option *o)
{
	struct pl_candidate c = { 0 };
	struct option fine;
	uint32_t end = o->row->automatic & PT_AUTO_DUMMIES ? fewest(s, o, false, &c) : 0;

	if (!o->shuffler)
		guess_dummies(s, o, end < o->dummies_max ? end + 1 : o->dummies_max + 1);
	else
		o->guess = end <= o->dummies_max
				   ? pt_expected_error(s->need->query, &c.randomizer, s->need->reports)
				   : (double)INFINITY;
	if (o->row->automatic & PT_AUTO_DUMMIES && refine(o, end, &fine) &&
		fewest(s, &fine, false, &c) <= fine.dummies_max)
		o->guess = fmin(o->guess, pt_expected_error(s->need->query, &c.randomizer, s->need->reports));
}

static void consider_row(struct search *s, const struct pt_protocol *row, bool shuffler)
{
	struct option option[VARIANTS_MAX];
	size_t n = 0, variants = 1;

	if (row->automatic & PT_AUTO_LEVELS)
		variants = sizeof level_bins / sizeof *level_bins;
	else if (row->automatic & PT_AUTO_SIZES)
		variants = sizeof hash_cells / sizeof *hash_cells;
	else if (row->automatic & PT_AUTO_SLOTS)
		variants = sizeof slot_counts / sizeof *slot_counts * WORD_SIZES;
	for (size_t i = 0; i < variants; i++) {
		struct option o = { .row = row, .shuffler = shuffler, .size = s->need->size };

		o.levels = row->automatic & PT_AUTO_LEVELS ? level_bins[i] : 0;
		if (row->automatic & PT_AUTO_SIZES)
			o.size = hash_cells[i];
		if (row->automatic & PT_AUTO_SLOTS) {
			o.slots = slot_counts[i / WORD_SIZES];
			o.size = word_sizes[i % WORD_SIZES];
		}
		if (!within_bytes(s, &o))
			continue;
		if (variants > 1)
			guess(s, &o);
		option[n++] = o;
	}
	/* Try the best by guess first, and only a few of them. */
	for (size_t i = 0; i < n && i < VARIANTS_EXACT && s->rc == ACCT_OK; i++) {
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

/* Can the row answer, and can devices without a reading take part as the plan asks? */
static bool answers(const struct pt_protocol *row, const struct pl_need *need)
{
	struct cm_err ignored = { 0 };

	return row->automatic != 0 && (row->device->kinds & (unsigned)need->query->kind) != 0 &&
	       pt_none_check(row->device, need->query, CM_ECONFIG, &ignored) == CM_OK;
}

/* Would twice the slots have a lower error, and more bytes than allowed?  By guess. */
static bool slots_bind(struct search *s)
{
	const struct pl_candidate *best = &s->out->best;
	struct option o = {
		.row = best->protocol, .slots = 2 * best->request.slots, .size = best->request.size
	};

	if (2 * best->bytes <= s->need->max_bytes)
		return false;
	guess(s, &o);
	return o.guess < best->error * 0.95;
}

/* Would more dummies than the bytes allow lower the error?  By guess. */
static bool bytes_bind(struct search *s)
{
	const struct pl_candidate *best = &s->out->best;
	const struct pt_protocol *row;

	if (best->request.slots > 0)
		return slots_bind(s);
	for (size_t i = 0; (row = pt_row(i)) && !pt_rests_on_shuffler(&best->randomizer); i++) {
		struct option o = { .row = row };
		uint32_t within;

		if (!answers(row, s->need) || !(row->automatic & PT_AUTO_DUMMIES))
			continue;
		o.levels = row->automatic & PT_AUTO_LEVELS ? best->request.levels : 0;
		if (!within_bytes(s, &o))
			continue;
		within = o.dummies_max;
		o.dummies_max = PR_BLANKET_MAX - 1;
		guess(s, &o);
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
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct option o = { .row = row, .size = n->size };
		struct pl_candidate c;

		if (answers(row, n) && (make(s, &o, 0, s->steps, &c) || make(s, &o, 0, 0, &c)) &&
			c.bytes < least)
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
		n->epsilon, n->delta, n->honest, LEAST_EPSILON0 * 1.000001);
}

static void consider_blankets(struct search *s, const struct pt_protocol *row)
{
	consider_row(s, row, false);
	if (s->need->shuffler && s->rc == ACCT_OK)
		consider_row(s, row, true);
	if (s->need->shuffler && row->device->noise_bins)
		offer_noise(s, row);
}

/* With several slots each has three digits of its share. */
static bool local_binds(const struct pl_need *need, const struct pl_candidate *best)
{
	double all = best->randomizer.row->epsilon0(&best->randomizer);

	if (best->request.slots > 1 || all > 1.5 * best->request.epsilon0)
		return all >= need->epsilon0 * 0.99;
	return isfinite(need->epsilon0) && best->request.epsilon0 >= fmin(need->epsilon0, PT_EPSILON0_MAX);
}

enum cm_rc pl_choose(const struct pl_need *need, struct pl_choice *out, struct cm_err *err)
{
	const struct pt_protocol *row;
	struct search *s = malloc(sizeof *s);
	enum cm_rc rc = CM_OK;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	search_init(s, need, out);
	for (size_t i = 0; (row = pt_row(i)) && s->rc == ACCT_OK; i++)
		if (answers(row, need))
			consider_blankets(s, row);
	pick(s);
	if (!out->best.protocol || s->rc != ACCT_OK)
		rc = nothing(s, err);
	else if (local_binds(need, &out->best))
		out->limit = PL_LIMIT_LOCAL;
	else if (bytes_bind(s))
		out->limit = PL_LIMIT_BYTES;
	free(s);
	return rc;
}
