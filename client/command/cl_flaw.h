/* cl_flaw.h - says what is wrong with a text that is no valid reading, and what to do about it.  For the
 * readings' owner, who is shown them. */
#pragma once

#include "cl_readings.h"
#include "qy_query.h"

enum cl_flaw {
	CL_FLAW_NONE,     /* it is a valid reading */
	CL_FLAW_ABSENT,   /* there is no text, or one such as "" or "unavailable" that says so */
	CL_FLAW_COMMA,    /* a number with a decimal comma */
	CL_FLAW_UNIT,     /* a number with more behind it */
	CL_FLAW_NUMBER,   /* no number */
	CL_FLAW_SPELLING, /* a category of the query but for case, white space or another form of a number */
	CL_FLAW_CATEGORY, /* none of the query's categories */
	CL_FLAW_ITEMS,    /* a set in which none of the query's items is */
	CL_FLAW_ARRAY,    /* no array of as many numbers as the vector has */
	CL_FLAW_COMPUTED, /* nothing that the round's map is defined for */
	CL_FLAW_ROW,      /* the row's form: cl_row.why says what */
	CL_FLAWS
};

/* The flaw of the text of field i (qy_query_field) of a query without a map.  text NULL: CL_FLAW_ABSENT. */
enum cl_flaw cl_flaw_of(const struct qy_query *q, uint32_t i, const char *text);
/* Does the flaw say that there is no reading, which is no fault of anybody? */
bool cl_flaw_is_absence(enum cl_flaw f);
/* What is wrong, as the end of a sentence that begins with the field: "has a decimal comma". */
const char *cl_flaw_words(enum cl_flaw f);
/* What to do about it: a sentence without its full stop. */
const char *cl_flaw_advice(enum cl_flaw f);
/* The same for a row whose form is wrong, by cl_row.why. */
const char *cl_flaw_row_advice(const char *why);
