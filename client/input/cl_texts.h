/* cl_texts.h - finds one of many texts: a field among those that are wanted, a category.  In a time that goes
 * with the text's length, however many there are. */
#pragma once

#include <stddef.h>

#include "cm_rc.h"

struct cl_texts;
/* The texts are borrowed.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_texts_new(
	const char *const *text, size_t n, struct cl_texts **out, struct cm_err *err);
void cl_texts_free(struct cl_texts *t);
size_t cl_texts_n(const struct cl_texts *t);
/* The number of the text that these bytes are; how many texts there are if they are none. */
size_t cl_texts_find(const struct cl_texts *t, const void *bytes, size_t n);
