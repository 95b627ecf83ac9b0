/* cl_findings.c - judges the readings of a round.
 *
 * A reading that exists and cannot be used is a fault, even if it is only one.  A device without a reading
 * is no fault: it takes part as NONE.  A few numbers outside the range are no fault, since the range is
 * meant to clamp them.  But if more than one number in CLAMPED_ONE_IN is clamped, the answer mostly shows
 * the ends of the range. */
#include "cl_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "cm_clock.h"
#include "cm_table.h"

#define CLAMPED_ONE_IN 20u

static void add(struct cl_findings *out, bool wrong, const char *fmt, ...) CM_PRINTF(3, 4);
static void add(struct cl_findings *out, bool wrong, const char *fmt, ...)
{
	struct cl_finding *item = &out->item[out->n < CL_FINDINGS_MAX ? out->n++ : CL_FINDINGS_MAX - 1];
	va_list args;

	*item = (struct cl_finding){ .wrong = wrong };
	out->wrong += wrong;
	va_start(args, fmt);
	(void)vsnprintf(item->text, sizeof item->text, fmt, args);
	va_end(args);
}

/* The finding that was added last, so that an advice can be added to it. */
static struct cl_finding *last(struct cl_findings *out)
{
	return &out->item[out->n - 1];
}

void cl_findings_devices(const struct cl_found *f, uint64_t *taken, uint64_t *clamped)
{
	*taken = 0;
	*clamped = 0;
	for (size_t i = 0; i < f->devices; i++) {
		*taken += f->device[i].taken;
		*clamped += f->device[i].clamped;
	}
}

/* Write a place, such as "readings.csv:17 (d15)". */
static void place(const struct cl_findings_of *of, uint64_t line, const char *device, char *out, size_t size)
{
	(void)snprintf(out, size, "%s:%" PRIu64 "%s%s%s", of->input, line, *device != '\0' ? " (" : "",
		device, *device != '\0' ? ")" : "");
}

static const char *field_of(const struct rd_descriptor *d, uint32_t i)
{
	return qy_computes(&d->computing) ? d->computing.field[i] : qy_query_field(&d->query, i);
}

/* ---- readings ---- */

static void judge_flaw(const struct cl_found *f, const struct cl_findings_of *of,
	const struct cl_found_flaw *flaw, struct cl_findings *out)
{
	const bool all = f->valid == 0, absent = cl_flaw_is_absence(flaw->flaw);
	struct cl_finding *item;
	char at[320], rows[32], shown[64] = "";

	place(of, flaw->line, flaw->device, at, sizeof at);
	(void)cm_thousands((int64_t)flaw->rows, rows);
	if (flaw->text[0] != '\0' && !absent)
		(void)snprintf(shown, sizeof shown, ": \"%s\"", flaw->text);
	if (flaw->flaw == CL_FLAW_ROW) {
		add(out, true, "%s row%s cannot be read, first %s: %s", rows, flaw->rows == 1 ? "" : "s", at,
			flaw->why);
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice, "%s", cl_flaw_row_advice(flaw->why));
		return;
	}
	add(out, !absent, "in %s row%s the field '%s' %s, first %s%s", rows, flaw->rows == 1 ? "" : "s",
		field_of(f->d, flaw->field), cl_flaw_words(flaw->flaw), at, shown);
	item = last(out);
	if (!absent)
		(void)snprintf(item->advice, sizeof item->advice, "%s", cl_flaw_advice(flaw->flaw));
	else if (!all)
		(void)snprintf(item->advice, sizeof item->advice,
			"nothing, if so many devices have none: they take part as NONE");
}

/* Units in which readings may be, with the scale and offset that convert them to the unit that the range is
 * for. */
static const struct {
	const char *name, *to;
	double scale, offset;
} units[] = {
	{ "degrees Fahrenheit", "degrees Celsius", 5.0 / 9, -160.0 / 9 },
	{ "kelvins", "degrees Celsius", 1, -273.15 },
	{ "tenths", "whole units", 0.1, 0 },
	{ "hundredths", "whole units", 0.01, 0 },
	{ "thousandths", "whole units", 0.001, 0 },
	{ "parts of one", "percent", 100, 0 },
};

static void advise_unit(struct cl_finding *item, const struct cl_found *f)
{
	const struct qy_query *q = &f->d->query;

	for (size_t i = 0; f->numbers && i < sizeof units / sizeof *units; i++) {
		double low = f->least * units[i].scale + units[i].offset,
		       high = f->most * units[i].scale + units[i].offset;

		if (low < q->low || high > q->high)
			continue;
		(void)snprintf(item->advice, sizeof item->advice,
			"read as %s they are %.4g to %.4g %s, which the range holds: convert them in input.map "
			"(scale = %.10g, offset = %.10g), or give the plan a range in their unit",
			units[i].name, low, high, units[i].to, units[i].scale, units[i].offset);
		return;
	}
	(void)snprintf(item->advice, sizeof item->advice,
		"compare the unit of the readings with the plan's, or widen the range");
}

