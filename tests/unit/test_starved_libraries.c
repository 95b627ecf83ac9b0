/* test_starved_libraries.c - memory that runs out inside SQLite, libcrypto and jansson: nothing that was
 * acknowledged is lost, no peer and no file is blamed. */
#include "an_world.h"
#include "cl_world.h"
#include "sh_play.h"
#include "starve.h"
#include "starve_libraries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_result.h"
#include "an_show.h"
#include "cl_encode.h"
#include "cl_mqtt_message.h"
#include "cl_readings.h"
#include "cl_store.h"
#include "cr_aead.h"
#include "cr_hpke.h"
#include "cr_x25519.h"
#include "sh_sqlite.h"

static void word(const void *p, size_t n, uint64_t *answer)
{
	uint8_t hash[CR_HASH_LEN];

	cr_sha256(p, n, hash);
	*answer = *answer * 3 + cm_get_le64(hash);
}

/* ---- the shuffler's store
 * ------------------------------------------------------------------------------- */

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
	word(b->body, b->len, user);
	return CM_OK;
}

static enum cm_rc read_record(void *user, const uint8_t *bytes, size_t len, struct cm_err *err)
{
	(void)err;
	word(bytes, len, user);
	return CM_OK;
}

static enum cm_rc read_row(void *user, const struct sh_row *row, struct cm_err *err)
{
	(void)err;
	word(row->descriptor.data, row->descriptor.len, user);
	word(row->manifest.data, row->manifest.len, user);
	return CM_OK;
}

