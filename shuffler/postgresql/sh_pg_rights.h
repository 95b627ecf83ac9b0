/* sh_pg_rights.h - the rights of intakes: a role of their own, to which the head grants what a commit needs.
 *
 * It may see which rounds have data, read the version, and while a round's epochs last add blocks and tags to
 * its tables and read the tags.  It may change, delete and drop nothing, and read nothing else.  PostgreSQL
 * lets every role take advisory locks. */
#pragma once

#include "sh_pg.h"

/* At the head: intake_role exists, its sessions may be ended by the head's role (end_commits), and it has no
 * right beyond those above; nor has a member of it, so that each intake may have a login role of its own, and
 * one can be taken from it without the others.  CM_ECONFIG: what to mend. */
CM_CHECK enum cm_rc sh_pg_rights_of_intakes(struct sh_pg *pg, struct cm_err *err);
/* At an intake: its role has no right beyond those above.  CM_EPERM: the first that it has. */
CM_CHECK enum cm_rc sh_pg_rights_of_mine(struct sh_pg *pg, struct cm_err *err);

/* The same for `check-config`: call `say` for each. */
CM_CHECK enum cm_rc sh_pg_rights_each(
	struct sh_pg *pg, void (*say)(void *user, const struct cm_err *why), void *user, struct cm_err *err);

/* At the head's start, also without intakes: take back what earlier starts granted to other roles, and end
 * those of their sessions that it may end. */
CM_CHECK enum cm_rc sh_pg_rights_take_back(struct sh_pg *pg, struct cm_err *err);
/* Grant what lasts. */
CM_CHECK enum cm_rc sh_pg_rights_grant(struct sh_pg *pg, struct cm_err *err);
/* In the transaction that begins an epoch, or closes the data: grant or revoke the rights on the tables
 * block_NAME and tags_NAME. */
CM_CHECK enum cm_rc sh_pg_rights_round(struct sh_pg *pg, const char *name, bool close, struct cm_err *err);
/* After the closing one: when this returns, nothing that an intake has added can be committed any more,
 * whether it took the lock of the epoch or not.  Ends the sessions that use the tables for longer than
 * lock_timeout. */
CM_CHECK enum cm_rc sh_pg_rights_ended(struct sh_pg *pg, const char *name, struct cm_err *err);
/* A statement has failed: true if it did for want of a lock, and the sessions of intakes that have one on
 * tables whose name begins with this were ended: try it again.  Whoever opens sessions without end can still
 * be in the way. */
bool sh_pg_rights_make_way(struct sh_pg *pg, const char *name);
