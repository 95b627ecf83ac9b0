/* test_rare_loss.c - dummies that come by chance: what the accountant is told, and the enumerated loss. */
#include "rare.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct_spec.h"
#include "pt_mixbins_analysis.h"
#include "queries.h"

static struct cm_err err;

static void the_accountant_is_given_the_chance_and_never_more(void **state)
{
	static const uint64_t chances[] = { 1, 3, QUARTER, 0x0ccccccccccccd00, 0x7fffffffffffffff,
		UINT64_MAX - 1, UINT64_MAX };
	const struct pt_protocol *row;
	struct pt_request r;

	(void)state;
	for (size_t i = 0; next_rare_row(&i, &row, &r);)
		for (int finite = 0; finite < 2; finite++)
			for (size_t c = 0; c < sizeof chances / sizeof *chances; c++) {
				struct qy_query q = query_of_row(row);
				struct pt_randomizer p;
				struct pt_loss loss;
				double blanket = 0, truth = ldexp((double)chances[c], -64);
				const struct acct_round *a = &loss.part[0];

				if (finite && (row->device->kinds & QY_HISTOGRAM) &&
					strcmp(row->device->name, "mixbins") != 0)
					continue;
				r.epsilon0 = finite ? 1 : INFINITY;
				r.dummy_chance = chances[c];
				p = derived(row, &q, &r);
				assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
				assert_int_equal(loss.parts, 1);
				assert_int_equal(acct_round_check(a, NULL), ACCT_OK);
				for (size_t j = 0; j < a->cells; j++)
					blanket += a->cell[j].omega;
				assert_int_equal(a->levels, 1);
				assert_int_equal(a->level[0].count, 1000);
				assert_int_equal(a->dummies, 0);
				assert_true(a->level[0].share * blanket <= truth * (1 - DBL_EPSILON));
				assert_true(a->level[0].share * blanket >= truth * (1 - 12 * DBL_EPSILON));
				assert_int_equal(
					pt_loss(&p, ACCT_MAX_REPORTS / 2 + 1, &loss, &err), CM_EPROTO);
			}
}

#define ACROSS 16 /* messages of one bin at most, and one */

/* Laws of the counts of three symbols. */
struct counted {
	double p[ACROSS][ACROSS][ACROSS];
};

/* One message more: symbol y with chance law[y], else none that is seen. */
static void add_message(struct counted *c, const double law[3])
{
	static struct counted next;
	double none = 1 - law[0] - law[1] - law[2];

	memset(&next, 0, sizeof next);
	for (int a = 0; a < ACROSS; a++)
		for (int b = 0; b < ACROSS; b++)
			for (int d = 0; d < ACROSS; d++) {
				double p = c->p[a][b][d];

				next.p[a][b][d] += p * none;
				if (a + 1 < ACROSS)
					next.p[a + 1][b][d] += p * law[0];
				if (b + 1 < ACROSS)
					next.p[a][b + 1][d] += p * law[1];
				if (d + 1 < ACROSS)
					next.p[a][b][d + 1] += p * law[2];
			}
	*c = next;
}

static double hockey_stick(const struct counted *p, const struct counted *q, double epsilon)
{
	double sum = 0;

	for (int a = 0; a < ACROSS; a++)
		for (int b = 0; b < ACROSS; b++)
			for (int d = 0; d < ACROSS; d++)
				sum += fmax(0, p->p[a][b][d] - exp(epsilon) * q->p[a][b][d]);
	return sum;
}

/* A round of three bins, what the accountant is told of it, and the law of the victim's own message when its
 * bin is 0 and when it is 1. */
struct small_round {
	uint32_t n;
	struct pt_randomizer p;
	struct acct_round told;
	double victim[2][3];
};

static struct small_round small_round_of(const struct pt_request *r, uint32_t n)
{
	struct small_round s = { .n = n };

	assert_int_equal(pt_mixbins_request(pt_find("mixbins"), 3, r, &s.p, &err), CM_OK);
	assert_int_equal(pt_mixbins_cells(&s.p, n, &s.told, &err), CM_OK);
	for (int bin = 0; bin < 2; bin++)
		for (int j = 0; j < 3; j++)
			s.victim[bin][j] =
				j == bin ? pt_mixbins_keep(&s.p.mixbins) : pt_mixbins_other(&s.p.mixbins);
	return s;
}

/* What n clients and the shuffler send: each client's own message by its law `real`, which may be none that
 * is seen, and dummies of any bin. */
