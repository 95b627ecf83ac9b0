/* test_msg.c - bounded decoding: what no honest peer sends is refused before it costs anything. */
#include "wire_bytes.h"

#include <stdlib.h>

#include "pr_arena.h"
#include "pr_msg.h"
#include "pr_scan.h"

/* Field numbers of tombola.proto. */
enum { HELLO = 1, ERROR = 2, SUBMIT = 5, EXTEND = 9 };

static struct cm_err err;

static void start(struct cm_buf *b)
{
	cm_buf_init(b, 8u << 20);
}

/* b as the field `kind` of a Frame. */
static enum cm_rc decode_as(uint32_t kind, const struct cm_buf *b)
{
	struct cm_buf frame;
	struct pr_frame f;
	enum cm_rc rc;

	start(&frame);
	wb_bytes(&frame, kind, b->data, b->len);
	rc = pr_decode(frame.data, frame.len, &f, &err);
	assert_int_equal(rc == CM_OK, f.frame != NULL);
	pr_free(&f);
	cm_buf_fini(&frame);
	return rc;
}

static void put_submit(struct cm_buf *b, size_t id, size_t pseudonyms, size_t sealed)
{
	wb_fill(b, 1, 7, id);
	wb_fill(b, 2, 8, pseudonyms);
	wb_fill(b, 3, 9, sealed);
	wb_fill(b, 4, 10, pseudonyms);
}

/* ---- limits ---- */

static void walk_types(const ProtobufCMessageDescriptor *type, int depth)
{
	assert_true(depth <= (int)PR_NESTING_MAX);
	assert_true(type->n_fields <= 64);
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		const struct pr_limit *limit = pr_limit_of(type, f);

		if (f->type == PROTOBUF_C_TYPE_BYTES || f->label == PROTOBUF_C_LABEL_REPEATED) {
			if (!limit)
				fail_msg("%s.%s has no limit", type->name, f->name);
			assert_true(
				limit->max >= limit->min && limit->max <= PR_FRAME_MAX && limit->unit >= 1);
		}
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			assert_true(limit->count >= 1);
			/* The scan knows no packed numbers. */
			assert_int_equal(f->flags & PROTOBUF_C_FIELD_FLAG_PACKED, 0);
		}
		if (f->type == PROTOBUF_C_TYPE_MESSAGE)
			walk_types(f->descriptor, depth + 1);
	}
}

static void every_bytes_and_every_repeated_field_has_a_limit(void **state)
{
	(void)state;
	walk_types(&tombola__v1__frame__descriptor, 0);
	walk_types(&tombola__v1__descriptor__descriptor, 0);
	walk_types(&tombola__v1__manifest__descriptor, 0);
	walk_types(&tombola__v1__charge__descriptor, 0);
	walk_types(&tombola__v1__record__descriptor, 0);
	walk_types(&tombola__v1__opening__descriptor, 0);
	walk_types(&tombola__v1__evidence__descriptor, 0);
}

