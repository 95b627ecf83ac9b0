/* sh_pg_start.h - opens the connections of the store in PostgreSQL, with its locks, its schema and the rights
 * of intakes; part of sh_postgresql.c. */
#pragma once

#include "sh_pg_servers.h"
#include "sh_store.h"

struct sh_pg_store {
	struct sh_pg_conf conf;
	struct sh_pg *state;    /* used by the thread of the state functions */
	struct sh_pg *standing; /* for standings_put, which another thread may call; NULL when readonly */
	struct sh_pg_servers servers; /* the first one has `state` */
	bool had_state;               /* the database had tables at the start */
	bool joined;                  /* an intake's store */
};

/* Open the connections of `s`, whose conf is set.  sh_pg_start_writing does it for sh_postgresql_open (loss
 * NULL) and sh_postgresql_anew; the others for sh_postgresql_open_readonly and sh_postgresql_join. */
CM_CHECK enum cm_rc sh_pg_start_writing(
	struct sh_pg_store *s, const char *state_dir, const struct sh_loss *loss, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_start_reading(struct sh_pg_store *s, const char *state_dir, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_start_joined(struct sh_pg_store *s, struct cm_err *err);
