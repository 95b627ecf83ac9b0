/* cmd_options.c - reads the options of a verb into a question (cmd.h). */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "acct_group.h"
#include "cmd.h"

#define MOST_POINTS 2001u

char cmd_methods[512];

void cmd_list_methods(void)
{
	size_t at = 0;

	for (size_t i = 0; acct_method_row(i) && at < sizeof cmd_methods; i++)
		at += (size_t)snprintf(cmd_methods + at, sizeof cmd_methods - at, "%s%s", i > 0 ? "|" : "",
			acct_method_row(i)->name);
}

static enum cm_rc number(const char *name, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || isnan(*out) || isspace((unsigned char)*text))
		return cmd_fail(CM_EUSAGE, "--%s %s is not a number", name, text);
	return CM_OK;
}

static enum cm_rc add_method(struct cmd_question *q, const char *name)
{
	const struct acct_method *m = acct_method_find(name);

	if (!m) {
		char all[256] = "";

		for (size_t i = 0; acct_method_row(i); i++) {
			strncat(all, i > 0 ? ", " : "", sizeof all - strlen(all) - 1);
			strncat(all, acct_method_row(i)->name, sizeof all - strlen(all) - 1);
		}
		return cmd_fail(CM_EUSAGE, "--method %s: no such method; there are %s", name, all);
	}
	if (q->methods == CMD_MOST_METHODS)
		return cmd_fail(CM_EUSAGE, "more than %u methods", CMD_MOST_METHODS);
	for (size_t i = 0; i < q->methods; i++)
		if (q->method[i] == m)
			return cmd_fail(CM_EUSAGE, "--method %s is given twice", name);
	q->method[q->methods++] = m;
	return CM_OK;
}

static enum cm_rc set_bound(struct cmd_question *q, const char *text)
{
	q->published = strcmp(text, "published") == 0;
	if (!q->published && strcmp(text, "proved") != 0)
		return cmd_fail(CM_EUSAGE, "--bound %s: no such bound; there are proved, published", text);
	return CM_OK;
}

static enum cm_rc set_format(struct cmd_question *q, const char *text)
{
	size_t i = CMD_TABLE;

	for (const char *name = CMD_FORMATS; *name; i++) {
		size_t n = strcspn(name, "|");

		if (strlen(text) == n && strncmp(text, name, n) == 0) {
			q->format = (enum cmd_format)i;
			return CM_OK;
		}
		name += n + (name[n] == '|');
	}
	return cmd_fail(CM_EUSAGE, "--format %s: no such format; there are table csv json trade-off", text);
}

static enum cm_rc set_points(struct cmd_question *q, const char *text)
{
	double x;
	enum cm_rc code = number("points", text, &x);

	if (code)
		return code;
	if (!(x >= 2 && x <= MOST_POINTS && x == floor(x)))
		return cmd_fail(CM_EUSAGE, "--points must be a whole number from 2 to %u", MOST_POINTS);
	q->points = (unsigned)x;
	return CM_OK;
}

static enum cm_rc set_group(struct cmd_question *q, const char *text)
{
	double x;
	enum cm_rc code = number("group", text, &x);

	if (code)
		return code;
	if (!(x >= 1 && x <= ACCT_MOST_GROUP && x == floor(x)))
		return cmd_fail(CM_EUSAGE, "--group must be a whole number from 1 to %u", ACCT_MOST_GROUP);
	q->group = (unsigned)x;
	return CM_OK;
}

/* Options that are a number, or a text that is kept as it is. */
static const struct {
	const char *name;
	size_t at;
} numbers[] = {
	{ "epsilon", offsetof(struct cmd_question, epsilon) },
	{ "delta", offsetof(struct cmd_question, delta) },
	{ "delta-min", offsetof(struct cmd_question, delta_min) },
	{ "delta-max", offsetof(struct cmd_question, delta_max) },
	{ "from", offsetof(struct cmd_question, from) },
	{ "to", offsetof(struct cmd_question, to) },
}, texts[] = {
	{ "output", offsetof(struct cmd_question, output) },
	{ "over", offsetof(struct cmd_question, over) },
	{ "weight", offsetof(struct cmd_question, weight) },
	{ "error", offsetof(struct cmd_question, error) },
};

