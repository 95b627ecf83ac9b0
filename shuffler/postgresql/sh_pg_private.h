/* sh_pg_private.h - what the files of sh_pg.h share. */
#pragma once

#include <libpq-fe.h>

#include "sh_pg.h"

struct sh_pg {
	PGconn *conn;
	int socket; /* that of conn when it was opened */
	bool readonly;
	uint32_t standbys;       /* sh_pg_conf's */
	const char *intake_role; /* sh_pg_conf's */
	const char *name;        /* likewise */
	bool dead;               /* after a fault that leaves in doubt what the server did */
	char state[6];           /* SQLSTATE of the last fault */
	bool is_long;            /* the server's statement_timeout is off */
	bool warned;             /* the server sent a warning during this statement */
	char warning[160];       /* its text */
};

struct sh_pg_row {
	const PGresult *result;
	int at;
};

/* Say of which server a fault is, where there are several; returns err->code. */
enum cm_rc sh_pg_named(const struct sh_pg *pg, struct cm_err *err);
/* When a session is opened: sh_pg_keeps, and whether the server is no standby and has its own.  The codes are
 * those of sh_pg_open. */
CM_CHECK enum cm_rc sh_pg_check_server(struct sh_pg *pg, struct cm_err *err);
