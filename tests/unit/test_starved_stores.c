/* test_starved_stores.c - memory that runs out inside SQLite: nothing that was acknowledged is lost, and no
 * file is blamed. */
#include "cl_world.h"
#include "sh_play.h"
#include "starve.h"
#include "starve_libraries.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_encode.h"
#include "cl_reports.h"
#include "sh_sqlite.h"

/* ---- the shuffler's store ---- */

static const uint8_t round_id[PR_ROUND_ID_LEN] = { 7 };
static const struct cr_span records[] = { { "one", 3 }, { "two", 3 } };

static enum cm_rc next_block(void *user, struct sh_block *out, struct cm_err *err)
{
	static uint8_t body[3000];
	unsigned *n = user;

	(void)err;
	if (*n == 2)
		return CM_EMORE;
	memset(body, (int)*n + 1, sizeof body);
	*out = (struct sh_block){ .bucket = *n, .id = 40 + *n, .body = body, .len = sizeof body };
	++*n;
	return CM_OK;
}

static enum cm_rc read_block(void *user, const struct sh_block *b, struct cm_err *err)
{
	(void)err;
	starve_fold(b->body, b->len, user);
	return CM_OK;
}

static enum cm_rc read_record(void *user, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	(void)err;
	starve_fold(bytes, len, user);
	return CM_OK;
}

static enum cm_rc read_row(void *user, const struct sh_row *row, struct cm_err *err)
{
	(void)err;
	starve_fold(row->descriptor.data, row->descriptor.len, user);
	starve_fold(row->manifest.data, row->manifest.len, user);
	return CM_OK;
}

/* One number that stands for what is stored; a step that was acknowledged is in it. */
static enum cm_rc look(
	const struct sh_store *s, unsigned steps, void *data, uint64_t *answer, struct cm_err *err)
{
	enum cm_rc rc = s->record_each(s->ctx, read_record, answer, err);

	if (rc == CM_OK && steps >= 2)
		rc = s->row_get(s->ctx, round_id, read_row, answer, err);
	if (rc == CM_OK && steps >= 2)
		rc = s->row_each(s->ctx, read_row, answer, err);
	if (rc == CM_OK && steps >= 4)
		rc = s->data_buckets(data, 0, 2, read_block, answer, err);
	if (rc == CM_OK && steps >= 4)
		rc = s->data_tags(data, read_block, answer, err);
	return rc;
}

static enum cm_rc keep(const struct sh_store *s, unsigned *steps, void **data, struct cm_err *err)
{
	static const uint8_t tags[40] = { 1 };
	const struct sh_row row = { .round_id = { 7 },
		.sequence = 1,
		.state = SH_COLLECTING,
		.descriptor = { "descriptor", 10 },
		.signature = { "signature", 9 },
		.manifest = { "manifest", 8 } };
	const struct sh_block tag = { .id = 9, .body = tags, .len = sizeof tags };
	unsigned n = 0;
	enum cm_rc rc = s->records_put(s->ctx, 1, records, 2, err);

	*steps += rc == CM_OK;
	if (rc == CM_OK)
		rc = s->row_put(s->ctx, &row, err);
	*steps += rc == CM_OK;
	if (rc == CM_OK)
		rc = s->data_open(s->ctx, round_id, true, data, err);
	*steps += rc == CM_OK;
	if (rc == CM_OK)
		rc = s->data_commit(*data, next_block, &n, &tag, err);
	*steps += rc == CM_OK;
	return rc;
}

/* With memory again, as after a restart, all that was acknowledged is there. */
static void stands(const char *dir, unsigned steps)
{
	uint64_t answer = 0, blocks = 0;
	struct sh_store s;
	struct cm_err err;
	void *data = NULL;

	if (sh_sqlite_open(dir, &s, &err) != CM_OK)
		fail_msg("not opened again: %s", err.msg);
	assert_int_equal(s.record_each(s.ctx, read_record, &answer, &err), CM_OK);
	assert_true(steps < 1 || answer != 0);
	answer = 0;
	if (steps >= 2)
		assert_int_equal(s.row_get(s.ctx, round_id, read_row, &answer, &err), CM_OK);
	if (steps >= 3)
		assert_int_equal(s.data_open(s.ctx, round_id, false, &data, &err), CM_OK);
	if (steps >= 4)
		assert_int_equal(s.data_buckets(data, 1, 1, read_block, &blocks, &err), CM_OK);
	assert_true(steps < 4 || blocks != 0);
	s.data_close(data);
	assert_int_equal(s.data_drop(s.ctx, round_id, &err), CM_OK);
	s.close(s.ctx);
}