static struct counted everybody(const struct pt_randomizer *p, uint32_t n, const double (*real)[3])
{
	static const double dummy[3] = { 1 / 3.0, 1 / 3.0, 1 / 3.0 };
	struct counted all = { .p = { { { 1 } } } };
	double f = ldexp((double)p->mixbins.dummy_chance, -64), rare[3];

	for (int y = 0; y < 3; y++)
		rare[y] = f * dummy[y];
	for (uint32_t i = 0; i < n; i++) {
		add_message(&all, real[i]);
		for (uint32_t d = 0; d < p->mixbins.dummies; d++)
			add_message(&all, dummy);
		add_message(&all, rare);
	}
	for (uint64_t d = 0; d < p->shuffler.dummies; d++)
		add_message(&all, dummy);
	return all;
}

/* Between the victim's two bins; real[0] is the victim's place. */
static double delta_among(const struct small_round *s, double (*real)[3], double epsilon)
{
	struct counted with[2];

	for (int bin = 0; bin < 2; bin++) {
		memcpy(real[0], s->victim[bin], sizeof s->victim[bin]);
		with[bin] = everybody(&s->p, s->n, (const double(*)[3])real);
	}
	return hockey_stick(&with[0], &with[1], epsilon);
}

/* The delta from the counts of the cells, which say all: the others' blanket, the dummies, and the victim's
 * message. */
static double delta_of_cells(const struct small_round *s, double epsilon)
{
	double real[4][3];

	for (uint32_t k = 1; k < s->n; k++)
		for (int j = 0; j < 3; j++)
			real[k][j] = s->p.mixbins.keep_always ? 0 : pt_mixbins_other(&s->p.mixbins);
	return delta_among(s, real, epsilon);
}

/* The delta of the round itself: the largest over all that the others can hold. */
static double delta_of_values(const struct small_round *s, double epsilon)
{
	double keep = pt_mixbins_keep(&s->p.mixbins), other = pt_mixbins_other(&s->p.mixbins), worst = 0,
	       real[4][3];
	uint32_t inputs = 1;

	for (uint32_t k = 1; k < s->n; k++)
		inputs *= 3;
	for (uint32_t x = 0; x < inputs; x++) {
		uint32_t rest = x;

		for (uint32_t k = 1; k < s->n; k++, rest /= 3)
			for (uint32_t j = 0; j < 3; j++)
				real[k][j] = j == rest % 3 ? keep : other;
		worst = fmax(worst, delta_among(s, real, epsilon));
	}
	return worst;
}

/* Fewer dummies give a greater loss, and a whole dummy in place of the chance a smaller one. */
static void assert_between_whole_dummies(
	const struct small_round *s, double epsilon, const struct acct_bound *b)
{
	struct acct_round less = s->told, more = s->told;
	struct acct_bound l, m;

	less.levels = more.levels = 0;
	more.dummies += s->n;
	assert_int_equal(acct_delta(&less, 1, epsilon, &l), ACCT_OK);
	assert_int_equal(acct_delta(&more, 1, epsilon, &m), ACCT_OK);
	assert_true(l.upper >= b->lower && m.lower <= b->upper);
}

/* But for rounding. */
static bool at_most(double a, double b)
{
	return a <= b * (1 + 1e-9) + 1e-14;
}

static void assert_loss_is_enumerated(const struct small_round *s, size_t number, double epsilon)
{
	double truth = delta_of_cells(s, epsilon), worst = delta_of_values(s, epsilon);
	struct acct_bound b = { NAN, NAN };

	assert_int_equal(acct_delta(&s->told, 1, epsilon, &b), ACCT_OK);
	if (!at_most(b.lower, truth) || !at_most(truth, b.upper))
		fail_msg("round %zu, epsilon %g: %.12g not in [%.12g, %.12g]", number, epsilon, truth,
			b.lower, b.upper);
	if (!at_most(worst, b.upper))
		fail_msg("round %zu, epsilon %g: %.12g above %.12g", number, epsilon, worst, b.upper);
	if (s->p.mixbins.keep_always && fabs(worst - truth) > 1e-12)
		fail_msg("round %zu: truthful others hide somebody", number);
	if (s->p.mixbins.dummy_chance < UINT64_MAX && truth > 1e-12 && s->n > 1)
		assert_between_whole_dummies(s, epsilon, &b);
}

/* All outcomes of three bins and up to four clients.  How many messages are NULL is what is missing from the
 * sum. */
