/* cf_value.c - reads one libconfig setting into one field of a struct. */
#include "cf_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "cm_text.h"

static const char out_of_range[] = "value out of range for";

/* min == max == 0 means that there is no range. */
static bool in_range(const struct cf_row *row, double v)
{
	return (row->min == 0 && row->max == 0) || (v >= row->min && v <= row->max);
}

static bool is_whole(const config_setting_t *s)
{
	return config_setting_type(s) == CONFIG_TYPE_INT || config_setting_type(s) == CONFIG_TYPE_INT64;
}

static bool read_double(const config_setting_t *s, double *out)
{
	if (config_setting_type(s) == CONFIG_TYPE_FLOAT)
		*out = config_setting_get_float(s);
	else if (is_whole(s))
		*out = (double)config_setting_get_int64(s);
	else
		return false;
	return isfinite(*out);
}

/* These texts are shown on terminals, in logs and on pages, and peers refuse text that cannot be shown. */
static const char not_printable[] =
	"text that can be shown expected (UTF-8, no control or bidirectional characters) for";

/* Read a string; with `dir` a path, which may have any bytes. */
static const char *read_string(const config_setting_t *s, const char *dir, char **field)
{
	const char *text = config_setting_get_string(s);

	if (config_setting_type(s) != CONFIG_TYPE_STRING || !text)
		return "string expected for";
	if (!dir && !cm_text_is_printable(text))
		return not_printable;
	*field = dir && *text != '\0' && *text != '/' ? cm_file_join(dir, text) : strdup(text);
	return *field ? NULL : "";
}

#define CREDENTIAL "credential:"

/* Read the path of a file; "credential:NAME" is one that the service manager passes (systemd's
 * LoadCredential=). */
static const char *read_path(const config_setting_t *s, const char *dir, char **field)
{
	const char *text = config_setting_get_string(s), *given = getenv("CREDENTIALS_DIRECTORY"), *name;

	if (config_setting_type(s) != CONFIG_TYPE_STRING || !text ||
		strncmp(text, CREDENTIAL, strlen(CREDENTIAL)) != 0)
		return read_string(s, dir, field);
	name = text + strlen(CREDENTIAL);
	if (*name == '\0' || *name == '.' || strchr(name, '/'))
		return "credential:NAME expected for";
	/* Without a service manager the text stays as it is.  Opening a file of that name fails, but not
	 * every verb opens it. */
	*field = given && *given == '/' ? cm_file_join(given, name) : strdup(text);
	return *field ? NULL : "";
}

static const char *read_duration(const config_setting_t *s, int64_t *out)
{
	const char *text = config_setting_get_string(s);

	if (config_setting_type(s) != CONFIG_TYPE_STRING || !text || !cm_clock_duration(text, out))
		return "duration such as \"250ms\", \"90s\", \"15m\", \"24h\" or \"7d\" expected for";
	return *out == INT64_MAX ? out_of_range : NULL;
}

static bool is_sequence(const config_setting_t *s)
{
	return config_setting_is_array(s) != CONFIG_FALSE || config_setting_is_list(s) != CONFIG_FALSE;
}

static const char *read_strings(const config_setting_t *s, struct cf_strings *out)
{
	int n;

	if (!is_sequence(s))
		return "list of strings expected for";
	n = config_setting_length(s);
	out->item = calloc((size_t)n + 1, sizeof *out->item);
	if (!out->item)
		return "";
	for (int i = 0; i < n; i++) {
		const char *fault = read_string(config_setting_get_elem(s, (unsigned)i), NULL, &out->item[i]);

		if (fault)
			return *fault == '\0' || fault == not_printable ? fault
									: "list of strings expected for";
		out->n++;
	}
	return NULL;
}

static const char *read_some(const config_setting_t *s, struct cf_strings *out)
{
	const char *fault;

	if (is_sequence(s)) {
		fault = read_strings(s, out);
	} else {
		out->item = calloc(1, sizeof *out->item);
		fault = out->item ? read_string(s, NULL, &out->item[0]) : "";
		out->n = fault ? 0 : 1;
	}
	return fault && *fault != '\0' && fault != not_printable ? "string or list of strings expected for"
								 : fault;
}

