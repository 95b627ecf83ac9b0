/* test_rd_tags.c - what a descriptor may say of tags and noise, and what follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pr_limits.h"
#include "rd_randomizer.h"
#include "rd_tags.h"

static struct cm_err err;

static void route(
	const struct pt_params *p, const struct pt_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)p;
	(void)value;
	(void)records;
	tags[0] = 0;
}

static void dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	(void)p;
	(void)tag;
	(void)rng;
	record[0] = 0;
}

/* What the row was last given. */
static struct pt_params seen;

static enum cm_rc loss(
	const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *e)
{
	(void)participants;
	(void)e;
	seen = *p;
	out->parts = 1;
	return CM_OK;
}

static uint32_t three(const struct pt_params *p)
{
	(void)p;
	return 3;
}

static const struct pt_protocol full = { .name = "full",
	.messages = three,
	.route = route,
	.dummy = dummy,
	.loss = loss },
				silent = { .name = "silent", .route = route },
				none = { .name = "none", .dummy = dummy };

static Tombola__V1__Randomizer wire(uint32_t tags, uint64_t messages, size_t n, uint32_t *least)
{
	Tombola__V1__Randomizer r = TOMBOLA__V1__RANDOMIZER__INIT;

	r.tags = tags;
	r.tag_messages = messages;
	r.n_tag_least = n;
	r.tag_least = least;
	return r;
}

static enum cm_rc take(const struct pt_protocol *row, Tombola__V1__Randomizer r, struct pt_params *p)
{
	memset(p, 0xff, sizeof *p);
	return rd_tags_read(&r, row, p, &err);
}

static void what_is_written_is_read_back(void **state)
{
	uint32_t least[3] = { 5, 1, PR_ROUND_REPORTS_MAX };
	struct pt_params p, back;

	(void)state;
	const Tombola__V1__Randomizer good[] = { wire(0, 0, 0, NULL), wire(PT_TAGS_MAX, 152, 0, NULL),
		wire(3, 0, 3, least), wire(7, 0, 0, NULL), wire(1, PT_SHUFFLER_DUMMIES_MAX, 0, NULL) };
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		Tombola__V1__Randomizer r = TOMBOLA__V1__RANDOMIZER__INIT;
		if (take(&full, good[i], &p) != CM_OK)
			fail_msg("%zu: %s", i, err.msg);
		rd_tags_fill(&p, &r);
		assert_int_equal(take(&full, r, &back), CM_OK);
		assert_true(back.tags == good[i].tags && back.tag_messages == good[i].tag_messages);
		for (size_t j = 0; j < PT_SLOTS_MAX; j++)
			assert_int_equal(back.tag_least[j], j < good[i].n_tag_least ? least[j] : 0);
	}
}

static void what_no_shuffler_could_do_is_refused(void **state)
{
	uint32_t least[PT_SLOTS_MAX + 1], zero[2] = { 1, 0 }, huge[2] = { 1, PR_ROUND_REPORTS_MAX + 1 };
	struct pt_params p;

	(void)state;
	for (size_t i = 0; i <= PT_SLOTS_MAX; i++)
		least[i] = 1;
	Tombola__V1__Randomizer both = wire(2, 5, 0, NULL);
	both.shuffler_dummies = 1;
	const struct {
		const struct pt_protocol *row;
		Tombola__V1__Randomizer r;
	} bad[] = { { &full, wire(0, 1, 0, NULL) }, { &full, wire(0, 0, 1, least) },
		{ &none, wire(1, 0, 0, NULL) }, { &full, wire(PT_TAGS_MAX + 1, 0, 0, NULL) },
		{ &silent, wire(2, 5, 0, NULL) },
		{ &full, wire(2, PT_SHUFFLER_DUMMIES_MAX / 2 + 1, 0, NULL) },
		{ &full, wire(PT_TAGS_MAX, UINT64_MAX, 0, NULL) }, { &full, wire(2, 0, 1, least) },
		{ &full, wire(PT_SLOTS_MAX + 1, 0, PT_SLOTS_MAX + 1, least) }, { &full, wire(2, 0, 2, zero) },
		{ &full, wire(2, 0, 2, huge) }, { &full, wire(2, 5, 2, least) }, { &full, both } };
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (take(bad[i].row, bad[i].r, &p) != CM_EPROTO)
			fail_msg("%zu was taken", i);
	assert_int_equal(take(&silent, wire(2, 0, 2, least), &p), CM_OK);
}

