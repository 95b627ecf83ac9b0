/* cl_objects.c - finds the ends of JSON objects by their strings and brackets. */
#include "cl_objects.h"

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool within(const struct cl_objects *o)
{
	return o->depth > 0 || o->string || o->bare;
}

/* Take a byte between two objects.  false: such a byte is not allowed there. */
static bool between(struct cl_objects *o, uint8_t c)
{
	if (is_space(c) || (c == ',' && o->begun && !o->closed))
		return true;
	if (c == '[' && !o->array && !o->begun) {
		o->array = true;
		return true;
	}
	if (c == ']' && o->array && !o->closed) {
		o->closed = true;
		return true;
	}
	return false;
}

/* Take one more byte of an object, or of something else in its place.  true: this byte is its last. */
static bool one_more(struct cl_objects *o, uint8_t c)
{
	if (o->string) {
		if (!o->escaped && c == '"')
			o->string = false;
		o->escaped = !o->escaped && c == '\\';
		return !o->string && o->depth == 0;
	}
	o->string = c == '"';
	o->depth += c == '{' || c == '[';
	o->depth -= (c == '}' || c == ']') && o->depth > 0;
	o->bare = o->depth == 0 && !o->string && c != '}' && c != ']';
	return !within(o);
}

size_t cl_objects_take(struct cl_objects *o, const uint8_t *bytes, size_t n, const uint8_t **part,
	size_t *len, enum cl_objects_said *said)
{
	size_t at = 0;

	*said = CL_OBJECTS_MORE;
	for (; at < n && !within(o); at++) {
		o->ends += bytes[at] == '\n';
		if (between(o, bytes[at]))
			continue;
		/* The first value shows what the file holds.  If a later value is not an object, it is a
		 * bad row. */
		if (o->closed || (!o->begun && bytes[at] != '{'))
			*said = CL_OBJECTS_FORM;
		break;
	}
	*part = bytes + at;
	*len = 0;
	if (at == n || *said == CL_OBJECTS_FORM)
		return at;
	if (!within(o))
		o->line = o->ends + 1;
	o->begun = true;
	while (at < n) {
		uint8_t c = bytes[at];
		bool after = o->bare && (is_space(c) || c == ',' || c == ']');

		if (after)
			o->bare = false;
		else {
			o->ends += c == '\n';
			at++;
			++*len;
		}
		if (after || one_more(o, c)) {
			*said = CL_OBJECTS_ONE;
			return at;
		}
	}
	return at;
}

const char *cl_objects_end(const struct cl_objects *o)
{
	if (within(o))
		return "its last object does not end";
	return o->array && !o->closed ? "its array does not end" : NULL;
}
