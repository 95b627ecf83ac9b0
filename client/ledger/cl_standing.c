/* cl_standing.c - stores losses of this ledger, both as the shuffler proves them and as an operator accepts
 * them. */
#include "cl_standing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_db.h"
#include "cm_fault.h"

/* Read one integer from a query whose ?1 and ?2 are the standing's number and hash. */
static enum cm_rc ask_about(
	struct cl_db *db, const char *sql, const struct cl_standing *s, bool *yes, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(
		db->sql, sql, &st, err, DB_INT(s->sequence), DB_BYTES(s->descriptor_hash, PR_HASH_LEN));

	*yes = db_row(st, &rc, err);
	sqlite3_finalize(st);
	return rc;
}

/* plans: NULL if no operator has decided about this loss. */
static enum cm_rc insert(struct cl_db *db, const struct cl_standing *s, const uint64_t *plans, int64_t now_ms,
	struct cm_err *err)
{
	return db_change(db->sql,
		"INSERT INTO loss(time_ms, sequence, descriptor_hash, accepted_plans) VALUES(?, ?, ?, ?)",
		err, DB_INT(now_ms), DB_INT(s->sequence), DB_BYTES(s->descriptor_hash, PR_HASH_LEN),
		plans ? DB_INT(*plans) : DB_NULL);
}

/* *yes: whether the ledger has a charge for this standing, or has recorded it as a loss already. */
static enum cm_rc known(struct cl_db *db, const struct cl_standing *s, bool *yes, struct cm_err *err)
{
	enum cm_rc rc = ask_about(db,
		"SELECT 1 FROM ledger WHERE kind = 'charged' AND sequence = ? AND descriptor_hash = ?", s,
		yes, err);

	if (rc == CM_OK && !*yes)
		rc = ask_about(
			db, "SELECT 1 FROM loss WHERE sequence = ? AND descriptor_hash = ?", s, yes, err);
	return rc;
}

void cl_standing_mac(const struct cr_key *secret, const char *population, uint64_t sequence,
	const uint8_t descriptor_hash[PR_HASH_LEN], uint8_t out[PR_MAC_LEN])
{
	static const char purpose[] = "tombola standing";
	uint8_t said[RD_STANDING_LEN];
	const struct cr_span parts[] = {
		{ purpose, sizeof purpose },
		{ population, strlen(population) + 1 },
		{ said + PR_HASH_LEN, sizeof said - PR_HASH_LEN },
	};

	_Static_assert(PR_MAC_LEN == CR_HASH_LEN, "it is one HMAC");
	/* The MAC does not cover the certificate: a report that was sent under another certificate of this
	 * client proves the same. */
	rd_standing_bytes(descriptor_hash, sequence, descriptor_hash, said);
	cr_hmac(secret->bytes, sizeof secret->bytes, parts, sizeof parts / sizeof parts[0], out);
}

void cl_standing_gateway(const struct cr_key *secret, const char *population, uint8_t out[PR_HASH_LEN])
{
	static const char purpose[] = "tombola gateway";
	const struct cr_span parts[] = {
		{ purpose, sizeof purpose },
		{ population, strlen(population) + 1 },
	};

	_Static_assert(PR_HASH_LEN == CR_HASH_LEN, "it is one HMAC");
	cr_hmac(secret->bytes, sizeof secret->bytes, parts, sizeof parts / sizeof parts[0], out);
}

/* Fail unless the shuffler signed the standing for this client's certificate. */
static enum cm_rc verify(const struct cl_stander *who, const struct cl_standing *s, struct cm_err *err)
{
	uint8_t said[RD_STANDING_LEN];

	rd_standing_bytes(who->key_hash, s->sequence, s->descriptor_hash, said);
	enum cm_rc rc = cr_verify(who->shuffler, RD_PURPOSE_STANDING, said, sizeof said, s->signature, err);
	if (CM_CHECKED("client.standing.signature") && rc != CM_OK)
		return cm_fail(err, CM_EPROTO, "standing: not signed by the shuffler for this certificate");
	return s->sequence > INT64_MAX ? cm_fail(err, CM_EPROTO, "standing: a sequence number above 2^63-1")
				       : CM_OK;
}

/* Fail unless this client made the standing's MAC. */
static enum cm_rc authenticate(const struct cl_stander *who, const struct cl_standing *s, struct cm_err *err)
{
	uint8_t mac[PR_MAC_LEN];

	cl_standing_mac(who->secret, who->population, s->sequence, s->descriptor_hash, mac);
	if (!CM_CHECKED("client.standing.mac") || cr_equal(mac, s->mac, sizeof mac))
		return CM_OK;
	return cm_fail(err, CM_EPERM,
		"standing: neither this ledger nor gateway.key confirms round %" PRIu64
		": nothing is answered, and nothing counts as lost.  If this state was made anew for a "
		"certificate that took part before: `tombola-client accept-loss`; else the shuffler, its "
		"database or an intake states what is false",
		s->sequence);
}

