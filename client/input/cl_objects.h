/* cl_objects.h - cuts a JSON array of objects, or objects one after another, into these objects, wherever
 * their lines end.  No I/O, no memory.
 *
 * For a file that begins with `[`, or with a line that is `{` alone.  What stands between two objects is
 * white space or a comma.  Only strings and brackets are followed, so a program that writes JSON must have
 * written the file: in a text that is none, one device's reading could end another's object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cl_objects {
	size_t depth;
	bool string, escaped, bare; /* within a string; an escape; a number or a word */
	bool array, closed, begun;  /* of the file; an object has begun */
	uint64_t line, ends;        /* where the current object begins; line ends so far */
};

enum cl_objects_said {
	CL_OBJECTS_MORE, /* all n bytes were taken */
	CL_OBJECTS_ONE,  /* the part ends an object */
	CL_OBJECTS_FORM, /* it is no such file */
};
/* Take up to n bytes, up to the end of an object at most.  *part, *len: those of them that are the object's.
 * Returns how many were taken. */
size_t cl_objects_take(struct cl_objects *o, const uint8_t *bytes, size_t n, const uint8_t **part,
	size_t *len, enum cl_objects_said *said);
/* At the end of the file.  NULL: it is whole; else what is wrong with it. */
const char *cl_objects_end(const struct cl_objects *o);
