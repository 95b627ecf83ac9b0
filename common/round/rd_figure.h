/* rd_figure.h - a population's budget in the figures that every party shows: limit, pinned, used, free and
 * one ratio.  Each party makes them of its own limit and pins, so parties agree if their policies do. */
#pragma once

#include "rd_plan.h"

/* The figures are not rounded.  People see needed and used epsilon rounded up, free epsilon rounded down. */
struct rd_figure {
	double limit, delta; /* the budget for the population's life */
	/* Sum of the slices of all pinned plans.  A slice is spent as a whole and for ever, so this is the
	 * privacy loss. */
	double pinned, pinned_delta;
	/* Epsilon of the rounds of the pinned plans that were announced or answered (rd_pin_used); for an
	 * adaptive plan, the filter's share of the slice.  It says how much of the spent budget was used; it
	 * is not a bound on the loss. */
	double used;
	double free, free_delta; /* what is left for further plans */
	double ratio;            /* used / limit; 1 means that all is used */
};
/* Make the figures of this limit.  More used than pinned counts as pinned. */
void rd_figure_make(
	const struct rd_slices *limit, const struct rd_slices *pinned, double used, struct rd_figure *out);
/* No epsilon or no delta is free, so no further plan fits. */
bool rd_figure_full(const struct rd_figure *f);
/* The part of the limit that is pinned, of epsilon or of delta, whichever is larger; 1 is all.  The part that
 * is free, of which the same holds with "smaller". */
double rd_figure_pinned(const struct rd_figure *f);
double rd_figure_free(const struct rd_figure *f);

/* The figures in words, for lines that begin with "budget", "pinned", "used" and "free". */
struct rd_figure_words {
	char budget[96], pinned[96], used[96], free[160];
};
void rd_figure_words(const struct rd_figure *f, size_t plans, struct rd_figure_words *out);

/* The figures as "population_budget" of JSON documents: the arguments of json_pack and of json_unpack. */
#define RD_FIGURE_PACK(f)                                                                               \
	"{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "limit", (f)->limit, "delta", (f)->delta, "pinned", \
		(f)->pinned, "pinned_delta", (f)->pinned_delta, "used", (f)->used, "free", (f)->free,   \
		"free_delta", (f)->free_delta, "ratio", (f)->ratio
#define RD_FIGURE_UNPACK(f)                                                                               \
	"{s:F, s:F, s:F, s:F, s:F, s:F, s:F, s:F}", "limit", &(f)->limit, "delta", &(f)->delta, "pinned", \
		&(f)->pinned, "pinned_delta", &(f)->pinned_delta, "used", &(f)->used, "free", &(f)->free, \
		"free_delta", &(f)->free_delta, "ratio", &(f)->ratio

/* How much epsilon the answered entries of a pinned plan use, by this party's own count.  answered, taken:
 * the plan's epsilon_total of the last entry that was answered and of the last that the pin took.  Where the
 * party's assumptions are the plan's, this is `answered`; otherwise it grows in the same proportion, and is
 * pin->epsilon when all entries are answered. */
double rd_pin_used(const struct rd_pin *pin, double answered, double taken);
