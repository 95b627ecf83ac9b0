/* test_class_rows.c - participants of several guarantees: what is sent, what a round costs by enumeration,
 * what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "charged.h"
#include "encode_in_room.h"
#include "pt_classes_analysis.h"
#include "seeded.h"
#include "shuffled.h"

static struct cr_rng rng;
static const char *const rows[] = { "gspa-classes", "gspa-pooled" };

static struct qy_query three_words(void)
{
	struct qy_query q = query_of_kind(QY_HISTOGRAM);

	q.categories = 3;
	return q;
}

/* ---- what is sent ---- */

/* Each class tells the truth with the chance of its own guarantee; its number goes where the row says. */
static void a_device_answers_as_its_class_does(void **state)
{
	const struct qy_query q = three_words();
	const struct pt_request r = {
		.epsilon0 = 3, .classes = 3, .class_epsilon0 = { 0.5, 1.5, 3 }, .class_least = { 9, 9, 9 }
	};
	const double runs = 20000;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		const struct pt_protocol *row = pt_find(rows[k]);
		struct pt_randomizer p = made(rows[k], &q, &r);

		for (uint32_t level = 0; level < 3; level++) {
			struct qy_value v = { .x = 1, .level = level };
			uint64_t counts[9] = { 0 }, *words = k == 0 ? counts + 3 * level : counts;
			double keep = exp(r.class_epsilon0[level]) / (exp(r.class_epsilon0[level]) + 2);

			for (int i = 0; i < (int)runs; i++) {
				uint8_t records[32];
				uint16_t tags[2] = { 9, 9 };

				encode_in_room(row->device, &q, &p, &v, &rng, records);
				row->device->route(&p, &v, records, tags);
				for (uint32_t m = 0; m < row->device->messages(&p); m++) {
					assert_int_equal(tags[m], level);
					assert_int_equal(
						row->tally(&p, records + 16 * m, counts, &err), CM_OK);
				}
			}
			assert_true(
				fabs((double)words[1] / runs - keep) < 5 * sqrt(keep * (1 - keep) / runs));
			assert_true(fabs((double)words[0] - (double)words[2]) < 5 * sqrt(runs));
			assert_int_equal(words[0] + words[1] + words[2], (uint64_t)runs);
			if (k == 1)
				assert_int_equal(counts[3 + level], (uint64_t)runs);
		}
	}
}

/* ---- what it costs ---- */

static double ratio_of(const struct pt_slot *s)
{
	return pt_mixbins_keep(&s->each) / pt_mixbins_other(&s->each);
}

/* The largest loss over all values, with everybody's classes given: a victim of class `own`, and `others` of
 * class i beside it. */
static double worst_of(const struct pt_randomizer *p, uint32_t own, const unsigned *others, double epsilon)
{
	double worst = 0;
	unsigned held = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		held += others[i];
	for (unsigned all = 0; all < (unsigned)pow(3, held); all++)
		for (unsigned x = 1; x < 3; x++) {
			static struct law l[2];

			for (unsigned side = 0; side < 2; side++) {
				double report[SYMBOLS];
				unsigned rest = all;

				memset(&l[side], 0, sizeof l[side]);
				l[side].mass[0] = 1;
				grr_report(report, 3, ratio_of(&p->slots.slot[own]), side == 0 ? 0 : x);
				law_add(&l[side], report);
				for (uint32_t i = 0; i < p->slots.kinds; i++)
					for (unsigned k = 0; k < others[i]; k++, rest /= 3) {
						grr_report(report, 3, ratio_of(&p->slots.slot[i]), rest % 3);
						law_add(&l[side], report);
					}
			}
			worst = fmax(
				worst, fmax(hockey(&l[0], &l[1], epsilon), hockey(&l[1], &l[0], epsilon)));
		}
	return worst;
}

static const double epsilons[] = { 0, 0.3, 0.8, 1.6 };

