/* test_golden.c - the golden vectors: C reads what google.protobuf wrote, field by field, and writes it
 * back. */
#include "golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pr_frame.h"
#include "pr_msg.h"

static struct cm_err err;

static void compare_message(const char *where, const ProtobufCMessage *m, json_t *fields);

static uint64_t as_u64(json_t *v)
{
	if (json_is_string(v)) {
		char *end;
		uint64_t n = strtoull(json_string_value(v), &end, 10);

		assert_int_equal(*end, '\0');
		return n;
	}
	if (json_is_boolean(v))
		return json_is_true(v);
	assert_true(json_is_integer(v));
	return (uint64_t)json_integer_value(v);
}

static double as_double(json_t *v)
{
	if (json_is_string(v)) {
		assert_string_equal(json_string_value(v), "inf");
		return INFINITY;
	}
	assert_true(json_is_number(v));
	return json_number_value(v);
}

static void compare_bytes(const char *where, const ProtobufCBinaryData *have, json_t *want)
{
	char *hex = calloc(have->len + 1, 2);

	assert_non_null(hex);
	cm_hex(have->data, have->len, hex);
	if (strcmp(hex, json_string_value(want)) != 0)
		fail_msg("%s: %s", where, hex);
	free(hex);
}

/* Compare one value of a field's type at p. */
static void compare_value(const char *where, const ProtobufCFieldDescriptor *f, const void *p, json_t *want)
{
	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		assert_string_equal(*(char *const *)p, json_string_value(want));
		break;
	case PROTOBUF_C_TYPE_BYTES:
		compare_bytes(where, p, want);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		assert_non_null(*(const ProtobufCMessage *const *)p);
		compare_message(where, *(const ProtobufCMessage *const *)p, want);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		if (*(const double *)p != as_double(want)) /* bit for bit: JSON has all 17 digits */
			fail_msg("%s: %.17g", where, *(const double *)p);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		assert_int_equal(*(const protobuf_c_boolean *)p, as_u64(want));
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		assert_int_equal(*(const uint32_t *)p, as_u64(want));
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_FIXED64:
		assert_true(*(const uint64_t *)p == as_u64(want));
		break;
	default:
		fail_msg("%s: a type the vectors do not know", where);
	}
}

static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_UINT32:
		return sizeof(uint32_t);
	case PROTOBUF_C_TYPE_DOUBLE:
		return sizeof(double);
	default:
		fail_msg("a repeated field of a type the vectors do not know");
		return 0;
	}
}

/* A field that the JSON lacks must be as if never sent. */
static void expect_absent(const char *where, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m)
{
	const char *p = (const char *)m + f->offset;
	static const double zero;

	if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
		return; /* shares its place with the one that was sent */
	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		assert_int_equal(*(const size_t *)(const void *)((const char *)m + f->quantifier_offset), 0);
	else if (f->type == PROTOBUF_C_TYPE_STRING)
		assert_string_equal(*(char *const *)(const void *)p, "");
	else if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		assert_null(*(void *const *)(const void *)p);
	else if (f->type == PROTOBUF_C_TYPE_BYTES)
		assert_int_equal(((const ProtobufCBinaryData *)(const void *)p)->len, 0);
	else if (memcmp(p, &zero,
			 f->type == PROTOBUF_C_TYPE_UINT32 || f->type == PROTOBUF_C_TYPE_ENUM ||
					 f->type == PROTOBUF_C_TYPE_BOOL
				 ? 4
				 : 8) != 0)
		fail_msg("%s: not absent", where);
}

static void compare_message(const char *where, const ProtobufCMessage *m, json_t *fields)
{
	size_t seen = 0;

	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		const char *p = (const char *)m + f->offset;
		json_t *want = json_object_get(fields, f->name);
		char name[256];

		(void)snprintf(name, sizeof name, "%s.%s", where, f->name);
		if (!want) {
			expect_absent(name, f, m);
			continue;
		}
		seen++;
		if (f->label != PROTOBUF_C_LABEL_REPEATED) {
			compare_value(name, f, p, want);
			continue;
		}
		assert_int_equal(*(const size_t *)(const void *)((const char *)m + f->quantifier_offset),
			json_array_size(want));
		for (size_t k = 0; k < json_array_size(want); k++)
			compare_value(name, f, *(const char *const *)(const void *)p + k * size_of(f->type),
				json_array_get(want, k));
	}
	if (seen != json_object_size(fields))
		fail_msg("%s: the vector names a field that C does not know", where);
}

