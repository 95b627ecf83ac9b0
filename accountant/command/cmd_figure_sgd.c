/* cmd_figure_sgd.c - figure 4 of Chen, Cao, Ge 2024: what the trainings of their Algorithm 3 cost
 * (cmd_figure.h). */
#include <math.h>
#include <string.h>

#include "acct_gspa.h"
#include "cmd_figure.h"

/* Their table 3: 100 clients of 600 rows each, delta 1e-5 of each client. */
#define CLIENTS     100u
#define ROWS        600.0
#define DELTA_LOCAL 1e-5
#define UP          (1 + 1e-9) /* acct_gspa_gaussian_epsilon is good to 1e-12 */

/* Client i of those whose epsilon is of U(low, high): the middle of its hundredth. */
static double epsilon_of(double low, double high, unsigned i)
{
	return low + (high - low) * (i + 0.5) / CLIENTS;
}

/* Theorem 5: sqrt(T) mu. */
enum acct_rc cmd_sgd_printed(double low, double high, double epochs, double delta, double *epsilon)
{
	struct acct_gspa_class cls[CLIENTS];
	double mu;
	enum acct_rc rc;

	for (unsigned i = 0; i < CLIENTS; i++)
		cls[i] = (struct acct_gspa_class){ epsilon_of(low, high, i), DELTA_LOCAL, 1 };
	rc = acct_gspa_mu(cls, CLIENTS, (uint64_t)epochs, &mu, NULL);
	return rc ? rc : acct_gspa_gaussian_epsilon(mu, delta, epsilon, NULL);
}

/* The noise of line 7, of deviation (2 C / ROWS) sqrt(2 log(1.25 / delta_l)) / eps, hides a move of 2 C /
 * ROWS at (eps, delta_l).  The mean of a client's gradients, clipped to C, moves by up to 2 C, ROWS times
 * that: the loss is that of normal noise, once an epoch.  The models of all steps are seen, each with one
 * client's noise, so that nobody hides anybody.  The client of the largest epsilon loses most. */
enum acct_rc cmd_sgd_proved(double low, double high, double epochs, double delta, bool rows, double *epsilon)
{
	double one = epsilon_of(low, high, CLIENTS - 1) / sqrt(2 * log(1.25 / DELTA_LOCAL));
	enum acct_rc rc =
		acct_gspa_gaussian_epsilon(sqrt(epochs) * one * (rows ? 1 : ROWS), delta, epsilon, NULL);

	*epsilon *= UP;
	return rc;
}

static enum acct_rc printed(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	double epsilon = 0;
	enum acct_rc rc = cmd_sgd_printed(f->a, f->b, round(x), f->delta, &epsilon);

	*out = (struct acct_bound){ epsilon, epsilon };
	return rc;
}

static enum acct_rc client(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	*out = (struct acct_bound){ 0, 0 };
	return cmd_sgd_proved(f->a, f->b, round(x), f->delta, false, &out->upper);
}

/* One record, were every record's gradient clipped and not their mean. */
static enum acct_rc record(const struct cmd_figure *f, double x, struct acct_bound *out)
{
	*out = (struct acct_bound){ 0, 0 };
	return cmd_sgd_proved(f->a, f->b, round(x), f->delta, true, &out->upper);
}

static const struct cmd_figure_line lines[] = {
	{ "sgd-printed", ACCT_PAPER_VALUE, printed },
	{ "sgd-client", ACCT_PROVED, client },
	{ "sgd-record-if-clipped", ACCT_PROVED, record },
};

const struct cmd_figure_line *cmd_figure_line_of_sgd(const char *name)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strcmp(name, lines[i].name) == 0)
			return &lines[i];
	return NULL;
}
