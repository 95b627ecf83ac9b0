/* test_buf.c - bounded bytes, checked sizes, integers and hex. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_buf.h"

static void bytes_come_out_as_they_went_in(void **state)
{
	struct cm_buf b;
	uint8_t byte;

	(void)state;
	cm_buf_init(&b, 100000);
	for (size_t i = 0; i < 100000; i++) {
		byte = (uint8_t)(i * 7);
		assert_int_equal(cm_buf_put(&b, &byte, 1), CM_OK);
	}
	assert_int_equal(b.len, 100000);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], (uint8_t)(i * 7));
	cm_buf_fini(&b);
}

static void the_maximum_holds_and_a_refused_put_changes_nothing(void **state)
{
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 5);
	assert_int_equal(cm_buf_put(&b, "abc", 3), CM_OK);
	assert_int_equal(cm_buf_put(&b, "def", 3), CM_EDATA);
	assert_int_equal(cm_buf_put(&b, "def", SIZE_MAX), CM_EDATA);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "abc", 3);
	assert_int_equal(cm_buf_put(&b, "de", 2), CM_OK);
	assert_null(cm_buf_room(&b, 1));
	assert_null(cm_buf_room(&b, SIZE_MAX));
	assert_true(b.cap <= b.max);
	cm_buf_fini(&b);
}

static void nothing_can_be_put_into_a_buffer_of_no_bytes(void **state)
{
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 0);
	assert_int_equal(cm_buf_put(&b, "", 0), CM_OK);
	assert_int_equal(cm_buf_put(&b, "a", 1), CM_EDATA);
	cm_buf_fini(&b);
}

static void dropping_keeps_the_rest(void **state)
{
	struct cm_buf b;

	(void)state;
	cm_buf_init(&b, 10);
	assert_int_equal(cm_buf_put(&b, "abcdef", 6), CM_OK);
	cm_buf_drop(&b, 2);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "cdef", 4);
	cm_buf_drop(&b, 0);
	assert_int_equal(b.len, 4);
	cm_buf_drop(&b, 4);
	assert_int_equal(b.len, 0);
	cm_buf_fini(&b);
}

static void a_zeroed_or_finished_buffer_may_be_finished(void **state)
{
	struct cm_buf b = { 0 };

	(void)state;
	cm_buf_fini(&b);
	cm_buf_init(&b, 4);
	b.secret = 1;
	assert_int_equal(cm_buf_put(&b, "abcd", 4), CM_OK);
	cm_buf_fini(&b);
	cm_buf_fini(&b);
	assert_int_equal(b.max, 4);
	assert_int_equal(cm_buf_put(&b, "abcd", 4), CM_OK);
	cm_buf_fini(&b);
}

static void sizes_that_would_wrap_are_refused(void **state)
{
	size_t out = 7;

	(void)state;
	assert_false(cm_size_add(SIZE_MAX, 1, &out));
	assert_false(cm_size_mul(SIZE_MAX / 2 + 1, 2, &out));
	assert_true(cm_size_add(SIZE_MAX, 0, &out) && out == SIZE_MAX);
	assert_true(cm_size_mul(SIZE_MAX / 2, 2, &out) && out == SIZE_MAX - 1);
}

static void an_array_grows_when_it_is_full_and_keeps_its_items(void **state)
{
	uint64_t *item = NULL;
	size_t cap = 0, moves = 0;

	(void)state;
	for (size_t n = 0; n < 1000; n++) {
		size_t before = cap;
		uint64_t *more = cm_grow(item, n, &cap, sizeof *item);

		assert_non_null(more);
		assert_true(cap > n);
		if (n < before)
			assert_ptr_equal(more, item);
		moves += cap != before;
		item = more;
		item[n] = n;
	}
	for (size_t n = 0; n < 1000; n++)
		assert_int_equal(item[n], n);
	assert_true(moves < 12);
	free(item);
}

static void an_array_that_cannot_grow_stays_as_it_was(void **state)
{
	char bytes[4];
	size_t cap = SIZE_MAX / 2 + 1;

	(void)state;
	assert_null(cm_grow(bytes, cap, &cap, 1)); /* twice as much would wrap */
	cap = SIZE_MAX / 4;
	assert_null(cm_grow(bytes, cap, &cap, 8)); /* so many bytes would */
	assert_int_equal(cap, SIZE_MAX / 4);
	assert_ptr_equal(cm_grow(bytes, 3, &cap, 8), bytes);
}