/* A ledger without a charge, created after an accepted loss, knows no round; the first standing that it lacks
 * belongs to the lost ledger, whose secret may be lost, too.  *plans: those that are closed; 0: it is no such
 * ledger, or has taken that standing. */
static enum cm_rc begun_anew(struct cl_db *db, int64_t *plans, struct cm_err *err)
{
	return db_int(db->sql,
		"SELECT CASE WHEN EXISTS(SELECT 1 FROM ledger WHERE kind = 'charged') OR EXISTS(SELECT 1 FROM loss WHERE sequence > 0) "
		"THEN 0 ELSE coalesce((SELECT max(accepted_plans) FROM loss), 0) END",
		plans, err);
}

enum cm_rc cl_standing_take(struct cl_db *db, const struct cl_stander *who, const struct cl_standing *s,
	int64_t now_ms, bool *news, struct cm_err *err)
{
	int64_t plans = 0;
	bool yes = false;
	enum cm_rc rc = verify(who, s, err);

	*news = false;
	if (rc != CM_OK || s->sequence == 0 || !CM_CHECKED("client.standing"))
		return rc;
	rc = known(db, s, &yes, err);
	if (rc == CM_OK && !yes)
		rc = begun_anew(db, &plans, err);
	if (rc != CM_OK || yes)
		return rc;
	if (plans == 0)
		rc = authenticate(who, s, err);
	*news = rc == CM_OK && plans == 0;
	const uint64_t closed = (uint64_t)plans;
	return rc == CM_OK ? insert(db, s, *news ? NULL : &closed, now_ms, err) : rc;
}

enum cm_rc cl_loss_conflict(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	struct cl_standing s = { .sequence = d->sequence };

	memcpy(s.descriptor_hash, d->hash, PR_HASH_LEN);
	return insert(db, &s, NULL, now_ms, err);
}

enum cm_rc cl_loss_read(struct cl_db *db, struct cl_loss *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	/* A standing that is a loss names a round without a charge.  One that is a conflict names a round
	 * with a charge. */
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT sequence, accepted_plans, time_ms, EXISTS(SELECT 1 FROM ledger WHERE kind = 'charged'"
		" AND ledger.sequence = loss.sequence AND ledger.descriptor_hash = loss.descriptor_hash)"
		" FROM loss ORDER BY entry",
		&st, err);

	*out = (struct cl_loss){ .lost = false };
	while (db_row(st, &rc, err)) {
		uint64_t plans = (uint64_t)sqlite3_column_int64(st, 1);
		bool open = sqlite3_column_type(st, 1) == SQLITE_NULL;

		out->sequence = (uint64_t)sqlite3_column_int64(st, 0);
		out->conflict = open && sqlite3_column_int(st, 3) != 0 && (!out->lost || out->conflict);
		out->lost = open;
		if (open || plans == 0)
			continue;
		out->accepted = true;
		out->accepted_ms = sqlite3_column_int64(st, 2);
		out->closed_plans = plans > out->closed_plans ? plans : out->closed_plans;
	}
	sqlite3_finalize(st);
	return rc;
}

void cl_loss_words(const struct cl_loss *loss, char *out, size_t size)
{
	if (loss->conflict)
		(void)snprintf(out, size,
			"the shuffler holds other reports of this client's devices for round %" PRIu64
			", so another copy of its state answered, or the shuffler lies: nothing is answered "
			"until `tombola-client accept-loss`",
			loss->sequence);
	else
		(void)snprintf(out, size,
			"the shuffler has a report of round %" PRIu64
			" that this ledger does not know, so it was restored from a copy, cloned or lost: "
			"every slice counts as spent until `tombola-client accept-loss`",
			loss->sequence);
}

enum cm_rc cl_loss_accept(struct cl_db *db, uint64_t plans, int64_t now_ms, struct cm_err *err)
{
	const struct cl_standing none = { .sequence = 0 };
	int64_t most = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT max(number) FROM plan WHERE fault IS NULL", &most, err);

	if (rc != CM_OK)
		return rc;
	if (plans == 0 || plans > INT64_MAX)
		return cm_fail(err, CM_EUSAGE, "plans are counted from 1");
	if (plans < (uint64_t)most)
		plans = (uint64_t)most;
	return insert(db, &none, &plans, now_ms, err);
}

enum cm_rc cl_loss_deny(struct cl_db *db, int64_t now_ms, struct cm_err *err)
{
	const struct cl_standing none = { .sequence = 0 };
	const uint64_t closed = 0;

	return insert(db, &none, &closed, now_ms, err);
}