/* What is kept, as a word; a step that was acknowledged is in it. */
static enum cm_rc look(
	const struct sh_store *s, unsigned steps, void *data, uint64_t *answer, struct cm_err *err)
{
	enum cm_rc rc = s->record_each(s->ctx, read_record, answer, err);

	if (rc == CM_OK && steps >= 2)
		rc = s->row_get(s->ctx, round_id, read_row, answer, err);
	if (rc == CM_OK && steps >= 2)
		rc = s->row_each(s->ctx, read_row, answer, err);
	for (uint32_t b = 0; rc == CM_OK && steps >= 4 && b < 2; b++)
		rc = s->data_bucket(data, b, read_block, answer, err);
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

/* With memory again, as after a restart: what was acknowledged stands. */
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
		assert_int_equal(s.data_bucket(data, 1, read_block, &blocks, &err), CM_OK);
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
	if (s.ctx != NULL) {
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

/* ---- the client's database
 * ------------------------------------------------------------------------------ */

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
	enum cm_rc rc = cl_store_next(db, 0, DEVICES, c->device_len, slot, names, salts, sealed, &n, err);

	if (rc == CM_OK)
		word(sealed, n * c->device_len, answer);
	if (rc == CM_OK)
		rc = cl_store_answer(db, slot, outcomes, n, err);
	if (rc == CM_OK)
		rc = cl_store_flush(db, err);
	if (rc == CM_OK)
		rc = cl_store_counts(db, &counts, err);
	if (rc == CM_OK)
		word(&counts, sizeof counts, answer);
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
		rc = cl_store_put(db, &o, e, DEVICES, salts, c->sealed, c->device_len, CL_WORLD_NOW, err);
	*steps += rc == CM_OK;
	if (rc == CM_OK)
		rc = cl_store_active(db, &active, err);
	if (rc == CM_OK)
		word(active.descriptor.data, active.descriptor.len, answer);
	cl_active_fini(&active);
	if (rc == CM_OK)
		rc = send(c, db, answer, err);
	if (rc == CM_OK)
		rc = cl_store_erase(db, d, CL_WORLD_NOW, err);
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
	assert_int_equal(db_int(db->sql, "SELECT count(*) FROM submission", &submissions, &err), CM_OK);
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
	c.device_len = cl_device_len(&c.judged.d);
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
		word(&slices, sizeof slices, answer);
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

/* ---- libcrypto
 * ------------------------------------------------------------------------------------------ */

static enum cm_rc signature(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct round_keys *k = what;
	uint8_t s[CR_SIGN_LEN];
	enum cm_rc rc = cr_sign(k->signer, "purpose", "bytes", 5, s, err);

	if (rc == CM_OK)
		rc = cr_verify(k->verifier, "purpose", "bytes", 5, s, err);
	if (rc == CM_OK)
		word(s, sizeof s, answer);
	return rc;
}

static enum cm_rc sealed(const void *what, uint64_t *answer, struct cm_err *err)
{
	static const uint8_t plain[20] = { 3, 1, 4 };
	uint8_t box[sizeof plain + CR_HPKE_OVERHEAD], open[sizeof plain];
	const struct cr_key secret = { { 5 } }, ephemeral = { { 9 } };
	struct cr_hpke_sealer *s = NULL;
	struct cr_hpke_opener *o = NULL;
	struct cr_x25519 *k = NULL;
	enum cm_rc rc = cr_x25519_new(secret.bytes, &k, err);

	(void)what;
	if (rc == CM_OK)
		rc = cr_hpke_sealer_new(CR_HPKE_AES128GCM, cr_x25519_public(k), "i", 1, &s, err);
	if (rc == CM_OK)
		rc = cr_hpke_seal_with(s, &ephemeral, "a", 1, plain, sizeof plain, box, err);
	if (rc == CM_OK)
		rc = cr_hpke_opener_new(CR_HPKE_AES128GCM, &secret, "i", 1, &o, err);
	if (rc == CM_OK)
		rc = cr_hpke_open(o, "a", 1, box, sizeof box, open, err);
	if (rc == CM_OK)
		word(open, sizeof open, answer);
	cr_hpke_sealer_free(s);
	cr_hpke_opener_free(o);
	cr_x25519_free(k);
	return rc;
}

static enum cm_rc box(const void *what, uint64_t *answer, struct cm_err *err)
{
	static const uint8_t plain[50] = { 1 };
	uint8_t closed[sizeof plain + CR_BOX_OVERHEAD], open[sizeof plain];
	const struct cr_key key = { { 7 } };
	enum cm_rc rc = cr_box_seal(&key, what, "a", 1, plain, sizeof plain, closed, err);

	if (rc == CM_OK)
		rc = cr_box_open(&key, "a", 1, closed, sizeof closed, open, err);
	if (rc == CM_OK)
		word(open, sizeof open, answer);
	return rc;
}

static void signatures_and_boxes(void **state)
{
	struct round_keys keys;
	struct cr_rng rng;
	struct cm_err err;

	(void)state;
	round_keys_make(&keys);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	assert_true(starve("signature", signature, &keys) > 8);
	assert_true(starve("hpke", sealed, NULL) > 20);
	assert_true(starve("box", box, &rng) > 4);
	round_keys_free(&keys);
}

/* ---- jansson, libcsv
 * ------------------------------------------------------------------------------------ */

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	(void)err;
	if (row->device != NULL)
		word(row->device, strlen(row->device), user);
	if (row->text[0] != NULL)
		word(row->text[0], strlen(row->text[0]), user);
	if (row->why != NULL)
		word(row->why, strlen(row->why), user);
	return CM_OK;
}

struct input {
	enum cl_format format;
	const char *text;
};

static enum cm_rc readings(const void *what, uint64_t *answer, struct cm_err *err)
{
	static const char *const field[] = { "v" };
	const struct input *input = what;
	const struct cl_reader_conf conf = { .format = input->format,
		.name = "r",
		.device_field = "d",
		.field = field,
		.fields = 1,
		.arrays = true,
		.on_row = on_row,
		.user = answer };
	struct cl_reader *r = NULL;
	enum cm_rc rc = cl_reader_new(&conf, &r, err);

	if (rc == CM_OK)
		rc = cl_reader_feed(r, (const uint8_t *)input->text, strlen(input->text), err);
	if (rc == CM_OK)
		rc = cl_reader_end(r, err);
	cl_reader_free(r);
	return rc;
}

static enum cm_rc message(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct cl_mqtt_form *form = what;
	const char *payload = form->json ? "{\"d\":\"x of more than sixteen\",\"v\":[1,2.5]}" : " 007 ";
	const struct cl_mqtt_message m = { "a/b", (const uint8_t *)payload, strlen(payload), false };
	struct cl_mqtt_reading r;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_init(&r);
	fate = cl_mqtt_message_read(form, &m, &r);
	if (fate == CL_MQTT_KEPT)
		word(r.line.data, r.line.len, answer);
	cl_mqtt_reading_fini(&r);
	if (fate == CL_MQTT_MEMORY)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return fate == CL_MQTT_KEPT ? CM_OK : cm_fail(err, CM_EDATA, "%s", cl_mqtt_fates[fate]);
}

static void readings_and_messages(void **state)
{
	static const struct input inputs[] = {
		{ CL_FORMAT_NDJSON,
			"{\"d\":\"a name that is long\",\"v\":1}\n{\"d\":2,\"v\":[1,2.5,\"x\"]}\nno\n" },
		{ CL_FORMAT_CSV, "d,v\na,1\nb,\"2,5\"\n" },
	};
	/* Written it is longer than a buffer's first size: jansson goes on when a key has no room. */
	static char long_field[CL_MQTT_FIELD_MAX + 1];
	static const struct cl_mqtt_form forms[] = { { .json = true, .device_field = "d" },
		{ .device_level = 1, .field_level = 2 }, { .device_level = 1, .field = long_field } };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_true(starve("readings", readings, &inputs[i]) > 4);
	memset(long_field, '\n', CL_MQTT_FIELD_MAX);
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		assert_true(starve("message", message, &forms[i]) > 4);
}

/* ---- the analyzer's documents
 * --------------------------------------------------------------------------- */

static enum cm_rc result(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct world *w = what;
	const struct an_round_state *r = &w->files.state.round[0];
	struct an_tally t = { 0 };
	struct cm_buf out;
	enum cm_rc rc = an_tally_init(&t, pt_tallies(&r->descriptor.randomizer), err);

	cm_buf_init(&out, AN_RESULT_MAX);
	if (rc == CM_OK) {
		t.counted = r->participants;
		t.count[0] = r->participants;
		rc = an_result_make(&w->files.state, r, r->participants, &t, NULL, &out, err);
	}
	if (rc == CM_OK)
		word(out.data, out.len, answer);
	cm_buf_fini(&out);
	an_tally_fini(&t);
	return rc;
}

/* jansson grows its text in the middle of a key, and goes on when it cannot. */
static enum cm_rc keys(const void *what, uint64_t *answer, struct cm_err *err)
{
	json_t *doc = json_object();
	char key[128], *text;

	(void)what;
	for (int i = 0; doc != NULL && i < 8; i++) {
		(void)snprintf(key, sizeof key, "%d-%090d", i, i);
		if (json_object_set_new(doc, key, json_true()) != 0) {
			json_decref(doc);
			doc = NULL;
		}
	}
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	if (text == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	word(text, strlen(text), answer);
	free(text);
	return CM_OK;
}

static enum cm_rc documents(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct world *w = what;
	json_t *rounds = an_rounds_json(&w->files, WORLD_NOW, err);
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	enum cm_rc rc = rounds != NULL ? CM_OK : err->code;

	assert_non_null(out);
	if (rc == CM_OK)
		rc = an_json_print(rounds, 0, out, err);
	if (rc == CM_OK)
		rc = an_ledger_export(&w->files, out, err);
	(void)fclose(out);
	if (rc == CM_OK)
		word(text, n, answer);
	free(text);
	json_decref(rounds);
	return rc;
}

static void results_and_ledgers_in_json(void **state)
{
	struct world w;
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct cm_err err = { 0 };

	(void)state;
	world_make(&w, world_plan, 31);
	f.world = &w;
	if (world_drive(&w, &f, 1, 100000, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(starve("result", result, &w) > 20);
	assert_true(starve("keys", keys, NULL) > 20);
	assert_true(starve_every(3, "documents", documents, &w) > 20);
	fake_free(&f);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_store_of_a_shuffler),
		cmocka_unit_test(the_database_of_a_client),
		cmocka_unit_test(the_pins_and_the_owner_of_a_ledger),
		cmocka_unit_test(signatures_and_boxes),
		cmocka_unit_test(readings_and_messages),
		cmocka_unit_test(results_and_ledgers_in_json),
	};

	starve_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
