/* an_desk.c - opens what a verb needs. */
#include "an_desk.h"

#include <string.h>

enum cm_rc an_desk_open(const struct cm_cli *cli, struct an_desk *d, bool books, struct cm_err *err)
{
	enum cm_rc rc;

	memset(d, 0, sizeof *d);
	rc = cm_conf_load(cli->config, an_conf_rows, &d->conf, stderr, err);
	return rc == CM_OK && books ? an_books_open(&d->conf, false, &d->books, err) : rc;
}

void an_desk_close(struct an_desk *d)
{
	an_books_close(&d->books);
	cm_conf_free(an_conf_rows, &d->conf);
}

enum cm_rc an_desk_round(
	const struct cm_cli *cli, const struct an_desk *d, struct an_round_state **out, struct cm_err *err)
{
	uint64_t n = 1;
	enum cm_rc rc = cm_cli_u64(cli->argv[1], "round", 1, d->books.plan.rounds, &n, err);

	*out = &d->books.state.round[n - 1];
	return rc;
}
