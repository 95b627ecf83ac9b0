/* sh_postgresql.h - implements sh_store.h with PostgreSQL: one database for each shuffler, schema
 * `tombola`.
 *
 * Round keys, leaves and the marker in-service stay files of state_dir.  The state, the standings and the
 * data of each open round have a connection each, which holds the lock of the data that it writes
 * (sh_pg_hold). */
#pragma once

#include "sh_pg.h"
#include "sh_store.h"

/* Connect, take the locks, and bring the schema to this version; fills *out, whose close() frees
 * everything.  Close the data of open rounds before that.  A server that cannot be reached is waited for,
 * without end; the log says so once, and then how often it was tried.  CM_ELATER: another shuffler uses
 * this database.  CM_EDATA: a shuffler has been in service with state_dir (cm_marker.h) and the database
 * has no state.  Other errors as sh_pg_open.  `conf` is copied; its string is borrowed until the close. */
CM_CHECK enum cm_rc sh_postgresql_open(
	const char *state_dir, const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err);
/* The same only for reading: creates nothing and waits for nothing, and every function that would change
 * something returns CM_EIO.  CM_ENOINPUT: there is no state, and no shuffler has been in service with
 * state_dir.  CM_ELATER: a running shuffler has locked it, or the server cannot be reached. */
CM_CHECK enum cm_rc sh_postgresql_open_readonly(
	const char *state_dir, const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err);
/* Open an intake's store, which works beside the head's: it has data_join and the functions on what that
 * opened, and no others.  Waits for the server as sh_postgresql_open does.  CM_ELATER: the head has made no
 * tables yet; CM_EDATA: the tables are of another version. */
CM_CHECK enum cm_rc sh_postgresql_join(
	const struct sh_pg_conf *conf, struct sh_store *out, struct cm_err *err);
/* For `check-config`: report what an intake's start would find, and `say` each right that its role should
 * not have.  Waits for nothing.  CM_ELATER: the server cannot be reached, or the head has made no tables
 * yet. */
CM_CHECK enum cm_rc sh_postgresql_check_join(const struct sh_pg_conf *conf,
	void (*say)(void *user, const struct cm_err *why), void *user, struct cm_err *err);
/* Make a new state that records the accepted loss.  The caller holds state_dir's lock.  CM_EOTHER: nothing
 * was lost. */
CM_CHECK enum cm_rc sh_postgresql_anew(
	const char *state_dir, const struct sh_pg_conf *conf, const struct sh_loss *loss, struct cm_err *err);