static void lengths_that_are_not_the_fields_own_are_refused(void **state)
{
	static const struct {
		size_t id, pseudonyms, sealed;
		enum cm_rc rc;
	} row[] = {
		{ 16, 32, 1, CM_OK },
		{ 16, 64, 300, CM_OK },
		{ 15, 32, 1, CM_EPROTO },
		{ 17, 32, 1, CM_EPROTO },
		{ 0, 32, 1, CM_EPROTO },
		{ 16, 0, 1, CM_EPROTO },
		{ 16, 31, 1, CM_EPROTO },
		{ 16, 33, 1, CM_EPROTO },
		{ 16, 32, 0, CM_EPROTO },
		{ 16, (size_t)PR_SUBMISSIONS_MAX * 32, 1, CM_OK },
		{ 16, ((size_t)PR_SUBMISSIONS_MAX + 1) * 32, 1, CM_EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct cm_buf b;

		start(&b);
		put_submit(&b, row[i].id, row[i].pseudonyms, row[i].sealed);
		assert_int_equal(decode_as(SUBMIT, &b), row[i].rc);
		cm_buf_fini(&b);
	}
}

static void an_inner_length_beyond_the_end_is_refused(void **state)
{
	static const uint64_t lengths[] = { 2, 100, 0x7fffffff, 0x80000000, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
		struct cm_buf b;

		start(&b);
		wb_tag(&b, 3, 2);
		wb_varint(&b, lengths[i]);
		wb_put(&b, "x", 1);
		assert_int_equal(decode_as(HELLO, &b), CM_EPROTO);
		/* The same in a field nobody knows. */
		b.len = 0;
		wb_tag(&b, 99, 2);
		wb_varint(&b, lengths[i]);
		wb_put(&b, "x", 1);
		assert_int_equal(decode_as(HELLO, &b), CM_EPROTO);
		cm_buf_fini(&b);
	}
}

static void a_frame_cut_anywhere_is_refused(void **state)
{
	struct cm_buf b, frame;

	(void)state;
	start(&b);
	start(&frame);
	put_submit(&b, 16, 64, 200);
	wb_bytes(&frame, SUBMIT, b.data, b.len);
	for (size_t n = 1; n < frame.len; n++) {
		uint8_t *exact = malloc(n); /* so that a sanitizer sees a byte too far */
		struct pr_frame f;

		assert_non_null(exact);
		memcpy(exact, frame.data, n);
		assert_int_equal(pr_decode(exact, n, &f, &err), CM_EPROTO);
		pr_free(&f);
		free(exact);
	}
	cm_buf_fini(&frame);
	cm_buf_fini(&b);
}

static void a_frame_over_the_maximum_is_refused(void **state)
{
	uint8_t *big = calloc(1, PR_FRAME_MAX + 1);
	struct pr_frame f;

	(void)state;
	assert_non_null(big);
	assert_int_equal(pr_decode(big, PR_FRAME_MAX + 1, &f, &err), CM_EPROTO);
	pr_free(&f);
	free(big);
}

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
		{ 0x7fffffff, CM_OK }, /* unknown, but a later version may know it */
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
	struct pr_scan scan;
	struct pr_frame f;

	(void)state;
	start(&frame);
	for (unsigned i = 0; i < 349525; i++)
		wb_number(&frame, 60, 0); /* three bytes each: as many as a frame holds */
	assert_true(frame.len <= PR_FRAME_MAX);
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_EPROTO);
	pr_free(&f);
	assert_int_equal(
		pr_scan(&tombola__v1__frame__descriptor, frame.data, frame.len, &scan, &err), CM_EPROTO);
	assert_true(scan.fields <= PR_FIELDS_MAX + 1); /* it stopped there */

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
	struct pr_scan scan;

	(void)state;
	start(&a);
	start(&b);
	for (int i = 0; i < 1000; i++) { /* a message in a message in a message... */
		b.len = 0;
		wb_bytes(&b, 100, a.data, a.len);
		a.len = 0;
		wb_put(&a, b.data, b.len);
	}
	assert_int_equal(pr_scan(&tombola__v1__frame__descriptor, a.data, a.len, &scan, &err), CM_OK);
	assert_int_equal(scan.fields, 1);
	cm_buf_fini(&a);
	cm_buf_fini(&b);
}

/* A type that holds itself, which tombola.proto has none of. */
static ProtobufCFieldDescriptor self_field = {
	.name = "self",
	.id = 1,
	.label = PROTOBUF_C_LABEL_NONE,
	.type = PROTOBUF_C_TYPE_MESSAGE,
};
static ProtobufCMessageDescriptor self_type = {
	.short_name = "Self",
	.n_fields = 1,
	.fields = &self_field,
	.sizeof_message = 32,
};

static void nesting_deeper_than_the_maximum_is_refused(void **state)
{
	struct cm_buf a, b;
	struct pr_scan scan;

	(void)state;
	self_field.descriptor = &self_type;
	start(&a);
	start(&b);
	for (unsigned depth = 0; depth < 5000; depth++) {
		enum cm_rc want = depth <= PR_NESTING_MAX ? CM_OK : CM_EPROTO;

		assert_int_equal(pr_scan(&self_type, a.data, a.len, &scan, &err), want);
		b.len = 0;
		wb_bytes(&b, 1, a.data, a.len);
		a.len = 0;
		wb_put(&a, b.data, b.len);
	}
	cm_buf_fini(&a);
	cm_buf_fini(&b);
}

/* ---- repetitions ---- */

static enum cm_rc decode_records(unsigned n, size_t each)
{
	struct cm_buf b;
	enum cm_rc rc;

	start(&b);
	wb_text(&b, 1, "p");
	for (unsigned i = 0; i < n; i++)
		wb_fill(&b, 3, 1, each);
	rc = decode_as(EXTEND, &b);
	cm_buf_fini(&b);
	return rc;
}

static void repetitions_over_their_limit_are_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_records(PR_RECORDS_MAX, 3), CM_OK);
	assert_int_equal(decode_records(PR_RECORDS_MAX + 1, 3), CM_EPROTO);
	assert_int_equal(decode_records(100000, 1), CM_EPROTO);
	assert_int_equal(decode_records(1, 0), CM_EPROTO); /* an empty record is none */
	assert_int_equal(decode_records(1, PR_RECORD_MAX), CM_OK);
	assert_int_equal(decode_records(1, PR_RECORD_MAX + 1), CM_EPROTO);
}

static enum cm_rc decode_buckets(unsigned n, size_t *memory, size_t *len)
{
	struct cm_buf b, bucket;
	struct pr_scan scan;
	struct pr_doc d;
	enum cm_rc rc;

