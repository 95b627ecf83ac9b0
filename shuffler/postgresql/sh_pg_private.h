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
/* The fault of a result (NULL: of the connection). */
enum cm_rc sh_pg_fail(struct sh_pg *pg, const PGresult *result, struct cm_err *err);
/* CM_OK unless an earlier fault ended the use of this connection. */
CM_CHECK enum cm_rc sh_pg_usable(const struct sh_pg *pg, struct cm_err *err);
/* Send what is queued; then wait for the next result, NULL in *out after the last. */
CM_CHECK enum cm_rc sh_pg_flush(struct sh_pg *pg, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_next(struct sh_pg *pg, int wait_ms, PGresult **out, struct cm_err *err);
/* Drop the results that are left of a statement; keeps a fault that *rc holds. */
enum cm_rc sh_pg_drain(struct sh_pg *pg, int wait_ms, enum cm_rc rc, struct cm_err *err);
