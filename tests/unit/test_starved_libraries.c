/* test_starved_libraries.c - memory that runs out inside libcrypto, jansson and libcsv: no peer and no file
 * is blamed. */
#include "an_export.h"
#include "an_world.h"
#include "starve.h"
#include "starve_libraries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "an_result.h"
#include "an_tables.h"
#include "cl_mqtt_message.h"
#include "cl_readings.h"
#include "cr_aead.h"
#include "cr_hpke.h"
#include "cr_x25519.h"

/* ---- libcrypto ---- */

static enum cm_rc signature(const void *what, uint64_t *answer, struct cm_err *err)
{
	const struct round_keys *k = what;
	uint8_t s[CR_SIGN_LEN];
	enum cm_rc rc = cr_sign(k->signer, "purpose", "bytes", 5, s, err);

	if (rc == CM_OK)
		rc = cr_verify(k->verifier, "purpose", "bytes", 5, s, err);
	if (rc == CM_OK)
		starve_fold(s, sizeof s, answer);
	return rc;
}

static enum cm_rc sealed(const void *what, uint64_t *answer, struct cm_err *err)
{
	static const uint8_t plain[20] = { 3, 1, 4 };
	uint8_t box[sizeof plain + CR_HPKE_OVERHEAD], open[sizeof plain];
	const struct cr_key secret = { { 5 } }, ephemeral = { { 9 } };
	struct cr_hpke_sealer *of = NULL, *s = NULL;
	struct cr_hpke_opener *o = NULL;
	struct cr_x25519 *k = NULL;
	enum cm_rc rc = cr_x25519_new(secret.bytes, &k, err);

	(void)what;
	if (rc == CM_OK)
		rc = cr_hpke_sealer_new(CR_HPKE_AES128GCM, cr_x25519_public(k), "i", 1, &of, err);
	if (rc == CM_OK)
		rc = cr_hpke_sealer_like(of, &s, err);
	if (rc == CM_OK)
		rc = cr_hpke_seal_with(s, &ephemeral, "a", 1, plain, sizeof plain, box, err);
	if (rc == CM_OK)
		rc = cr_hpke_opener_new(CR_HPKE_AES128GCM, &secret, "i", 1, &o, err);
	if (rc == CM_OK)
		rc = cr_hpke_open(o, "a", 1, box, sizeof box, open, err);
	if (rc == CM_OK)
		starve_fold(open, sizeof open, answer);
	cr_hpke_sealer_free(s);
	cr_hpke_sealer_free(of);
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
		starve_fold(open, sizeof open, answer);
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

/* ---- jansson, libcsv ---- */

static enum cm_rc on_row(void *user, const struct cl_row *row, struct cm_err *err)
{
	(void)err;
	if (row->device)
		starve_fold(row->device, strlen(row->device), user);
	if (row->text[0])
		starve_fold(row->text[0], strlen(row->text[0]), user);
	if (row->why)
		starve_fold(row->why, strlen(row->why), user);
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
	const char *payload =
		form->json ? "{\"\\u0064\":\"x of m\\u00f6re than sixteen\",\"v\":[1,2.5]}" : " 007 ";
	const struct cl_mqtt_message m = { "a/b", (const uint8_t *)payload, strlen(payload), false };
	struct cl_mqtt_reading r;
	enum cl_mqtt_fate fate;

	cl_mqtt_reading_init(&r);
	fate = cl_mqtt_message_read(form, &m, &r);
	if (fate == CL_MQTT_KEPT)
		starve_fold(r.line.data, r.line.len, answer);
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
		{ .device = { 1, { { 1, 1 } } }, .field_level = 2 },
		{ .device = { 1, { { 1, 1 } } }, .field = long_field } };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_true(starve("readings", readings, &inputs[i]) > 4);
	memset(long_field, '\n', CL_MQTT_FIELD_MAX);
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
		assert_true(starve("message", message, &forms[i]) > 4);
}

/* ---- the analyzer's documents ---- */

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
		rc = an_result_make(&w->files.state, r,
			&(struct rd_manifest){ .participants = r->participants, .messages = r->participants },
			&t, NULL, &out, err);
	}
	if (rc == CM_OK)
		starve_fold(out.data, out.len, answer);
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
	for (int i = 0; doc && i < 8; i++) {
		(void)snprintf(key, sizeof key, "%d-%090d", i, i);
		if (json_object_set_new(doc, key, json_true()) != 0) {
			json_decref(doc);
			doc = NULL;
		}
	}
	text = an_json_text(doc, JSON_COMPACT);
	json_decref(doc);
	if (!text)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	starve_fold(text, strlen(text), answer);
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
	enum cm_rc rc = rounds ? CM_OK : err->code;

	assert_non_null(out);
	if (rc == CM_OK)
		rc = an_json_print(rounds, 0, out, err);
	if (rc == CM_OK)
		rc = an_ledger_export(&w->files, out, err);
	(void)fclose(out);
	if (rc == CM_OK)
		starve_fold(text, n, answer);
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
		cmocka_unit_test(signatures_and_boxes),
		cmocka_unit_test(readings_and_messages),
		cmocka_unit_test(results_and_ledgers_in_json),
	};

	starve_libraries();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