static enum cm_rc store(const void *what, uint64_t *answer, struct cm_err *err)
{
	struct sh_store s = { 0 };
	unsigned steps = 0;
	void *data = NULL;
	char dir[64];
	enum cm_rc rc;

	(void)what;
	sh_play_folder(dir);
	rc = sh_sqlite_open(dir, &s, err);
	if (rc == CM_OK)
		rc = keep(&s, &steps, &data, err);
	if (rc == CM_OK)
		rc = look(&s, steps, data, answer, err);
	if (s.ctx) {
		s.data_close(data);
		s.close(s.ctx);
	}
	(void)starve_set(false);
	stands(dir, steps);
	sh_play_remove(dir);
	return rc;
}

static void the_store_of_a_shuffler(void **state)
{
	(void)state;
	assert_true(starve_every(17, "store", store, NULL) > 100);
}

/* ---- the client's database ---- */

#define DEVICES 3u

struct client {
	struct cl_world world;
	struct cl_offer offer;
	struct cl_judgement judged;
	size_t device_len;
	uint8_t *sealed;
};

static struct cl_entry device(unsigned i)
{
	struct cl_entry e = { .value.x = i % 3 };

	memset(e.pseudonym, (int)i + 1, sizeof e.pseudonym);
	return e;
}

static enum cm_rc send(const struct client *c, struct cl_db *db, uint64_t *answer, struct cm_err *err)
{
	static const uint8_t outcomes[DEVICES] = { 1, 1, 1 };
	uint8_t names[DEVICES * PR_PSEUDONYM_LEN], salts[DEVICES * 32], sealed[DEVICES * 4096];
	int64_t slot[DEVICES];
	struct cl_counts counts;
	size_t n = 0;
	enum cm_rc rc = cl_reports_next(db, 0, DEVICES, c->device_len, slot, names, salts, sealed, &n, err);

	if (rc == CM_OK)
		starve_fold(sealed, n * c->device_len, answer);
	if (rc == CM_OK)
		rc = cl_reports_answer(db, slot, outcomes, n, err);
	if (rc == CM_OK)
		rc = cl_reports_flush(db, err);
	if (rc == CM_OK)
		rc = cl_reports_counts(db, &counts, err);
	if (rc == CM_OK)
		starve_fold(&counts, sizeof counts, answer);
	return rc;
}

/* steps: 1 seen, 2 charged and put, 3 erased. */
static enum cm_rc take_part(
	const struct client *c, struct cl_db *db, unsigned *steps, uint64_t *answer, struct cm_err *err)
{
	const struct rd_descriptor *d = &c->judged.d;
	struct cl_opening o = { d, c->offer.bytes.data, c->offer.signature, c->offer.bytes.len,
		c->judged.charge };
	struct cl_active active = { 0 };
	struct cl_entry e[DEVICES];
	const uint8_t salts[DEVICES * 32] = { 1 };
	enum cm_rc rc = cl_ledger_see(db, d, CL_WORLD_NOW, err);

	*steps += rc == CM_OK;
	for (unsigned i = 0; i < DEVICES; i++)
		e[i] = device(i);
	if (rc == CM_OK)
		rc = cl_reports_put(db, &o, e, DEVICES, salts, c->sealed, c->device_len, CL_WORLD_NOW, err);
	*steps += rc == CM_OK;
	if (rc == CM_OK)
		rc = cl_reports_active(db, &active, err);
	if (rc == CM_OK)
		starve_fold(active.descriptor.data, active.descriptor.len, answer);
	cl_active_fini(&active);
	if (rc == CM_OK)
		rc = send(c, db, answer, err);
	if (rc == CM_OK)
		rc = cl_reports_erase(db, d, CL_WORLD_NOW, err);
	*steps += rc == CM_OK;
	return rc;
}

/* A charge that was acknowledged is in the ledger, and its round's bytes with it until they are erased. */
static void charged(const struct client *c, const char *dir, unsigned steps)
{
	int64_t submissions = 0, charges = 0, over = 0;
	struct cl_db *db = NULL;
	struct cm_err err;
	bool is = false;

	if (cl_db_open(dir, "test", &db, &err) != CM_OK)
		fail_msg("not opened again: %s", err.msg);
	assert_int_equal(cl_ledger_charged(db, c->judged.d.sequence, &is, &err), CM_OK);
	assert_true(is || steps < 2);
	assert_int_equal(
		db_int(db->sql, "SELECT sum(length(outcomes)) FROM reports", &submissions, &err), CM_OK);
	assert_int_equal(
		db_int(db->sql, "SELECT count(*) FROM ledger WHERE kind = 'charged'", &charges, &err), CM_OK);
	assert_int_equal(
		db_int(db->sql, "SELECT count(*) FROM ledger WHERE kind = 'over'", &over, &err), CM_OK);
	assert_int_equal(submissions, (charges - over) * DEVICES);
	assert_true(over == 1 || steps < 3);
	cl_db_close(db);
}

