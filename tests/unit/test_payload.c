/* test_payload.c - the bytes of a payload: what is read, and every way in which they can be wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "computed.h"
#include "py_payload.h"

/* Two arrays, "w" of 2 x 2 floats and "f" of three ints; the head has 12 + 12 + 8 = 32 bytes. */
static struct computed_payload small(void)
{
	static const uint32_t w[2] = { 2, 2 }, f[1] = { 3 };
	struct computed_payload p = { .arrays = 0 };

	computed_head(&p, "w", 1, 2, w);
	computed_head(&p, "f", 2, 1, f);
	for (int i = 0; i < 4; i++)
		computed_float(&p, (float)i - 1.5F);
	for (int i = 0; i < 3; i++)
		computed_int(&p, -i);
	computed_end(&p);
	return p;
}

static enum cm_rc read_copy(const uint8_t *bytes, size_t n, struct cm_err *err)
{
	uint8_t *copy = malloc(n > 0 ? n : 1); /* of exactly that length, so that a sanitizer sees more */
	struct py_payload out;
	enum cm_rc rc;

	memcpy(copy, bytes, n);
	rc = py_payload_read(copy, n, &out, err);
	free(copy);
	return rc;
}

static void arrays_are_where_their_heads_say(void **state)
{
	struct computed_payload p = small();
	struct py_payload out;
	struct cm_err err = { 0 };
	const struct py_array *w, *f;

	(void)state;
	assert_int_equal(py_payload_read(p.bytes, p.len, &out, &err), CM_OK);
	assert_int_equal(out.arrays, 2);
	w = py_payload_find(&out, "w");
	f = py_payload_find(&out, "f");
	assert_null(py_payload_find(&out, "ww"));
	assert_true(w && f);
	assert_int_equal(w->n, 4);
	assert_int_equal(w->dims, 2);
	assert_int_equal(w->type, PY_FLOAT32);
	assert_int_equal(f->type, PY_INT32);
	assert_true(py_float(w, 3) == 1.5F);
	assert_int_equal(py_int(f, 2), -2);
	assert_ptr_equal(w->at, p.bytes + 32);
}

static void a_payload_that_ends_early_or_goes_on_is_refused(void **state)
{
	struct computed_payload p = small();
	struct cm_err err = { 0 };

	(void)state;
	for (size_t n = 0; n < p.len; n++) {
		assert_int_equal(read_copy(p.bytes, n, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, "payload: "));
	}
	p.bytes[p.len] = 0;
	assert_int_equal(read_copy(p.bytes, p.len + 1, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "after its last array"));
}

static void numbers_that_are_not_finite_are_refused(void **state)
{
	static const uint32_t dim[1] = { 3 };
	const float bad[] = { INFINITY, -INFINITY, NAN, -NAN };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct computed_payload p = { .arrays = 0 };

		computed_head(&p, "w", 1, 1, dim);
		computed_float(&p, 0);
		computed_float(&p, 1e-45F);
		computed_float(&p, bad[i]);
		computed_end(&p);
		assert_int_equal(read_copy(p.bytes, p.len, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, "number 2 of 'w' is not finite"));
	}
}

static void bad_head(const char *name, uint8_t type, uint8_t dims, const uint32_t *dim, const char *says)
{
	struct computed_payload p = { .arrays = 0 };
	struct cm_err err = { 0 };

	computed_head(&p, name, type, dims, dim);
	computed_float(&p, 1);
	computed_end(&p);
	assert_int_equal(read_copy(p.bytes, p.len, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, says));
}

static void names_types_and_shapes_are_held_to_the_format(void **state)
{
	static const char *const names[] = { "", "W", "1a", "_a", "a-b", "a b", "a\xc3\xa9",
		"abcdefghijabcdefghijabcdefghijabc" };
	const uint32_t one[5] = { 1, 1, 1, 1, 1 }, none[2] = { 4, 0 },
		       wraps[4] = { 65536, 65536, 65536, 65536 }, wraps32[2] = { 0x80000000, 2 },
		       many[1] = { PY_PAYLOAD_MAX / 4 + 1 };
	struct computed_payload p = { .arrays = 0 };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		bad_head(names[i], 1, 1, one, "the name of array 0");
	bad_head("a", 0, 1, one, "type 0");
	bad_head("a", 3, 1, one, "type 3");
	bad_head("a", 1, 5, one, "5 dimensions");
	bad_head("a", 1, 2, none, "no or too many numbers");
	bad_head("a", 1, 4, wraps, "no or too many numbers");
	bad_head("a", 1, 2, wraps32, "no or too many numbers");
	bad_head("a", 1, 1, many, "no or too many numbers");
	/* 32 letters, digits and a scalar are fine. */
	computed_head(&p, "abcdefghij_bcdefghijabcdefghij09", 1, 0, one);
	computed_float(&p, 1);
	computed_end(&p);
	assert_int_equal(read_copy(p.bytes, p.len, &err), CM_OK);
}

static void an_array_twice_or_a_wrong_count_is_refused(void **state)
{
	static const uint32_t one[1] = { 1 };
	struct computed_payload p = { .arrays = 0 }, q = small();
	struct cm_err err = { 0 };

	(void)state;
	computed_head(&p, "ab", 1, 1, one);
	computed_head(&p, "ab", 2, 1, one);
	computed_float(&p, 1);
	computed_int(&p, 1);
	computed_end(&p);
	assert_int_equal(read_copy(p.bytes, p.len, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "two arrays 'ab'"));
	cm_put_le32(q.bytes + 8, 0);
	assert_int_equal(read_copy(q.bytes, q.len, &err), CM_EDATA);
	cm_put_le32(q.bytes + 8, PY_ARRAYS_MAX + 1);
	assert_int_equal(read_copy(q.bytes, q.len, &err), CM_EDATA);
	q.bytes[0] = 't';
	assert_int_equal(read_copy(q.bytes, q.len, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "TOMBPAY1"));
}

static void bytes_of_the_gap_must_be_zero(void **state)
{
	static const uint32_t one[1] = { 1 };
	struct computed_payload p = { .arrays = 0 };
	struct cm_err err = { 0 };

	(void)state;
	computed_head(&p, "abc", 1, 1, one); /* 22 bytes, and two */
	computed_float(&p, 1);
	computed_end(&p);
	assert_int_equal(p.len, 28);
	assert_int_equal(read_copy(p.bytes, p.len, &err), CM_OK);
	p.bytes[23] = 1;
	assert_int_equal(read_copy(p.bytes, p.len, &err), CM_EDATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrays_are_where_their_heads_say),
		cmocka_unit_test(a_payload_that_ends_early_or_goes_on_is_refused),
		cmocka_unit_test(numbers_that_are_not_finite_are_refused),
		cmocka_unit_test(names_types_and_shapes_are_held_to_the_format),
		cmocka_unit_test(an_array_twice_or_a_wrong_count_is_refused),
		cmocka_unit_test(bytes_of_the_gap_must_be_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