static void a_message_is_longer_by_its_tag(void **state)
{
	struct rd_descriptor d = {
		.record_len = 16, .messages_per_client = 3, .params = { .shuffler_dummies = 5 }
	};

	(void)state;
	assert_int_equal(rd_message_len(&d), rd_sealed_len(&d));
	assert_int_equal(rd_messages(&d, 7), 26);
	d.params = (struct pt_params){ .tags = 2 };
	assert_int_equal(rd_message_len(&d), rd_sealed_len(&d) + PR_TAG_LEN);
	assert_int_equal(rd_messages(&d, 7), 21);
	d.params.tag_messages = 4;
	assert_int_equal(rd_messages(&d, 7), 8);
}

/* Whoever is not honest may choose the class that hurts most, in a batch as large as can be. */
static void a_class_counts_its_honest_participants_only(void **state)
{
	struct rd_descriptor d = { .protocol = &full,
		.min_batch = 1000,
		.target_batch = 2000,
		.params = { .tags = 2, .tag_least = { 300, 30 } } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, 1000, true, &out, &err), CM_OK);
	assert_true(seen.tag_least[0] == 300 && seen.tag_least[1] == 30);
	assert_int_equal(rd_loss_for(&d, 950, true, &out, &err), CM_OK);
	assert_in_range(seen.tag_least[0], 199, 200);
	assert_int_equal(seen.tag_least[1], 1);
	assert_int_equal(seen.tag_least[2], 0);
}

/* A colluder may send all its messages with one tag: what hides the others there is fewer. */
static void messages_of_a_tag_are_not_all_honest(void **state)
{
	struct rd_descriptor d = { .protocol = &full,
		.messages_per_client = 3,
		.min_batch = 1000,
		.target_batch = 2000,
		.params = { .tags = 2, .tag_messages = 500 } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, 1000, true, &out, &err), CM_OK);
	assert_int_equal(seen.tag_messages, 500);
	/* 50 of 1000, so 100 of 2000, with three messages each. */
	assert_int_equal(rd_loss_for(&d, 950, true, &out, &err), CM_OK);
	assert_in_range(seen.tag_messages, 197, 200);
	assert_int_equal(rd_loss_for(&d, 900, true, &out, &err), CM_OK);
	assert_int_equal(seen.tag_messages, 1);
}

/* Where the victim's value says what it sends, a colluder learns by what is dropped whether it sent this. Two
 * of a tag are left; one other participant sends it, and a colluder: its message goes with chance 1/3 if the
 * victim sends it too, and never if it does not. */