static void integers_have_the_stated_byte_order(void **state)
{
	uint8_t p[8];

	(void)state;
	cm_put_le64(p, 0x0102030405060708u);
	assert_memory_equal(p, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	assert_true(cm_get_le64(p) == 0x0102030405060708u);
	cm_put_le32(p, 0xfffefdfcu);
	assert_memory_equal(p, "\xfc\xfd\xfe\xff", 4);
	assert_true(cm_get_le32(p) == 0xfffefdfcu);
	cm_put_be32(p, 0xfffefdfcu);
	assert_memory_equal(p, "\xff\xfe\xfd\xfc", 4);
	assert_true(cm_get_be32(p) == 0xfffefdfcu);
}

static void hex_is_read_exactly_or_refused(void **state)
{
	static const char *const bad[] = { "", "00f", "00fff", "00f ", " 0ff", "00fg", "0x0f", "00ff0" };
	uint8_t p[2];
	char text[5];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cm_unhex(bad[i], p, 2), CM_EDATA);
	assert_int_equal(cm_unhex("00fF", p, 2), CM_OK);
	cm_hex(p, 2, text);
	assert_string_equal(text, "00ff");
}

static void context_goes_before_the_message_and_long_ones_are_cut(void **state)
{
	struct cm_err err = { 0 };
	char big[400];

	(void)state;
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	assert_int_equal(cm_fail(&err, CM_EDATA, "row %d", 3), CM_EDATA);
	assert_int_equal(cm_context(&err, "file %s", "a"), CM_EDATA);
	assert_string_equal(err.msg, "file a: row 3");
	assert_int_equal(cm_context(&err, "%.300s", big), CM_EDATA);
	assert_int_equal(strlen(err.msg), 300 + strlen(": file a: row 3"));
	assert_int_equal(cm_context(&err, "%s", big), CM_EDATA);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	assert_int_equal(cm_fail(&err, CM_EIO, "%s", big), CM_EIO);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
	/* One line that a terminal shows as it is, whatever names are in it. */
	assert_int_equal(cm_fail(&err, CM_EDATA, "no '%s'", "a\nb\r\t\033[2J\xff\xc3\xa9"), CM_EDATA);
	assert_string_equal(err.msg, "no 'a?b???[2J?\xc3\xa9'");
	assert_int_equal(cm_context(&err, "%s", "x\n"), CM_EDATA);
	assert_string_equal(err.msg, "x?: no 'a?b???[2J?\xc3\xa9'");
	assert_int_equal(cm_fail(&err, CM_EIO, "%s", big), CM_EIO);
	assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_out_as_they_went_in),
		cmocka_unit_test(the_maximum_holds_and_a_refused_put_changes_nothing),
		cmocka_unit_test(nothing_can_be_put_into_a_buffer_of_no_bytes),
		cmocka_unit_test(dropping_keeps_the_rest),
		cmocka_unit_test(a_zeroed_or_finished_buffer_may_be_finished),
		cmocka_unit_test(sizes_that_would_wrap_are_refused),
		cmocka_unit_test(an_array_grows_when_it_is_full_and_keeps_its_items),
		cmocka_unit_test(an_array_that_cannot_grow_stays_as_it_was),
		cmocka_unit_test(integers_have_the_stated_byte_order),
		cmocka_unit_test(hex_is_read_exactly_or_refused),
		cmocka_unit_test(context_goes_before_the_message_and_long_ones_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
