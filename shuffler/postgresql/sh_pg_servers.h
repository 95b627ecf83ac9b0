/* sh_pg_servers.h - the list of servers: `database`, which has the state, and further ones that have only
 * messages and tags.
 *
 * Each database has a number, which is that of its partition of a round, and a random id (table place).
 * The state's number is 0, and it keeps the others' numbers and ids.  So the order of a list does not
 * matter, and a database that is left out, exchanged or named twice is noticed.  A standby has its server's
 * id.  All have the same schema; in databases other than the state's only meta, data, place and the rounds'
 * tables are used. */
#pragma once

#include "sh_pg.h"

#define SH_PG_FURTHER_MAX 64u
#define SH_PG_ID_LEN      16u

struct sh_pg_server {
	uint32_t number;
	uint8_t id[SH_PG_ID_LEN];
	struct sh_pg_conf conf;
	struct sh_pg *pg; /* session of a head, which has the lock "state"; NULL at an intake */
};
struct sh_pg_servers {
	struct sh_pg_server at[1 + SH_PG_FURTHER_MAX]; /* the state's is first */
	size_t n;
	uint32_t own; /* number of the one that reports go to */
};

/* Connect, and wait for a server that cannot be reached. */
CM_CHECK enum cm_rc sh_pg_servers_wait(const struct sh_pg_conf *conf, struct sh_pg **out, struct cm_err *err);

/* Close the sessions except the first, which is the store's. */
void sh_pg_servers_fini(struct sh_pg_servers *s);

/* Check that this database is not one of a head's list.  CM_ECONFIG: it is. */
CM_CHECK enum cm_rc sh_pg_servers_is_state(struct sh_pg *state, struct cm_err *err);
/* At the head: connect to all of conf's list, wait for those that cannot be reached, make tables in a
 * database that is new, grant the intakes their rights, and note the list in the state.  CM_ECONFIG: one is
 * in the list twice, has a shuffler's state, or belongs to another shuffler.  Logs databases that are
 * new. */
CM_CHECK enum cm_rc sh_pg_servers_begin(
	struct sh_pg_servers *s, const struct sh_pg_conf *conf, struct sh_pg *state, struct cm_err *err);
/* The same for reading: makes nothing and waits for nothing.  CM_ELATER: one cannot be reached. */
CM_CHECK enum cm_rc sh_pg_servers_look(
	struct sh_pg_servers *s, const struct sh_pg_conf *conf, struct sh_pg *state, struct cm_err *err);

/* At an intake: look at conf's database and its list, one of which is the state's, whose session goes to
 * *state.  Every server that the head uses must be in the list, with the id that the head knows; naming one
 * twice does no harm.  say NULL: waits for servers, and CM_EPERM for a role that has more rights than it
 * needs.  Otherwise waits for nothing, and reports each such right, and each server that cannot be reached
 * and so is not looked at. */
struct sh_pg_looking {
	void (*say)(void *user, const struct cm_err *why);
	void *user;
};
CM_CHECK enum cm_rc sh_pg_servers_join(struct sh_pg_servers *s, const struct sh_pg_conf *conf,
	const struct sh_pg_looking *looking, struct sh_pg **state, struct cm_err *err);
