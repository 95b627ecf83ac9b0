/* an_result_show.c - prints result documents as a table or CSV. */
#include "an_result_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "an_liars.h"
#include "an_result.h"

#define BELOW_SHOWN 20u

static double num(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* The number that a document has under this key; 0 if it has none. */
static uint32_t count(const json_t *o, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(o, key));
}

#define SHOWN_LEN 80u /* a candidate of prefixes has 64 bytes at most */

/* An item's name for people: its text in quotes if it has one, otherwise its label. */
static const char *shown(const json_t *it, char out[SHOWN_LEN])
{
	const json_t *text = json_object_get(it, "text");

	if (!text)
		return str(it, "label");
	(void)snprintf(out, SHOWN_LEN, "\"%s\"", json_string_value(text));
	return out;
}

static bool is_type(const json_t *result, const char *type)
{
	return strcmp(str(result, "type"), type) == 0;
}

/* How many decimals of a mean to print: as many as show two digits of half its interval.  format() takes -1
 * in place of this number for a count. */
static int decimals_of(double half)
{
	int digits = isfinite(half) && half > 0 ? 1 - (int)floor(log10(half)) : 4;

	return digits < 0 ? 0 : digits > 9 ? 9 : digits;
}

static void format(char out[40], double v, int decimals)
{
	if (!isfinite(v))
		(void)snprintf(out, 40, "-");
	else if (decimals >= 0)
		(void)snprintf(out, 40, "%.*f", decimals, v);
	else
		(void)cm_thousands((int64_t)llround(v), out);
}

/* Whether an item is a count that does not differ significantly from zero. */
static bool is_below(const json_t *item)
{
	return json_is_true(json_object_get(item, "below_noise"));
}

static void print_below(const json_t *result, bool all, FILE *out)
{
	const json_t *items = json_object_get(result, "items");
	size_t n = 0, i, most = all ? SIZE_MAX : BELOW_SHOWN;
	char floor_text[40], name[SHOWN_LEN];
	json_t *it;

	json_array_foreach(items, i, it)
	{
		if (!is_below(it))
			continue;
		if (n < most)
			(void)fprintf(out, "%s%s", n == 0 ? "  " : ", ", shown(it, name));
		n++;
	}
	if (n == 0)
		return;
	if (n > most)
		(void)fprintf(out, " and %zu more", n - most);
	format(floor_text, num(result, "noise_floor"), -1);
	(void)fprintf(out, ": below the noise floor (%s)\n", floor_text);
}

/* The items of a result that are shown.  counts: the items are numbers of devices; quantiles: they are
 * numbers of a range, with a lower and an upper end. */
struct view {
	const json_t **item;
	size_t shown, n; /* numbers of items: shown, and not below the noise floor */
	bool counts, quantiles, joint;
	/* the columns about liars: the honest devices' interval, and how many liars a claim stands */
	bool honest, holds;
	uint64_t liars;    /* how many are assumed to have lied, or were seen to */
	double most;       /* no count of honest devices is larger */
	const char *label; /* label to print for the only item; NULL for the item's own */
};

static int by_value(const void *a, const void *b)
{
	double x = num(*(const json_t *const *)a, "value"), y = num(*(const json_t *const *)b, "value");

	return (x < y) - (x > y);
}

/* Without liars the table has no columns about them, unless somebody asked. */
static void look_at_liars(const json_t *result, struct view *v)
{
	const json_t *liars = json_object_get(result, "liars"),
		     *first = json_array_get(json_object_get(result, "items"), 0);

	v->liars = an_liars_in(result);
	v->most = num(result, "participants") - (double)v->liars;
	v->honest = json_object_get(first, "honest_lower") != NULL;
	v->holds = json_object_get(first, "holds_to") && (v->honest || json_object_get(liars, "above"));
}

