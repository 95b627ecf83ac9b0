/* cl_pins.c - stores plans and pins in the client's database, and checks the chain of plans. */
#include "cl_pins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_db.h"
#include "cm_fault.h"
#include "cr_hash.h"

#define PIN_COLUMNS                                                                                \
	"plan_hash, number, entries, taken, epsilon, slice_epsilon, slice_delta, honest_fraction," \
	" colluders, trusted, adaptive, seal"

/* Checksum over every field, with all bits of the doubles. */
static void seal_of(const struct cl_pin *p, uint8_t out[PR_HASH_LEN])
{
	char text[320];
	const struct cr_span parts[] = { { p->plan_hash, PR_HASH_LEN }, { text, 0 },
		{ p->pin.taken, (p->pin.entries + 7) / 8 } };
	struct cr_span all[3];

	memcpy(all, parts, sizeof all);
	all[1].len = (size_t)snprintf(text, sizeof text, "%" PRIu64 " %zu %a %a %a %a %" PRId64 " %d %d ",
		p->number, p->pin.entries, p->pin.epsilon, p->epsilon, p->delta, p->honest_fraction,
		p->colluders, p->trusted, p->adaptive);
	cr_sha256_spans(all, 3, out);
}

enum cm_rc cl_pin_put(struct cl_db *db, const struct cl_pin *p, int64_t now_ms, struct cm_err *err)
{
	uint8_t seal[PR_HASH_LEN];

	seal_of(p, seal);
	return db_change(db->sql,
		"INSERT INTO pin(" PIN_COLUMNS ", time_ms) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		err, DB_BYTES(p->plan_hash, PR_HASH_LEN), DB_INT(p->number), DB_INT(p->pin.entries),
		DB_BYTES(p->pin.taken, (p->pin.entries + 7) / 8), DB_DOUBLE(p->pin.epsilon),
		DB_DOUBLE(p->epsilon), DB_DOUBLE(p->delta), DB_DOUBLE(p->honest_fraction),
		DB_INT(p->colluders), DB_INT(p->trusted), DB_INT(p->adaptive), DB_BYTES(seal, sizeof seal),
		DB_INT(now_ms));
}

static enum cm_rc read_pin(sqlite3_stmt *st, struct cl_pin *out, struct cm_err *err)
{
	int64_t entries = sqlite3_column_int64(st, 2);
	uint8_t seal[PR_HASH_LEN];

	*out = (struct cl_pin){ .number = (uint64_t)sqlite3_column_int64(st, 1) };
	if (sqlite3_column_bytes(st, 0) != PR_HASH_LEN || sqlite3_column_bytes(st, 11) != PR_HASH_LEN ||
		entries < 0 || entries > PR_ENTRIES_MAX ||
		sqlite3_column_bytes(st, 3) != (int)((entries + 7) / 8))
		return cm_fail(err, CM_EDATA, "client.db: a pin is damaged");
	memcpy(out->plan_hash, sqlite3_column_blob(st, 0), PR_HASH_LEN);
	out->pin.entries = (size_t)entries;
	if (entries > 0)
		memcpy(out->pin.taken, sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3));
	out->pin.epsilon = sqlite3_column_double(st, 4);
	out->epsilon = sqlite3_column_double(st, 5);
	out->delta = sqlite3_column_double(st, 6);
	out->honest_fraction = sqlite3_column_double(st, 7);
	out->colluders = sqlite3_column_int64(st, 8);
	out->trusted = sqlite3_column_int(st, 9) != 0;
	out->adaptive = sqlite3_column_int(st, 10) != 0;
	seal_of(out, seal);
	if (memcmp(seal, sqlite3_column_blob(st, 11), sizeof seal) != 0)
		return cm_fail(err, CM_EDATA, "client.db: a pin is damaged");
	return CM_OK;
}

enum cm_rc cl_pin_each(struct cl_db *db, cl_pin_each_fn *each, void *user, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	struct cl_pin pin;
	enum cm_rc rc = db_prepare(db->sql, "SELECT " PIN_COLUMNS " FROM pin ORDER BY number", &st, err);

	while (db_row(st, &rc, err)) {
		rc = read_pin(st, &pin, err);
		if (rc == CM_OK)
			rc = each(user, &pin, err);
	}
	sqlite3_finalize(st);
	return rc;
}

struct looking {
	const uint8_t *hash;
	struct cl_pin *out;
	bool found;
};

static enum cm_rc look(void *user, const struct cl_pin *pin, struct cm_err *err)
{
	struct looking *l = user;

	(void)err;
	if (memcmp(pin->plan_hash, l->hash, PR_HASH_LEN) == 0) {
		*l->out = *pin;
		l->found = true;
	}
	return CM_OK;
}

/* Reads all pins, so that damage to any of them is detected. */
enum cm_rc cl_pin_find(
	struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], struct cl_pin *out, struct cm_err *err)
{
	struct looking l = { .hash = plan_hash, .out = out };
	enum cm_rc rc = cl_pin_each(db, look, &l, err);

	if (rc == CM_OK && !l.found)
		rc = cm_fail(err, CM_ENOINPUT, "the plan is not pinned");
	return rc;
}

static struct rd_plan slice_of(const struct cl_pin *pin)
{
	return (struct rd_plan){ .epsilon = pin->epsilon, .delta = pin->delta };
}