/* Four participants, at least two in each class, or one and the rest anywhere; the victim is any of them. */
static void pooled_values_cost_no_more_than_is_charged(void **state)
{
	const struct qy_query q = three_words();
	struct pt_request r = { .epsilon0 = 2, .classes = 2, .class_epsilon0 = { 0.6, 2 } };
	static const uint32_t least[][2] = { { 2, 2 }, { 1, 1 }, { 3, 1 }, { 1, 3 } };

	(void)state;
	for (size_t k = 0; k < sizeof least / sizeof *least; k++) {
		double delta[4];
		struct pt_randomizer p;

		memcpy(r.class_least, least[k], sizeof least[k]);
		p = made("gspa-pooled", &q, &r);
		charged(&p, 4, epsilons, delta);
		for (unsigned strong = least[k][0]; strong <= 4 - least[k][1]; strong++)
			for (uint32_t own = 0; own < 2; own++) {
				unsigned others[2] = { strong - (own == 0), 4 - strong - (own == 1) };

				for (size_t i = 0; i < 4; i++)
					if (worst_of(&p, own, others, epsilons[i]) > delta[i] * (1 + 1e-9))
						fail_msg("%u strong, own %u, epsilon %g: %g is charged",
							strong, own, epsilons[i], delta[i]);
			}
	}
}

/* In a class that is said to have one honest participant this may be the victim, or nobody: then all others
 * are in the weakest class. */
static void classes_of_one_hide_nobody_else(void **state)
{
	const struct qy_query q = three_words();
	const struct pt_request r = {
		.epsilon0 = 2, .classes = 3, .class_epsilon0 = { 0.3, 0.6, 2 }, .class_least = { 1, 1, 1 }
	};
	struct pt_randomizer p = made("gspa-pooled", &q, &r);

	(void)state;
	for (unsigned n = 1; n < 5; n++) {
		const unsigned others[3] = { 0, 0, n - 1 };
		double delta[4];

		charged(&p, n, epsilons, delta);
		for (size_t i = 0; i < 4; i++)
			if (worst_of(&p, 2, others, epsilons[i]) > delta[i] * (1 + 1e-9))
				fail_msg("%u, epsilon %g: %g is charged", n, epsilons[i], delta[i]);
	}
}

/* With separate classes the victim hides among its own class alone. */
static void classes_apart_cost_no_more_than_is_charged(void **state)
{
	const struct qy_query q = three_words();
	struct pt_request r = { .epsilon0 = 2, .classes = 2, .class_epsilon0 = { 0.6, 2 } };
	static const uint32_t least[][2] = { { 2, 2 }, { 2, 4 }, { 4, 2 }, { 3, 3 } };

	(void)state;
	for (size_t k = 0; k < sizeof least / sizeof *least; k++) {
		double delta[4];
		struct pt_randomizer p;

		memcpy(r.class_least, least[k], sizeof least[k]);
		p = made("gspa-classes", &q, &r);
		charged(&p, 8, epsilons, delta);
		for (uint32_t own = 0; own < 2; own++)
			for (unsigned more = 0; more < 2; more++) {
				unsigned others[2] = { 0, 0 };

				others[own] = least[k][own] - 1 + more;
				for (size_t i = 0; i < 4; i++)
					assert_true(worst_of(&p, own, others, epsilons[i]) <=
						    delta[i] * (1 + 1e-9));
			}
	}
}

static void a_device_picks_the_weakest_class_it_allows(void **state)
{
	const struct qy_query q = three_words();
	const struct pt_request r = {
		.epsilon0 = 3, .classes = 2, .class_epsilon0 = { 0.5, 3 }, .class_least = { 9, 9 }
	};
	struct pt_randomizer p = made("gspa-pooled", &q, &r), grr = { .row = pt_device_find("grr") };

	(void)state;
	assert_true(pt_has_classes(&p) && !pt_has_classes(&grr));
	assert_true(pt_mixbins_guarantee(&p.slots.slot[0].each) <= 0.5 &&
		    pt_mixbins_guarantee(&p.slots.slot[0].each) > 0.5 - 1e-8);
	assert_true(pt_find("gspa-pooled")->device->epsilon0(&p) <= 3 &&
		    pt_find("gspa-pooled")->device->epsilon0(&p) > 3 - 1e-8);
}

/* ---- what is refused ---- */

static void impossible_classes_are_refused(void **state)
{
	const struct qy_query q = three_words(), vector = query_of_kind(QY_VECTOR);
	const struct pt_request good = {
		.epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 9, 9 }
	};
	struct pt_randomizer p;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		const struct pt_protocol *row = pt_find(rows[k]);
		struct pt_request r;

