/* cl_texts.h - finds a text among many (wanted fields, categories), in time proportional to the text's
 * length, however many there are. */
#pragma once

#include <stddef.h>

#include "cm_rc.h"

struct cl_texts;
/* The texts are borrowed.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc cl_texts_new(
	const char *const *text, size_t n, struct cl_texts **out, struct cm_err *err);
void cl_texts_free(struct cl_texts *t);
size_t cl_texts_n(const struct cl_texts *t);
/* The number of the text that equals these bytes; the number of texts if none does. */
size_t cl_texts_find(const struct cl_texts *t, const void *bytes, size_t n);