/* Decide what is shown.  false: out of memory.  The caller frees v->item. */
static bool look(const json_t *result, bool all, struct view *v)
{
	const json_t *items = json_object_get(result, "items");
	size_t i;
	json_t *it;

	*v = (struct view){ .joint = json_array_size(items) > 1 };
	v->quantiles = is_type(result, "quantiles");
	v->label = is_type(result, "mean") ? "mean" : is_type(result, "sum") ? "sum" : NULL;
	v->counts = !v->label && !v->quantiles && !is_type(result, "vector");
	look_at_liars(result, v);
	v->item = calloc(json_array_size(items) + 1, sizeof(const json_t *));
	if (!v->item)
		return false;
	json_array_foreach(items, i, it)
	{
		if (!v->counts || !is_below(it))
			v->item[v->n++] = it;
	}
	v->shown = all || v->n <= AN_RESULT_SHOWN ? v->n : AN_RESULT_SHOWN;
	if (v->counts && v->shown < v->n)
		qsort(v->item, v->n, sizeof(const json_t *), by_value);
	return true;
}

/* Whether the value is undefined, which an_json_real writes as "nan". */
static bool is_undefined(const json_t *item)
{
	return strcmp(str(item, "value"), "nan") == 0;
}

/* The honest devices' interval.  No count of theirs is below 0, or above their number. */
static void format_honest(const struct view *v, const json_t *it, int decimals, char out[96])
{
	double lo = num(it, v->joint ? "honest_joint_lower" : "honest_lower");
	double hi = num(it, v->joint ? "honest_joint_upper" : "honest_upper");
	char low[40], high[40];

	format(low, v->counts ? fmin(fmax(lo, 0), v->most) : lo, decimals);
	format(high, v->counts ? fmax(fmin(hi, v->most), 0) : hi, decimals);
	(void)snprintf(out, 96, "%s to %s", low, high);
}

static void format_holds(const json_t *it, char out[48])
{
	json_int_t most = json_integer_value(json_object_get(it, "holds_to"));
	char number[32];

	(void)snprintf(out, 48, "%s%s", most < 0 ? "-" : cm_thousands(most, number),
		most < 0    ? ""
		: most == 1 ? " liar"
			    : " liars");
}

/* lead: two cells that precede the item, or NULL if there are none. */
static void print_item(const struct view *v, const json_t *it, const char *const lead[2], struct cm_table *t)
{
	char name[SHOWN_LEN];
	const char *label = v->label ? v->label : shown(it, name);
	double lo = num(it, v->joint ? "joint_lower" : "lower");
	double hi = num(it, v->joint ? "joint_upper" : "upper");
	int decimals = v->counts ? -1 : decimals_of((hi - lo) / 2);
	char value[40], half[40], other[40], interval[96], honest[96], holds[48];

	format(value, num(it, "value"), decimals);
	format(half, v->quantiles || is_undefined(it) ? lo : (hi - lo) / 2, decimals);
	format(other, hi, decimals);
	/* If perhaps nobody has a reading, the interval is the whole range, which says nothing. */
	if (is_undefined(it))
		(void)snprintf(value, sizeof value, "undefined");
	if (v->quantiles || is_undefined(it))
		(void)snprintf(interval, sizeof interval, "%s to %s", half, other);
	else
		(void)snprintf(interval, sizeof interval, "+-%s", half);
	if (json_object_get(it, "at_end"))
		(void)snprintf(interval + strlen(interval), sizeof interval - strlen(interval), " *");
	format_honest(v, it, decimals, honest);
	format_holds(it, holds);
	if (lead)
		cm_table_row(t, (const char *const[]){ lead[0], lead[1], label, value, interval });
	else
		cm_table_row(t,
			(const char *const[]){ label, value, interval, v->honest ? honest : holds, holds });
}

