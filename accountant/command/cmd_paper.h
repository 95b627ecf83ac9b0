/* cmd_paper.h - what papers print, beside what the same formula gives here and what is true. */
#pragma once

#include "cmd.h"

/* One printed number; a value is NAN where there is none of its kind. */
struct cmd_printed {
	const char *paper;   /* "000" .. "004" */
	const char *item;    /* figure, table or claim */
	const char *what;    /* the quantity and its setting */
	const char *printed; /* as the paper prints it; "-" where it draws a curve without numbers */
	double here;         /* by the paper's own method */
	double proved;       /* an upper bound that is proved; of a saving, what is really saved */
	double least;        /* a proved lower bound */
	const char *remark;
};
/* What is proved, rounded up, or down where it is a share saved; out has CMD_NUMBER_ROOM. */
const char *cmd_printed_proved(const struct cmd_printed *p, char *out);

/* Computes row i into *out, or sets paper to NULL where it is of another than `paper` (NULL: any); false past
 * the last. */
bool cmd_printed_row(size_t i, const char *paper, struct cmd_printed *out);

/* The percentages that the published reduction and the proved bound save in paper 000: T rounds of learning
 * over clones; a tree over the better of basic and advanced composition.  Return an exit code. */
enum cm_rc cmd_paper_learning(int eps0, const char *n, int rounds, double *published, double *proved);
enum cm_rc cmd_paper_tree(
	int trees, int levels, int d, int n_exponent, int m, double *published, double *proved);
/* Both experiments as CSV: every setting, a tree's with the root's level to H-1, and to H. */
enum cm_rc cmd_paper_settings(FILE *to);

/* Figures, settings, printed numbers and an index page, in a folder that exists. */
enum cm_rc cmd_paper_folder(const char *folder);
