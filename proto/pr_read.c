/* pr_read.c - reads bytes into the struct that protoc-c makes of a message type, within the limits of
 * pr_limits.h and pr_field_limits.h. */
#include "pr_read.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_text.h"
#include "pr_field_limits.h"

#define TYPE_FIELDS_MAX 64u /* most fields of a message type: each has a bit of `seen` */
#define ARRAY_FIRST     4u  /* values for which a repeated field first has room */

struct cursor {
	const uint8_t *at, *end;
};

/* One field as encoded on the wire. */
struct item {
	uint32_t number;
	unsigned wire;
	uint64_t varint;     /* the value, for wire type 0 */
	const uint8_t *data; /* the value, for wire types 1 and 2 */
	size_t len;          /* its bytes, for wire type 2 */
};

/* What the messages of one call have in common. */
struct reader {
	struct pr_arena *arena;
	struct cm_err *err;
	unsigned fields; /* number of fields read, at any depth, unknown ones included */
};

/* One message that is being read. */
struct message {
	const ProtobufCMessageDescriptor *type;
	const struct pr_limit *limit; /* limits of the type's fields */
	size_t limits;
	unsigned depth;
	uint8_t *out;   /* the struct */
	unsigned next;  /* index of the field that is tried first: fields usually come in order */
	uint64_t seen;  /* a bit for each field that occurred, by its index */
	uint64_t given; /* a bit for each limit whose field occurred and was not empty */
};

static enum cm_rc read_message(struct reader *r, const ProtobufCMessageDescriptor *type, struct cursor c,
	unsigned depth, ProtobufCMessage **out);

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
	it->data = c->at;
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

/* The types that tombola.proto uses; test_msg.c looks for others. */
static unsigned wire_of(ProtobufCType type)
{
	switch (type) {
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

/* Number of bytes of a value in its struct or array. */
static size_t size_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_UINT32:
		return sizeof(uint32_t);
	case PROTOBUF_C_TYPE_ENUM:
		return sizeof(int);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return sizeof(uint64_t);
	}
}

