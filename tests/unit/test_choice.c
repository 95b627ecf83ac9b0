/* test_choice.c - the choice rule as a game: an analyzer that sees each answer before it chooses the next
 * round, in any order, with any contents, stopping when it likes, gains nothing over the composition of its
 * entries; and gains where rounds may be made up as one goes.
 *
 * Every mechanism here is exact: the shuffled counts of the row, for a victim among people whose values are
 * known.  What may be asked is decided by the parties' own rules, rd_plan_covers and rd_plan_pin, at every
 * node of the tree.  Without them by the rule of earlier versions: a round may follow if the rounds so far
 * fit the budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pl_load.h"
#include "pl_make.h"
#include "pl_plan.h"

#define OUTCOMES 5100
#define MOVES    4

static struct cm_err err;

/* The law of an answer in the two worlds. */
struct law {
	size_t n;
	double p[OUTCOMES], q[OUTCOMES];
};

/* A round that the analyzer may try to announce. */
struct move {
	struct rd_descriptor d;
	const struct law *law;
};

struct game {
	const struct rd_plan *plan;
	const struct rd_pin *pin;
	struct move move[MOVES];
	size_t moves;
	bool rule; /* the parties' rules hold */
	/* without `contents`: which moves still fit the budget after which moves, a bit each */
	bool fits[1u << MOVES][MOVES];
	bool flipped; /* with `contents` the question may also be turned around */
	double e;     /* exp(epsilon) */
};

/* ---- exact laws ---- */

/* The victim's message among n uniform ones of two bins: how many lie in the first. */
static void bins_law(struct law *l, unsigned n)
{
	l->n = n + 2;
	for (unsigned i = 0; i <= n + 1; i++) {
		l->p[i] = i == 0 ? 0 : exp(lgamma(n + 1) - lgamma(i) - lgamma(n - i + 2) - n * log(2));
		l->q[i] = i > n ? 0 : exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
	}
}

/* Randomized response of the victim alone. */
static void response_law(struct law *l, double keep)
{
	*l = (struct law){ .n = 2, .p = { keep, 1 - keep }, .q = { 1 - keep, keep } };
}

/* Two-sided geometric noise in each of two bins, of this decay: the outcomes of one likelihood ratio are one.
 * A bin's ratio is 1/decay with chance 1/(1 + decay) in the world that adds to it. */
static void noise_law(struct law *l, double decay)
{
	double more = 1 / (1 + decay), less = decay / (1 + decay);

	*l = (struct law){ .n = 3,
		.p = { more * more, 2 * more * less, less * less },
		.q = { less * less, 2 * more * less, more * more } };
}

/* ---- the game ---- */

/* The value of what is still to come for an adversary who is here with these likelihoods: stop, or ask. */
static double value(const struct game *g, unsigned answered, double p, double q);

/* answered: of the rule, the entries; else the moves. */
static bool may_ask(const struct game *g, size_t k, unsigned answered)
{
	const struct move *m = &g->move[k];

	if (!g->rule)
		return !(answered >> k & 1) && g->fits[answered][k];
	for (size_t i = 0; i < g->plan->entries; i++)
		if (g->plan->entry[i].number == m->d.entry && rd_pin_has(g->pin, i) && !(answered >> i & 1))
			return rd_plan_covers(g->plan, &m->d, &err) == CM_OK;
	return false;
}

static unsigned index_of(const struct game *g, uint32_t entry)
{
	unsigned i = 0;

	while (i < g->plan->entries && g->plan->entry[i].number != entry)
		i++;
	return i;
}

static double ask(const struct game *g, size_t k, bool flip, unsigned answered, double p, double q)
{
	const struct move *m = &g->move[k];
	double sum = 0;

	answered |= 1u << (g->rule ? index_of(g, m->d.entry) : (unsigned)k);
	for (size_t o = 0; o < m->law->n; o++)
		sum += value(g, answered, p * (flip ? m->law->q[o] : m->law->p[o]),
			q * (flip ? m->law->p[o] : m->law->q[o]));
	return sum;
}

static double value(const struct game *g, unsigned answered, double p, double q)
{
	double best = fmax(0, p - g->e * q);

	if (p == 0 || (q == 0 && best > 0))
		return best; /* nothing more can be gained */
	for (size_t k = 0; k < g->moves; k++) {
		if (!may_ask(g, k, answered))
			continue;
		for (int flip = 0; flip <= g->flipped; flip++)
			best = fmax(best, ask(g, k, flip, answered, p, q));
	}
	return best;
}

/* The rule of earlier versions: everything asked, with this round, is within the budget. */
static void judge_each(struct game *g, double epsilon, double delta)
{
	for (unsigned asked = 0; asked < 1u << g->moves; asked++)
		for (size_t k = 0; k < g->moves; k++) {
			struct rd_account *a = rd_account_new(epsilon, delta);
			struct rd_verdict v = { 0 };
			struct pt_loss loss;

			assert_non_null(a);
			for (size_t i = 0; i < g->moves; i++) {
				const uint8_t id[PR_ROUND_ID_LEN] = { (uint8_t)(i + 1) };

				assert_int_equal(rd_loss(&g->move[i].d, &loss, &err), CM_OK);
				if (asked >> i & 1)
					assert_int_equal(rd_account_add(a, id, &loss, &err), CM_OK);
			}
			assert_int_equal(rd_loss(&g->move[k].d, &loss, &err), CM_OK);
			assert_int_equal(rd_account_judge(a, &loss, &v, &err), CM_OK);
			g->fits[asked][k] = v.fits;
			rd_account_free(a);
		}
}

