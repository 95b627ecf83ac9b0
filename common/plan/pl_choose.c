/* pl_choose.c - protocol "auto": the row and the parameters of least expected error. */
#include "pl_choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cr_hpke.h"
#include "pl_search.h"
#include "pr_limits.h"

/* Numbers of levels that are tried for a mean, and how many of them exactly. */
static const uint32_t level_bins[] = { 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65 };
/* The same of the cells of a hash. */
static const uint32_t hash_cells[] = { 16, 32, 64, 128, 256, 512, 1024, 2048, 4096 };
/* The same of slots, each with each size of a word. */
static const uint32_t slot_counts[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256 };
static const uint32_t word_sizes[] = { 1, 2, 3, 4, 6 };
#define WORD_SIZES     (sizeof word_sizes / sizeof *word_sizes)
#define VARIANTS_MAX   45
#define VARIANTS_EXACT 3
_Static_assert(sizeof level_bins / sizeof *level_bins <= VARIANTS_MAX &&
		       sizeof hash_cells / sizeof *hash_cells <= VARIANTS_MAX &&
		       sizeof slot_counts / sizeof *slot_counts * WORD_SIZES <= VARIANTS_MAX,
	"room for all variants");

uint64_t pl_bytes(const struct pt_protocol *row, const struct pt_randomizer *p)
{
	return (uint64_t)row->device->messages(p) * (row->device->record_len(p) + (uint64_t)CR_HPKE_OVERHEAD +
							    (p->shuffler.tags > 0 ? PR_TAG_LEN : 0));
}

/* Offer what the option has: most epsilon0 with few dummies, the last of them by chance where that is enough,
 * and less with what dummies are worth. */
static void consider(struct pl_search *s, struct pl_option *o)
{
	struct pl_candidate at_top = { 0 };
	uint32_t end = 1, last = UINT32_MAX;

	if (o->row->automatic & PT_AUTO_DUMMIES) {
		struct pl_option fine;

		end = pl_search_fewest(s, o, true, &at_top);
		if (end <= o->dummies_max)
			pl_search_offer(s, &at_top);
		/* Less noise of as many messages. */
		if (pl_search_refine(o, end, &fine) &&
			pl_search_fewest(s, &fine, true, &at_top) <= fine.dummies_max)
			pl_search_offer(s, &at_top);
	}
	/* The shuffler's dummies cost no device a byte: what they are worth is taken. */
	for (int i = 0; i < 3 && !o->shuffler && s->rc == ACCT_OK; i++) {
		pl_search_guess(s, o, end);
		if (isinf(o->guess) || o->dummies == last)
			break;
		pl_search_tune(s, o, o->dummies);
		last = o->dummies;
	}
}

/* Dummies within the bytes; false if even one message is too long, or the row cannot be asked so.  Records
 * have one length whatever the dummies. */
