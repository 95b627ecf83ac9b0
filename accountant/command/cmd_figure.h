/* cmd_figure.h - the figures of the literature: their list, and how one is drawn. */
#pragma once

#include "cmd_curve.h"

#define CMD_FIGURE_LINES  7u
#define CMD_FIGURE_POINTS 26u

struct cmd_figure;
/* The round at x, as text. */
typedef void cmd_figure_text_fn(const struct cmd_figure *f, double x, char *out, size_t room);

/* x runs from `from` to `to`, in equal ratios where `ratios`; a, b and c are the functions'. */
struct cmd_figure {
	const char *name, *title, *x_name;
	const char *y_name;       /* NULL: epsilon */
	cmd_figure_text_fn *text; /* NULL where no line is a method's */
	double a, b, c, delta, from, to;
	bool ratios;
	unsigned points;                    /* 2..CMD_FIGURE_POINTS */
	const char *line[CMD_FIGURE_LINES]; /* of cmd_figure_line, or a method's name; NULL ends them */
};

/* Figure i; NULL past the last. */
const struct cmd_figure *cmd_figure_row(size_t i);

/* The chance of a flip that Cheu and Zhilyaev ask for, for epsilon x at f->delta among f->a fake users: flip
 * (1 - flip) f->a = (33/5) coth(x/2)^2 log(4/delta); 1/2 where none is enough. */
double cmd_figure_flip(const struct cmd_figure *f, double x);

/* A line that is no method's answer for the figure's round.  Any error: it has no value at x. */
struct cmd_figure_line {
	const char *name;
	enum acct_worth worth;
	enum acct_rc (*value)(const struct cmd_figure *f, double x, struct acct_bound *out);
};
/* NULL if there is none of this name. */
const struct cmd_figure_line *cmd_figure_line(const char *name);

/* cmd_figure_classes.c: those of the figures of paper 004. */
const struct cmd_figure_line *cmd_figure_line_of_classes(const char *name);

/* cmd_figure_sgd.c: those of its trainings, and their epsilons after so many epochs, of clients whose own
 * epsilons are of U(low, high): as printed, and what holds for a client, or `rows`, for one of its records if
 * every record's gradient were clipped. */
const struct cmd_figure_line *cmd_figure_line_of_sgd(const char *name);
enum acct_rc cmd_sgd_printed(double low, double high, double epochs, double delta, double *epsilon);
enum acct_rc cmd_sgd_proved(double low, double high, double epochs, double delta, bool rows, double *epsilon);

struct cmd_drawing {
	struct cmd_plot plot;
	struct cmd_series series[CMD_FIGURE_LINES];
	struct cmd_point point[CMD_FIGURE_LINES][CMD_FIGURE_POINTS];
};

/* Computes every line.  Returns an exit code, after printing a fault. */
enum cm_rc cmd_figure_draw(const struct cmd_figure *f, struct cmd_drawing *d);
/* Writes a drawing as SVG or CSV; path NULL is standard output.  Returns an exit code. */
enum cm_rc cmd_figure_put(const char *path, const struct cmd_drawing *d, bool svg);
/* Draws and writes both of every figure as FOLDER/NAME.csv and .svg. */
enum cm_rc cmd_figure_all(const char *folder);