static void judge_clamped(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out)
{
	const struct qy_query *q = &f->d->query;
	struct cl_finding *item;
	char at[320], rows[32], valid[32], range[160] = "";

	if (f->clamped == 0)
		return;
	place(of, f->clamped_line, f->clamped_device, at, sizeof at);
	if (f->numbers)
		(void)snprintf(range, sizeof range, " %.6g .. %.6g: they are %.6g to %.6g", q->low, q->high,
			f->least, f->most);
	add(out, f->clamped * CLAMPED_ONE_IN > f->valid,
		"%s of %s numbers are outside the range%s, and would count as its ends, first %s",
		cm_thousands((int64_t)f->clamped, rows), cm_thousands((int64_t)f->valid, valid), range, at);
	item = last(out);
	if (item->wrong)
		advise_unit(item, f);
	else
		(void)snprintf(item->advice, sizeof item->advice, "nothing, if these few are outliers");
}

/* ---- devices ---- */

static void judge_devices(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out)
{
	const uint64_t here = f->devices, all = here + of->others, least = f->d->min_reports,
		       target = f->d->target;
	struct cl_finding *item;
	char n[32], other[80] = "", wanted[32], more[32];

	if (of->others > 0)
		(void)snprintf(other, sizeof other, " and %s of other clients",
			cm_thousands((int64_t)of->others, n));
	(void)cm_thousands((int64_t)here, n);
	if (all < least) {
		add(out, true,
			"%s device%s%s for min_reports = %s (%s:%d): %s more must take part, or each try is "
			"void",
			n, here == 1 ? "" : "s", other, cm_thousands((int64_t)least, wanted), of->plan,
			of->plan_line, cm_thousands((int64_t)(least - all), more));
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice,
			"list all devices, or lower min_reports; if they take part through other clients, say "
			"how many: --others %" PRIu64,
			least - here);
	} else if (target > 0 && target < all) {
		add(out, true,
			"%s devices%s for target = %s (%s:%d): the round ends when so many have reported, and "
			"%s are left out",
			n, other, cm_thousands((int64_t)target, wanted), of->plan, of->plan_line,
			cm_thousands((int64_t)(all - target), more));
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice, "raise target to %" PRIu64 " or more", all);
	} else if (target > all) {
		bool given = target < PR_ROUND_REPORTS_MAX;

		cm_clock_duration_text(of->window_ms, more);
		add(out, false, "%s devices%s for %s%s: the round waits for the end of its window, %s", n,
			other, given ? "target = " : "no target",
			given ? cm_thousands((int64_t)target, wanted) : "", more);
	}
}

static void judge_lists(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out)
{
	uint64_t without = 0, first = 0;
	struct cl_finding *item;
	char n[32], devices[32];

	for (size_t i = 0; f->listed && i < f->devices; i++)
		if (!f->device[i].name && without++ == 0)
			first = f->device[i].list;
	if (without > 0 && without == f->devices && f->unlisted > 0) {
		add(out, true,
			"no device of %s has a row in %s, whose %s row%s other devices; the list's first is in "
			"line %" PRIu64,
			of->list, of->input, cm_thousands((int64_t)f->unlisted, n),
			f->unlisted == 1 ? " is of" : "s are of", first);
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice,
			"write the names of %s as the readings do, letter for letter, a name a line, without "
			"a heading",
			of->list);
		return;
	}
	if (without > 0) {
		add(out, false, "%s listed device%s no row in %s, first %s:%" PRIu64,
			cm_thousands((int64_t)without, n), without == 1 ? " has" : "s have", of->input,
			of->list, first);
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice,
			"nothing, if so many devices have no reading: they take part as NONE");
	}
	if (f->rows > f->devices)
		add(out, false, "%s rows of %s devices: of each device one valid row counts, drawn at random",
			cm_thousands((int64_t)f->rows, n), cm_thousands((int64_t)f->devices, devices));
	if (f->unlisted > 0) {
		add(out, false, "%s row%s of devices that %s does not list",
			cm_thousands((int64_t)f->unlisted, n), f->unlisted == 1 ? " is" : "s are", of->list);
		item = last(out);
		(void)snprintf(
			item->advice, sizeof item->advice, "list these devices, if they are to take part");
	}
}

void cl_findings_judge(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out)
{
	struct cl_finding *item;

	*out = (struct cl_findings){ .n = 0 };
	if (of->refused) {
		add(out, true, "this client would refuse it: %s", of->refused);
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice,
			"agree with the analyst on the plan or on this client's policy");
	}
	judge_devices(f, of, out);
	for (size_t i = 0; i < f->flaws; i++)
		judge_flaw(f, of, &f->flaw[i], out);
	judge_clamped(f, of, out);
	judge_lists(f, of, out);
	if (f->valid == 0 && !(f->listed && f->rows == 0 && f->unlisted > 0)) {
		add(out, true, "no device has a reading that the round can use");
		item = last(out);
		(void)snprintf(item->advice, sizeof item->advice,
			"compare the plan's fields with those of %s", of->input);
	}
}
