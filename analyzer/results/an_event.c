/* an_event.c - makes flat rows of a result document, and prints them in each form. */
#include "an_event.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "an_result.h"
#include "an_result_show.h"
#include "cm_clock.h"
#include "cm_oom.h"

/* Where the line protocol puts a column.  A tag distinguishes series, so a column whose value changes from
 * round to round must not be a tag. */
enum place { TAG, FIELD, NOWHERE };

static const struct column {
	const char *name;
	enum place place;
} columns[] = {
	{ "id", FIELD },
	{ "seq", FIELD },
	{ "rows", FIELD },
	{ "population", TAG },
	{ "plan", TAG },
	{ "plan_name", NOWHERE },
	{ "round", FIELD },
	{ "query", TAG },
	{ "recurrence", FIELD },
	{ "type", TAG },
	{ "protocol", FIELD },
	{ "unit", TAG },
	{ "stage", FIELD },
	{ "fault", FIELD },
	{ "time", NOWHERE },
	{ "time_ms", NOWHERE },
	{ "settled_ms", FIELD },
	{ "epsilon0", FIELD },
	{ "epsilon_round", FIELD },
	{ "epsilon_total", FIELD },
	{ "delta", FIELD },
	{ "participants", FIELD },
	{ "reports", FIELD },
	{ "left_out", FIELD },
	{ "left_out_why", FIELD },
	{ "liars", FIELD },
	{ "liars_seen", FIELD },
	{ "no_reading", TAG },
	{ "label", TAG },
	{ "text", FIELD },
	{ "low", FIELD },
	{ "high", FIELD },
	{ "value", FIELD },
	{ "variance", FIELD },
	{ "lower", FIELD },
	{ "upper", FIELD },
	{ "joint_lower", FIELD },
	{ "joint_upper", FIELD },
	{ "projected", FIELD },
	{ "bias_bound", FIELD },
	{ "below_noise", FIELD },
	{ "at_end", FIELD },
	{ "honest_lower", FIELD },
	{ "honest_upper", FIELD },
	{ "honest_joint_lower", FIELD },
	{ "honest_joint_upper", FIELD },
	{ "holds_to", FIELD },
	/* named by an_result_place_name */
	{ "x", FIELD },
	{ "y", FIELD },
	{ "width", FIELD },
	{ "height", FIELD },
};
#define COLUMNS     (sizeof columns / sizeof *columns)
#define ITEM_COLUMN 28u /* index of the column "label", the first column of an item */
#define PLACE       (COLUMNS - AN_RESULT_PLACE)

static const char *const copied[] = { "population", "query", "type", "protocol", "unit", "epsilon0",
	"epsilon_round", "epsilon_total", "delta", "participants", "reports" };

bool an_form_parse(const char *text, enum an_form *out)
{
	static const char *const names[] = { "ndjson", "csv", "influx" };

	for (int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0) {
			*out = (enum an_form)i;
			return true;
		}
	return false;
}

/* The value of a column from a result document.  The texts that stand for numbers which JSON lacks become
 * null. */
static json_t *plain(json_t *v, bool text)
{
	if (!v || (!text && json_is_string(v)))
		return json_null();
	return json_incref(v);
}

