/* cl_flaw.h - says what is wrong with a text that is no valid reading, and what to do about it.  Only the
 * owner of the readings is shown this. */
#pragma once

#include "cl_readings.h"
#include "qy_query.h"

enum cl_flaw {
	CL_FLAW_NONE, /* the reading is valid */
	/* there is no text, or one such as "" or "unavailable" that stands for no reading */
	CL_FLAW_ABSENT,
	CL_FLAW_COMMA,  /* a number with a decimal comma */
	CL_FLAW_UNIT,   /* a number with more text after it */
	CL_FLAW_NUMBER, /* a text that is not a number */
	/* a category of the query except for case, white space or the form of a number */
	CL_FLAW_SPELLING,
	CL_FLAW_CATEGORY, /* a text that is none of the query's categories */
	CL_FLAW_ITEMS,    /* a set that contains none of the query's items */
	CL_FLAW_ARRAY,    /* not an array with as many numbers as the vector has */
	CL_FLAW_COMPUTED, /* something that the round's map cannot be computed from */
	CL_FLAW_ROW,      /* the row's form is wrong; cl_row.why says how */
	CL_FLAWS
};

/* The flaw of the text of field i (qy_query_field) of a query without a map.  If text is NULL,
 * CL_FLAW_ABSENT. */
enum cl_flaw cl_flaw_of(const struct qy_query *q, uint32_t i, const char *text);
/* Whether the flaw says that there is no reading, which is not a fault. */
bool cl_flaw_is_absence(enum cl_flaw f);
/* What is wrong, as the end of a sentence that begins with the field, such as "has a decimal comma". */
const char *cl_flaw_words(enum cl_flaw f);
/* What to do about it: a sentence without its full stop. */
const char *cl_flaw_advice(enum cl_flaw f);
/* What to do about a row whose form is wrong; why is its cl_row.why. */
const char *cl_flaw_row_advice(const char *why);
