/* test_msg_wire.c - bounded decoding: bytes that are malformed are refused, and fields that are unknown
 * ignored. */
#include "wire_bytes.h"

#include "frame_bytes.h"
#include "pr_msg.h"

/* ---- malformed wire ---- */

static void malformed_bytes_are_refused(void **state)
{
	static const struct {
		const char *what;
		size_t n;
		uint8_t hello[16];
	} row[] = {
		{ "field number 0", 2, { 0x00, 0x01 } },
		{ "tag alone", 1, { 0x08 } },
		{ "tag of six bytes", 7, { 0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 1 } },
		{ "tag above 32 bits", 6, { 0x88, 0x80, 0x80, 0x80, 0x7f, 1 } },
		{ "group start", 2, { 0x0b, 0x0c } },
		{ "group end", 1, { 0x0c } },
		{ "unknown group", 2, { 0x9b, 0x06 } },
		{ "wire type 6", 2, { 0x0e, 0x01 } },
		{ "wire type 7", 2, { 0x0f, 0x01 } },
		{ "varint without end", 3, { 0x08, 0x80, 0x80 } },
		{ "varint of eleven bytes", 12,
			{ 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 } },
		{ "varint above 64 bits", 11, { 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 } },
		{ "uint32 above 32 bits", 6, { 0x08, 0x80, 0x80, 0x80, 0x80, 0x10 } },
		{ "uint32 as fixed32", 5, { 0x0d, 1, 0, 0, 0 } },
		{ "uint32 as fixed64", 9, { 0x09, 1, 0, 0, 0, 0, 0, 0, 0 } },
		{ "uint32 as bytes", 3, { 0x0a, 1, 1 } },
		{ "text as varint", 2, { 0x18, 1 } },
		{ "fixed32 cut", 4, { 0x9d, 6, 0, 0 } },
		{ "fixed64 cut", 9, { 0x99, 6, 0, 0, 0, 0, 0, 0, 0 } },
		{ "length of six bytes", 8, { 0x1a, 0x81, 0x80, 0x80, 0x80, 0x80, 0, 'x' } },
		{ "number given twice", 4, { 0x08, 1, 0x08, 1 } },
		{ "text given twice", 6, { 0x1a, 1, 'a', 0x1a, 1, 'b' } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct cm_buf b;

		start(&b);
		wb_put(&b, row[i].hello, row[i].n);
		if (decode_as(HELLO, &b) != CM_EPROTO)
			fail_msg("accepted: %s", row[i].what);
		cm_buf_fini(&b);
	}
}

static void a_bool_is_0_or_1_and_an_enum_has_32_bits(void **state)
{
	static const struct {
		uint32_t field;
		uint64_t value;
		enum cm_rc rc;
	} row[] = {
		{ 7, 0, CM_OK }, /* Manifest.void */
		{ 7, 1, CM_OK },
		{ 7, 2, CM_EPROTO },
		{ 7, UINT64_C(1) << 32, CM_EPROTO },
	};
	static const struct {
		uint64_t value;
		enum cm_rc rc;
	} code[] = {
		{ 14, CM_OK },
		{ 0x7fffffff, CM_OK }, /* unknown here, but a later version may know it */
		{ 0x80000000, CM_EPROTO },
		{ UINT64_C(0xffffffff80000000), CM_OK },
		{ UINT64_C(0xffffffff7fffffff), CM_EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct cm_buf b;
		struct pr_doc d;

		start(&b);
		wb_fill(&b, 2, 1, 16);
		wb_fill(&b, 3, 2, 32);
		wb_number(&b, row[i].field, row[i].value);
		assert_int_equal(pr_doc_decode(&tombola__v1__manifest__descriptor, b.data, b.len,
					 PR_MANIFEST_MAX, &d, &err),
			row[i].rc);
		pr_doc_free(&d);
		cm_buf_fini(&b);
	}
	for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
		struct cm_buf b;

		start(&b);
		wb_number(&b, 1, code[i].value);
		assert_int_equal(decode_as(ERROR, &b), code[i].rc);
		cm_buf_fini(&b);
	}
}

static void two_kinds_in_one_frame_are_refused(void **state)
{
	static const uint8_t hello_error[] = { 0x0a, 0, 0x12, 0 }, hello_hello[] = { 0x0a, 0, 0x0a, 0 };
	struct pr_frame f;

	(void)state;
	assert_int_equal(pr_decode(hello_error, sizeof hello_error, &f, &err), CM_EPROTO);
	pr_free(&f);
	/* protobuf would merge these two, and leave which fields win to the reader. */
	assert_int_equal(pr_decode(hello_hello, sizeof hello_hello, &f, &err), CM_EPROTO);
	pr_free(&f);
}

static void text_is_utf8_without_nul(void **state)
{
	static const char *const good[] = { "", "plain", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
		"caf\xc3\xa9" };
	static const char *const bad[] = { "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41",
		"\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf0\x90\x80", "\xff", "a\xfe" };
	struct cm_buf b;

	(void)state;
	start(&b);
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		b.len = 0;
		wb_text(&b, 3, good[i]);
		assert_int_equal(decode_as(HELLO, &b), CM_OK);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		b.len = 0;
		wb_text(&b, 3, bad[i]);
		if (decode_as(HELLO, &b) != CM_EPROTO)
			fail_msg("accepted bad text %zu", i);
	}
	b.len = 0;
	wb_bytes(&b, 3, "tombola\0evil", 12);
	assert_int_equal(decode_as(HELLO, &b), CM_EPROTO);
	b.len = 0;
	wb_fill(&b, 3, 'a', PR_TEXT_MAX);
	assert_int_equal(decode_as(HELLO, &b), CM_OK);
	b.len = 0;
	wb_fill(&b, 3, 'a', PR_TEXT_MAX + 1);
	assert_int_equal(decode_as(HELLO, &b), CM_EPROTO);
	cm_buf_fini(&b);
}

