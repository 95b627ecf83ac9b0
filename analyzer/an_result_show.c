/* an_result_show.c - prints result documents as a table or CSV. */
#include <math.h>
#include <string.h>

#include "an_result.h"
#include "cm_table.h"

static double num(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static bool is_type(const json_t *result, const char *type)
{
	return strcmp(str(result, "type"), type) == 0;
}

/* Decimals of a mean: two digits of its interval are meaningful.  Negative: a count, in thousands. */
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

static void print_below(const json_t *result, FILE *out)
{
	const json_t *items = json_object_get(result, "items");
	const char *sep = "  ";
	char floor_text[40];
	size_t i;
	json_t *it;

	json_array_foreach(items, i, it)
	{
		if (!json_is_true(json_object_get(it, "below_noise")))
			continue;
		(void)fprintf(out, "%s%s", sep, str(it, "label"));
		sep = ", ";
	}
	if (sep[0] != ',')
		return;
	format(floor_text, num(result, "noise_floor"), -1);
	(void)fprintf(out, ": below the noise floor (%s)\n", floor_text);
}

void an_result_print(const json_t *result, FILE *out)
{
	const json_t *items = json_object_get(result, "items");
	bool number = !is_type(result, "histogram"), quantiles = is_type(result, "quantiles");
	bool joint = json_array_size(items) > 1;
	char head[120], value[40], half[40], other[40], interval[96];
	struct cm_table *t;
	size_t i;
	json_t *it;

	(void)snprintf(head, sizeof head, "%s (round %d)", str(result, "query"), (int)num(result, "round"));
	t = cm_table_new("<>>",
		(const char *const[]){ head, "estimate", joint ? "95% interval (joint)" : "95% interval" });
	if (t == NULL)
		return;
	json_array_foreach(items, i, it)
	{
		double lo = num(it, joint ? "joint_lower" : "lower");
		double hi = num(it, joint ? "joint_upper" : "upper");
		int decimals;

		if (!number && json_is_true(json_object_get(it, "below_noise")))
			continue;
		decimals = number ? decimals_of((hi - lo) / 2) : -1;
		format(value, num(it, "value"), decimals);
		format(half, quantiles ? lo : (hi - lo) / 2, decimals);
		format(other, hi, decimals);
		if (quantiles)
			(void)snprintf(interval, sizeof interval, "%s to %s", half, other);
		else
			(void)snprintf(interval, sizeof interval, "+-%s", half);
		cm_table_row(t, (const char *const[]){
					number && !quantiles ? "mean" : str(it, "label"), value, interval });
	}
	cm_table_print(t, out);
	cm_table_free(t);
	if (!number)
		print_below(result, out);
	if (num(result, "duplicates") > 0 || num(result, "bad") > 0)
		(void)fprintf(out, "  not counted: %.0f duplicate and %.0f unreadable messages\n",
			num(result, "duplicates"), num(result, "bad"));
	if (num(result, "shuffler_dummies") > 0)
		(void)fprintf(out,
			"  the guarantee rests on the shuffler having added %.0f messages of its own\n",
			num(result, "shuffler_dummies"));
	if (json_object_get(result, "fault") != NULL)
		(void)fprintf(out, "  no estimate: %s\n", str(result, "fault"));
	if (json_object_get(result, "warning") != NULL)
		(void)fprintf(out, "  warning: %s\n", str(result, "warning"));
}

/* RFC 4180: quotes doubled; a cell that a spreadsheet would run as a formula is no label of a plan. */
static void csv_text(const char *s, FILE *out)
{
	(void)fputc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"')
			(void)fputc('"', out);
		(void)fputc(*s, out);
	}
	(void)fputc('"', out);
}

void an_result_csv(const json_t *result, FILE *out)
{
	static const char *const column[] = { "value", "variance", "lower", "upper", "joint_lower",
		"joint_upper", "projected" };
	const json_t *items = json_object_get(result, "items");
	size_t i;
	json_t *it;

	(void)fputs("label,value,variance,lower,upper,joint_lower,joint_upper,projected,below_noise\n", out);
	json_array_foreach(items, i, it)
	{
		csv_text(str(it, "label"), out);
		for (size_t c = 0; c < sizeof column / sizeof *column; c++)
			(void)fprintf(out, ",%.17g", num(it, column[c]));
		(void)fprintf(out, ",%d\n", json_is_true(json_object_get(it, "below_noise")) ? 1 : 0);
	}
}
