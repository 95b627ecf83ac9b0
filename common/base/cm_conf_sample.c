/* cm_conf_sample.c - the commented sample of a table of options. */
#include "cm_conf.h"

#include <string.h>

#include "cm_conf_value.h"

/* Lines of a part that may be left out begin with its comment sign. */
static void print_rows(const struct cm_conf_row *rows, FILE *out, int depth, const char *off);

static void indent(FILE *out, int depth, const char *off)
{
	(void)fputs(off, out);
	for (int i = 0; i < depth; i++)
		(void)fputc('\t', out);
}

/* What stands for a value that has no default. */
static const char *placeholder(const struct cm_conf_row *row)
{
	switch (row->type) {
	case CM_CONF_INT:
	case CM_CONF_DOUBLE:
	case CM_CONF_EXTENDED:
		return "...";
	case CM_CONF_BOOL:
		return "false";
	case CM_CONF_STRINGS:
		return "[ \"...\" ]";
	case CM_CONF_TABLE:
		return "( [ \"...\" ] )";
	case CM_CONF_DOUBLES:
		return "[ 0.5 ]";
	case CM_CONF_RANGE:
		return "[ 0.0, 1.0 ]";
	case CM_CONF_DURATION:
		return "\"60s\"";
	default:
		return "\"...\"";
	}
}

static bool is_list(enum cm_conf_type type)
{
	return type == CM_CONF_STRINGS || type == CM_CONF_TABLE || type == CM_CONF_DOUBLES ||
	       type == CM_CONF_LIST;
}

static void print_range(const struct cm_conf_row *row, FILE *out)
{
	char text[CM_CONF_RANGE_TEXT];

	if (row->min < row->max)
		(void)fprintf(
			out, " (%s%s)", cm_conf_range_text(row, text), is_list(row->type) ? " items" : "");
}

static void print_nested(const struct cm_conf_row *row, FILE *out, int depth, const char *off)
{
	bool list = row->type == CM_CONF_LIST;

	/* A list that may be absent stays so until somebody wants it. */
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

static void print_rows(const struct cm_conf_row *rows, FILE *out, int depth, const char *off)
{
	for (const struct cm_conf_row *row = rows; row->key != NULL; row++) {
		const char *value = row->fallback != NULL ? row->fallback : placeholder(row);
		bool text = row->type == CM_CONF_STRING || row->type == CM_CONF_PATH ||
			    row->type == CM_CONF_DURATION;
		const char *quote = text && value[0] != '"' ? "\"" : "";

		indent(out, depth, off);
		(void)fprintf(out, "# %s", row->help != NULL ? row->help : row->key);
		print_range(row, out);
		(void)fprintf(out, "%s\n", row->required ? "; required" : "");
		if (row->type == CM_CONF_GROUP || row->type == CM_CONF_LIST) {
			print_nested(row, out, depth, off);
			continue;
		}
		indent(out, depth, off);
		/* Keys without a default must be written by the operator; until then the file says nothing.
		 */
		(void)fprintf(out, "%s%s = %s%s%s;\n", row->fallback != NULL || *off != '\0' ? "" : "# ",
			row->key, quote, value, quote);
	}
}

void cm_conf_sample(const struct cm_conf_row *rows, FILE *out)
{
	print_rows(rows, out, 0, "");
}
