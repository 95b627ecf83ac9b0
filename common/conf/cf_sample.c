/* cf_sample.c - prints the commented sample of a table of options. */
#include "cf_conf.h"

#include <string.h>

#include "cf_value.h"

/* In a part that may be left out, every line begins as a comment. */
static void print_rows(const struct cf_row *rows, FILE *out, int depth, const char *off);

static void indent(FILE *out, int depth, const char *off)
{
	(void)fputs(off, out);
	for (int i = 0; i < depth; i++)
		(void)fputc('\t', out);
}

/* The placeholder for a value that has no default. */
static const char *placeholder(const struct cf_row *row)
{
	switch (row->type) {
	case CF_INT:
	case CF_DOUBLE:
	case CF_EXTENDED:
		return "...";
	case CF_BOOL:
		return "false";
	case CF_STRINGS:
		return "[ \"...\" ]";
	case CF_TABLE:
		return "( [ \"...\" ] )";
	case CF_DOUBLES:
		return "[ 0.5 ]";
	case CF_RANGE:
		return "[ 0.0, 1.0 ]";
	case CF_DURATION:
		return "\"60s\"";
	case CF_LATER:
		return "{ }";
	default:
		return "\"...\"";
	}
}

static bool is_list(enum cf_type type)
{
	return type == CF_STRINGS || type == CF_TABLE || type == CF_DOUBLES || type == CF_LIST;
}

static void print_range(const struct cf_row *row, FILE *out)
{
	char text[CF_RANGE_TEXT];

	if (row->min < row->max)
		(void)fprintf(out, " (%s%s)", cf_range_text(row, text), is_list(row->type) ? " items" : "");
}

static void print_nested(const struct cf_row *row, FILE *out, int depth, const char *off)
{
	bool list = row->type == CF_LIST;

	/* A list that may be absent is printed as a comment. */
	if (list && !row->required)
		off = "#";
	indent(out, depth, off);
	(void)fprintf(out, "%s = %s\n", row->key, list ? "(" : "{");
	if (list) {
		indent(out, depth + 1, off);
		(void)fprintf(out, "{\n");
	}
	print_rows(row->sub, out, depth + (list ? 2 : 1), off);
	if (list) {
		indent(out, depth + 1, off);
		(void)fprintf(out, "}\n");
	}
	indent(out, depth, off);
	(void)fprintf(out, "%s;\n", list ? ")" : "}");
}

static void print_rows(const struct cf_row *rows, FILE *out, int depth, const char *off)
{
	for (const struct cf_row *row = rows; row->key; row++) {
		const char *value = row->fallback ? row->fallback : placeholder(row);
		bool text = row->type == CF_STRING || row->type == CF_WORD || row->type == CF_PATH ||
			    row->type == CF_DURATION;
		const char *quote = text && value[0] != '"' ? "\"" : "";

		if (row->type == CF_GONE)
			continue;
		indent(out, depth, off);
		(void)fprintf(out, "# %s", row->help ? row->help : row->key);
		print_range(row, out);
		(void)fprintf(out, "%s\n", row->required ? "; required" : "");
		if (row->type == CF_GROUP || row->type == CF_LIST) {
			print_nested(row, out, depth, off);
			continue;
		}
		indent(out, depth, off);
		/* The operator must write keys without a default; in the sample they are comments. */
		(void)fprintf(out, "%s%s = %s%s%s;\n", row->fallback || *off != '\0' ? "" : "# ", row->key,
			quote, value, quote);
	}
}

void cf_sample(const struct cf_row *rows, FILE *out)
{
	print_rows(rows, out, 0, "");
}