#define REFUSED(what, change)                                                   \
	do {                                                                    \
		r = good;                                                       \
		change;                                                         \
		assert_int_equal(pt_derive(row, &q, &r, &p, &err), CM_ECONFIG); \
		if (!strstr(err.msg, what))                                     \
			fail_msg("%s", err.msg);                                \
	} while (0)
		assert_int_equal(pt_derive(row, &vector, &good, &p, &err), CM_ECONFIG);
		REFUSED("1 classes", r.classes = 1);
		REFUSED("17 classes", r.classes = 17);
		REFUSED("must be finite and rise", r.class_epsilon0[0] = 2);
		REFUSED("must be finite and rise", r.class_epsilon0[1] = INFINITY);
		REFUSED("must be finite and rise", r.class_epsilon0[1] = NAN);
		REFUSED("above the round's", r.epsilon0 = 1.9);
		REFUSED("needs a least number", r.class_least[1] = 0);
		REFUSED("dummies must be 0", r.dummies = 1);
#undef REFUSED
	}
}

static void a_peers_classes_that_cannot_be_are_refused(void **state)
{
	const struct qy_query q = three_words();
	const struct pt_request r = {
		.epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 9, 9 }
	};

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		const struct pt_protocol *row = pt_find(rows[k]);
		struct pt_randomizer good = made(rows[k], &q, &r), p;

#define REFUSED(change)                                                        \
	do {                                                                   \
		p = good;                                                      \
		change;                                                        \
		assert_int_equal(row->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)
		REFUSED(p.shuffler.tags = 0);
		REFUSED(p.shuffler.tags = 3);
		REFUSED(p.shuffler.tag_messages = 1);
		REFUSED(p.shuffler.tag_least[0] = 0);
		REFUSED(p.shuffler.tag_least[2] = 1);
		REFUSED((p.slots.kinds = 1, p.shuffler.tags = 1));
		REFUSED(p.slots.kinds = UINT32_MAX);
		REFUSED(p.slots.slot[1].each.bins = 4);
		REFUSED((p.slots.slot[0].each.bins = 4, p.slots.slot[1].each.bins = 4));
		REFUSED(p.slots.slot[1].count = 2);
		REFUSED(p.slots.slot[1].groups = 2);
		REFUSED(p.slots.slot[1].each.dummies = 1);
		REFUSED(p.slots.slot[1].each.keep = p.slots.slot[0].each.keep);
		REFUSED((p.slots.slot[1].each.keep_always = true, p.slots.slot[1].each.keep = 0));
		REFUSED(p.shuffler.dummies = 1);
#undef REFUSED
	}
}

static void records_of_no_class_are_refused(void **state)
{
	const struct qy_query q = three_words();
	const struct pt_request r = {
		.epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 9, 9 }
	};
	/* slot, value */
	static const struct {
		uint8_t slot, value;
		bool good[2];
	} cases[] = { { 0, 2, { true, true } }, { 0, 3, { false, false } }, { 1, 1, { true, true } },
		{ 1, 2, { true, false } }, { 1, 3, { false, false } }, { 2, 0, { false, false } } };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct pt_randomizer p = made(rows[k], &q, &r);

		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			uint8_t record[16] = { 1, 0, cases[i].slot, 0, 0, 0, 0, 0, cases[i].value };
			uint64_t counts[6] = { 0 }, sum = 0;

			assert_int_equal(pt_find(rows[k])->tally(&p, record, counts, &err),
				cases[i].good[k] ? CM_OK : CM_EDATA);
			for (size_t c = 0; c < 6; c++)
				sum += counts[c];
			assert_int_equal(sum, cases[i].good[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_answers_as_its_class_does),
		cmocka_unit_test(pooled_values_cost_no_more_than_is_charged),
		cmocka_unit_test(classes_of_one_hide_nobody_else),
		cmocka_unit_test(classes_apart_cost_no_more_than_is_charged),
		cmocka_unit_test(a_device_picks_the_weakest_class_it_allows),
		cmocka_unit_test(impossible_classes_are_refused),
		cmocka_unit_test(a_peers_classes_that_cannot_be_are_refused),
		cmocka_unit_test(records_of_no_class_are_refused),
	};

	return RUN_SEEDED(tests, &rng, "class_rows");
}