/* Print the counts of devices without a reading, and how these devices change the answer. */
static void print_none(const json_t *result, FILE *out)
{
	const json_t *items = json_object_get(result, "no_reading");
	char value[40], half[40];
	size_t i, n = json_array_size(items);
	json_t *it;

	json_array_foreach(items, i, it)
	{
		format(value, num(it, "value"), -1);
		format(half, (num(it, "joint_upper") - num(it, "joint_lower")) / 2, -1);
		if (n == 1)
			(void)fprintf(out, "  devices without a reading: %s +-%s%s\n", value, half,
				is_below(it) ? ", below the noise floor" : "");
		else if (!is_below(it))
			(void)fprintf(
				out, "  without a reading, %s: %s +-%s\n", str(it, "label"), value, half);
	}
	/* The text has what the row answers, a semicolon, and how devices without a reading count. */
	if (json_object_get(result, "estimand") && (n != 1 || strchr(str(result, "estimand"), ';')))
		(void)fprintf(out, "  %s\n", str(result, "estimand"));
}

/* Print the largest bias of all items. */
static void print_bias(const json_t *result, FILE *out)
{
	double most = 0;
	size_t i;
	json_t *it;

	json_array_foreach(json_object_get(result, "items"), i, it)
	{
		most = fmax(most, json_number_value(json_object_get(it, "bias_bound")));
	}
	if (most > 0)
		(void)fprintf(out,
			"  where the choice of a class goes with the value an estimate may be off by up to "
			"%.4g; the "
			"intervals allow for it\n",
			most);
}

/* Print why devices were left out, such as "600 took part; 2,400 were over max_share of the shuffler's
 * policy". */
static void print_left_out(const json_t *result, FILE *out)
{
	const json_t *list = json_object_get(result, "left_out");
	char number[40];
	size_t i;
	json_t *it;

	if (json_array_size(list) == 0)
		return;
	format(number, num(result, "participants"), -1);
	(void)fprintf(out, "  %s took part", number);
	json_array_foreach(list, i, it)
	{
		format(number, num(it, "devices"), -1);
		(void)fprintf(out, "; %s %s", number, str(it, "text"));
	}
	(void)fputc('\n', out);
}

/* Print what the asterisk beside an estimate means. */
static void print_ends(const json_t *result, FILE *out)
{
	double low = INFINITY, high = -INFINITY, end;
	bool leaf = is_type(result, "ranges");
	size_t i;
	json_t *it;

	json_array_foreach(json_object_get(result, "items"), i, it)
	{
		end = num(it, "at_end");
		low = fmin(low, end);
		high = fmax(high, end);
	}
	if (low > high)
		return;
	(void)fprintf(out, "  * at the end of its range, ");
	if (low < high)
		(void)fprintf(out, "%.10g or %.10g", low, high);
	else
		(void)fprintf(out, "%.10g", high);
	(void)fprintf(out, ": readings beyond it count %s; look at unit, scale and range\n",
		leaf ? "there" : "as that value");
}

/* Print what the columns about liars mean, and what is seen of liars. */
static void print_liars(const json_t *result, FILE *out)
{
	const json_t *liars = json_object_get(result, "liars"), *above = json_object_get(liars, "above"),
		     *first = json_array_get(json_object_get(result, "items"), 0);
	double m = num(liars, "m"), seen = num(liars, "seen");
	char many[40], assumed[40];

	if (json_object_get(first, "holds_to") && (above || json_object_get(first, "honest_lower")))
		(void)fprintf(out,
			"  holds up to: so many devices may lie, and the honest ones' answer is still above "
			"%.10g\n",
			above ? num(liars, "above") : 0);
	format(many, seen, -1);
	format(assumed, m, -1);
	if (seen > 0)
		(void)fprintf(out,
			"  at least %s device%s lied: wrong totals of slots, or messages that no client sends\n",
			many, seen > 1 ? "s" : "");
	if (seen > m)
		(void)fprintf(out, "  that is more than the %s that %s; the intervals are for %s\n", assumed,
			strcmp(str(liars, "from"), "asked") == 0 ? "you assume" : "the plan allows for",
			many);
	if (json_object_get(liars, "fault"))
		(void)fprintf(out, "  nothing is known of the honest devices: %s\n", str(liars, "fault"));
}

