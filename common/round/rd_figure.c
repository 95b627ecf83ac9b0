/* rd_figure.c - the figures of a population's budget, and their words. */
#include "rd_figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cm_round.h"

/* limit - taken in decimals, without the rounding errors of binary numbers. */
static double left_of(double limit, double taken)
{
	char text[32];

	(void)snprintf(text, sizeof text, "%.15g", limit - taken);
	return limit > taken ? strtod(text, NULL) : 0;
}

void rd_figure_make(
	const struct rd_slices *limit, const struct rd_slices *pinned, double used, struct rd_figure *out)
{
	*out = (struct rd_figure){ .limit = limit->epsilon,
		.delta = limit->delta,
		.pinned = pinned->epsilon,
		.pinned_delta = pinned->delta,
		.used = fmin(used, pinned->epsilon),
		.free = left_of(limit->epsilon, pinned->epsilon),
		.free_delta = left_of(limit->delta, pinned->delta) };
	out->ratio = out->used / out->limit;
}

bool rd_figure_full(const struct rd_figure *f)
{
	return !(f->free > 0 && f->free_delta > 0);
}

double rd_figure_pinned(const struct rd_figure *f)
{
	return rd_slices_share(&(struct rd_slices){ f->pinned, f->pinned_delta }, f->limit, f->delta);
}

double rd_figure_free(const struct rd_figure *f)
{
	return fmax(1 - rd_figure_pinned(f), 0);
}

void rd_figure_words(const struct rd_figure *f, size_t plans, struct rd_figure_words *out)
{
	(void)snprintf(
		out->budget, sizeof out->budget, "epsilon %.4f at delta %g, for life", f->limit, f->delta);
	(void)snprintf(out->pinned, sizeof out->pinned, "epsilon %.4f at delta %g by %zu plan%s",
		cm_round_up(f->pinned, 4), cm_digits_up(f->pinned_delta, 6), plans, plans == 1 ? "" : "s");
	(void)snprintf(out->used, sizeof out->used, "epsilon %.4f, %.2f %% of the budget",
		cm_round_up(f->used, 4), cm_percent_up(f->ratio, 2));
	(void)snprintf(out->free, sizeof out->free,
		"epsilon %.4f at delta %g for other plans%s: slices are spent whole, whatever was answered",
		cm_round_down(f->free, 4), cm_digits_down(f->free_delta, 6),
		rd_figure_full(f) ? ", so none fits" : "");
}

double rd_pin_used(const struct rd_pin *pin, double answered, double taken)
{
	return taken > 0 ? fmin(answered * (pin->epsilon / taken), pin->epsilon) : pin->epsilon;
}