static const char *read_table(const config_setting_t *s, struct cf_table *out)
{
	static const char expected[] = "list of lists of strings expected for";
	int n;

	if (config_setting_is_list(s) == CONFIG_FALSE)
		return expected;
	n = config_setting_length(s);
	out->item = calloc((size_t)n + 1, sizeof *out->item);
	if (!out->item)
		return "";
	for (int i = 0; i < n; i++) {
		/* Count it before it is filled, so that what was read before a fault is freed. */
		struct cf_strings *one = &out->item[out->n++];
		const char *fault = read_strings(config_setting_get_elem(s, (unsigned)i), one);

		if (fault || one->n == 0)
			return fault && (*fault == '\0' || fault == not_printable) ? fault : expected;
	}
	return NULL;
}

static const char *read_doubles(const config_setting_t *s, struct cf_doubles *out)
{
	int n;

	if (!is_sequence(s))
		return "list of finite numbers expected for";
	n = config_setting_length(s);
	out->item = calloc((size_t)n + 1, sizeof *out->item);
	if (!out->item)
		return "";
	for (int i = 0; i < n; i++)
		if (!read_double(config_setting_get_elem(s, (unsigned)i), &out->item[out->n++]))
			return "list of finite numbers expected for";
	return NULL;
}

static const char *read_range(
	const config_setting_t *s, const struct cf_row *row, bool is_default, double *out)
{
	if (!is_sequence(s) || config_setting_length(s) != 2 ||
		!read_double(config_setting_get_elem(s, 0), &out[0]) ||
		!read_double(config_setting_get_elem(s, 1), &out[1]))
		return "two finite numbers [low, high] expected for";
	if (!(out[0] < out[1]))
		return "low must be below high for";
	if (!is_default && row->min < row->max && (out[0] < row->min || out[1] > row->max))
		return out_of_range;
	return NULL;
}

static const char *read_word(const config_setting_t *s, struct cf_word *out)
{
	if (config_setting_type(s) == CONFIG_TYPE_STRING)
		return read_string(s, NULL, &out->text);
	return read_double(s, &out->number) ? NULL : "string or finite number expected for";
}

static const char *read_words(const config_setting_t *s, struct cf_words *out)
{
	static const char expected[] = "list of strings and finite numbers expected for";
	int n;

	if (!is_sequence(s))
		return expected;
	n = config_setting_length(s);
	out->item = calloc((size_t)n + 1, sizeof *out->item);
	if (!out->item)
		return "";
	for (int i = 0; i < n; i++) {
		const char *fault = read_word(config_setting_get_elem(s, (unsigned)i), &out->item[out->n++]);

		if (fault)
			return *fault == '\0' || fault == not_printable ? fault : expected;
	}
	return NULL;
}

static const char *read_char(const config_setting_t *s, char *out)
{
	const char *text = config_setting_get_string(s);

	if (config_setting_type(s) != CONFIG_TYPE_STRING || !text || strlen(text) != 1 || *text < 0)
		return "one ASCII character expected for";
	*out = *text;
	return NULL;
}

static const char *read_number(
	const config_setting_t *s, const struct cf_row *row, bool is_default, double *out)
{
	const char *text = config_setting_get_string(s);

	if (row->type == CF_EXTENDED && config_setting_type(s) == CONFIG_TYPE_STRING && text &&
		strcmp(text, "inf") == 0) {
		*out = INFINITY;
		return NULL;
	}
	if (!read_double(s, out))
		return row->type == CF_EXTENDED ? "finite number or \"inf\" expected for"
						: "finite number expected for";
	return is_default || in_range(row, *out) ? NULL : out_of_range;
}

static const char *read_integer(
	const config_setting_t *s, const struct cf_row *row, bool is_default, int64_t *out)
{
	if (!is_whole(s))
		return "integer expected for";
	*out = config_setting_get_int64(s);
	return is_default || in_range(row, (double)*out) ? NULL : out_of_range;
}