static enum cm_rc client(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct client *c = what;
	struct cl_db *db = NULL;
	unsigned steps = 0;
	char dir[64];
	enum cm_rc rc;

	sh_play_folder(dir);
	rc = cl_db_open(dir, "test", &db, err);
	if (rc == CM_OK)
		rc = take_part(c, db, &steps, answer, err);
	cl_db_close(db);
	(void)starve_set(false);
	charged(c, dir, steps);
	sh_play_remove(dir);
	return rc;
}

static void the_database_of_a_client(void **state)
{
	struct cl_entry e[DEVICES];
	struct client c;
	struct cm_err err;

	(void)state;
	cl_world_make(&c.world);
	cl_offer_make(&c.world, "grr", 2.0, &c.offer);
	assert_int_equal(cl_world_judge(&c.world, &c.offer, &c.judged, &err), CM_OK);
	c.device_len = cd_device_len(&c.judged.d);
	c.sealed = calloc(DEVICES, c.device_len);
	assert_non_null(c.sealed);
	for (unsigned i = 0; i < DEVICES; i++)
		e[i] = device(i);
	assert_int_equal(cl_encode(&c.judged.d, e, DEVICES, &c.world.rng, c.sealed, &err), CM_OK);
	assert_true(starve_every(17, "client", client, &c) > 100);
	free(c.sealed);
	rd_descriptor_fini(&c.judged.d);
	cl_offer_free(&c.offer);
	cl_world_free(&c.world);
}

struct planned {
	struct cl_world *world;
	uint8_t plan_hash[PR_HASH_LEN];
};

/* Learn a plan and pin it: all of it or nothing, and never less than it takes. */
static enum cm_rc pinned(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct planned *p = what;
	struct cl_world *w = p->world;
	struct cl_offered_plan offered = {
		.bytes = w->plan[0].bytes.data, .len = w->plan[0].bytes.len, .signature = w->plan[0].signature
	};
	struct rd_slices slices = { 0 };
	struct rd_plan plan = { .entry = NULL };
	struct cl_pin pin = { .number = 0 };
	struct cl_db *db = NULL;
	char dir[64];
	enum cm_rc rc;

	memcpy(offered.hash, p->plan_hash, sizeof offered.hash);
	sh_play_folder(dir);
	rc = cl_db_open(dir, "test", &db, err);
	if (rc == CM_OK)
		rc = cl_plan_learn(db, &offered, "test", w->analyzer.verifier, CL_WORLD_NOW, err);
	if (rc == CM_OK)
		rc = cl_plan_find(db, p->plan_hash, &plan, err);
	if (rc == CM_OK)
		rc = cl_world_pin(db, &w->policy, &plan, NULL, CL_WORLD_NOW, &pin, err);
	if (rc == CM_OK)
		rc = cl_pin_slices(db, &slices, err);
	if (rc == CM_OK)
		assert_true(slices.epsilon == plan.epsilon && rd_pin_count(&pin.pin) == plan.entries);
	rd_plan_fini(&plan);
	cl_db_close(db);
	(void)starve_set(false);
	sh_play_remove(dir);
	if (rc == CM_OK)
		starve_fold(&slices, sizeof slices, answer);
	return rc;
}

static enum cm_rc again(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct cl_world *w = what;
	struct cl_db *db = NULL;
	enum cm_rc rc = cl_db_open(w->dir, "test", &db, err);

	*answer = 1;
	cl_db_close(db);
	return rc;
}

static void the_pins_and_the_owner_of_a_ledger(void **state)
{
	struct cl_world w;
	struct cl_offer o;
	struct planned p = { .world = &w };
	struct cm_err err;

	(void)state;
	cl_world_make(&w);
	cl_offer_make(&w, "grr", 2.0, &o);
	memcpy(p.plan_hash, o.d.plan_hash, sizeof p.plan_hash);
	assert_int_equal(cl_ledger_see(w.db, &o.d, CL_WORLD_NOW, &err), CM_OK);
	assert_true(starve_every(97, "pinned", pinned, &p) > 50);
	cl_db_close(w.db);
	assert_true(starve_every(3, "again", again, &w) > 50);
	assert_int_equal(cl_db_open(w.dir, "test", &w.db, &err), CM_OK);
	cl_offer_free(&o);
	cl_world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_store_of_a_shuffler),
		cmocka_unit_test(the_database_of_a_client),
		cmocka_unit_test(the_pins_and_the_owner_of_a_ledger),
	};

	starve_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