/* ---- unknown things ---- */

static void unknown_fields_are_ignored(void **state)
{
	static const uint8_t eight[8];
	struct cm_buf b, frame;
	struct pr_frame f;

	(void)state;
	start(&b);
	start(&frame);
	wb_number(&b, 1, 1);
	wb_number(&b, 50, 12345);
	wb_text(&b, 51, "\xff is no text, but nobody reads it");
	wb_tag(&b, 52, 1);
	wb_put(&b, eight, 8);
	wb_tag(&b, 53, 5);
	wb_put(&b, eight, 4);
	wb_number(&b, 50, 6); /* unknown ones may repeat */
	wb_text(&b, 3, "x");
	wb_bytes(&frame, HELLO, b.data, b.len);
	wb_number(&frame, 536870911, 1); /* the largest field number */
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_OK);
	assert_int_equal(f.frame->kind_case, TOMBOLA__V1__FRAME__KIND_HELLO);
	assert_int_equal(f.frame->hello->major, 1);
	assert_string_equal(f.frame->hello->software, "x");
	pr_free(&f);
	cm_buf_fini(&frame);
	cm_buf_fini(&b);
}

static void an_unknown_kind_decodes_as_none(void **state)
{
	static const uint8_t unknown[] = { 0xa2, 0x06, 0x01, 'x' }; /* field 100 */
	struct pr_frame f;

	(void)state;
	assert_int_equal(pr_decode(unknown, sizeof unknown, &f, &err), CM_OK);
	assert_int_equal(f.frame->kind_case, TOMBOLA__V1__FRAME__KIND__NOT_SET);
	assert_string_equal(pr_kind_name(f.frame), "unknown");
	pr_free(&f);
	assert_int_equal(pr_decode(NULL, 0, &f, &err), CM_OK);
	assert_int_equal(f.frame->kind_case, TOMBOLA__V1__FRAME__KIND__NOT_SET);
	pr_free(&f);
}

static void as_many_unknown_fields_as_a_frame_holds_are_refused(void **state)
{
	struct cm_buf frame;
	struct pr_frame f;

	(void)state;
	start(&frame);
	for (unsigned i = 0; i < 349525; i++)
		wb_number(&frame, 60, 0); /* three bytes each: as many as a frame holds */
	assert_true(frame.len <= PR_FRAME_MAX);
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_EPROTO);
	pr_free(&f);

	frame.len = PR_FIELDS_MAX * 3;
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_OK);
	pr_free(&f);
	frame.len += 3;
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_EPROTO);
	pr_free(&f);
	cm_buf_fini(&frame);
}

static void nesting_in_unknown_fields_costs_nothing(void **state)
{
	struct cm_buf a, b;
	struct pr_frame f;

	(void)state;
	start(&a);
	start(&b);
	for (int i = 0; i < 1000; i++) { /* a message in a message in a message... */
		b.len = 0;
		wb_bytes(&b, 100, a.data, a.len);
		a.len = 0;
		wb_put(&a, b.data, b.len);
	}
	assert_int_equal(pr_decode(a.data, a.len, &f, &err), CM_OK);
	pr_free(&f);
	cm_buf_fini(&a);
	cm_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(a_bool_is_0_or_1_and_an_enum_has_32_bits),
		cmocka_unit_test(two_kinds_in_one_frame_are_refused),
		cmocka_unit_test(text_is_utf8_without_nul),
		cmocka_unit_test(unknown_fields_are_ignored),
		cmocka_unit_test(an_unknown_kind_decodes_as_none),
		cmocka_unit_test(as_many_unknown_fields_as_a_frame_holds_are_refused),
		cmocka_unit_test(nesting_in_unknown_fields_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
