/* test_msg.c - bounded decoding: what is longer, deeper or more than any honest peer sends is refused before
 * it costs anything. */
#include "wire_bytes.h"

#include <stdlib.h>

#include "frame_bytes.h"
#include "pr_field_limits.h"
#include "pr_msg.h"
#include "pr_read.h"

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
		size_t n = 0;
		const struct pr_limit *rows = pr_limits_of(type, &n), *limit = pr_limit_of(rows, n, f);

		if (f->type == PROTOBUF_C_TYPE_BYTES || f->label == PROTOBUF_C_LABEL_REPEATED) {
			if (!limit)
				fail_msg("%s.%s has no limit", type->name, f->name);
			assert_true(
				limit->max >= limit->min && limit->max <= PR_FRAME_MAX && limit->unit >= 1);
		}
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			assert_true(limit->count >= 1);
			/* Packed numbers are not read. */
			assert_int_equal(f->flags & PROTOBUF_C_FIELD_FLAG_PACKED, 0);
		}
		switch (f->type) { /* what pr_read.c knows */
		case PROTOBUF_C_TYPE_MESSAGE:
			walk_types(f->descriptor, depth + 1);
			break;
		case PROTOBUF_C_TYPE_UINT32:
		case PROTOBUF_C_TYPE_UINT64:
		case PROTOBUF_C_TYPE_INT64:
		case PROTOBUF_C_TYPE_FIXED64:
		case PROTOBUF_C_TYPE_DOUBLE:
		case PROTOBUF_C_TYPE_BOOL:
		case PROTOBUF_C_TYPE_ENUM:
		case PROTOBUF_C_TYPE_STRING:
		case PROTOBUF_C_TYPE_BYTES:
			break;
		default:
			fail_msg("%s.%s has a type that is not read", type->name, f->name);
		}
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
		/* The same in an unknown field. */
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

/* ---- unknown things ---- */

/* A type that contains itself, of which tombola.proto has none. */
static ProtobufCFieldDescriptor self_field = {
	.name = "self",
	.id = 1,
	.label = PROTOBUF_C_LABEL_NONE,
	.type = PROTOBUF_C_TYPE_MESSAGE,
	.offset = sizeof(ProtobufCMessage),
};
static void self_init(ProtobufCMessage *m);
static ProtobufCMessageDescriptor self_type = {
	.short_name = "Self",
	.n_fields = 1,
	.fields = &self_field,
	.sizeof_message = sizeof(ProtobufCMessage) + sizeof(void *),
	.message_init = self_init,
};

static void self_init(ProtobufCMessage *m)
{
	memset(m, 0, self_type.sizeof_message);
	m->descriptor = &self_type;
}

/* Read bytes, and set *memory to the bytes of memory that this took; NULL: it does not matter. */
static enum cm_rc read_as(const ProtobufCMessageDescriptor *type, const struct cm_buf *b, size_t *memory)
{
	struct pr_arena *a = pr_arena_new(64);
	ProtobufCMessage *m = NULL;
	enum cm_rc rc;

	assert_non_null(a);
	rc = pr_read(type, b->data, b->len, a, &m, &err);
	if (memory)
		*memory = pr_arena_used(a);
	pr_arena_free(a);
	return rc;
}

static void nesting_deeper_than_the_maximum_is_refused(void **state)
{
	struct cm_buf a, b;

	(void)state;
	self_field.descriptor = &self_type;
	start(&a);
	start(&b);
	for (unsigned depth = 0; depth < 5000; depth++) {
		enum cm_rc want = depth <= PR_NESTING_MAX ? CM_OK : CM_EPROTO;

		assert_int_equal(read_as(&self_type, &a, NULL), want);
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
		assert_int_equal(read_as(&tombola__v1__manifest__descriptor, &b, memory), CM_OK);
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
	/* For each 36 bytes: 64 of a message, 32 of a hash, and two pointers. */
	assert_true(memory <= 4 * len);
	assert_int_equal(decode_buckets(PR_BUCKETS_MAX + 1, &memory, &len), CM_EPROTO);
}

static void unknown_fields_cost_no_memory(void **state)
{
	struct cm_buf frame;
	size_t memory = 0;

	(void)state;
	start(&frame);
	while (frame.len + 65 < PR_FRAME_MAX && frame.len < (size_t)PR_FIELDS_MAX * 64)
		wb_fill(&frame, 60, 1, 61);
	assert_int_equal(read_as(&tombola__v1__frame__descriptor, &frame, &memory), CM_OK);
	assert_true(memory <= sizeof(Tombola__V1__Frame) + PR_ARENA_ALIGN);
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
		cmocka_unit_test(nesting_deeper_than_the_maximum_is_refused),
		cmocka_unit_test(repetitions_over_their_limit_are_refused),
		cmocka_unit_test(memory_is_proportional_to_what_was_sent),
		cmocka_unit_test(unknown_fields_cost_no_memory),
		cmocka_unit_test(a_frame_that_would_be_too_long_is_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