static bool is_text(const char *name)
{
	static const char *const texts[] = { "population", "query", "type", "protocol", "unit", "label",
		"text" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (strcmp(name, texts[i]) == 0)
			return true;
	return false;
}

/* Set how many devices were not taken, and why, such as "2400 were over max_share of ...; ...".  Both are
 * null for a result that is older than these counts. */
static int set_left_out(json_t *o, const json_t *list)
{
	json_t *it, *why = NULL;
	json_int_t sum = 0;
	size_t i;
	int bad = 0;

	json_array_foreach(list, i, it)
	{
		json_int_t n = json_integer_value(json_object_get(it, "devices"));
		json_t *more = json_sprintf("%s%s%lld %s", why ? json_string_value(why) : "", why ? "; " : "",
			(long long)n, json_string_value(json_object_get(it, "text")));

		sum += n;
		json_decref(why);
		why = more;
		bad |= !more;
	}
	bad |= json_object_set_new(o, "left_out", list ? json_integer(sum) : json_null());
	return bad | json_object_set_new(o, "left_out_why", why ? why : json_null());
}

/* Set how many devices are assumed to have lied, and how many certainly did; null for a result without an
 * estimate, or that is older than these. */
static int set_liars(json_t *o, const json_t *liars)
{
	return json_object_set_new(o, "liars", plain(json_object_get(liars, "m"), false)) |
	       json_object_set_new(o, "liars_seen", plain(json_object_get(liars, "seen"), false));
}

/* Make the columns of the round, in the order of the table. */
static json_t *head(const struct an_event *e, const char *schema)
{
	const struct an_round_state *r = e->r;
	json_t *fault = json_object_get(e->result, "fault"), *o;
	size_t rows = json_array_size(json_object_get(e->result, "items")) +
		      json_array_size(json_object_get(e->result, "no_reading"));
	char at[32];
	int bad = 0;

	cm_clock_text(r->descriptor.opens_ms, at);
	o = json_pack("{s:s, s:o, s:I, s:I, s:I, s:O?, s:i, s:i, s:s, s:o, s:s, s:I, s:I}", "schema", schema,
		"id", an_json_hex(r->descriptor.round_id, PR_ROUND_ID_LEN), "seq", (json_int_t)e->seq, "rows",
		(json_int_t)(rows > 0 ? rows : 1), "plan",
		(json_int_t)(r->of ? r->of->signed_plan.number : 0), "plan_name",
		json_object_get(e->result, "plan"), "round", (int)r->plan->number, "recurrence",
		(int)r->plan->recurrence, "stage", an_round_lost(r) ? "lost" : "settled", "fault",
		plain(fault, true), "time", at, "time_ms", (json_int_t)r->descriptor.opens_ms, "settled_ms",
		(json_int_t)e->settled_ms);
	for (size_t i = 0; o && i < sizeof copied / sizeof *copied; i++)
		bad |= json_object_set_new(
			o, copied[i], plain(json_object_get(e->result, copied[i]), is_text(copied[i])));
	bad = bad || !o || set_left_out(o, json_object_get(e->result, "left_out")) != 0 ||
	      set_liars(o, json_object_get(e->result, "liars")) != 0;
	if (bad == 0)
		return o;
	json_decref(o);
	return NULL;
}

/* Put the columns of an item into o.  item is NULL if the round has none; then all of them are null. */
static int set_item(json_t *o, json_t *item)
{
	int bad = 0;

	for (size_t i = ITEM_COLUMN; i < PLACE; i++)
		bad |= json_object_set_new(o, columns[i].name,
			plain(json_object_get(item, columns[i].name), is_text(columns[i].name)));
	for (size_t i = PLACE; i < COLUMNS; i++) {
		double v = an_result_place(item, i - PLACE);

		bad |= json_object_set_new(o, columns[i].name, isnan(v) ? json_null() : json_real(v));
	}
	return bad;
}

static json_t *items_of(const json_t *list)
{
	json_t *out = json_array(), *item;
	size_t i;
	int bad = !out;

	json_array_foreach(list, i, item)
	{
		json_t *o = json_object();

		bad |= o == NULL || set_item(o, item) != 0;
		bad |= json_array_append_new(out, o);
	}
	if (bad == 0)
		return out;
	json_decref(out);
	return NULL;
}

json_t *an_event_json(const struct an_event *e)
{
	json_t *o;

	(void)cm_oom_happened();
	o = head(e, AN_SETTLED_SCHEMA);
	if (o &&
		(json_object_set_new(o, "items", items_of(json_object_get(e->result, "items"))) |
			json_object_set_new(
				o, "no_reading", items_of(json_object_get(e->result, "no_reading")))) == 0 &&
		!cm_oom_happened())
		return o;
	json_decref(o);
	return NULL;
}

/* ---- one row in each form ---- */

/* Write a cell as RFC 4180 says; a text is always in quotes, so that an empty cell means "no value". */
static void csv_cell(const json_t *v, FILE *out)
{
	if (json_is_string(v))
		an_result_csv_text(json_string_value(v), out);
	else if (json_is_integer(v))
		(void)fprintf(out, "%lld", (long long)json_integer_value(v));
	else if (json_is_real(v))
		(void)fprintf(out, "%.17g", json_real_value(v));
	else if (json_is_boolean(v))
		(void)fputs(json_is_true(v) ? "true" : "false", out);
}

static void print_csv(const json_t *row, FILE *out)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		if (c > 0)
			(void)fputc(',', out);
		csv_cell(json_object_get(row, columns[c].name), out);
	}
	(void)fputc('\n', out);
}

