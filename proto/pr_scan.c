/* pr_scan.c - checks that bytes are a message of one type within the limits of pr_limits.h.  Allocates
 * nothing. */
#include "pr_scan.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "cm_text.h"
#include "pr_field_limits.h"

#define TYPE_FIELDS_MAX 64u /* most fields of a message type: each has a bit of `seen` */
/* Memory that protobuf-c 1.4 allocates for a field: two slots of its scan (each at most 48 bytes), one
 * element of an array or of the unknown fields (at most 32) and, besides the value, its prefix, terminator
 * and the arena's rounding. */
#define FIELD_MEMORY (2u * 48u + 32u + 64u)

struct cursor {
	const uint8_t *at, *end;
};

/* One field as encoded on the wire. */
struct item {
	uint32_t number;
	unsigned wire;
	uint64_t varint;     /* the value, for wire type 0 */
	const uint8_t *data; /* the value, for wire type 2 */
	size_t len;
};

static enum cm_rc scan_message(const ProtobufCMessageDescriptor *type, struct cursor c, unsigned depth,
	struct pr_scan *out, struct cm_err *err);

/* Read at most max bytes; the last of ten bytes may have only one bit. */
static bool read_varint(struct cursor *c, unsigned max, uint64_t *v)
{
	*v = 0;
	for (unsigned i = 0; i < max && c->at < c->end; i++) {
		uint8_t b = *c->at++;

		if (i == 9 && b > 1)
			return false;
		*v |= (uint64_t)(b & 0x7f) << (7 * i);
		if ((b & 0x80) == 0)
			return true;
	}
	return false;
}

static bool skip(struct cursor *c, uint64_t n)
{
	if (n > (size_t)(c->end - c->at))
		return false;
	c->at += (size_t)n;
	return true;
}

static enum cm_rc read_item(
	const ProtobufCMessageDescriptor *type, struct cursor *c, struct item *it, struct cm_err *err)
{
	uint64_t tag, n;
	bool ok;

	if (!read_varint(c, 5, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
		return cm_fail(err, CM_EPROTO, "%s: malformed field tag", type->short_name);
	it->number = (uint32_t)(tag >> 3);
	it->wire = (unsigned)(tag & 7);
	switch (it->wire) {
	case PROTOBUF_C_WIRE_TYPE_VARINT:
		ok = read_varint(c, 10, &it->varint);
		break;
	case PROTOBUF_C_WIRE_TYPE_64BIT:
		ok = skip(c, 8);
		break;
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		ok = skip(c, 4);
		break;
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
		ok = read_varint(c, 5, &n);
		it->data = c->at;
		ok = ok && skip(c, n);
		it->len = ok ? (size_t)n : 0;
		break;
	default: /* groups (3, 4) are not in proto3; 6 and 7 are not defined */
		return cm_fail(err, CM_EPROTO, "%s: field %lu has wire type %u", type->short_name,
			(unsigned long)it->number, it->wire);
	}
	if (!ok)
		return cm_fail(err, CM_EPROTO, "%s: field %lu is malformed or ends too early",
			type->short_name, (unsigned long)it->number);
	return CM_OK;
}

/* Is this UTF-8 without NUL?  A NUL would end a C string. */
static bool is_text(const uint8_t *s, size_t n)
{
	while (n > 0) {
		size_t len = cm_text_char(s, n);

		if (len == 0 || *s == 0)
			return false;
		s += len;
		n -= len;
	}
	return true;
}

static unsigned wire_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return PROTOBUF_C_WIRE_TYPE_32BIT;
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return PROTOBUF_C_WIRE_TYPE_64BIT;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
	default:
		return PROTOBUF_C_WIRE_TYPE_VARINT;
	}
}

static bool varint_fits(ProtobufCType type, uint64_t v)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BOOL:
		return v <= 1;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_SINT32:
		return v <= UINT32_MAX;
	case PROTOBUF_C_TYPE_ENUM:
	case PROTOBUF_C_TYPE_INT32: /* negative values are extended to 64 bits */
		return v <= INT32_MAX || v >= (uint64_t)INT32_MIN;
	default:
		return true;
	}
}

static enum cm_rc check_length(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *f,
	const struct pr_limit *limit, const struct item *it, struct cm_err *err)
{
	size_t max = limit ? limit->max : PR_TEXT_MAX;
	bool single = f->label != PROTOBUF_C_LABEL_REPEATED;

	/* pr_field_limits.c has a row for each field of another type */
	assert(limit || f->type == PROTOBUF_C_TYPE_STRING);
	if (it->len > max)
		return cm_fail(err, CM_EPROTO, "%s.%s: %zu bytes, at most %zu", type->short_name, f->name,
			it->len, max);
	if (!limit || (single && it->len == 0))
		return CM_OK;
	if (it->len < limit->min || it->len % limit->unit != 0)
		return cm_fail(
			err, CM_EPROTO, "%s.%s: a length of %zu bytes", type->short_name, f->name, it->len);
	return CM_OK;
}

/* Check a known field's value; scan a message in it the same way. */
static enum cm_rc check_value(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *f,
	const struct pr_limit *limit, const struct item *it, unsigned depth, struct pr_scan *out,
	struct cm_err *err)
{
	enum cm_rc rc;