	start(&b);
	start(&bucket);
	wb_fill(&bucket, 2, 1, 32);
	wb_fill(&b, 2, 1, 16);
	wb_fill(&b, 3, 2, 32);
	for (unsigned i = 0; i < n; i++)
		wb_bytes(&b, 8, bucket.data, bucket.len);
	rc = pr_doc_decode(&tombola__v1__manifest__descriptor, b.data, b.len, 1u << 20, &d, &err);
	if (rc == CM_OK) {
		assert_int_equal(((Tombola__V1__Manifest *)d.msg)->n_buckets, n);
		assert_int_equal(
			pr_scan(&tombola__v1__manifest__descriptor, b.data, b.len, &scan, &err), CM_OK);
		*memory = scan.memory;
	}
	*len = b.len;
	pr_doc_free(&d);
	cm_buf_fini(&bucket);
	cm_buf_fini(&b);
	return rc;
}

static void memory_is_proportional_to_what_was_sent(void **state)
{
	size_t memory = 0, len = 0;

	(void)state;
	assert_int_equal(decode_buckets(PR_BUCKETS_MAX, &memory, &len), CM_OK);
	assert_true(len <= PR_MANIFEST_MAX);
	/* Two fields and a message of at most 64 bytes for each 36 bytes sent. */
	assert_true(memory <= 16 * len);
	assert_int_equal(decode_buckets(PR_BUCKETS_MAX + 1, &memory, &len), CM_EPROTO);
}

/* The dearest frame there can be costs less than this, whatever it holds: the field maximum bounds it. */
static void the_dearest_frame_costs_a_few_mebibytes(void **state)
{
	struct cm_buf frame;
	struct pr_scan scan;

	(void)state;
	start(&frame);
	while (frame.len + 65 < PR_FRAME_MAX && frame.len < (size_t)PR_FIELDS_MAX * 64)
		wb_fill(&frame, 60, 1, 61);
	assert_int_equal(pr_scan(&tombola__v1__frame__descriptor, frame.data, frame.len, &scan, &err), CM_OK);
	/* Of 64 bytes each, as many as a frame has room for, or as there may be. */
	assert_true(
		scan.fields >= (PR_FRAME_MAX / 64 < PR_FIELDS_MAX ? PR_FRAME_MAX / 64 : PR_FIELDS_MAX) - 260);
	assert_true(scan.memory <= 5u << 20);
	cm_buf_fini(&frame);
}

/* ---- encoding ---- */

static void a_frame_that_would_be_too_long_is_not_encoded(void **state)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Segment segment = TOMBOLA__V1__SEGMENT__INIT;
	uint8_t id[16] = { 1 };
	struct cm_buf out;

	(void)state;
	cm_buf_init(&out, 4u << 20);
	wb_put(&out, "before", 6);
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_SEGMENT;
	frame.segment = &segment;
	segment.round_id = (ProtobufCBinaryData){ 16, id };
	segment.sealed = (ProtobufCBinaryData){ PR_FRAME_MAX, calloc(1, PR_FRAME_MAX) };
	assert_non_null(segment.sealed.data);
	assert_int_equal(pr_encode(&frame, &out, &err), CM_EINTERNAL);
	assert_non_null(strstr(err.msg, "segment"));
	assert_int_equal(out.len, 6);
	segment.sealed.len = PR_FRAME_MAX - 64;
	assert_int_equal(pr_encode(&frame, &out, &err), CM_OK);
	assert_int_equal(cm_get_be32(out.data + 6), out.len - 10);
	cm_buf_fini(&out);
	cm_buf_init(&out, 100); /* a queue that is full */
	assert_int_equal(pr_encode(&frame, &out, &err), CM_EINTERNAL);
	assert_int_equal(out.len, 0);
	free(segment.sealed.data);
	cm_buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bytes_and_every_repeated_field_has_a_limit),
		cmocka_unit_test(lengths_that_are_not_the_fields_own_are_refused),
		cmocka_unit_test(an_inner_length_beyond_the_end_is_refused),
		cmocka_unit_test(a_frame_cut_anywhere_is_refused),
		cmocka_unit_test(a_frame_over_the_maximum_is_refused),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(a_bool_is_0_or_1_and_an_enum_has_32_bits),
		cmocka_unit_test(two_kinds_in_one_frame_are_refused),
		cmocka_unit_test(text_is_utf8_without_nul),
		cmocka_unit_test(unknown_fields_are_ignored),
		cmocka_unit_test(an_unknown_kind_decodes_as_none),
		cmocka_unit_test(as_many_unknown_fields_as_a_frame_holds_are_refused),
		cmocka_unit_test(nesting_in_unknown_fields_costs_nothing),
		cmocka_unit_test(nesting_deeper_than_the_maximum_is_refused),
		cmocka_unit_test(repetitions_over_their_limit_are_refused),
		cmocka_unit_test(memory_is_proportional_to_what_was_sent),
		cmocka_unit_test(the_dearest_frame_costs_a_few_mebibytes),
		cmocka_unit_test(a_frame_that_would_be_too_long_is_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