/* ---- a plan and what may be tried with it ---- */

struct table {
	struct pl_plan file;
	struct rd_plan plan;
	struct rd_pin pin;
	struct game g;
};

static enum cm_rc own_loss(void *user, const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *e)
{
	(void)user;
	return rd_loss(d, out, e);
}

/* delta as a plan may have it: a file keeps it far below what a toy shows. */
static void lay(struct table *t, const char *text, double delta, double epsilon)
{
	static const uint8_t none[PR_HASH_LEN];
	struct cm_buf b;

	memset(t, 0, sizeof *t);
	if (pl_plan_parse((const uint8_t *)text, strlen(text), "p", NULL, &t->file, &err) != CM_OK)
		fail_msg("%s", err.msg);
	t->file.delta = delta;
	cm_buf_init(&b, PR_PLAN_MAX);
	if (pl_plan_make(&t->file, 1, none, NULL, &b, &err) != CM_OK ||
		rd_plan_decode(b.data, b.len, &t->plan, &err) != CM_OK ||
		rd_plan_pin(&t->plan, own_loss, NULL, NULL, &t->pin, &err) != CM_OK)
		fail_msg("%s", err.msg);
	cm_buf_fini(&b);
	t->g = (struct game){ .plan = &t->plan, .pin = &t->pin, .rule = true, .e = exp(epsilon) };
}

/* Round `number` of the file as a descriptor that claims to be entry `entry`. */
static void offer(struct table *t, uint32_t number, uint32_t entry, const struct law *law)
{
	const struct pl_round *r = &t->file.round[number - 1];
	struct move *m = &t->g.move[t->g.moves++];

	rd_plan_descriptor(&t->plan, 0, &m->d);
	m->d.query = r->query;
	m->d.randomizer = r->randomizer;
	m->d.min_reports = r->min_reports;
	m->d.target = r->target;
	m->d.entry = entry;
	m->d.attempt = 1;
	m->law = law;
}

static double play(struct table *t, bool rule)
{
	t->g.rule = rule;
	if (!rule)
		judge_each(&t->g, t->file.epsilon, t->file.delta);
	return value(&t->g, 0, 1, 1);
}

static void clear(struct table *t)
{
	rd_plan_fini(&t->plan);
	pl_plan_fini(&t->file);
}

/* delta of a composition without any choice. */
static double together(const struct law *a, const struct law *b, double e)
{
	double sum = 0;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			sum += fmax(0, a->p[i] * b->p[k] - e * a->q[i] * b->q[k]);
	return sum;
}

#define BINS(name, dummies)                                                                   \
	"{ query = \"" name                                                                   \
	"\", type = \"histogram\", protocol = \"bins\", field = \"c\", epsilon0 = \"inf\",\n" \
	"  blanket = \"shuffler\", shuffler_dummies = " dummies                               \
	", values = [\"a\", \"b\"], none = \"even\", min_reports = 1 }"
#define GRR(name, eps0)                                                                                     \
	"{ query = \"" name "\", type = \"histogram\", protocol = \"grr\", field = \"c\", epsilon0 = " eps0 \
	",\n"                                                                                               \
	"  values = [\"a\", \"b\"], none = \"even\", min_reports = 1 }"
#define HEAD(epsilon, delta)                                                                 \
	"name = \"t\"\npopulation = \"p\"\nbudget = { epsilon = " epsilon ", delta = " delta \
	" }\nrounds = (\n"

/* A first round, then randomized response or a few uniform messages.  Either pair is promised at most the
 * slice's delta, but an analyzer that chooses by the first answer reaches `chosen`. */
static void choose(const char *text, double delta, const struct law *first, unsigned messages, double chosen)
{
	static struct law response, few;
	struct table t;
	double promised, kept;

	lay(&t, text, delta, 1.0);
	bins_law(&few, messages);
	response_law(&response, ldexp((double)t.file.round[1].randomizer.mixbins.keep, -64));
	offer(&t, 1, 1, first);
	offer(&t, 2, 2, &response);
	offer(&t, 3, 2, &few); /* a round that is made up and claims to be the second entry */
	t.g.flipped = true;

	/* The signed plan takes the first two and refuses the third; alone with the first it would fit,
	 * too. */
	assert_int_equal(t.plan.entries, 2);
	assert_int_equal(t.plan.refused[0].number, 3);
	promised = fmax(together(first, &response, t.g.e), together(first, &few, t.g.e));
	assert_true(promised > 0.99 * delta && promised < delta);

	assert_true(fabs(play(&t, false) / chosen - 1) < 0.001);
	kept = play(&t, true);
	assert_true(fabs(kept - together(first, &response, t.g.e)) < 1e-12);
	assert_true(kept <= t.plan.delta);
	clear(&t);
}