static void the_loss_is_the_enumerated_one(void **state)
{
	static const double epsilons[] = { 0, 0.1, 0.5, 1, 2, 4 };
	static const struct {
		double epsilon0;
		uint32_t n, dummies;
		uint64_t chance;
		uint32_t shuffler;
	} rounds[] = { { INFINITY, 1, 0, QUARTER, 0 }, { INFINITY, 3, 0, QUARTER, 0 },
		{ INFINITY, 4, 0, 3 * QUARTER, 0 }, { INFINITY, 3, 1, QUARTER, 0 },
		{ INFINITY, 2, 0, 0x0ccccccccccccd00, 5 }, { INFINITY, 3, 2, UINT64_MAX, 1 },
		{ 1, 3, 0, QUARTER, 0 }, { 3, 4, 0, 3 * QUARTER, 0 }, { 2, 3, 1, QUARTER, 1 },
		{ 0.3, 3, 0, 2 * QUARTER, 0 }, { 5, 2, 1, 0x0ccccccccccccd00, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
		struct pt_request r = { .epsilon0 = rounds[i].epsilon0,
			.dummies = rounds[i].dummies,
			.dummy_chance = rounds[i].chance,
			.shuffler_dummies = rounds[i].shuffler };
		struct small_round s = small_round_of(&r, rounds[i].n);

		for (size_t e = 0; e < sizeof epsilons / sizeof *epsilons; e++)
			assert_loss_is_enumerated(&s, i, epsilons[e]);
	}
}

/* The same by name. */
static void a_name_has_the_cells_of_its_row(void **state)
{
	static const struct {
		const char *row, *text;
		double epsilon0;
		uint32_t dummies;
	} some[] = { { "bins", "bins:k=5,dummies=1000,chance=0.25,n=1000", INFINITY, 1 },
		{ "mixbins", "mixbins:k=5,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "mixbins", "mixbins:k=5,eps0=inf,dummies=2000,chance=0.25,n=1000", INFINITY, 2 },
		{ "levels", "levels:b=8,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "hashed", "hashed:b=4,dummies=0,chance=0.25,n=1000", INFINITY, 0 },
		{ "prefixes", "prefixes:k=4,eps0=2,chance=0.25,n=1000", 2, 0 },
		{ "words", "words:w=2,eps0=1,slots=3,dummies=1000,chance=0.25,n=1000", 1, 1 } };
	struct acct_spec s;
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		const struct pt_protocol *row = pt_find(some[i].row);
		struct qy_query q = query_of_readings(row);
		struct pt_request r = { .epsilon0 = some[i].epsilon0,
			.dummies = some[i].dummies,
			.dummy_chance = QUARTER,
			.min_reports = 1000 };
		struct pt_randomizer p;
		struct pt_loss loss;
		struct acct_bound ours, named;

		if (strcmp(row->device->name, "hashed") == 0)
			r.size = 4;
		if (strcmp(row->device->name, "levels") == 0)
			r.levels = 9;
		if (strcmp(row->device->name, "words") == 0)
			r.slots = 3, r.size = 2;
		p = derived(row, &q, &r);
		assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
		assert_int_equal(acct_spec_parse(some[i].text, &s, why, sizeof why), ACCT_OK);
		assert_int_equal(acct_epsilon(loss.part, 1, 1e-6, &ours), ACCT_OK);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &named), ACCT_OK);
		assert_true(fabs(ours.upper - named.upper) < 1e-6 * named.upper);
		assert_true(ours.upper < 10 && s.round.count == loss.part[0].count);
		assert_int_equal(s.round.levels, 1);
		assert_true(s.k < 2); /* nothing that is known of response alone */
	}
	assert_int_equal(acct_spec_parse("bins:k=5,dummies=9,chance=0.5", &s, why, sizeof why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, "n= is missing"));
	for (size_t i = 0; i < 3; i++) {
		static const char *const bad[] = { "bins:k=5,dummies=9,n=9,chance=0",
			"bins:k=5,dummies=9,n=9,chance=1", "ranges:leaves=9,fanout=3,eps0=1,n=9,chance=0.5" };

		assert_int_equal(acct_spec_parse(bad[i], &s, why, sizeof why), ACCT_EDOMAIN);
		assert_non_null(strstr(why, "chance"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_accountant_is_given_the_chance_and_never_more),
		cmocka_unit_test(the_loss_is_the_enumerated_one),
		cmocka_unit_test(a_name_has_the_cells_of_its_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
