/* test_cl_encode.c - every message of a round has one length whatever the value, opens to a record of the
 * round, and no two are alike. */
#include "cl_world.h"

#include <stdlib.h>
#include <string.h>

#include "cl_encode.h"
#include "encode_in_room.h"
#include "queries.h"

static struct cm_err err;
static struct cl_world world;

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_world_free(&world);
	return 0;
}

/* Every message has an encapsulation of its own. */
static void all_fresh(const uint8_t *sealed, size_t n, size_t message_len)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(
				sealed + i * message_len, sealed + j * message_len, CR_HPKE_PUBLIC_LEN);
}

static void check_row(const struct pt_protocol *row, double epsilon0)
{
	struct cr_hpke_opener *opener = NULL;
	struct cl_offer o;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], *sealed, *plain;
	size_t device_len, sealed_len, message_len, tag_len;
	uint64_t *counts;
	uint32_t n;

	cl_offer_make(&world, row->device->name, epsilon0, &o);
	device_len = cd_device_len(&o.d);
	sealed_len = rd_sealed_len(&o.d);
	/* RFC 9180: enc 32 and tag 16 beside the record; the same for every message by the descriptor
	 * alone. */
	assert_int_equal(sealed_len, o.d.record_len + 48);
	message_len = rd_message_len(&o.d);
	tag_len = row->device->route ? 2 : 0;
	assert_int_equal(message_len, sealed_len + tag_len);
	assert_int_equal(device_len, o.d.messages_per_client * message_len);
	n = query_values(&o.d.query);
	sealed = malloc((n + 1) * device_len);
	plain = malloc(o.d.record_len);
	counts = calloc(row->tallies(&o.d.randomizer), sizeof *counts);
	assert_non_null(sealed);
	assert_non_null(plain);
	assert_non_null(counts);
	rd_hpke_info(&o.d, info);
	rd_hpke_aad(&o.d, aad);
	assert_int_equal(cr_hpke_opener_new(o.d.suite, &world.hpke, info, sizeof info, &opener, &err), CM_OK);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at[QUERIES_DIMENSION];
		struct cl_entry e = { .value = query_value(&o.d.query, i, at) };
		uint8_t *mine = sealed + i * device_len;

		/* Exactly device_len bytes are written: the guard after them stays, and all opens. */
		memset(mine, 0xa5, 2 * device_len);
		assert_int_equal(cl_encode(&o.d, &e, 1, &world.rng, mine, &err), CM_OK);
		for (size_t k = 0; k < device_len; k++)
			assert_int_equal(mine[device_len + k], 0xa5);
		for (uint32_t m = 0; m < o.d.messages_per_client; m++) {
			const uint8_t *message = mine + m * message_len;

			assert_true(tag_len == 0 ||
				    message[0] + 256u * message[1] < o.d.randomizer.shuffler.tags);
			assert_int_equal(cr_hpke_open(opener, aad, sizeof aad, message + tag_len, sealed_len,
						 plain, &err),
				CM_OK);
			assert_int_equal(row->tally(&o.d.randomizer, plain, counts, &err), CM_OK);
		}
	}
	all_fresh(sealed + tag_len, n * o.d.messages_per_client, message_len);
	cr_hpke_opener_free(opener);
	free(counts);
	free(sealed);
	free(plain);
	cl_offer_free(&o);
}

static void messages_of_every_protocol_have_one_length_over_the_whole_domain(void **state)
{
	(void)state;
	for (size_t i = 0; pt_row(i); i++)
		check_row(pt_row(i), 2.0);
}

/* The messages of a device, made one after the other. */
static void encode_alone(
	const struct cl_offer *o, const struct cl_entry *e, const struct cr_rng *rng, uint8_t *sealed)
{
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN],
		*records = malloc(o->d.messages_per_client * o->d.record_len);
	const struct pt_device *row = o->d.randomizer.row;
	struct cr_hpke_sealer *sealer;
	uint16_t tags[PR_MESSAGES_MAX];

	assert_non_null(records);
	rd_hpke_info(&o->d, info);
	rd_hpke_aad(&o->d, aad);
	assert_int_equal(
		cr_hpke_sealer_new(o->d.suite, o->d.hpke_key, info, sizeof info, &sealer, &err), CM_OK);
	encode_in_room(row, &o->d.query, &o->d.randomizer, &e->value, rng, records);
	if (row->route)
		row->route(&o->d.randomizer, &e->value, records, tags);
	for (uint32_t m = 0; m < o->d.messages_per_client; m++) {
		uint8_t *at = sealed + m * rd_message_len(&o->d);

		if (row->route) {
			cm_put_le16(at, tags[m]);
			at += 2;
		}
		assert_int_equal(cr_hpke_seal(sealer, rng, aad, sizeof aad, records + m * o->d.record_len,
					 o->d.record_len, at, &err),
			CM_OK);
	}
	cr_hpke_sealer_free(sealer);
	free(records);
}