static void print_notes(const json_t *result, FILE *out)
{
	char valid[40], took_part[40];

	if (is_type(result, "sum") && num(result, "reports") < num(result, "participants")) {
		format(valid, num(result, "reports"), -1);
		format(took_part, num(result, "participants"), -1);
		(void)fprintf(out, "  the sum of the %s valid reports; %s took part\n", valid, took_part);
	}
	print_left_out(result, out);
	print_ends(result, out);
	print_none(result, out);
	if (num(result, "duplicates") > 0 || num(result, "bad") > 0)
		(void)fprintf(out, "  not counted: %.0f duplicate and %.0f unreadable messages\n",
			num(result, "duplicates"), num(result, "bad"));
	if (num(result, "shuffler_dummies") > 0)
		(void)fprintf(out,
			"  the guarantee rests on the shuffler having added %.0f messages of its own\n",
			num(result, "shuffler_dummies"));
	if (num(result, "tag_messages") > 0)
		(void)fprintf(out, "  the shuffler has evened the counts to %.0f messages of each tag\n",
			num(result, "tag_messages"));
	print_liars(result, out);
	print_bias(result, out);
	if (json_object_get(result, "statement"))
		(void)fprintf(out, "  %s\n", str(result, "statement"));
	if (json_object_get(result, "fault"))
		(void)fprintf(out, "  no estimate: %s\n", str(result, "fault"));
	if (json_object_get(result, "warning"))
		(void)fprintf(out, "  warning: %s\n", str(result, "warning"));
}

void an_result_print(const json_t *result, bool all, FILE *out)
{
	char head[120], label[PL_LABEL_LEN], honest[64], many[32];
	struct cm_table *t = NULL;
	struct view v;

	pl_label(str(result, "query"), count(result, "recurrence"), count(result, "recurrences"), label);
	(void)snprintf(head, sizeof head, "%s (round %d)", label, (int)num(result, "round"));
	if (look(result, all, &v)) {
		(void)snprintf(honest, sizeof honest, "honest, if %s lie%s",
			cm_thousands((int64_t)v.liars, many), v.liars == 1 ? "s" : "");
		t = cm_table_new(v.honest && v.holds   ? "<>>>>"
				 : v.honest || v.holds ? "<>>>"
						       : "<>>",
			(const char *const[]){ head, "estimate",
				v.joint ? "95% interval (joint)" : "95% interval",
				v.honest ? honest : "holds up to", "holds up to" });
	}
	if (!t) {
		free(v.item);
		return;
	}
	for (size_t i = 0; i < v.shown; i++)
		print_item(&v, v.item[i], NULL, t);
	cm_table_print(t, out);
	cm_table_free(t);
	if (v.shown < v.n)
		(void)fprintf(out, "  the %s %zu of %zu; estimate %s --all shows them, or --csv, --json\n",
			v.counts ? "largest" : "first", v.shown, v.n, label);
	if (v.counts)
		print_below(result, all, out);
	free(v.item);
	print_notes(result, out);
}

bool an_result_rows(const json_t *result, const char *const lead[2], bool all, struct cm_table *t)
{
	struct view v;
	bool any;

	if (!look(result, all, &v))
		return false;
	any = v.shown > 0;
	for (size_t i = 0; i < v.shown; i++)
		print_item(&v, v.item[i], lead, t);
	free(v.item);
	return any;
}

/* Whether a spreadsheet would run the cell as a formula; it would not run a number, or a range of numbers.  A
 * cell that begins with an apostrophe counts, too, so that removing the first apostrophe always gives the
 * original text. */
static bool is_formula(const char *s)
{
	return *s == '\'' ||
	       (*s != '\0' && strchr("=@\t\r+-", *s) && s[strspn(s, "+-.0123456789eE")] != '\0');
}

/* Print a text as RFC 4180 says, with quotes doubled.  An apostrophe is put before what a spreadsheet would
 * run as a formula. */
