/* cmd_curve.h - curves as data, and their plots. */
#pragma once

#include "cmd.h"

struct cmd_point {
	double x;
	struct acct_bound y; /* lower 0 or upper INFINITY: that end is not known */
};
struct cmd_series {
	const char *name;
	const struct acct_method *method; /* of that name; NULL for a line of a figure that is none */
	enum acct_worth worth;            /* the worst worth among its points */
	const char *note;
	struct cmd_point *point;
	size_t points;
};
struct cmd_plot {
	const char *title, *x_name;
	const char *y_name; /* NULL: epsilon */
	bool x_logarithmic;
	const struct cmd_series *series;
	size_t count;
};

/* A line for each point of each series. */
void cmd_plot_csv(FILE *to, const struct cmd_plot *plot);
/* A stand-alone SVG: axes, ticks, grid and legend; no scripts, no fonts of its own; light and dark. */
void cmd_svg(FILE *to, const struct cmd_plot *p);