/* A backslash at the end would escape the separator after it, so put a space between them. */
static void influx_tag(const char *s, FILE *out)
{
	char last = '\0';

	for (; *s != '\0'; s++) {
		char c = (char)((unsigned char)*s < ' ' ? ' ' : *s);

		if (strchr(", =", c))
			(void)fputc('\\', out);
		(void)fputc(c, out);
		last = c;
	}
	if (last == '\\')
		(void)fputs("\\ ", out);
}

static bool influx_field(const char *name, const json_t *v, char before, FILE *out)
{
	if (!v || json_is_null(v))
		return false;
	(void)fprintf(out, "%c%s=", before, name);
	if (json_is_integer(v)) {
		(void)fprintf(out, "%lldi", (long long)json_integer_value(v));
	} else if (json_is_string(v)) {
		(void)fputc('"', out);
		for (const char *s = json_string_value(v); *s != '\0'; s++) {
			if (*s == '"' || *s == '\\')
				(void)fputc('\\', out);
			(void)fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
		}
		(void)fputc('"', out);
	} else {
		csv_cell(v, out);
	}
	return true;
}

static void influx_tag_of(const char *name, const json_t *v, FILE *out)
{
	bool text = json_is_string(v);

	/* The line protocol does not allow a tag without a value. */
	if (!v || json_is_null(v) || (text && json_string_length(v) == 0))
		return;
	(void)fprintf(out, ",%s=", name);
	if (text)
		influx_tag(json_string_value(v), out);
	else
		csv_cell(v, out);
}

static void print_influx(const json_t *row, FILE *out)
{
	char before = ' ';

	(void)fputs("tombola", out);
	for (size_t c = 0; c < COLUMNS; c++)
		if (columns[c].place == TAG)
			influx_tag_of(columns[c].name, json_object_get(row, columns[c].name), out);
	for (size_t c = 0; c < COLUMNS; c++)
		if (columns[c].place == FIELD &&
			influx_field(columns[c].name, json_object_get(row, columns[c].name), before, out))
			before = ',';
	(void)fprintf(out, " %lld000000\n", (long long)json_integer_value(json_object_get(row, "time_ms")));
}

static enum cm_rc print_row(json_t *row, enum an_form form, FILE *out, struct cm_err *err)
{
	if (!row || cm_oom_happened())
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (form == AN_FORM_NDJSON)
		return an_json_print(row, 0, out, err);
	(form == AN_FORM_CSV ? print_csv : print_influx)(row, out);
	return ferror(out) ? cm_fail(err, CM_EIO, "cannot write results") : CM_OK;
}

void an_event_print_head(enum an_form form, FILE *out)
{
	for (size_t c = 0; form == AN_FORM_CSV && c < COLUMNS; c++)
		(void)fprintf(out, "%s%s", c > 0 ? "," : "", columns[c].name);
	if (form == AN_FORM_CSV)
		(void)fputc('\n', out);
}

enum cm_rc an_event_print(const struct an_event *e, enum an_form form, FILE *out, struct cm_err *err)
{
	static const char *const list[] = { "items", "no_reading" };
	json_t *row, *item;
	size_t printed = 0, i;
	enum cm_rc rc;

	(void)cm_oom_happened();
	row = head(e, AN_ROW_SCHEMA);
	rc = row ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	for (int none = 0; rc == CM_OK && none < 2; none++)
		json_array_foreach(json_object_get(e->result, list[none]), i, item)
		{
			if (json_object_set_new(row, "no_reading", json_boolean(none)) != 0 ||
				set_item(row, item) != 0)
				rc = cm_fail(err, CM_EINTERNAL, "out of memory");
			else
				rc = print_row(row, form, out, err);
			printed++;
			if (rc != CM_OK)
				break;
		}
	/* A charged round has a line even if it has no estimate. */
	if (rc == CM_OK && printed == 0)
		rc = json_object_set_new(row, "no_reading", json_null()) == 0 && set_item(row, NULL) == 0
			     ? print_row(row, form, out, err)
			     : cm_fail(err, CM_EINTERNAL, "out of memory");
	json_decref(row);
	return rc;
}