static bool within_bytes(const struct pl_search *s, struct pl_option *o)
{
	struct pl_candidate c;
	uint64_t each, most;
	uint32_t m = o->row->automatic & PT_AUTO_DUMMIES ? 1 : 0;

	if (o->shuffler && (m == 0 || !o->row->device->dummy))
		return false;
	/* Rows without a local guarantee know only the last index, all others the one before, too; of many
	 * slots each has less than what all may have. */
	if (!pl_search_make(s, o, m, s->steps, &c) && !pl_search_make(s, o, m, s->top, &c) &&
		!pl_search_make(s, o, m, 0, &c))
		return false;
	each = c.bytes / (m + 1); /* of several slots, a message to each */
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

/* The error, as guessed. */
static void guess(struct pl_search *s, struct pl_option *o)
{
	struct pl_candidate c = { 0 };
	struct pl_option fine;
	uint32_t end = o->row->automatic & PT_AUTO_DUMMIES ? pl_search_fewest(s, o, false, &c) : 0;

	if (!o->shuffler)
		pl_search_guess(s, o, end < o->dummies_max ? end + 1 : o->dummies_max + 1);
	else
		o->guess = end <= o->dummies_max
				   ? pt_expected_error(s->need->query, &c.randomizer, s->need->reports)
				   : (double)INFINITY;
	if (o->row->automatic & PT_AUTO_DUMMIES && pl_search_refine(o, end, &fine) &&
		pl_search_fewest(s, &fine, false, &c) <= fine.dummies_max)
		o->guess = fmin(o->guess, pt_expected_error(s->need->query, &c.randomizer, s->need->reports));
}

static void consider_row(struct pl_search *s, const struct pt_protocol *row, bool shuffler)
{
	struct pl_option option[VARIANTS_MAX];
	size_t n = 0, variants = 1;

	if (row->automatic & PT_AUTO_LEVELS)
		variants = sizeof level_bins / sizeof *level_bins;
	else if (row->automatic & PT_AUTO_SIZES)
		variants = sizeof hash_cells / sizeof *hash_cells;
	else if (row->automatic & PT_AUTO_SLOTS)
		variants = sizeof slot_counts / sizeof *slot_counts * WORD_SIZES;
	for (size_t i = 0; i < variants; i++) {
		struct pl_option o = { .row = row, .shuffler = shuffler, .size = s->need->size };

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
	/* The best by guess first, few of them. */
	for (size_t i = 0; i < n && i < VARIANTS_EXACT && s->rc == ACCT_OK; i++) {
		size_t best = i;
		struct pl_option o;

		for (size_t j = i + 1; j < n; j++)
			best = option[j].guess < option[best].guess ? j : best;
		o = option[best];
		option[best] = option[i];
		option[i] = o;
		consider(s, &option[i]);
	}
}

/* Does the row answer, and have devices without a reading take part as is asked? */
static bool answers(const struct pt_protocol *row, const struct pl_need *need)
{
	struct cm_err ignored = { 0 };

	return row->automatic != 0 && (row->device->kinds & (unsigned)need->query->kind) != 0 &&
	       pt_none_check(row->device, need->query, CM_ECONFIG, &ignored) == CM_OK;
}

/* Would twice the slots be better, and more than the bytes allow?  By guess. */
static bool slots_bind(struct pl_search *s)
{
	const struct pl_candidate *best = &s->out->best;
	struct pl_option o = {
		.row = best->protocol, .slots = 2 * best->request.slots, .size = best->request.size
	};

	if (2 * best->bytes <= s->need->max_bytes)
		return false;
	guess(s, &o);
	return o.guess < best->error * 0.95;
}

/* Would more dummies than the bytes allow be better, by guess? */
static bool bytes_bind(struct pl_search *s)
{
	const struct pl_candidate *best = &s->out->best;
	const struct pt_protocol *row;

	if (best->request.slots > 0)
		return slots_bind(s);
	for (size_t i = 0; (row = pt_row(i)) && !pt_rests_on_shuffler(&best->randomizer); i++) {
		struct pl_option o = { .row = row };
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

static enum cm_rc nothing(const struct pl_search *s, struct cm_err *err)
{
	const struct pl_need *n = s->need;
	uint64_t least = UINT64_MAX;
	const struct pt_protocol *row;

	if (s->rc != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(s->rc));
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct pl_option o = { .row = row, .size = n->size };
		struct pl_candidate c;

		if (answers(row, n) &&
			(pl_search_make(s, &o, 0, s->steps, &c) || pl_search_make(s, &o, 0, 0, &c)) &&
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

static void consider_blankets(struct pl_search *s, const struct pt_protocol *row)
{
	consider_row(s, row, false);
	if (s->need->shuffler && s->rc == ACCT_OK)
		consider_row(s, row, true);
	if (s->need->shuffler && row->device->noise_bins)
		pl_search_noise(s, row);
}

/* Of several slots each has three digits of its share. */
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
	struct pl_search *s = malloc(sizeof *s);
	enum cm_rc rc = CM_OK;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	pl_search_init(s, need, out);
	for (size_t i = 0; (row = pt_row(i)) && s->rc == ACCT_OK; i++)
		if (answers(row, need))
			consider_blankets(s, row);
	pl_search_end(s);
	if (!out->best.protocol || s->rc != ACCT_OK)
		rc = nothing(s, err);
	else if (local_binds(need, &out->best))
		out->limit = PL_LIMIT_LOCAL;
	else if (bytes_bind(s))
		out->limit = PL_LIMIT_BYTES;
	free(s);
	return rc;
}
