/* test_text.c - UTF-8 from elsewhere: what is a character, what shows, what a cut leaves.  The forms are
 * those of RFC 3629, sections 3 and 4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cm_rc.h"
#include "cm_text.h"

static size_t char_of(const char *s, size_t n)
{
	return cm_text_char((const uint8_t *)s, n);
}

static void the_first_and_last_character_of_each_length_are_characters(void **state)
{
	(void)state;
	assert_int_equal(char_of("\x01", 1), 1);
	assert_int_equal(char_of("\x7f", 1), 1);
	assert_int_equal(char_of("\xc2\x80", 2), 2);
	assert_int_equal(char_of("\xdf\xbf", 2), 2);
	assert_int_equal(char_of("\xe0\xa0\x80", 3), 3);
	assert_int_equal(char_of("\xed\x9f\xbf", 3), 3);
	assert_int_equal(char_of("\xee\x80\x80", 3), 3);
	assert_int_equal(char_of("\xef\xbf\xbf", 3), 3);
	assert_int_equal(char_of("\xf0\x90\x80\x80", 4), 4);
	assert_int_equal(char_of("\xf4\x8f\xbf\xbf", 4), 4);
}

static void overlong_surrogate_too_large_and_cut_forms_are_none(void **state)
{
	static const char *const bad[] = { "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f",
		"\xc2\xc0", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xe2\x82", "\xe2\x82\x7f",
		"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x9f\x8e",
		"\xf0\x9f\x8e\xc0", "\xff" };

	(void)state;
	assert_int_equal(char_of("", 0), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(char_of(bad[i], strlen(bad[i])), 0);
}

static void every_pair_of_bytes_is_judged_as_the_table_of_the_rfc_does(void **state)
{
	(void)state;
	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			const uint8_t s[2] = { (uint8_t)a, (uint8_t)b };
			size_t want = a < 0x80 ? 1 : a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf ? 2 : 0;

			assert_int_equal(cm_text_char(s, 2), want);
		}
	}
}

static void controls_separators_and_overrides_do_not_show(void **state)
{
	static const char *const hidden[] = { "\x01", "\n", "\x1b", "\x7f", "\xc2\x80", "\xc2\x9f",
		"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6",
		"\xe2\x81\xa9" };
	static const char *const shown[] = { " ", "~", "\xc2\xa0", "\xc3\x80", "\xd8\x9b", "\xd8\x9d",
		"\xd9\x9c", "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\xa5",
		"\xe2\x81\xaa", "\xe2\x82\xac", "\xf0\x9f\x8e\xb2" };

	(void)state;
	for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
		assert_false(cm_text_shows((const uint8_t *)hidden[i], strlen(hidden[i])));
	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		assert_true(cm_text_shows((const uint8_t *)shown[i], strlen(shown[i])));
}

static void a_copy_is_cut_between_characters_at_every_size(void **state)
{
	/* One to four bytes each: ends at 1, 3, 6, 10. */
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\xb2";
	static const size_t ends[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
	char out[16];

	(void)state;
	for (size_t size = 1; size <= sizeof ends / sizeof ends[0]; size++) {
		memset(out, 'x', sizeof out);
		cm_text_copy(out, size, text);
		assert_int_equal(strlen(out), ends[size - 1]);
		assert_memory_equal(out, text, ends[size - 1]);
		assert_int_equal(out[size], 'x');
	}
}

static void what_is_no_text_or_does_not_show_becomes_a_question_mark(void **state)
{
	char out[32];

	(void)state;
	cm_text_copy(out, sizeof out,
		"a\nb\xff"
		"c\xc3");
	assert_string_equal(out, "a?b?c?");
	cm_text_copy(out, sizeof out,
		"\xe2\x80\xae"
		"txt\xc2\x9b"
		"2J");
	assert_string_equal(out, "?txt?2J");
	cm_text_copy(out, 3, "\xc3\xc3\xc3\xc3");
	assert_string_equal(out, "??");
}

/* A message, and what is put before it, are cut at the end of a character. */
static void no_message_is_cut_inside_a_character(void **state)
{
	char letters[sizeof((struct cm_err *)0)->msg + 2] = "";
	struct cm_err err = { 0 };

	(void)state;
	for (size_t n = 0; n + 3 < sizeof letters; n += 2)
		memcpy(letters + n, "\xc3\xa9", 3);
	for (int more = 0; more < 2; more++) {
		(void)cm_fail(&err, CM_EDATA, "%s%s", more ? "x" : "", letters);
		assert_true(cm_text_is_printable(err.msg));
		(void)cm_fail(&err, CM_EDATA, "%.318s", letters);
		(void)cm_context(&err, "%s", more ? "line 1" : "line 12");
		assert_true(cm_text_is_printable(err.msg) && !strchr(err.msg, '?'));
		assert_int_equal(err.code, CM_EDATA);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_and_last_character_of_each_length_are_characters),
		cmocka_unit_test(overlong_surrogate_too_large_and_cut_forms_are_none),
		cmocka_unit_test(every_pair_of_bytes_is_judged_as_the_table_of_the_rfc_does),
		cmocka_unit_test(controls_separators_and_overrides_do_not_show),
		cmocka_unit_test(a_copy_is_cut_between_characters_at_every_size),
		cmocka_unit_test(what_is_no_text_or_does_not_show_becomes_a_question_mark),
		cmocka_unit_test(no_message_is_cut_inside_a_character),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