/* 0.0695 promised and 0.0945 given at epsilon 1. */
static void choosing_by_the_first_answer_gains_and_the_rule_takes_it_away(void **state)
{
	static struct law first;

	(void)state;
	bins_law(&first, 25);
	choose(HEAD("1.0", "0.01")
			BINS("first", "25") ",\n" GRR("response", "0.85") ",\n" BINS("few", "8") ")\n",
		0.07, &first, 8, 0.0945);
}

/* 0.278 promised and 0.372 given. */
static void with_more_at_stake_choosing_gains_more(void **state)
{
	static struct law first;

	(void)state;
	response_law(&first, 1 / (1 + exp(-0.405)));
	choose(HEAD("1.0", "0.01")
			GRR("first", "0.405") ",\n" GRR("response", "1.423") ",\n" BINS("few", "2") ")\n",
		0.2785, &first, 2, 0.3723);
}

/* Two bins: 5000 messages of the shuffler, then its noise of epsilon 0.504, or 200 messages of its own.  Each
 * order is within (0.6, 1e-6), so earlier versions served both. */
static void the_case_that_was_served_gives_81_percent_more_than_was_promised(void **state)
{
	static struct law first, noise, few;
	struct table t;
	double chosen, kept;

	(void)state;
	lay(&t,
		HEAD("0.6", "1e-6") BINS("first",
			"5000") ",\n"
				"{ query = \"noise\", type = \"histogram\", protocol = \"bins\", "
				"field = \"c\", epsilon0 = \"inf\",\n  blanket = \"shuffler\", "
				"shuffler_noise = \"laplace\", epsilon = 0.504, values = [\"a\", "
				"\"b\"], none = \"even\", min_reports = 1 },\n" BINS("few", "200") ")\n",
		1e-6, 0.6);
	bins_law(&first, 5000);
	bins_law(&few, 200);
	noise_law(&noise, ldexp((double)t.file.round[1].randomizer.shuffler.noise_decay, -64));
	offer(&t, 1, 1, &first);
	offer(&t, 2, 2, &noise);
	offer(&t, 3, 2, &few);
	offer(&t, 3, 3, &few);
	assert_int_equal(t.plan.entries, 2);
	assert_int_equal(t.plan.refused[0].number, 3);
	assert_true(together(&first, &noise, t.g.e) < 1e-6 && together(&first, &few, t.g.e) < 1e-6);

	kept = play(&t, true);
	assert_true(kept <= 1e-6);
	assert_true(fabs(kept - together(&first, &noise, t.g.e)) < 1e-12);
	/* Ask one question, then the one of the two that gains more after its answer. */
	chosen = 0;
	for (size_t o = 0; o < first.n; o++) {
		double with_noise = 0, with_few = 0, p = first.p[o], q = first.q[o];

		for (size_t k = 0; k < noise.n; k++)
			with_noise += fmax(0, p * noise.p[k] - t.g.e * q * noise.q[k]);
		for (size_t k = 0; k < few.n; k++)
			with_few += fmax(0, p * few.p[k] - t.g.e * q * few.q[k]);
		chosen += fmax(with_noise, with_few);
	}
	assert_true(chosen > 1.80e-6 && chosen < 1.82e-6);
	clear(&t);
}

/* Three entries in any order, each asked either way round; answering an entry a second time is not a move. */
static void order_stops_and_contents_gain_nothing(void **state)
{
	static struct law a, b, c;
	struct table t;
	double kept, product = 0;

	(void)state;
	lay(&t, HEAD("3.0", "0.01") BINS("a", "6") ",\n" GRR("b", "0.7") ",\n" GRR("c", "0.4") ")\n", 0.3,
		1.0);
	assert_int_equal(t.plan.entries, 3);
	bins_law(&a, 6);
	response_law(&b, ldexp((double)t.file.round[1].randomizer.mixbins.keep, -64));
	response_law(&c, ldexp((double)t.file.round[2].randomizer.mixbins.keep, -64));
	offer(&t, 1, 1, &a);
	offer(&t, 2, 2, &b);
	offer(&t, 3, 3, &c);
	offer(&t, 2, 3, &b); /* the second round again, in the third's place */
	t.g.flipped = true;
	for (size_t i = 0; i < a.n; i++)
		for (size_t k = 0; k < b.n; k++)
			for (size_t l = 0; l < c.n; l++)
				product +=
					fmax(0, a.p[i] * b.p[k] * c.p[l] - t.g.e * a.q[i] * b.q[k] * c.q[l]);
	kept = play(&t, true);
	assert_true(fabs(kept - product) < 1e-12);
	clear(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choosing_by_the_first_answer_gains_and_the_rule_takes_it_away),
		cmocka_unit_test(with_more_at_stake_choosing_gains_more),
		cmocka_unit_test(the_case_that_was_served_gives_81_percent_more_than_was_promised),
		cmocka_unit_test(order_stops_and_contents_gain_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