	if (it->wire != wire_of(f->type))
		return cm_fail(err, CM_EPROTO, "%s.%s: wire type %u", type->short_name, f->name, it->wire);
	if (it->wire == PROTOBUF_C_WIRE_TYPE_VARINT && !varint_fits(f->type, it->varint))
		return cm_fail(err, CM_EPROTO, "%s.%s: out of range", type->short_name, f->name);
	if (it->wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
		return CM_OK;
	if (f->type == PROTOBUF_C_TYPE_MESSAGE)
		return scan_message(
			f->descriptor, (struct cursor){ it->data, it->data + it->len }, depth + 1, out, err);
	rc = check_length(type, f, limit, it, err);
	if (rc != CM_OK)
		return rc;
	if (f->type == PROTOBUF_C_TYPE_STRING && !is_text(it->data, it->len))
		return cm_fail(err, CM_EPROTO, "%s.%s: not UTF-8 text", type->short_name, f->name);
	out->memory += it->len;
	return CM_OK;
}

static const ProtobufCFieldDescriptor *find(
	const ProtobufCMessageDescriptor *type, uint32_t number, unsigned *at)
{
	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].id == number) {
			*at = i;
			return &type->fields[i];
		}
	return NULL;
}

/* The fields of one message seen so far. */
struct tally {
	/* a bit for each field: it occurred; it occurred with a value that is not empty */
	uint64_t seen, full;
	unsigned count[TYPE_FIELDS_MAX];
};

static enum cm_rc count_field(const ProtobufCMessageDescriptor *type, unsigned i,
	const struct pr_limit *limit, struct tally *t, struct cm_err *err)
{
	const ProtobufCFieldDescriptor *f = &type->fields[i];

	if (f->label == PROTOBUF_C_LABEL_REPEATED) {
		assert(limit != NULL);
		if (t->count[i]++ == limit->count)
			return cm_fail(err, CM_EPROTO, "%s.%s: more than %u", type->short_name, f->name,
				limit->count);
		return CM_OK;
	}
	/* protobuf-c merges or overwrites repeated occurrences, so two readers could see different messages
	 * in the same bytes. */
	if (t->seen >> i & 1)
		return cm_fail(err, CM_EPROTO, "%s.%s: given twice", type->short_name, f->name);
	if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
		for (unsigned k = 0; k < type->n_fields; k++)
			if ((t->seen >> k & 1) && type->fields[k].quantifier_offset == f->quantifier_offset)
				return cm_fail(err, CM_EPROTO, "%s: both %s and %s", type->short_name,
					type->fields[k].name, f->name);
	}
	t->seen |= (uint64_t)1 << i;
	return CM_OK;
}

static enum cm_rc scan_field(const ProtobufCMessageDescriptor *type, struct cursor *c, unsigned depth,
	struct tally *t, struct pr_scan *out, struct cm_err *err)
{
	const ProtobufCFieldDescriptor *f;
	const struct pr_limit *limit;
	struct item it = { 0 };
	unsigned i = 0;
	enum cm_rc rc = read_item(type, c, &it, err);

	if (rc != CM_OK)
		return rc;
	if (out->fields++ == PR_FIELDS_MAX)
		return cm_fail(err, CM_EPROTO, "more than %u fields", PR_FIELDS_MAX);
	out->memory += FIELD_MEMORY;
	f = find(type, it.number, &i);
	if (!f) { /* protobuf-c keeps a copy of an unknown field */
		out->memory += it.len;
		return CM_OK;
	}
	limit = pr_limit_of(type, f);
	rc = count_field(type, i, limit, t, err);
	if (rc != CM_OK)
		return rc;
	if (it.len > 0)
		t->full |= (uint64_t)1 << i;
	return check_value(type, f, limit, &it, depth, out, err);
}

static enum cm_rc scan_message(const ProtobufCMessageDescriptor *type, struct cursor c, unsigned depth,
	struct pr_scan *out, struct cm_err *err)
{
	struct tally t = { 0 };
	enum cm_rc rc;

	assert(type->n_fields <= TYPE_FIELDS_MAX);
	if (depth > PR_NESTING_MAX)
		return cm_fail(
			err, CM_EPROTO, "%s: nested more than %u deep", type->short_name, PR_NESTING_MAX);
	out->memory += type->sizeof_message + 16;
	while (c.at < c.end) {
		rc = scan_field(type, &c, depth, &t, out, err);
		if (rc != CM_OK)
			return rc;
	}
	for (unsigned i = 0; i < type->n_fields; i++) {
		const struct pr_limit *limit = pr_limit_of(type, &type->fields[i]);

		if (limit && limit->required && !(t.full >> i & 1))
			return cm_fail(
				err, CM_EPROTO, "%s.%s: missing", type->short_name, type->fields[i].name);
	}
	return CM_OK;
}

enum cm_rc pr_scan(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	struct pr_scan *out, struct cm_err *err)
{
	*out = (struct pr_scan){ 0 };
	if (len == 0)
		bytes = (const uint8_t *)""; /* NULL + 0 is not defined in C17 */
	return scan_message(type, (struct cursor){ bytes, bytes + len }, 0, out, err);
}
