/* sh_pg_start.c - opens the connections of the store in PostgreSQL, with its locks, schema and rights. */
#include "sh_pg_start.h"

#include "cm_fault.h"
#include "cm_log.h"
#include "cm_marker.h"
#include "sh_pg_rights.h"
#include "sh_pg_schema.h"
#include "sh_pg_state.h"
#include "sh_postgresql.h"

/* Acknowledged reports are then on one disk only, of a host that is not ours. */
static void warn_alone(const struct sh_pg_store *s)
{
	bool remote = sh_pg_is_remote(s->state);

	for (size_t i = 0; i < s->servers.n; i++)
		remote |= s->servers.at[i].pg && sh_pg_is_remote(s->servers.at[i].pg);
	if (s->conf.standbys == 0 && remote)
		cm_log(CM_LOG_WARN,
			"no standby is demanded of the database on another host (synchronous_standbys = 0): if that "
			"host or its disk is lost, or another server takes over, acknowledged reports, witnessed "
			"records of the ledger and pinned plans are lost",
			CM_S("fix",
				"synchronous_standby_names at the server, synchronous_standbys = 1 here"));
}

/* Refuse to start with a new store: it would not know the ledger's head, which detects an old copy of the
 * ledger. */
static enum cm_rc say_lost(struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"database: this shuffler has been in service and its state is missing: restore it, or accept the loss "
		"with `tombola-shuffler accept-loss`");
}

/* loss: the accepted loss of an earlier state; NULL: there is none.  marker: that of state_dir. */
static enum cm_rc prepare(struct sh_pg_store *s, const char *state_dir, const struct cm_marker *marker,
	const struct sh_loss *loss, struct cm_err *err)
{
	int64_t version = 0;

	enum cm_rc rc = sh_pg_hold(s->state, "state", NULL, 0, false, err);
	if (rc == CM_OK)
		rc = sh_pg_schema_version(s->state, &version, err);
	if (rc == CM_OK)
		rc = sh_pg_servers_is_state(s->state, err);
	s->had_state = version > 0;
	if (rc == CM_OK && loss && version > 0)
		return cm_fail(err, CM_EOTHER,
			"database: has a state, so there is no loss to accept (rename the schema tombola of an unusable "
			"one first)");
	if (rc == CM_OK && version == 0 && CM_CHECKED("shuffler.in_service") && marker->there && !loss)
		return say_lost(err);
	/* Record the loss first, so that every state created after a loss says so. */
	if (rc == CM_OK && loss)
		rc = cm_marker_add_loss(state_dir, err);
	if (rc == CM_OK)
		rc = sh_pg_rights_take_back(s->state, err);
	if (rc == CM_OK)
		rc = sh_pg_begin(s->state, err);
	if (rc == CM_OK) {
		rc = sh_pg_schema_migrate(s->state, version, err);
		if (rc == CM_OK && s->conf.intake_role)
			rc = sh_pg_rights_grant(s->state, err);
		if (rc == CM_OK && loss)
			rc = sh_pg_loss(s->state, loss, err);
		rc = sh_pg_end(s->state, rc, err);
	}
	if (rc == CM_OK)
		rc = sh_pg_servers_wait(&s->conf, &s->standing, err);
	if (rc == CM_OK)
		rc = sh_pg_hold(s->standing, "standing", NULL, 0, false, err);
	/* Settle after taking both locks: then nothing that is read now is still being replicated. */
	return rc == CM_OK ? sh_pg_settle(s->state, err) : rc;
}

enum cm_rc sh_pg_start_writing(
	struct sh_pg_store *s, const char *state_dir, const struct sh_loss *loss, struct cm_err *err)
{
	struct cm_marker marker;

	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK)
		rc = sh_pg_servers_wait(&s->conf, &s->state, err);
	if (rc == CM_OK && s->conf.intake_role)
		rc = sh_pg_rights_of_intakes(s->state, err);
	if (rc == CM_OK)
		rc = prepare(s, state_dir, &marker, loss, err);
	/* A new state after a loss knows nothing about other servers yet, and must be possible without
	 * them. */
	if (rc == CM_OK && !loss)
		rc = sh_pg_servers_begin(&s->servers, &s->conf, s->state, err);
	if (rc == CM_OK)
		warn_alone(s);
	if (rc == CM_OK && s->had_state && !marker.there)
		cm_log(CM_LOG_WARN,
			"the file in-service was missing beside a state, and is made again: without it the loss of "
			"the state would not be noticed",
			CM_S("state_dir", state_dir));
	/* Create the marker when the tables are durable, so that a crash cannot make a first start look like
	 * a loss. */
	return rc == CM_OK ? cm_marker_make(state_dir, err) : rc;
}

/* Create nothing; existing data must be complete. */
enum cm_rc sh_pg_start_reading(struct sh_pg_store *s, const char *state_dir, struct cm_err *err)
{
	struct cm_marker marker;
	int64_t version = 0;

	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK)
		rc = sh_pg_open(&s->conf, &s->state, err);
	if (rc == CM_EUNAVAIL)
		err->code = rc = CM_ELATER;
	if (rc == CM_OK && s->conf.intake_role)
		rc = sh_pg_rights_of_intakes(s->state, err);
	if (rc == CM_OK)
		rc = sh_pg_hold(s->state, "state", NULL, 0, true, err);
	if (rc == CM_OK)
		rc = sh_pg_schema_version(s->state, &version, err);
	if (rc == CM_OK && version == 0)
		return marker.there ? say_lost(err) : cm_fail(err, CM_ENOINPUT, "database: has no state yet");
	if (rc == CM_OK)
		rc = sh_pg_schema_check(version, false, err);
	if (rc == CM_OK)
		rc = sh_pg_servers_is_state(s->state, err);
	return rc == CM_OK ? sh_pg_servers_look(&s->servers, &s->conf, s->state, err) : rc;
}

enum cm_rc sh_pg_start_joined(struct sh_pg_store *s, struct cm_err *err)
{
	s->joined = true;
	enum cm_rc rc = sh_pg_servers_join(&s->servers, &s->conf, NULL, &s->state, err);
	if (rc == CM_OK)
		warn_alone(s);
	if (rc == CM_OK && s->servers.n > 1)
		cm_log(CM_LOG_INFO, "reports go to one of several databases",
			CM_S("database", s->conf.database), CM_I("partition", s->servers.own),
			CM_I("databases", (int64_t)s->servers.n));
	return rc;
}

enum cm_rc sh_postgresql_check_join(const struct sh_pg_conf *conf,
	void (*say)(void *user, const struct cm_err *why), void *user, struct cm_err *err)
{
	const struct sh_pg_looking looking = { say, user };
	struct sh_pg_servers servers;
	struct sh_pg *state = NULL;

	enum cm_rc rc = sh_pg_servers_join(&servers, conf, &looking, &state, err);
	sh_pg_close(state);
	return rc;
}
