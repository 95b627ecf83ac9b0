/* cmd_figure.c - the verb `figure`: draws the figures of the literature. */
#include "cmd_figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double x_of(const struct cmd_figure *f, unsigned i)
{
	double t = (double)i / (f->points - 1);
	char text[CMD_NUMBER_ROOM];

	(void)snprintf(text, sizeof text, "%.4g",
		f->ratios ? f->from * pow(f->to / f->from, t) : f->from + (f->to - f->from) * t);
	return strtod(text, NULL);
}

/* The line's value at x, and what it is worth; false where it says nothing. */
static bool value(const struct cmd_figure *f, const char *name, double x, const struct acct_spec *round,
	size_t parts, struct acct_method_answer *out)
{
	const struct cmd_figure_line *line = cmd_figure_line(name);
	const char *why;

	if (!line)
		return !cmd_epsilon(acct_method_find(name), false, round, parts, f->delta, out, &why);
	out->worth = line->worth;
	return !line->value(f, x, &out->bound);
}

/* Adds one point to every series; a line that does not apply here has none. */
static enum cm_rc ask(const struct cmd_figure *f, struct cmd_drawing *d, double x)
{
	char text[CMD_NUMBER_ROOM * 5];
	const char *list[1] = { text };
	struct acct_spec *round = NULL;
	size_t parts = 0;
	enum cm_rc code = CM_OK;

	if (f->text) {
		f->text(f, x, text, sizeof text);
		code = cmd_rounds(list, 1, false, &round, &parts);
	}
	for (size_t k = 0; !code && k < d->plot.count; k++) {
		struct cmd_series *s = &d->series[k];
		struct acct_method_answer a;

		if (!value(f, s->name, x, round, parts, &a))
			continue;
		s->worth = a.worth > s->worth ? a.worth : s->worth;
		d->point[k][s->points++] = (struct cmd_point){ x, a.bound };
	}
	free(round);
	return code;
}

enum cm_rc cmd_figure_draw(const struct cmd_figure *f, struct cmd_drawing *d)
{
	enum cm_rc code = CM_OK;

	memset(d, 0, sizeof *d);
	d->plot = (struct cmd_plot){ .title = f->title,
		.x_name = f->x_name,
		.y_name = f->y_name,
		.x_logarithmic = f->ratios,
		.series = d->series };
	for (; d->plot.count < CMD_FIGURE_LINES && f->line[d->plot.count]; d->plot.count++) {
		struct cmd_series *s = &d->series[d->plot.count];
		const struct cmd_figure_line *line = cmd_figure_line(f->line[d->plot.count]);

		s->name = f->line[d->plot.count];
		s->worth = line ? line->worth : acct_method_find(s->name)->worth;
		s->point = d->point[d->plot.count];
	}
	for (unsigned i = 0; i < f->points && !code; i++)
		code = ask(f, d, x_of(f, i));
	return code;
}

enum cm_rc cmd_figure_put(const char *path, const struct cmd_drawing *d, bool svg)
{
	FILE *to;
	enum cm_rc rc = cmd_create(path, &to);

	if (rc)
		return rc;
	if (svg)
		cmd_svg(to, &d->plot);
	else
		cmd_plot_csv(to, &d->plot);
	return cmd_close(path, to);
}

enum cm_rc cmd_figure_all(const char *folder)
{
	struct cmd_drawing *d = calloc(1, sizeof *d);
	char path[1024];
	enum cm_rc code = d ? CM_OK : cmd_fail(CM_EINTERNAL, "out of memory");

	for (size_t i = 0; cmd_figure_row(i) && !code; i++) {
		code = cmd_figure_draw(cmd_figure_row(i), d);
		for (int svg = 0; svg < 2 && !code; svg++) {
			(void)snprintf(path, sizeof path, "%.900s/%s.%s", folder, cmd_figure_row(i)->name,
				svg ? "svg" : "csv");
			code = cmd_figure_put(path, d, svg);
		}
	}
	free(d);
	return code;
}

enum cm_rc cmd_run_figure(const struct cmd_question *q)
{
	enum cmd_format format = q->format ? q->format : CMD_CSV;
	const struct cmd_figure *f = NULL;
	struct cmd_drawing *d;
	enum cm_rc code;

	if (strcmp(q->file, "list") == 0) {
		for (size_t i = 0; cmd_figure_row(i); i++)
			printf("%-14s %s\n", cmd_figure_row(i)->name, cmd_figure_row(i)->title);
		return CM_OK;
	}
	if (format != CMD_CSV && format != CMD_SVG)
		return cmd_fail(CM_EUSAGE, "figure: --format is csv or svg");
	for (size_t i = 0; cmd_figure_row(i); i++)
		if (strcmp(q->file, cmd_figure_row(i)->name) == 0)
			f = cmd_figure_row(i);
	if (!f && strcmp(q->file, "all") != 0)
		return cmd_fail(CM_EUSAGE, "figure: no such figure '%.40s' (see figure list)", q->file);
	if (!f && !q->output)
		return cmd_fail(CM_EUSAGE, "figure: all needs --output FOLDER");
	if (!f)
		return cmd_figure_all(q->output);
	d = calloc(1, sizeof *d);
	if (!d)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	code = cmd_figure_draw(f, d);
	if (!code)
		code = cmd_figure_put(q->output, d, format == CMD_SVG);
	free(d);
	return code;
}