/* Options that a function reads. */
static const struct {
	const char *name;
	enum cm_rc (*read)(struct cmd_question *q, const char *value);
} others[] = {
	{ "method", add_method },
	{ "bound", set_bound },
	{ "format", set_format },
	{ "points", set_points },
	{ "group", set_group },
};
#define ROWS(table) (sizeof(table) / sizeof *(table))

static enum cm_rc take(struct cmd_question *q, const char *name, const char *value)
{
	for (size_t i = 0; i < ROWS(numbers); i++)
		if (strcmp(name, numbers[i].name) == 0)
			return number(name, value, (double *)(void *)((char *)q + numbers[i].at));
	for (size_t i = 0; i < ROWS(texts); i++)
		if (strcmp(name, texts[i].name) == 0)
			memcpy((char *)q + texts[i].at, &value, sizeof value);
	for (size_t i = 0; i < ROWS(others); i++)
		if (strcmp(name, others[i].name) == 0)
			return others[i].read(q, value);
	return CM_OK;
}

static bool is_option(const struct cm_cli *cli, int i, const char *name)
{
	return strcmp(cli->verb->option[i].name, name) == 0;
}

static enum cm_rc take_all(const struct cm_cli *cli, struct cmd_question *q)
{
	enum cm_rc rc = CM_OK;

	for (int i = 0; !rc && i < 16 && cli->verb->option[i].name; i++) {
		const struct cm_cli_option *o = &cli->verb->option[i];

		if (is_option(cli, i, "round")) {
			q->text = cli->repeated[i];
			while (q->text[q->rounds])
				q->rounds++;
		} else if (cli->option[i] && !o->repeatable) {
			rc = take(q, o->name, cli->option[i]);
		}
		for (size_t k = 0; o->repeatable && !rc && cli->repeated[i][k]; k++)
			rc = take(q, o->name, cli->repeated[i][k]);
	}
	if (q->rounds > CMD_MOST_ROUNDS)
		return cmd_fail(CM_EUSAGE, "more than %u rounds", CMD_MOST_ROUNDS);
	if (q->methods == 0)
		q->method[q->methods++] = acct_method_row(0);
	q->format = cli->json ? CMD_OBJECT : q->format;
	q->file = cli->argc > 1 ? cli->argv[1] : NULL;
	return rc;
}

static enum cm_rc check_guarantee(const struct cmd_question *q)
{
	const double deltas[] = { q->delta, q->delta_min, q->delta_max };
	static const char *const name[] = { "delta", "delta-min", "delta-max" };

	for (size_t i = 0; i < 3; i++)
		if (!isnan(deltas[i]) && !(deltas[i] > 0 && deltas[i] < 1))
			return cmd_fail(CM_EUSAGE, "--%s must be above 0 and below 1", name[i]);
	if (!isnan(q->epsilon) && !(q->epsilon >= 0 && q->epsilon < INFINITY))
		return cmd_fail(CM_EUSAGE, "--epsilon must be finite and not negative");
	return CM_OK;
}

static enum cm_rc check(const struct cm_cli *cli, const char *const *needs, const struct cmd_question *q)
{
	for (; *needs; needs++)
		for (int i = 0; i < 16 && cli->verb->option[i].name; i++)
			if (is_option(cli, i, *needs) && !cli->option[i])
				return cmd_fail(CM_EUSAGE, "%s: --%s is missing", cli->verb->name, *needs);
	for (size_t i = 0; q->published && i < q->methods; i++)
		if (!q->method[i]->cells)
			return cmd_fail(CM_EUSAGE, "--bound published: method %s does not use the reduction",
				q->method[i]->name);
	return check_guarantee(q);
}

enum cm_rc cmd_ask(
	const struct cm_cli *cli, const char *const *needs, cmd_answer_fn *answer, struct cm_err *err)
{
	struct cmd_question q = {
		.epsilon = NAN, .delta = NAN, .delta_min = NAN, .delta_max = NAN, .from = NAN, .to = NAN
	};
	enum cm_rc rc = take_all(cli, &q);

	err->said = true;
	for (size_t i = 0; i < q.rounds; i++)
		if (strcmp(q.text[i], "help") == 0)
			return cmd_run_names(&q);
	if (!rc)
		rc = check(cli, needs, &q);
	return rc ? rc : answer(&q);
}
