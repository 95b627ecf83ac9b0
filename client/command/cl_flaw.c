/* cl_flaw.c - distinguishes the usual faults of readings. */
#include "cl_flaw.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "qy_value.h"

#define TEXT_MAX 63u /* longer texts are no numbers */

static const struct {
	const char *words, *advice;
} says[CL_FLAWS] = {
	[CL_FLAW_NONE] = { "is valid", "" },
	[CL_FLAW_ABSENT] = { "has no reading", "" },
	[CL_FLAW_COMMA] = { "has a decimal comma",
		"write the number with a point, as 21.5; or say input.decimal_comma of a CSV file" },
	[CL_FLAW_UNIT] = { "has more behind the number, perhaps its unit",
		"write the number alone, or name its unit in input.map" },
	[CL_FLAW_NUMBER] = { "is no number",
		"write a number, or leave the field empty where there is no reading" },
	[CL_FLAW_SPELLING] = { "is one of the plan's values but for its spelling",
		"write it as in the plan: case, white space and every digit count" },
	[CL_FLAW_CATEGORY] = { "is none of the plan's values",
		"add it to the round's values, or leave the field empty where there is no reading" },
	[CL_FLAW_ITEMS] = { "has none of the plan's items, and counts as a set without any",
		"separate items by a semicolon, and write them as in the plan" },
	[CL_FLAW_ARRAY] = { "is no array of as many numbers as the vector has",
		"write so many numbers with spaces between them, or a JSON array" },
	[CL_FLAW_COMPUTED] = { "has no reading that the round's map is defined for",
		"every feature must be a finite number, and the label one of its classes" },
	[CL_FLAW_ROW] = { "is in a row of the wrong form", "mend the row's form" },
};

/* Whether the text is one by which programs say that they have no reading. */
static bool says_none(const char *text, size_t n)
{
	static const char *const word[] = { "null", "none", "nan", "n/a", "na", "-", "unavailable",
		"unknown" };

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (strlen(word[i]) == n && strncasecmp(text, word[i], n) == 0)
			return true;
	return n == 0;
}

/* Strip white space at the text's ends: returns where the rest begins, and sets its length. */
static const char *bare(const char *text, size_t *n)
{
	static const char space[] = " \t\r\n";

	text += strspn(text, space);
	*n = strlen(text);
	while (*n > 0 && strchr(space, text[*n - 1]))
		--*n;
	return text;
}

/* Whether the whole text is a number.  *rest: whether it at least begins with one. */
static bool is_number(const char *text, size_t n, bool *rest)
{
	char copy[TEXT_MAX + 1], *end;
	double unused;

	*rest = false;
	if (n > TEXT_MAX)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*rest = qy_number_read(copy, &end, &unused) != 0;
	return *rest && *end == '\0';
}

static enum cl_flaw of_number(const char *text, size_t n)
{
	char copy[TEXT_MAX + 1], *comma;
	bool begins, ends;

	if (is_number(text, n, &begins))
		return CL_FLAW_NONE;
	if (n <= TEXT_MAX) {
		memcpy(copy, text, n);
		copy[n] = '\0';
		comma = strchr(copy, ',');
		if (comma) {
			*comma = '.';
			if (is_number(copy, n, &ends) || ends)
				return CL_FLAW_COMMA;
		}
	}
	return begins ? CL_FLAW_UNIT : CL_FLAW_NUMBER;
}

static bool same_number(const char *text, size_t n, const char *category)
{
	bool unused;

	return is_number(text, n, &unused) && is_number(category, strlen(category), &unused) &&
	       strtod(text, NULL) >= strtod(category, NULL) && strtod(text, NULL) <= strtod(category, NULL);
}

static enum cl_flaw of_category(char *const *category, uint32_t n, const char *text)
{
	enum cl_flaw found = CL_FLAW_CATEGORY;
	size_t len;
	const char *word = bare(text, &len);

	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(category[i], text) == 0)
			return CL_FLAW_NONE;
		if ((strlen(category[i]) == len && strncasecmp(category[i], word, len) == 0) ||
			same_number(word, len, category[i]))
			found = CL_FLAW_SPELLING;
	}
	return found == CL_FLAW_CATEGORY && says_none(word, len) ? CL_FLAW_ABSENT : found;
}

static enum cl_flaw of_set(const struct qy_query *q, const char *text)
{
	uint32_t *at = calloc((size_t)qy_value_width(q) + 1, sizeof *at);
	enum cl_flaw found = CL_FLAW_ITEMS;
	size_t n;

	if (at)
		qy_set_read(q, text, at);
	for (uint32_t i = 0; at && i < q->categories; i++)
		if (at[i] != 0)
			found = CL_FLAW_NONE;
	free(at);
	(void)bare(text, &n);
	return n == 0 ? CL_FLAW_NONE : found; /* the empty text is the empty set */
}

enum cl_flaw cl_flaw_of(const struct qy_query *q, uint32_t i, const char *text)
{
	size_t n = 0;
	const char *word = text ? bare(text, &n) : "";

	if (!text)
		return CL_FLAW_ABSENT;
	switch (q->kind) {
	case QY_HISTOGRAM:
		return of_category(q->category, q->categories, text);
	case QY_MARGINALS:
		return of_category(q->column[i].category, q->column[i].categories, text);
	case QY_SETS:
		return of_set(q, text);
	case QY_PREFIXES:
		return *text == '\0' ? CL_FLAW_ABSENT : CL_FLAW_NONE;
	case QY_VECTOR:
		if (q->columns == 0)
			return says_none(word, n) ? CL_FLAW_ABSENT : CL_FLAW_ARRAY;
		break;
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
	case QY_PLACES:
		break;
	}
	return says_none(word, n) ? CL_FLAW_ABSENT : of_number(word, n);
}

bool cl_flaw_is_absence(enum cl_flaw f)
{
	return f == CL_FLAW_ABSENT;
}

const char *cl_flaw_words(enum cl_flaw f)
{
	return says[f].words;
}

const char *cl_flaw_advice(enum cl_flaw f)
{
	return says[f].advice;
}

const char *cl_flaw_row_advice(const char *why)
{
	if (strstr(why, "the header has"))
		return "quote values that have a comma in them, and write decimals with a point; or say input.delimiter "
		       "and input.decimal_comma";
	if (strstr(why, "decimal commas"))
		return "write decimals with a comma, or leave out input.decimal_comma";
	if (strncmp(why, "no field", 8) == 0)
		return "name the field as in the plan, or say in input.map where it stands";
	if (strstr(why, "device"))
		return "every row names its device in the device field";
	return says[CL_FLAW_ROW].advice;
}
