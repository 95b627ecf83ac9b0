/* an_desk.h - a verb between its configuration and its books. */
#pragma once

#include "an_books.h"
#include "cm_cli.h"

struct an_desk {
	struct an_conf conf;
	struct an_books books;
};

/* Read the configuration and, if `books`, plan and ledger without changing them.  Close it in either case. */
CM_CHECK enum cm_rc an_desk_open(const struct cm_cli *cli, struct an_desk *d, bool books, struct cm_err *err);
void an_desk_close(struct an_desk *d);
/* Round N of the plan from the verb's argument. */
CM_CHECK enum cm_rc an_desk_round(
	const struct cm_cli *cli, const struct an_desk *d, struct an_round_state **out, struct cm_err *err);