static void what_is_dropped_of_colluders_tells_nothing_that_is_not_charged(void **state)
{
	struct pt_query q = { .kind = PT_VECTOR, .dimension = 2, .high = 1 };
	const struct pt_request r = { .epsilon0 = 0.5, .levels = 2, .size = 1, .padded = 2 };
	struct rd_descriptor d = {
		.protocol = pt_find("ss-topk"), .messages_per_client = 1, .min_batch = 3, .target_batch = 3
	};
	struct acct_bound delta;
	struct pt_loss out;

	(void)state;
	assert_int_equal(d.protocol->derive(&q, &r, &d.params, &err), CM_OK);
	assert_int_equal(rd_loss_for(&d, 2, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper >= 1.0 / 3);
	/* Whose message goes says nothing when it is nobody's who tells. */
	assert_int_equal(rd_loss_for(&d, 3, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper < 1e-9);
	/* And nothing goes where there is room for all. */
	d.params.tag_messages = 3;
	assert_int_equal(rd_loss_for(&d, 2, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper < 1e-9);
}

/* 950 of the 1000 in the largest batch may be anybody, and with a batch as small as can be the one honest
 * participant is the victim. */
static void one_who_is_honest_is_alone(void **state)
{
	struct rd_descriptor d = { .protocol = &full,
		.min_batch = 10,
		.target_batch = 1000,
		.params = { .tags = 2, .tag_least = { 930, 10 } } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, rd_honest(10, 0.05, 0), true, &out, &err), CM_OK);
	assert_true(seen.tag_least[0] == 1 && seen.tag_least[1] == 1);
}

static void without_the_shuffler_nothing_is_filled_up(void **state)
{
	struct rd_descriptor d = { .protocol = &full,
		.min_batch = 10,
		.target_batch = 10,
		.params = { .tags = 2, .tag_messages = 9, .shuffler_dummies = 3 } };
	struct pt_loss out;

	(void)state;
	assert_true(pt_rests_on_shuffler(&d.params));
	assert_int_equal(rd_loss_for(&d, 10, true, &out, &err), CM_OK);
	assert_true(seen.tag_messages == 9 && seen.shuffler_dummies == 3);
	assert_int_equal(rd_loss_for(&d, 10, false, &out, &err), CM_OK);
	assert_true(seen.tags == 2 && !pt_rests_on_shuffler(&seen));
}

static enum cm_rc take_noise(const char *protocol, uint64_t decay, uint32_t mean, struct rd_descriptor *d)
{
	static char *category[] = { "a", "b", "c" };
	char name[32];
	Tombola__V1__Randomizer r = TOMBOLA__V1__RANDOMIZER__INIT;

	*d = (struct rd_descriptor){ .query = { .kind = PT_HISTOGRAM, .category = category, .categories = 3 },
		.messages_per_client = 1 };
	(void)snprintf(name, sizeof name, "%s", protocol);
	r.protocol = name;
	r.bins = 3;
	r.keep_always = 1;
	r.noise_decay = decay;
	r.noise_mean = mean;
	return rd_randomizer_read(&r, d, &err);
}

static void noise_is_for_rows_that_take_it_and_written_as_read(void **state)
{
	const uint64_t decay = UINT64_C(0x9b4597e37cb04ff3); /* e^-0.5 */
	struct rd_randomizer_wire wire_of;
	struct rd_descriptor d;

	(void)state;
	assert_int_equal(take_noise("bins", decay, 30, &d), CM_OK);
	assert_true(d.params.noise_decay == decay && d.params.noise_mean == 30);
	rd_randomizer_wire(&d.params, &wire_of);
	assert_true(wire_of.m.noise_decay == decay && wire_of.m.noise_mean == 30);
	assert_int_equal(rd_messages(&d, 10), 100);
	assert_int_equal(take_noise("bins", decay, 0, &d), CM_EPROTO);
	assert_int_equal(take_noise("bins", 0, 30, &d), CM_EPROTO);
	assert_int_equal(take_noise("bins", decay, 3, &d), CM_EPROTO);
	assert_int_equal(take_noise("bins", UINT64_MAX, 100000, &d), CM_EPROTO);
	assert_int_equal(take_noise("bins", decay, UINT32_MAX, &d), CM_EPROTO);
	assert_int_equal(take_noise("mixbins", decay, 30, &d), CM_EPROTO);
	assert_non_null(strstr(err.msg, "noise_mean"));
}

static enum cm_rc take_rare(
	const char *protocol, uint32_t dummies, uint64_t chance, bool in_slot, struct rd_descriptor *d)
{
	static char *category[] = { "a", "b", "c" };
	char name[32];
	Tombola__V1__Randomizer r = TOMBOLA__V1__RANDOMIZER__INIT;
	Tombola__V1__Slot s = TOMBOLA__V1__SLOT__INIT, *slots[] = { &s };

	*d = (struct rd_descriptor){ .query = { .kind = PT_HISTOGRAM, .category = category, .categories = 3 },
		.messages_per_client = 1 };
	(void)snprintf(name, sizeof name, "%s", protocol);
	r.protocol = name;
	if (!in_slot) {
		r.bins = 3;
		r.keep_always = 1;
		r.dummies = dummies;
		r.dummy_chance = chance;
		return rd_randomizer_read(&r, d, &err);
	}
	d->query = (struct pt_query){ .kind = PT_VECTOR, .dimension = 2, .low = 0, .high = 1 };
	s.count = 1;
	s.groups = 1;
	s.bins = 4;
	s.keep_always = 1;
	s.dummies = dummies;
	s.dummy_chance = chance;
	r.slots = slots;
	r.n_slots = 1;
	return rd_randomizer_read(&r, d, &err);
}

static void a_dummy_by_chance_is_for_rows_that_have_it_and_written_as_read(void **state)
{
	struct rd_randomizer_wire wire_of;
	struct rd_descriptor d;

	(void)state;
	for (int in_slot = 0; in_slot < 2; in_slot++) {
		const char *row = in_slot ? "words" : "bins";

		assert_int_equal(take_rare(row, 0, 12345, in_slot, &d), CM_OK);
		rd_randomizer_wire(&d.params, &wire_of);
		assert_true((in_slot ? wire_of.slot[0].dummy_chance : wire_of.m.dummy_chance) == 12345);
		assert_true((in_slot ? wire_of.m.dummy_chance : d.params.slot[0].dummy_chance) == 0);
		assert_int_equal(d.protocol->messages(&d.params), 2);
		assert_int_equal(take_rare(row, 1022, UINT64_MAX, in_slot, &d), CM_OK);
		assert_int_equal(d.protocol->messages(&d.params), 1024);
		assert_int_equal(take_rare(row, 1023, 1, in_slot, &d), CM_EPROTO);
		assert_non_null(strstr(err.msg, "dummy_chance: above 1023 dummies"));
		assert_int_equal(take_rare(row, 1023, 0, in_slot, &d), CM_OK);
		assert_int_equal(take_rare(row, UINT32_MAX, 1, in_slot, &d), CM_EPROTO);
		assert_int_equal(take_rare(row, 0, 0, in_slot, &d), CM_EPROTO);
	}
	assert_int_equal(take_rare("grr", 0, 1, false, &d), CM_EPROTO);
	assert_string_equal(err.msg, "randomizer.dummy_chance: 'grr' has whole dummies only");
	assert_int_equal(take_rare("cheu", 1, 1, false, &d), CM_EPROTO);
	assert_non_null(strstr(err.msg, "whole dummies only"));
	assert_int_equal(take_rare("rotated", 0, 1, true, &d), CM_EPROTO);
	assert_string_equal(err.msg, "randomizer.slots.dummy_chance: 'rotated' has whole dummies only");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back),
		cmocka_unit_test(what_no_shuffler_could_do_is_refused),
		cmocka_unit_test(a_message_is_longer_by_its_tag),
		cmocka_unit_test(a_class_counts_its_honest_participants_only),
		cmocka_unit_test(messages_of_a_tag_are_not_all_honest),
		cmocka_unit_test(what_is_dropped_of_colluders_tells_nothing_that_is_not_charged),
		cmocka_unit_test(one_who_is_honest_is_alone),
		cmocka_unit_test(without_the_shuffler_nothing_is_filled_up),
		cmocka_unit_test(noise_is_for_rows_that_take_it_and_written_as_read),
		cmocka_unit_test(a_dummy_by_chance_is_for_rows_that_have_it_and_written_as_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