static enum cm_rc add_slice(void *user, const struct cl_pin *pin, struct cm_err *err)
{
	const struct rd_plan slice = slice_of(pin);

	(void)err;
	rd_slices_add(user, &slice);
	return CM_OK;
}

enum cm_rc cl_pin_slices(struct cl_db *db, struct rd_slices *out, struct cm_err *err)
{
	*out = (struct rd_slices){ 0 };
	return cl_pin_each(db, add_slice, out, err);
}

/* *found: whether a stored plan without a contradiction has the number `at` but another value than `hash`
 * in this column. */
static enum cm_rc other_than(struct cl_db *db, uint64_t at, const char *column,
	const uint8_t hash[PR_HASH_LEN], bool *found, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	char sql[128];
	enum cm_rc rc;

	(void)snprintf(
		sql, sizeof sql, "SELECT 1 FROM plan WHERE fault IS NULL AND number = ? AND %s <> ?", column);
	rc = db_select(db->sql, sql, &st, err, DB_INT(at), DB_BYTES(hash, PR_HASH_LEN));
	*found = db_row(st, &rc, err);
	sqlite3_finalize(st);
	return rc;
}

/* Each plan has a number and names its predecessor.  The plan that was seen first is valid. */
static enum cm_rc check_chain(struct cl_db *db, const struct rd_plan *p, struct cm_err *err)
{
	bool same = false, before = false, after = false;
	enum cm_rc rc = other_than(db, p->number, "hash", p->hash, &same, err);

	if (rc == CM_OK)
		rc = other_than(db, p->number - 1, "hash", p->previous, &before, err);
	if (rc == CM_OK)
		rc = other_than(db, p->number + 1, "previous", p->hash, &after, err);
	if (rc != CM_OK || !CM_CHECKED("client.plan.chain"))
		return rc;
	if (same)
		return cm_fail(err, CM_EPERM,
			"two plans of number %" PRIu64 ": '%s' is not the one seen before", p->number,
			p->name);
	if (before || after)
		return cm_fail(err, CM_EPERM,
			"plan '%s' (%" PRIu64 ") does not follow the plan %" PRIu64 " seen before", p->name,
			p->number, before ? p->number - 1 : p->number + 1);
	return CM_OK;
}

static enum cm_rc insert_plan(struct cl_db *db, const struct cl_offered_plan *offered,
	const struct rd_plan *p, const char *fault, int64_t now_ms, struct cm_err *err)
{
	return db_change(db->sql, "INSERT OR IGNORE INTO plan VALUES(?, ?, ?, ?, ?, ?, ?)", err,
		DB_BYTES(p->hash, PR_HASH_LEN), DB_INT(p->number), DB_BYTES(p->previous, PR_HASH_LEN),
		DB_BYTES(offered->bytes, offered->len), DB_BYTES(offered->signature, CR_SIGN_LEN),
		DB_TEXT(fault), DB_INT(now_ms));
}

enum cm_rc cl_plan_learn(struct cl_db *db, const struct cl_offered_plan *offered, const char *population,
	const struct cr_verifier *analyzer, int64_t now_ms, struct cm_err *err)
{
	struct rd_plan p;
	struct cm_err chain;
	enum cm_rc rc = rd_plan_verify(offered->bytes, offered->len, offered->signature, analyzer, &p, err);

	if (rc == CM_EPERM)
		rc = cm_fail(err, CM_EPROTO, "the plan is not signed by the analyzer");
	if (rc == CM_OK && memcmp(p.hash, offered->hash, PR_HASH_LEN) != 0)
		rc = cm_fail(err, CM_EPROTO, "plan '%s' is not the one that was asked for", p.name);
	if (rc == CM_OK && strcmp(p.population, population) != 0)
		rc = cm_fail(err, CM_EPROTO, "plan '%s' is of population '%.60s'", p.name, p.population);
	if (rc == CM_OK && p.number > INT64_MAX - 1)
		rc = cm_fail(err, CM_EPROTO, "a plan's number is above 2^63-2");
	if (rc == CM_OK) {
		rc = check_chain(db, &p, &chain);
		if (rc == CM_OK || rc == CM_EPERM)
			rc = insert_plan(db, offered, &p, rc == CM_OK ? NULL : chain.msg, now_ms, err);
		else
			*err = chain;
	}
	rd_plan_fini(&p);
	return rc;
}

enum cm_rc cl_plan_find(
	struct cl_db *db, const uint8_t hash[PR_HASH_LEN], struct rd_plan *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *fault;
	enum cm_rc rc;

	*out = (struct rd_plan){ .entry = NULL };
	rc = db_select(db->sql, "SELECT bytes, fault FROM plan WHERE hash = ?", &st, err,
		DB_BYTES(hash, PR_HASH_LEN));
	if (!db_row(st, &rc, err)) {
		if (rc == CM_OK)
			rc = cm_fail(err, CM_ENOINPUT, "the plan is not known");
	} else {
		rc = rd_plan_decode(
			sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0), out, err);
		if (rc == CM_EPROTO || (rc == CM_OK && memcmp(out->hash, hash, PR_HASH_LEN) != 0))
			rc = cm_fail(err, CM_EDATA, "client.db: a plan is damaged");
		fault = (const char *)sqlite3_column_text(st, 1);
		if (rc == CM_OK && fault)
			rc = cm_fail(err, CM_EPERM, "%s", fault);
	}
	sqlite3_finalize(st);
	return rc;
}