static bool varint_fits(ProtobufCType type, uint64_t v)
{
	switch (type) {
	case PROTOBUF_C_TYPE_BOOL:
		return v <= 1;
	case PROTOBUF_C_TYPE_UINT32:
		return v <= UINT32_MAX;
	case PROTOBUF_C_TYPE_ENUM: /* negative values are extended to 64 bits */
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

static enum cm_rc no_memory(struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* Copy a text or bytes to the arena, and put where they are, as protoc-c has it, at `to`. */
static enum cm_rc store_bytes(struct reader *r, ProtobufCType type, const struct item *it, uint8_t *to)
{
	bool text = type == PROTOBUF_C_TYPE_STRING;
	ProtobufCBinaryData bytes = { .len = it->len };

	if (it->len > 0 || text) {
		bytes.data = pr_arena_take(r->arena, it->len + text);
		if (!bytes.data)
			return no_memory(r->err);
		memcpy(bytes.data, it->data, it->len);
		if (text)
			bytes.data[it->len] = '\0';
	}
	if (text)
		memcpy(to, &bytes.data, sizeof bytes.data);
	else
		memcpy(to, &bytes, sizeof bytes);
	return CM_OK;
}

static void store_number(ProtobufCType type, const struct item *it, uint8_t *to)
{
	uint64_t v = it->wire == PROTOBUF_C_WIRE_TYPE_64BIT ? cm_get_le64(it->data) : it->varint;
	uint32_t half = (uint32_t)v;

	_Static_assert(sizeof(int) == sizeof half && sizeof(protobuf_c_boolean) == sizeof half,
		"uint32, enum and bool are stored alike");
	if (size_of(type) == sizeof half)
		memcpy(to, &half, sizeof half);
	else
		memcpy(to, &v, sizeof v);
}

/* Check a known field's value and put it at `to`; read a message in it the same way. */
static enum cm_rc store_value(struct reader *r, const struct message *m, const ProtobufCFieldDescriptor *f,
	const struct pr_limit *limit, const struct item *it, uint8_t *to)
{
	const char *type = m->type->short_name;
	ProtobufCMessage *inner = NULL;
	enum cm_rc rc;

	if (it->wire != wire_of(f->type))
		return cm_fail(r->err, CM_EPROTO, "%s.%s: wire type %u", type, f->name, it->wire);
	if (it->wire == PROTOBUF_C_WIRE_TYPE_VARINT && !varint_fits(f->type, it->varint))
		return cm_fail(r->err, CM_EPROTO, "%s.%s: out of range", type, f->name);
	if (it->wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
		store_number(f->type, it, to);
		return CM_OK;
	}
	if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
		rc = read_message(r, f->descriptor, (struct cursor){ it->data, it->data + it->len },
			m->depth + 1, &inner);
		*(ProtobufCMessage **)(void *)to = inner;
		return rc;
	}
	rc = check_length(m->type, f, limit, it, r->err);
	if (rc == CM_OK && f->type == PROTOBUF_C_TYPE_STRING && !is_text(it->data, it->len))
		rc = cm_fail(r->err, CM_EPROTO, "%s.%s: not UTF-8 text", type, f->name);
	return rc == CM_OK ? store_bytes(r, f->type, it, to) : rc;
}

/* Make room for one more value of a repeated field, whose array doubles when it is full: `*to` is where the
 * value goes. */
static enum cm_rc add_value(struct reader *r, const struct message *m, const ProtobufCFieldDescriptor *f,
	const struct pr_limit *limit, uint8_t **to)
{
	size_t n, size = size_of(f->type);
	uint8_t *array, *larger;

	assert(limit != NULL);
	memcpy(&n, m->out + f->quantifier_offset, sizeof n);
	memcpy(&array, m->out + f->offset, sizeof array);
	if (n == limit->count)
		return cm_fail(
			r->err, CM_EPROTO, "%s.%s: more than %u", m->type->short_name, f->name, limit->count);
	if (n == 0 || (n >= ARRAY_FIRST && (n & (n - 1)) == 0)) {
		larger = pr_arena_take(r->arena, (n == 0 ? ARRAY_FIRST : 2 * n) * size);
		if (!larger)
			return no_memory(r->err);
		if (n > 0)
			memcpy(larger, array, n * size);
		array = larger;
		memcpy(m->out + f->offset, &array, sizeof array);
	}
	*to = array + n * size;
	n++;
	memcpy(m->out + f->quantifier_offset, &n, sizeof n);
	return CM_OK;
}

/* Note that a field that is not repeated occurs, and that it is the member of its oneof, if it has one. */
static enum cm_rc note_single(struct reader *r, struct message *m, unsigned i)
{
	const ProtobufCFieldDescriptor *f = &m->type->fields[i];

	if (m->seen >> i & 1)
		return cm_fail(r->err, CM_EPROTO, "%s.%s: given twice", m->type->short_name, f->name);
	if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
		for (unsigned k = 0; k < m->type->n_fields; k++)
			if ((m->seen >> k & 1) &&
				m->type->fields[k].quantifier_offset == f->quantifier_offset)
				return cm_fail(r->err, CM_EPROTO, "%s: both %s and %s", m->type->short_name,
					m->type->fields[k].name, f->name);
		memcpy(m->out + f->quantifier_offset, &f->id, sizeof f->id);
	}
	m->seen |= (uint64_t)1 << i;
	return CM_OK;
}

static const ProtobufCFieldDescriptor *find(struct message *m, uint32_t number)
{
	const ProtobufCMessageDescriptor *type = m->type;

	for (unsigned k = 0; k < type->n_fields; k++) {
		unsigned i = (m->next + k) % type->n_fields;

		if (type->fields[i].id == number) {
			m->next = i;
			return &type->fields[i];
		}
	}
	return NULL;
}

static enum cm_rc read_field(struct reader *r, struct message *m, struct cursor *c)
{
	const ProtobufCFieldDescriptor *f;
	const struct pr_limit *limit;
	struct item it = { 0 };
	uint8_t *to;
	enum cm_rc rc = read_item(m->type, c, &it, r->err);

	if (rc != CM_OK)
		return rc;
	if (r->fields++ == PR_FIELDS_MAX)
		return cm_fail(r->err, CM_EPROTO, "more than %u fields", PR_FIELDS_MAX);
	f = find(m, it.number);
	if (!f)
		return CM_OK;
	limit = pr_limit_of(m->limit, m->limits, f);
	to = m->out + f->offset;
	rc = f->label == PROTOBUF_C_LABEL_REPEATED ? add_value(r, m, f, limit, &to)
						   : note_single(r, m, m->next);
	if (rc != CM_OK)
		return rc;
	if (limit && it.len > 0)
		m->given |= (uint64_t)1 << (limit - m->limit);
	return store_value(r, m, f, limit, &it, to);
}

static enum cm_rc read_message(struct reader *r, const ProtobufCMessageDescriptor *type, struct cursor c,
	unsigned depth, ProtobufCMessage **out)
{
	struct message m = { .type = type, .depth = depth };

	assert(type->n_fields <= TYPE_FIELDS_MAX);
	if (depth > PR_NESTING_MAX)
		return cm_fail(
			r->err, CM_EPROTO, "%s: nested more than %u deep", type->short_name, PR_NESTING_MAX);
	m.limit = pr_limits_of(type, &m.limits);
	assert(m.limits <= TYPE_FIELDS_MAX);
	m.out = pr_arena_take(r->arena, type->sizeof_message);
	if (!m.out)
		return no_memory(r->err);
	*out = (ProtobufCMessage *)(void *)m.out;
	type->message_init(*out);
	while (c.at < c.end) {
		enum cm_rc rc = read_field(r, &m, &c);

		if (rc != CM_OK)
			return rc;
	}
	for (size_t i = 0; i < m.limits; i++)
		if (m.limit[i].required && !(m.given >> i & 1))
			return cm_fail(
				r->err, CM_EPROTO, "%s.%s: missing", type->short_name, m.limit[i].field);
	return CM_OK;
}

enum cm_rc pr_read(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t len,
	struct pr_arena *arena, ProtobufCMessage **out, struct cm_err *err)
{
	struct reader r = { .arena = arena, .err = err };

	if (len == 0)
		bytes = (const uint8_t *)""; /* NULL + 0 is not defined in C17 */
	return read_message(&r, type, (struct cursor){ bytes, bytes + len }, 0, out);
}
