/* test_table.c - tables, thousands and the progress line. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_clock.h"
#include "cm_table.h"

static const char *const head[] = { "query", "left" };

static char *print_rows(const struct cm_table *t, size_t from, size_t to)
{
	static char text[4096];
	FILE *out;

	memset(text, 0, sizeof text);
	out = fmemopen(text, sizeof text - 1, "w");
	assert_non_null(out);
	cm_table_print_rows(t, from, to, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *print(const struct cm_table *t)
{
	static char text[4096];
	FILE *out;

	memset(text, 0, sizeof text);
	out = fmemopen(text, sizeof text - 1, "w");
	assert_non_null(out);
	cm_table_print(t, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void columns_line_up_as_their_marks_say(void **state)
{
	struct cm_table *t = cm_table_new("<>", head);
	const char *const a[] = { "V3-mean", "0.7323" }, *const b[] = { "x", "1" };

	(void)state;
	cm_table_row(t, a);
	cm_table_row(t, b);
	assert_string_equal(print(t), "query      left\nV3-mean  0.7323\nx             1\n");
	cm_table_free(t);
}

static void a_table_may_be_printed_as_it_grows(void **state)
{
	struct cm_table *t = cm_table_new("<>", head);
	const char *const a[] = { "a", "1" }, *const b[] = { "b", "2" }, *const c[] = { "c", "3" };

	(void)state;
	cm_table_row(t, a);
	cm_table_row(t, b);
	cm_table_row(t, c);
	assert_string_equal(print_rows(t, 0, 1), "query  left\na         1\n");
	assert_string_equal(print_rows(t, 1, 3), "b         2\nc         3\n");
	assert_string_equal(print_rows(t, 1, 1), "");
	assert_string_equal(print_rows(t, 2, 99), "c         3\n");
	cm_table_free(t);
}

static void letters_beyond_ascii_take_one_column(void **state)
{
	struct cm_table *t = cm_table_new("<>", head);
	const char *const a[] = { "\xc3\xa9\xc3\xa9", "1" };

	(void)state;
	cm_table_row(t, a);
	assert_string_equal(print(t), "query  left\n\xc3\xa9\xc3\xa9        1\n");
	cm_table_free(t);
}

static void a_cell_cannot_drive_the_terminal(void **state)
{
	struct cm_table *t = cm_table_new("<<", head);
	const char *const a[] = { "a\033[2J\n", NULL };

	(void)state;
	cm_table_row(t, a);
	assert_string_equal(print(t), "query   left\na?[2J?\n");
	cm_table_free(t);
}

static void many_rows_are_kept(void **state)
{
	struct cm_table *t = cm_table_new("<>", head);
	const char *const a[] = { "q", "1" };

	(void)state;
	for (int i = 0; i < 90; i++)
		cm_table_row(t, a);
	assert_int_equal(strlen(print(t)), 91 * strlen("query  left\n"));
	cm_table_free(t);
	cm_table_free(NULL);
	cm_table_row(NULL, a);
}

static void thousands_are_set_apart(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(cm_thousands(0, out), "0");
	assert_string_equal(cm_thousands(999, out), "999");
	assert_string_equal(cm_thousands(58000, out), "58,000");
	assert_string_equal(cm_thousands(-1234567, out), "-1,234,567");
	assert_string_equal(cm_thousands(INT64_MIN, out), "-9,223,372,036,854,775,808");
}

static void off_a_terminal_progress_is_one_line_every_ten_seconds(void **state)
{
	FILE *to = tmpfile();
	int kept = dup(STDERR_FILENO);
	struct cm_progress p;
	char text[512];
	size_t n;

	(void)state;
	assert_true(to && kept >= 0 && dup2(fileno(to), STDERR_FILENO) >= 0);
	cm_progress_init(&p, "sending", 58000, 1000);
	cm_progress_at(&p, 10, 10999);
	cm_progress_at(&p, 20000, 11000);
	cm_progress_at(&p, 30000, 20999);
	cm_progress_done(&p, 58000, 21000);
	/* A quick run says nothing. */
	cm_progress_init(&p, "quick", 5, 0);
	cm_progress_done(&p, 5, 9999);
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	(void)close(kept);
	rewind(to);
	n = fread(text, 1, sizeof text - 1, to);
	text[n] = '\0';
	(void)fclose(to);
	assert_string_equal(text, "sending: 20,000 of 58,000\nsending: 58,000 of 58,000\n");
}

static void times_are_written_in_utc(void **state)
{
	char out[32];

	(void)state;
	/* RFC 3339, and the epoch. */
	cm_clock_text(0, out);
	assert_string_equal(out, "1970-01-01T00:00:00Z");
	cm_clock_text(482196050520, out);
	assert_string_equal(out, "1985-04-12T23:20:50Z");
	cm_clock_text(-1, out);
	assert_string_equal(out, "1969-12-31T23:59:59Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_line_up_as_their_marks_say),
		cmocka_unit_test(a_table_may_be_printed_as_it_grows),
		cmocka_unit_test(letters_beyond_ascii_take_one_column),
		cmocka_unit_test(a_cell_cannot_drive_the_terminal),
		cmocka_unit_test(many_rows_are_kept),
		cmocka_unit_test(thousands_are_set_apart),
		cmocka_unit_test(off_a_terminal_progress_is_one_line_every_ten_seconds),
		cmocka_unit_test(times_are_written_in_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
