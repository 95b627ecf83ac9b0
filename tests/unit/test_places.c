/* test_places.c - two numbers of a reading as a cell of a grid. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "qy_query.h"
#include "qy_value.h"
#include "seeded.h"

static struct cm_err err;
static struct cr_rng rng;
static struct qy_value value;
static int clamped;

/* Four cells of [0, 10] by two of [-1, 1]. */
static struct qy_query grid(struct qy_column axes[2])
{
	axes[0] = (struct qy_column){ .name = "x", .high = 10, .cells = 4 };
	axes[1] = (struct qy_column){ .name = "y", .low = -1, .high = 1, .cells = 2 };
	return (struct qy_query){ .kind = QY_PLACES, .name = "q", .column = axes, .columns = 2 };
}

static void a_place_is_the_cell_of_two_numbers(void **state)
{
	static const struct {
		const char *text[2];
		uint64_t cell;
		int clamped;
		const char *shown;
	} rows[] = { { { "0", "-1" }, 0, 0, "[0, 2.5) x [-1, 0)" },
		{ { "9.9", "0" }, 7, 0, "[7.5, 10] x [0, 1]" },
		{ { "2.5", "-0.0001" }, 1, 0, "[2.5, 5) x [-1, 0)" },
		{ { "10", "1" }, 7, 0, "[7.5, 10] x [0, 1]" },
		{ { "1e300", "-7" }, 3, 1, "[7.5, 10] x [-1, 0)" },
		{ { " 5", "1e-9" }, 6, 0, "[5, 7.5) x [0, 1]" } };
	struct qy_column axes[2];
	struct qy_query q = grid(axes);
	char text[QY_PLACE_TEXT];

	(void)state;
	assert_int_equal(qy_query_check(&q, &err), CM_OK);
	assert_int_equal(qy_value_width(&q), 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(qy_value_read(&q, rows[i].text, NULL, &value, &clamped, &err), CM_OK);
		assert_true(value.x == rows[i].cell && clamped == rows[i].clamped);
		qy_value_text(&q, &value, text, sizeof text);
		assert_string_equal(text, rows[i].shown);
	}
}

static void every_cell_has_its_lower_ends_whatever_they_are_rounded_to(void **state)
{
	struct qy_column axes[2];
	struct qy_query q = grid(axes);

	(void)state;
	axes[0].low = 0.1;
	axes[0].high = 0.7;
	axes[0].cells = 2048;
	for (uint64_t cell = 0; cell < 2048; cell++) {
		char x[40];
		const char *at[2] = { x, "0.5" };
		double low, high;

		qy_place_ends(&q, 0, cell, &low, &high);
		(void)snprintf(x, sizeof x, "%.17g", low);
		assert_int_equal(qy_value_read(&q, at, NULL, &value, &clamped, &err), CM_OK);
		assert_int_equal(value.x, cell + 2048);
		(void)snprintf(x, sizeof x, "%.17g", nextafter(high, low));
		assert_int_equal(qy_value_read(&q, at, NULL, &value, &clamped, &err), CM_OK);
		assert_int_equal(value.x, cell + 2048);
	}
}

static void one_number_alone_is_no_place_and_does_not_show(void **state)
{
	static const char *const bad[][2] = { { NULL, "0" }, { "1", NULL }, { "", "0" }, { "1", "nan" },
		{ "inf", "0" }, { "1 ", "0" }, { "1", "north" }, { "1", "0,5" } };
	struct qy_column axes[2];
	struct qy_query q = grid(axes);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		bool seen[8] = { false };

		if (bad[i][0] && bad[i][1]) {
			assert_int_equal(qy_value_read(&q, bad[i], NULL, &value, &clamped, &err), CM_EDATA);
			assert_string_equal(err.msg, "field 'x' or 'y' is no finite number");
		}
		for (int k = 0; k < 400; k++) {
			assert_int_equal(qy_value_take(&q, bad[i], &rng, NULL, &value, &clamped), 1);
			assert_true(value.x < 8 && clamped == 0);
			seen[value.x] = true;
		}
		for (int k = 0; k < 8; k++)
			assert_true(seen[k]);
	}
}

static void a_grid_has_two_axes_of_two_cells_or_more(void **state)
{
	struct qy_column axes[2];
	struct qy_query q = grid(axes);

	(void)state;
	axes[1].cells = 1;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	axes[1].cells = 2;
	axes[1].high = -1;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q.columns = 1;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_is_the_cell_of_two_numbers),
		cmocka_unit_test(every_cell_has_its_lower_ends_whatever_they_are_rounded_to),
		cmocka_unit_test(one_number_alone_is_no_place_and_does_not_show),
		cmocka_unit_test(a_grid_has_two_axes_of_two_cells_or_more),
	};

	return RUN_SEEDED(tests, &rng, "places");
}
