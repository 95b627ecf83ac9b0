/* sh_pg_rights.h - the rights of intakes: a role of their own, to which the head grants what a commit
 * needs.
 *
 * The role may see which rounds have data and read the version.  While a round's epochs last it may also
 * add blocks and tags to the round's tables and read the tags.  It may change, delete and drop nothing, and
 * read nothing else.  PostgreSQL lets every role take advisory locks. */
#pragma once

#include "sh_pg.h"

/* At the head: check that intake_role exists, that the head's role may end its sessions (end_commits), and
 * that it has no right beyond those above.  Members of it must have no other rights either, so that each
 * intake may have a login role of its own, which can be taken from it without affecting the others.
 * CM_ECONFIG: what to mend. */
CM_CHECK enum cm_rc sh_pg_rights_of_intakes(struct sh_pg *pg, struct cm_err *err);
/* At an intake: check that its role has no right beyond those above.  CM_EPERM: the first such right. */
CM_CHECK enum cm_rc sh_pg_rights_of_mine(struct sh_pg *pg, struct cm_err *err);

/* The same for `check-config`: calls `say` for each right. */
CM_CHECK enum cm_rc sh_pg_rights_each(
	struct sh_pg *pg, void (*say)(void *user, const struct cm_err *why), void *user, struct cm_err *err);

/* At the head's start, even without intakes: take back what earlier starts granted to other roles, and end
 * those of their sessions that it may end. */
CM_CHECK enum cm_rc sh_pg_rights_take_back(struct sh_pg *pg, struct cm_err *err);
/* Grant the rights that do not depend on a round. */
CM_CHECK enum cm_rc sh_pg_rights_grant(struct sh_pg *pg, struct cm_err *err);
/* In the transaction that begins an epoch, or closes the data: grant or revoke the rights on the tables
 * block_NAME and tags_NAME. */
CM_CHECK enum cm_rc sh_pg_rights_round(struct sh_pg *pg, const char *name, bool close, struct cm_err *err);
/* Call it after the transaction that closes the data.  When this returns, nothing that an intake has added
 * can be committed any more, whether it took the lock of the epoch or not. Ends the sessions that use the
 * tables for longer than lock_timeout. */
CM_CHECK enum cm_rc sh_pg_rights_ended(struct sh_pg *pg, const char *name, struct cm_err *err);
/* Call it when a statement has failed.  Returns true if it failed because of a lock, and the sessions of
 * intakes that had one on tables whose name begins with `name` were ended: try it again.  Somebody who
 * opens sessions without end can still block it. */
bool sh_pg_rights_make_way(struct sh_pg *pg, const char *name);
