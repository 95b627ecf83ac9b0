/* sh_pg_private.h - the inside of a connection, for the files of sh_pg.h. */
#pragma once

#include <libpq-fe.h>

#include "sh_pg.h"

struct sh_pg {
	PGconn *conn;
	int socket; /* the socket of conn when it was opened */
	bool readonly;
	uint32_t standbys;       /* see sh_pg_conf */
	const char *intake_role; /* see sh_pg_conf */
	const char *name;        /* see sh_pg_conf */
	bool dead;               /* after a fault that leaves open what the server did */
	char state[6];           /* SQLSTATE of the last fault */
	bool is_long;            /* the server's statement_timeout is off */
	bool warned;             /* the server sent a warning during this statement */
	char warning[160];       /* text of the warning */
};

struct sh_pg_row {
	const PGresult *result;
	int at;
};

/* If there are several servers, say which one the fault is about; returns err->code. */
enum cm_rc sh_pg_named(const struct sh_pg *pg, struct cm_err *err);
/* For a session that is being opened: calls sh_pg_keeps, and checks that the server is no standby and has
 * its own.  The codes are those of sh_pg_open. */
CM_CHECK enum cm_rc sh_pg_check_server(struct sh_pg *pg, struct cm_err *err);