static void check_together(const struct pt_protocol *row)
{
	enum {
		DEVICES = 35
	}; /* one full batch of one message for each device, and the beginning of another */
	static const uint8_t seed[CR_SEED_LEN] = "devices";
	struct cl_entry e[DEVICES] = { 0 };
	struct cl_offer o;
	struct cr_rng together, alone, borrowing;
	const struct cl_payload_bytes nothing = { NULL, 0 };
	struct cl_encoding encoding = { &o.d, &nothing, NULL };
	struct cr_hpke_sealer *sealer;

	cl_offer_make(&world, row->device->name, 2.0, &o);
	struct cr_rng_seeded *a = cr_rng_seeded_new(seed, &together), *b = cr_rng_seeded_new(seed, &alone),
			     *c = cr_rng_seeded_new(seed, &borrowing);
	uint32_t at[DEVICES][QUERIES_DIMENSION], devices = o.d.messages_per_client > 4 ? 9 : DEVICES;
	size_t device_len = cd_device_len(&o.d);
	uint8_t *got = malloc(devices * device_len), *want = malloc(devices * device_len);

	assert_true(a && b && c && got && want);
	for (uint32_t i = 0; i < devices; i++) {
		e[i].value = query_value(&o.d.query, i % query_values(&o.d.query), at[i]);
		encode_alone(&o, &e[i], &alone, want + i * device_len);
	}
	assert_int_equal(cl_encode(&o.d, e, devices, &together, got, &err), CM_OK);
	assert_memory_equal(got, want, devices * device_len);
	/* Seal with a sealer for several devices, which threads share. */
	memset(got, 0, devices * device_len);
	assert_int_equal(cl_encode_sealer(&o.d, 1000, &sealer, &err), CM_OK);
	encoding.sealer = sealer;
	assert_int_equal(cl_encode_computed(&encoding, e, devices, &borrowing, got, &err), CM_OK);
	assert_memory_equal(got, want, devices * device_len);
	cr_hpke_sealer_free(sealer);
	free(got);
	free(want);
	cr_rng_seeded_free(a);
	cr_rng_seeded_free(b);
	cr_rng_seeded_free(c);
	cl_offer_free(&o);
}

static void devices_encoded_together_are_those_encoded_one_by_one(void **state)
{
	(void)state;
	for (size_t i = 0; pt_row(i); i++)
		check_together(pt_row(i));
}

static void messages_do_not_open_in_another_round(void **state)
{
	struct cr_hpke_opener *opener = NULL;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], sealed[4096], plain[256];
	struct cl_entry e = { 0 };
	struct cl_offer one, other;

	(void)state;
	cl_offer_make(&world, "grr", 1.0, &one);
	cl_offer_make(&world, "grr", 1.0, &other);
	assert_memory_not_equal(one.d.hash, other.d.hash, PR_HASH_LEN);
	assert_int_equal(cl_encode(&one.d, &e, 1, &world.rng, sealed, &err), CM_OK);
	rd_hpke_info(&other.d, info);
	rd_hpke_aad(&other.d, aad);
	assert_int_equal(
		cr_hpke_opener_new(one.d.suite, &world.hpke, info, sizeof info, &opener, &err), CM_OK);
	assert_int_equal(
		cr_hpke_open(opener, aad, sizeof aad, sealed, rd_sealed_len(&one.d), plain, &err), CM_EDATA);
	rd_hpke_aad(&one.d, aad);
	assert_int_equal(
		cr_hpke_open(opener, aad, sizeof aad, sealed, rd_sealed_len(&one.d), plain, &err), CM_EDATA);
	cr_hpke_opener_free(opener);
	cl_offer_free(&one);
	cl_offer_free(&other);
}

static void a_low_order_round_key_is_refused(void **state)
{
	struct cl_entry e = { 0 };
	struct cl_offer o;
	uint8_t sealed[4096];

	(void)state;
	cl_offer_make(&world, "grr", 1.0, &o);
	memset(o.d.hpke_key, 0, sizeof o.d.hpke_key);
	assert_int_equal(cl_encode(&o.d, &e, 1, &world.rng, sealed, &err), CM_EDATA);
	cl_offer_free(&o);
}

static void the_shown_records_are_the_ones_sealed(void **state)
{
	struct cr_hpke_opener *opener = NULL;
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN], sealed[8192], records[4096], plain[256];
	struct cl_offer o;

	(void)state;
	cl_offer_make(&world, "mixbins", 2.0, &o);
	assert_true(cd_device_len(&o.d) <= sizeof sealed);
	assert_int_equal(
		cl_encode_shown(&o.d, &(struct qy_value){ .x = 1 }, &world.rng, records, sealed, &err),
		CM_OK);
	rd_hpke_info(&o.d, info);
	rd_hpke_aad(&o.d, aad);
	assert_int_equal(cr_hpke_opener_new(o.d.suite, &world.hpke, info, sizeof info, &opener, &err), CM_OK);
	for (uint32_t m = 0; m < o.d.messages_per_client; m++) {
		assert_int_equal(cr_hpke_open(opener, aad, sizeof aad, sealed + m * rd_sealed_len(&o.d),
					 rd_sealed_len(&o.d), plain, &err),
			CM_OK);
		assert_memory_equal(plain, records + m * o.d.record_len, o.d.record_len);
	}
	cr_hpke_opener_free(opener);
	cl_offer_free(&o);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(messages_of_every_protocol_have_one_length_over_the_whole_domain),
		TEST(devices_encoded_together_are_those_encoded_one_by_one),
		TEST(messages_do_not_open_in_another_round),
		TEST(a_low_order_round_key_is_refused),
		TEST(the_shown_records_are_the_ones_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
