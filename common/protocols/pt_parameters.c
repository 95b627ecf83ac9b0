/* pt_parameters.c - writes, reads and names a row's own parameters. */
#include "pt_parameters.h"

#include <stdio.h>
#include <string.h>

#include "cm_buf.h"
#include "pt_device.h"
#include "pt_exact.h"

static size_t width(const struct pt_field *f)
{
	return f->type == PT_FIELD_BOOL ? 1 : f->type == PT_FIELD_U32 ? 4 : 8;
}

static uint64_t load(const struct pt_field *f, const char *base)
{
	uint64_t wide;
	uint32_t narrow;
	bool flag;

	switch ((enum pt_field_type)f->type) {
	case PT_FIELD_BOOL:
		memcpy(&flag, base + f->at, sizeof flag);
		return flag;
	case PT_FIELD_U32:
		memcpy(&narrow, base + f->at, sizeof narrow);
		return narrow;
	case PT_FIELD_U64:
	case PT_FIELD_CHANCE:
		break;
	}
	memcpy(&wide, base + f->at, sizeof wide);
	return wide;
}

static void store(const struct pt_field *f, char *base, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;
	bool flag = value != 0;

	if (f->type == PT_FIELD_BOOL)
		memcpy(base + f->at, &flag, sizeof flag);
	else if (f->type == PT_FIELD_U32)
		memcpy(base + f->at, &narrow, sizeof narrow);
	else
		memcpy(base + f->at, &value, sizeof value);
}

/* The number of items in the list, limited to the room for them. */
static uint32_t items(const struct pt_layout *l, const struct pt_randomizer *p)
{
	uint32_t n = 0;

	if (l->item)
		memcpy(&n, (const char *)p + l->count, sizeof n);
	return n < l->most ? n : l->most;
}

void pt_parameters_each(const struct pt_randomizer *p, pt_field_fn *fn, void *user)
{
	const struct pt_layout *l = p->row->parameters;
	const char *base = (const char *)p;

	for (size_t i = 0; i < l->fields; i++)
		fn(user, l->field[i].name, (enum pt_field_type)l->field[i].type, PT_FIELD_ALONE,
			load(&l->field[i], base));
	for (uint32_t n = 0; n < items(l, p); n++)
		for (size_t i = 0; i < l->item_fields; i++)
			fn(user, l->item[i].name, (enum pt_field_type)l->item[i].type, n,
				load(&l->item[i], base + l->first + n * l->size));
}

/* ---- Bytes ---- */

static size_t put(const struct pt_field *f, size_t n, const char *base, uint8_t *out)
{
	uint8_t *at = out;

	for (size_t i = 0; i < n; i++) {
		uint8_t bytes[8];

		cm_put_le64(bytes, load(&f[i], base));
		memcpy(at, bytes, width(&f[i]));
		at += width(&f[i]);
	}
	return (size_t)(at - out);
}

size_t pt_parameters_write(const struct pt_randomizer *p, uint8_t out[PT_PARAMETERS_MAX])
{
	const struct pt_layout *l = p->row->parameters;
	const char *base = (const char *)p;
	size_t len = put(l->field, l->fields, base, out);

	for (uint32_t n = 0; n < items(l, p); n++)
		len += put(l->item, l->item_fields, base + l->first + n * l->size, out + len);
	return len;
}

static size_t bytes_of(const struct pt_field *f, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += width(&f[i]);
	return sum;
}

/* Read an item.  Returns where the next one begins; NULL: a flag is neither 0 nor 1. */
static const uint8_t *take(const struct pt_field *f, size_t n, const uint8_t *at, char *base)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t bytes[8] = { 0 };

		memcpy(bytes, at, width(&f[i]));
		if (f[i].type == PT_FIELD_BOOL && bytes[0] > 1)
			return NULL;
		store(&f[i], base, cm_get_le64(bytes));
		at += width(&f[i]);
	}
	return at;
}

enum cm_rc pt_parameters_read(const uint8_t *bytes, size_t len, struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_layout *l = p->row->parameters;
	size_t alone = bytes_of(l->field, l->fields), one = bytes_of(l->item, l->item_fields);
	size_t rest = len > alone ? len - alone : 0;
	struct pt_randomizer made = { .row = p->row, .shuffler = p->shuffler };
	uint32_t n = l->item ? (uint32_t)(rest / one) : 0;

	if (len < alone || rest != n * one || n > l->most)
		return cm_fail(err, CM_EPROTO, "%zu bytes are no parameters of '%s'", len, p->row->name);
	bytes = take(l->field, l->fields, bytes, (char *)&made);
	for (uint32_t i = 0; bytes && i < n; i++)
		bytes = take(l->item, l->item_fields, bytes, (char *)&made + l->first + i * l->size);
	if (!bytes)
		return cm_fail(err, CM_EPROTO, "a flag is neither 0 nor 1");
	if (l->item)
		memcpy((char *)&made + l->count, &n, sizeof n);
	*p = made;
	return CM_OK;
}

/* ---- Words ---- */

struct asked {
	const char *name;
	uint64_t value;
};

static void find(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct asked *a = user;

	(void)type;
	if (item == PT_FIELD_ALONE && strcmp(name, a->name) == 0)
		a->value = value;
}

uint64_t pt_parameter(const struct pt_randomizer *p, const char *name)
{
	struct asked a = { .name = name };

	pt_parameters_each(p, find, &a);
	return a.value;
}

struct line {
	char *out;
	size_t size, used;
	uint32_t item;
};

static void add(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct line *l = user;
	const char *sep = l->used == 0 ? "" : item != l->item ? "; " : ", ";
	size_t room = l->size > l->used ? l->size - l->used : 0;
	char *at = l->out + (room > 0 ? l->used : 0);
	int n;

	if (type == PT_FIELD_BOOL && value == 0)
		return;
	if (type == PT_FIELD_CHANCE)
		n = snprintf(at, room, "%s%s %.6g", sep, name, pt_probability(value));
	else if (type == PT_FIELD_BOOL)
		n = snprintf(at, room, "%s%s", sep, name);
	else
		n = snprintf(at, room, "%s%s %llu", sep, name, (unsigned long long)value);
	l->used += n > 0 ? (size_t)n : 0;
	l->item = item;
}

void pt_parameters_text(const struct pt_randomizer *p, char *out, size_t size)
{
	struct line l = { .out = out, .size = size, .item = PT_FIELD_ALONE };

	if (size > 0)
		out[0] = '\0';
	pt_parameters_each(p, add, &l);
}
