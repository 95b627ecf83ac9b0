/* cl_objects.h - cuts a JSON array of objects, or a sequence of objects, into its objects, wherever their
 * lines end.  No I/O, no memory.
 *
 * It is used for a file that begins with `[`, or whose first line is `{` alone.  White space or a comma
 * separates two objects.  Only strings and brackets are followed, so the file must have been written by a
 * program that writes JSON: in a text that is not JSON, one device's reading could end another's object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cl_objects {
	size_t depth;
	bool string, escaped, bare; /* within a string; after its backslash; within a number or a word */
	bool array, closed, begun;  /* the file is an array; it has ended; an object has begun */
	uint64_t line, ends;        /* the line on which the current object begins; line ends so far */
};

enum cl_objects_said {
	CL_OBJECTS_MORE, /* all n bytes were taken, and the object goes on */
	CL_OBJECTS_ONE,  /* the part is the end of an object */
	CL_OBJECTS_FORM, /* the file does not have this form */
};
/* Take up to n bytes, but nothing beyond the end of an object.  *part and *len are those of them that
 * belong to the object.  Returns how many were taken. */
size_t cl_objects_take(struct cl_objects *o, const uint8_t *bytes, size_t n, const uint8_t **part,
	size_t *len, enum cl_objects_said *said);
/* Call at the end of the file.  NULL if the file is complete; otherwise the text says what is wrong with
 * it. */
const char *cl_objects_end(const struct cl_objects *o);