const char *cf_value_read(
	const config_setting_t *s, const struct cf_row *row, const char *dir, bool is_default, void *field)
{
	const char *fault = NULL;

	switch (row->type) {
	case CF_STRING:
		return read_string(s, NULL, field);
	case CF_PATH:
		return read_path(s, dir, field);
	case CF_INT:
		return read_integer(s, row, is_default, field);
	case CF_DURATION:
		fault = read_duration(s, field);
		if (fault)
			return fault;
		return is_default || in_range(row, (double)*(int64_t *)field) ? NULL : out_of_range;
	case CF_BOOL:
		if (config_setting_type(s) != CONFIG_TYPE_BOOL)
			return "true or false expected for";
		*(bool *)field = config_setting_get_bool(s) != CONFIG_FALSE;
		return NULL;
	case CF_DOUBLE:
	case CF_EXTENDED:
		return read_number(s, row, is_default, field);
	case CF_WORD:
		return read_word(s, field);
	case CF_CHAR:
		return read_char(s, field);
	case CF_RANGE:
		return read_range(s, row, is_default, field);
	case CF_WORDS:
		fault = read_words(s, field);
		break;
	case CF_STRINGS:
		fault = read_strings(s, field);
		break;
	case CF_SOME:
		fault = read_some(s, field);
		if (!fault && !is_sequence(s))
			return NULL;
		break;
	case CF_TABLE:
		fault = read_table(s, field);
		break;
	case CF_DOUBLES:
		fault = read_doubles(s, field);
		break;
	case CF_GROUP:
	case CF_LIST:
	case CF_NAMED:
	case CF_LATER:
	case CF_GONE:
		return "no value possible for";
	}
	/* only settings of list types reach this line */
	if (!fault && !is_default && row->max > 0 && !in_range(row, config_setting_length(s)))
		return "number of items out of range for";
	return fault;
}

/* Write a duration in the largest unit that gives a whole number, as the file would. */
static void bound_text(const struct cf_row *row, double v, char *out, size_t size)
{
	static const struct {
		int64_t ms;
		const char *unit;
	} unit[] = { { 86400000, "d" }, { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } };
	size_t i = 0;

	if (row->type != CF_DURATION) {
		(void)snprintf(out, size, "%.10g", v);
		return;
	}
	while (i + 1 < sizeof unit / sizeof unit[0] && (int64_t)v % unit[i].ms != 0)
		i++;
	if (v > 0)
		(void)snprintf(out, size, "%lld%s", (long long)((int64_t)v / unit[i].ms), unit[i].unit);
	else
		(void)snprintf(out, size, "0s");
}

void cf_duration_put(FILE *out, int64_t ms)
{
	const struct cf_row row = { .type = CF_DURATION };
	char text[24];

	bound_text(&row, (double)ms, text, sizeof text);
	(void)fprintf(out, "\"%s\"", text);
}

const char *cf_range_text(const struct cf_row *row, char out[CF_RANGE_TEXT])
{
	char low[24], high[24];

	bound_text(row, row->min, low, sizeof low);
	bound_text(row, row->max, high, sizeof high);
	(void)snprintf(out, CF_RANGE_TEXT, "%s to %s", low, high);
	return out;
}

static void free_strings(struct cf_strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->item[i]);
	free(s->item);
	*s = (struct cf_strings){ 0 };
}

void cf_value_free(const struct cf_row *row, void *field)
{
	struct cf_table *table = field;
	struct cf_doubles *doubles = field;
	struct cf_word *word = field;
	struct cf_words *words = field;

	if (row->type == CF_STRING || row->type == CF_PATH) {
		free(*(char **)field);
		*(char **)field = NULL;
	} else if (row->type == CF_STRINGS || row->type == CF_SOME) {
		free_strings(field);
	} else if (row->type == CF_TABLE) {
		for (size_t i = 0; i < table->n; i++)
			free_strings(&table->item[i]);
		free(table->item);
		*table = (struct cf_table){ 0 };
	} else if (row->type == CF_WORD) {
		free(word->text);
		*word = (struct cf_word){ 0 };
	} else if (row->type == CF_WORDS) {
		for (size_t i = 0; i < words->n; i++)
			free(words->item[i].text);
		free(words->item);
		*words = (struct cf_words){ 0 };
	} else if (row->type == CF_DOUBLES) {
		free(doubles->item);
		*doubles = (struct cf_doubles){ 0 };
	}
}