static void check_frame(const char *name, const struct cm_buf *golden, json_t *fields)
{
	struct cm_buf again;
	struct pr_frame f;
	const uint8_t *body;
	size_t len;

	assert_int_equal(pr_frame_next(golden, &body, &len, &err), CM_OK);
	assert_int_equal(len + 4, golden->len);
	if (pr_decode(body, len, &f, &err) != CM_OK)
		fail_msg("%s: %s", name, err.msg);
	assert_string_equal(pr_kind_name(f.frame), name + strlen("frame_"));
	compare_message(name, &f.frame->base, fields);
	cm_buf_init(&again, PR_FRAME_MAX);
	assert_int_equal(pr_encode(f.frame, &again, &err), CM_OK);
	assert_int_equal(again.len, golden->len);
	assert_memory_equal(again.data, golden->data, golden->len);
	cm_buf_fini(&again);
	pr_free(&f);
}

static const struct {
	const char *name;
	const ProtobufCMessageDescriptor *type;
	size_t max;
} documents[] = {
	{ "Descriptor", &tombola__v1__descriptor__descriptor, PR_DESCRIPTOR_MAX },
	{ "Manifest", &tombola__v1__manifest__descriptor, PR_MANIFEST_MAX },
	{ "Charge", &tombola__v1__charge__descriptor, PR_CHARGE_MAX },
	{ "Plan", &tombola__v1__plan__descriptor, PR_PLAN_MAX },
	{ "Record", &tombola__v1__record__descriptor, PR_RECORD_MAX },
	{ "Opening", &tombola__v1__opening__descriptor, PR_OPENING_MAX },
	{ "Evidence", &tombola__v1__evidence__descriptor, PR_EVIDENCE_MAX },
};

static void check_document(const char *name, const char *type, const struct cm_buf *golden, json_t *fields)
{
	struct cm_buf again;
	struct pr_doc d;
	size_t i = 0;

	while (i < sizeof documents / sizeof documents[0] && strcmp(documents[i].name, type) != 0)
		i++;
	assert_true(i < sizeof documents / sizeof documents[0]);
	if (pr_doc_decode(documents[i].type, golden->data, golden->len, documents[i].max, &d, &err) != CM_OK)
		fail_msg("%s: %s", name, err.msg);
	compare_message(name, d.msg, fields);
	cm_buf_init(&again, PR_FRAME_MAX);
	assert_int_equal(pr_doc_encode(d.msg, &again, &err), CM_OK);
	assert_int_equal(again.len, golden->len);
	assert_memory_equal(again.data, golden->data, golden->len);
	cm_buf_fini(&again);
	pr_doc_free(&d);
}

static unsigned frames, others;

static void check_vector(const char *name)
{
	struct cm_buf golden;
	json_t *vector = golden_vector(name, &golden), *fields = json_object_get(vector, "fields");
	const char *type = json_string_value(json_object_get(vector, "type"));

	assert_non_null(type);
	assert_true(json_is_object(fields));
	if (strncmp(name, "frame_", 6) == 0) {
		assert_string_equal(type, "Frame");
		check_frame(name, &golden, fields);
		frames++;
	} else {
		check_document(name, type, &golden, fields);
		others++;
	}
	json_decref(vector);
	cm_buf_fini(&golden);
}

static void every_vector_decodes_to_its_fields_and_encodes_to_its_bytes(void **state)
{
	(void)state;
	golden_each(check_vector);
	assert_int_equal(frames, tombola__v1__frame__descriptor.n_fields); /* one of each kind */
	assert_true(others >= 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vector_decodes_to_its_fields_and_encodes_to_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