void an_result_csv_text(const char *s, FILE *out)
{
	(void)fputc('"', out);
	if (is_formula(s))
		(void)fputc('\'', out);
	for (; *s != '\0'; s++) {
		if (*s == '"')
			(void)fputc('"', out);
		(void)fputc(*s, out);
	}
	(void)fputc('"', out);
}

static const char *const columns[] = { "value", "variance", "lower", "upper", "joint_lower", "joint_upper",
	"projected" };
static const char *const liar_columns[] = { "honest_lower", "honest_upper", "honest_joint_lower",
	"honest_joint_upper", "liar_up", "liar_down", "holds_to" };
#define LIAR_COLUMNS (sizeof liar_columns / sizeof *liar_columns)
#define COLUMNS      (sizeof columns / sizeof *columns)

const char *const an_result_place_name[AN_RESULT_PLACE] = { "x", "y", "width", "height" };

double an_result_place(const json_t *item, size_t i)
{
	static const char *const ends[2][2] = { { "low", "high" }, { "low_2", "high_2" } };
	const json_t *low = json_object_get(item, ends[i % 2][0]),
		     *high = json_object_get(item, ends[i % 2][1]);

	/* An item of a tree of ranges has the first two numbers only. */
	if (!json_object_get(item, ends[1][0]) || !json_is_number(low) || !json_is_number(high))
		return NAN;
	double size = json_number_value(high) - json_number_value(low);
	return i < 2 ? json_number_value(low) + size / 2 : size;
}

void an_result_csv_head(FILE *out)
{
	(void)fputs("label", out);
	for (size_t c = 0; c < COLUMNS; c++)
		(void)fprintf(out, ",%s", columns[c]);
	(void)fputs(",below_noise,no_reading", out);
	for (size_t c = 0; c < AN_RESULT_PLACE; c++)
		(void)fprintf(out, ",%s", an_result_place_name[c]);
	for (size_t c = 0; c < LIAR_COLUMNS; c++)
		(void)fprintf(out, ",%s", liar_columns[c]);
	(void)fputc('\n', out);
}

static void csv_place(const json_t *item, FILE *out)
{
	for (size_t c = 0; c < AN_RESULT_PLACE; c++)
		if (isnan(an_result_place(item, c)))
			(void)fputc(',', out);
		else
			(void)fprintf(out, ",%.17g", an_result_place(item, c));
}

/* A bound may be inf or -inf, as in JSON.  The cell is empty if the result has no such number. */
static void csv_number(const json_t *v, FILE *out)
{
	if (json_is_integer(v))
		(void)fprintf(out, ",%lld", (long long)json_integer_value(v));
	else if (json_is_number(v))
		(void)fprintf(out, ",%.17g", json_number_value(v));
	else
		(void)fprintf(out, ",%s", json_is_string(v) ? json_string_value(v) : "");
}

void an_result_csv_rows(const json_t *result, const char *lead, FILE *out)
{
	static const char *const list[] = { "items", "no_reading" };
	char name[SHOWN_LEN];
	size_t i, rows = 0;
	json_t *it;

	for (int none = 0; none < 2; none++)
		json_array_foreach(json_object_get(result, list[none]), i, it)
		{
			(void)fputs(lead, out);
			an_result_csv_text(shown(it, name), out);
			for (size_t c = 0; c < COLUMNS; c++)
				csv_number(json_object_get(it, columns[c]), out);
			(void)fprintf(out, ",%d,%d", is_below(it) ? 1 : 0, none);
			csv_place(it, out);
			for (size_t c = 0; c < LIAR_COLUMNS; c++)
				csv_number(json_object_get(it, liar_columns[c]), out);
			(void)fputc('\n', out);
			rows++;
		}
	if (rows == 0 && *lead != '\0')
		(void)fprintf(out, "%s,,,,,,,,,,,,,,,,,,,,\n", lead);
}

void an_result_csv(const json_t *result, FILE *out)
{
	an_result_csv_head(out);
	an_result_csv_rows(result, "", out);
}
