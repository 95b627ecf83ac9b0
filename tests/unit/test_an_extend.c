/* test_an_extend.c - the candidates that an answer leaves to extend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "an_extend.h"

static struct cm_err err;

/* Two rounds: the second extends the first, which asked for four candidates of 4 bits. */
struct fixture {
	struct pl_round plan[2];
	struct an_round_state round[2];
	struct an_state state;
	struct an_extension got;
};

static void set_up(struct fixture *d, uint32_t bits, uint32_t keep)
{
	static char zero[] = "0", three[] = "3", a[] = "a", f[] = "f", *candidates[] = { zero, three, a, f };
	const struct qy_query first = { .kind = QY_PREFIXES,
		.name = "site-4",
		.field = "site",
		.bits = 4,
		.category = candidates,
		.categories = 4,
		.none = QY_NONE_SYMBOL };

	*d = (struct fixture){ .plan = { { .number = 1, .query = first },
				       { .number = 2,
					       .query = { .kind = QY_PREFIXES,
						       .name = "site-more",
						       .field = "site",
						       .bits = bits,
						       .none = QY_NONE_SYMBOL },
					       .after = 1,
					       .keep = keep } } };
	for (size_t i = 0; i < 2; i++)
		d->round[i].plan = &d->plan[i];
	d->round[0].stage = AN_SETTLED;
	d->round[0].descriptor.query = first;
	d->state.round = d->round;
}

/* items: of the first round, in its candidates' order. */
static enum cm_rc extend(struct fixture *d, const char *items)
{
	json_t *result = items ? json_loads(items, 0, NULL) : NULL;
	enum cm_rc rc = an_extend(&d->state, &d->plan[1], result, &d->got, &err);

	assert_true(!items || result);
	json_decref(result);
	return rc;
}

#define ITEM(value, below) "{\"value\": " value ", \"below_noise\": " below "}"
#define FOUR                                                                                          \
	"{\"items\": [" ITEM("12", "true") "," ITEM("90", "false") "," ITEM("300", "false") "," ITEM( \
		"91.5", "false") "]}"

static void what_was_found_is_extended_the_most_frequent_first(void **state)
{
	struct fixture d;
	char want[3] = "a0";

	(void)state;
	set_up(&d, 8, 3);
	assert_int_equal(extend(&d, FOUR), CM_OK);
	assert_string_equal(d.got.nothing, "");
	assert_int_equal(d.got.query.categories, 48);
	for (uint32_t i = 0; i < 48; i++) {
		want[0] = "af3"[i / 16];
		want[1] = "0123456789abcdef"[i % 16];
		assert_string_equal(d.got.query.category[i], want);
	}
	/* The plan's own part of the question stays. */
	assert_string_equal(d.got.query.name, "site-more");
	assert_int_equal(d.got.query.bits, 8);
	assert_int_equal(qy_query_check(&d.got.query, &err), CM_OK);
	qy_query_fini(&d.got.query);
	set_up(&d, 12, 1);
	assert_int_equal(extend(&d, FOUR), CM_OK);
	assert_int_equal(d.got.query.categories, 256);
	assert_string_equal(d.got.query.category[0], "a00");
	assert_string_equal(d.got.query.category[255], "aff");
	qy_query_fini(&d.got.query);
}

/* An answer decides what is asked next, and an equal answer gives the same question. */
static void equal_counts_go_by_their_place(void **state)
{
	struct fixture d;

	(void)state;
	set_up(&d, 8, 2);
	assert_int_equal(extend(&d, "{\"items\": [" ITEM("5", "false") "," ITEM("5", "false") "," ITEM(
					    "5", "false") "," ITEM("5", "false") "]}"),
		CM_OK);
	assert_int_equal(d.got.query.categories, 32);
	assert_string_equal(d.got.query.category[0], "00");
	assert_string_equal(d.got.query.category[16], "30");
	qy_query_fini(&d.got.query);
}

static void nothing_found_leaves_nothing_to_ask(void **state)
{
	struct fixture d;

	(void)state;
	set_up(&d, 8, 2);
	assert_int_equal(extend(&d, "{\"items\": [" ITEM("5", "true") "," ITEM("5", "true") "," ITEM(
					    "5", "true") "," ITEM("5", "true") "]}"),
		CM_OK);
	assert_string_equal(
		d.got.nothing, "nothing to extend: no candidate of round 1 (site-4) is above the noise");
	assert_null(d.got.query.category);
	d.round[0].stage = AN_VOID;
	assert_int_equal(extend(&d, NULL), CM_OK);
	assert_string_equal(d.got.nothing, "nothing to extend: round 1 (site-4) is void");
	assert_int_equal(extend(&d, "{\"fault\": \"no valid report\", \"items\": []}"), CM_OK);
	assert_string_equal(d.got.nothing, "nothing to extend: round 1 (site-4) has no estimate");
}

static void a_result_of_other_candidates_is_refused(void **state)
{
	struct fixture d;

	(void)state;
	set_up(&d, 8, 2);
	assert_int_equal(extend(&d, "{\"items\": [" ITEM("5", "false") "]}"), CM_EDATA);
	assert_int_equal(extend(&d, "{}"), CM_EDATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_found_is_extended_the_most_frequent_first),
		cmocka_unit_test(equal_counts_go_by_their_place),
		cmocka_unit_test(nothing_found_leaves_nothing_to_ask),
		cmocka_unit_test(a_result_of_other_candidates_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
