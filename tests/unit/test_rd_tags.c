/* test_rd_tags.c - what a descriptor may say of tags and noise, and what follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pr_limits.h"
#include "pt_protocol.h"
#include "rd_randomizer.h"
#include "rd_tags.h"

static struct cm_err err;

static void route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)p;
	(void)value;
	(void)records;
	tags[0] = 0;
}

static void dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	(void)p;
	(void)tag;
	(void)rng;
	record[0] = 0;
}

/* The arguments that the row was last called with. */
static struct pt_randomizer seen;

static enum cm_rc loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *e)
{
	(void)participants;
	(void)e;
	seen = *p;
	out->parts = 1;
	return CM_OK;
}

static uint32_t three(const struct pt_randomizer *p)
{
	(void)p;
	return 3;
}

static const struct pt_device full = { .name = "full", .messages = three, .route = route, .dummy = dummy },
			      silent = { .name = "silent", .route = route },
			      none = { .name = "none", .dummy = dummy };
static const struct pt_protocol row_of_full = { .device = &full, .loss = loss };

/* This test's rows are not in the table. */
const struct pt_protocol *__real_pt_protocol_of(const struct pt_device *device);
const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device);

const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device)
{
	return device == &full ? &row_of_full : __real_pt_protocol_of(device);
}

static Tombola__V1__ShufflerPart wire(uint32_t tags, uint64_t messages, size_t n, uint32_t *least)
{
	Tombola__V1__ShufflerPart r = TOMBOLA__V1__SHUFFLER_PART__INIT;

	r.tags = tags;
	r.tag_messages = messages;
	r.n_tag_least = n;
	r.tag_least = least;
	return r;
}

static enum cm_rc take(const struct pt_device *row, Tombola__V1__ShufflerPart r, struct pt_randomizer *p)
{
	memset(p, 0xff, sizeof *p);
	p->row = row;
	return rd_tags_read(&r, p, &err);
}

static void what_is_written_is_read_back(void **state)
{
	uint32_t least[3] = { 5, 1, PR_ROUND_REPORTS_MAX };
	struct pt_randomizer p, back;

	(void)state;
	const Tombola__V1__ShufflerPart good[] = { wire(0, 0, 0, NULL), wire(PT_TAGS_MAX, 152, 0, NULL),
		wire(3, 0, 3, least), wire(7, 0, 0, NULL), wire(1, PT_SHUFFLER_DUMMIES_MAX, 0, NULL) };
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		Tombola__V1__ShufflerPart r = TOMBOLA__V1__SHUFFLER_PART__INIT;
		if (take(&full, good[i], &p) != CM_OK)
			fail_msg("%zu: %s", i, err.msg);
		rd_tags_fill(&p.shuffler, &r);
		assert_int_equal(take(&full, r, &back), CM_OK);
		assert_true(back.shuffler.tags == good[i].tags &&
			    back.shuffler.tag_messages == good[i].tag_messages);
		for (size_t j = 0; j < PT_SLOTS_MAX; j++)
			assert_int_equal(back.shuffler.tag_least[j], j < good[i].n_tag_least ? least[j] : 0);
	}
}

static void what_no_shuffler_could_do_is_refused(void **state)
{
	uint32_t least[PT_SLOTS_MAX + 1], zero[2] = { 1, 0 }, huge[2] = { 1, PR_ROUND_REPORTS_MAX + 1 };
	struct pt_randomizer p;

	(void)state;
	for (size_t i = 0; i <= PT_SLOTS_MAX; i++)
		least[i] = 1;
	Tombola__V1__ShufflerPart both = wire(2, 5, 0, NULL);
	both.dummies = 1;
	const struct {
		const struct pt_device *row;
		Tombola__V1__ShufflerPart r;
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
	struct rd_descriptor d = { .record_len = 16,
		.messages_per_client = 3,
		.randomizer = { .row = &full, .shuffler.dummies = 5 } };

	(void)state;
	assert_int_equal(rd_message_len(&d), rd_sealed_len(&d));
	assert_int_equal(rd_messages(&d, 7), 26);
	d.randomizer = (struct pt_randomizer){ .row = &full, .shuffler.tags = 2 };
	assert_int_equal(rd_message_len(&d), rd_sealed_len(&d) + PR_TAG_LEN);
	assert_int_equal(rd_messages(&d, 7), 21);
	d.randomizer.shuffler.tag_messages = 4;
	assert_int_equal(rd_messages(&d, 7), 8);
}

/* Dishonest participants may choose the class that hurts most, in a batch of the greatest size. */
static void a_class_counts_its_honest_participants_only(void **state)
{
	struct rd_descriptor d = { .min_reports = 1000,
		.target = 2000,
		.randomizer = { .row = &full, .shuffler = { .tags = 2, .tag_least = { 300, 30 } } } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, 1000, true, &out, &err), CM_OK);
	assert_true(seen.shuffler.tag_least[0] == 300 && seen.shuffler.tag_least[1] == 30);
	assert_int_equal(rd_loss_for(&d, 950, true, &out, &err), CM_OK);
	assert_in_range(seen.shuffler.tag_least[0], 199, 200);
	assert_int_equal(seen.shuffler.tag_least[1], 1);
	assert_int_equal(seen.shuffler.tag_least[2], 0);
}

/* A colluder may send all its messages with one tag: what hides the others there is fewer. */
static void messages_of_a_tag_are_not_all_honest(void **state)
{
	struct rd_descriptor d = { .messages_per_client = 3,
		.min_reports = 1000,
		.target = 2000,
		.randomizer = { .row = &full, .shuffler = { .tags = 2, .tag_messages = 500 } } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, 1000, true, &out, &err), CM_OK);
	assert_int_equal(seen.shuffler.tag_messages, 500);
	/* 50 of 1000, so 100 of 2000, with three messages each. */
	assert_int_equal(rd_loss_for(&d, 950, true, &out, &err), CM_OK);
	assert_in_range(seen.shuffler.tag_messages, 197, 200);
	assert_int_equal(rd_loss_for(&d, 900, true, &out, &err), CM_OK);
	assert_int_equal(seen.shuffler.tag_messages, 1);
}

/* Where the victim's value says what it sends, a colluder learns by what is dropped whether it sent this. Two
 * of a tag are left; one other participant sends it, and a colluder: its message goes with chance 1/3 if the
 * victim sends it too, and never if it does not. */
static void what_is_dropped_of_colluders_tells_nothing_that_is_not_charged(void **state)
{
	struct qy_query q = { .kind = QY_VECTOR, .dimension = 2, .high = 1 };
	const struct pt_request r = { .epsilon0 = 0.5, .levels = 2, .size = 1, .padded = 2 };
	struct rd_descriptor d = { .messages_per_client = 1, .min_reports = 3, .target = 3 };
	struct acct_bound delta;
	struct pt_loss out;

	(void)state;
	assert_int_equal(pt_derive(pt_find("ss-topk"), &q, &r, &d.randomizer, &err), CM_OK);
	assert_int_equal(rd_loss_for(&d, 2, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper >= 1.0 / 3);
	/* Which message is dropped says nothing, since nobody is told whose it is. */
	assert_int_equal(rd_loss_for(&d, 3, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper < 1e-9);
	/* Nothing is dropped where all have room. */
	d.randomizer.shuffler.tag_messages = 3;
	assert_int_equal(rd_loss_for(&d, 2, true, &out, &err), CM_OK);
	assert_int_equal(acct_delta(out.part, out.parts, 3, &delta), ACCT_OK);
	assert_true(delta.upper < 1e-9);
}

/* 950 of the 1000 in the largest batch may be anybody, and with a batch as small as can be the one honest
 * participant is the victim. */
static void one_who_is_honest_is_alone(void **state)
{
	struct rd_descriptor d = { .min_reports = 10,
		.target = 1000,
		.randomizer = { .row = &full, .shuffler = { .tags = 2, .tag_least = { 930, 10 } } } };
	struct pt_loss out;

	(void)state;
	assert_int_equal(rd_loss_for(&d, rd_honest(10, 0.05, 0), true, &out, &err), CM_OK);
	assert_true(seen.shuffler.tag_least[0] == 1 && seen.shuffler.tag_least[1] == 1);
}

static void without_the_shuffler_nothing_is_filled_up(void **state)
{
	struct rd_descriptor d = { .min_reports = 10,
		.target = 10,
		.randomizer = { .row = &full, .shuffler = { .tags = 2, .tag_messages = 9, .dummies = 3 } } };
	struct pt_loss out;

	(void)state;
	assert_true(pt_rests_on_shuffler(&d.randomizer));
	assert_int_equal(rd_loss_for(&d, 10, true, &out, &err), CM_OK);
	assert_true(seen.shuffler.tag_messages == 9 && seen.shuffler.dummies == 3);
	assert_int_equal(rd_loss_for(&d, 10, false, &out, &err), CM_OK);
	assert_true(seen.shuffler.tags == 2 && !pt_rests_on_shuffler(&seen));
}

/* A peer's randomizer of a row, with these parameters. */
static enum cm_rc take_row(const char *protocol, const struct pt_randomizer *p, struct rd_descriptor *d)
{
	static char *category[] = { "a", "b", "c" };
	struct pt_randomizer of_row = *p;
	struct rd_randomizer_wire w;

	of_row.row = pt_device_find(protocol);
	*d = (struct rd_descriptor){ .query = { .kind = QY_HISTOGRAM, .category = category, .categories = 3 },
		.messages_per_client = 1 };
	if (of_row.row->kinds == QY_VECTOR)
		d->query = (struct qy_query){ .kind = QY_VECTOR, .dimension = 2, .low = -1, .high = 1 };
	rd_randomizer_wire(&of_row, &w);
	return rd_randomizer_read(&w.m, &d->query, &d->randomizer, &err);
}

static enum cm_rc take_noise(const char *protocol, uint64_t decay, uint32_t mean, struct rd_descriptor *d)
{
	const struct pt_randomizer p = { .shuffler = { .noise_decay = decay, .noise_mean = mean },
		.mixbins = { .bins = 3, .keep_always = true } };

	return take_row(protocol, &p, d);
}

static void noise_is_for_rows_that_take_it_and_written_as_read(void **state)
{
	const uint64_t decay = UINT64_C(0x9b4597e37cb04ff3); /* e^-0.5 */
	struct rd_randomizer_wire wire_of;
	struct rd_descriptor d;

	(void)state;
	assert_int_equal(take_noise("bins", decay, 30, &d), CM_OK);
	assert_true(d.randomizer.shuffler.noise_decay == decay && d.randomizer.shuffler.noise_mean == 30);
	rd_randomizer_wire(&d.randomizer, &wire_of);
	assert_true(wire_of.shuffler.noise_decay == decay && wire_of.m.shuffler->noise_mean == 30);
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
	struct pt_randomizer p = {
		.mixbins = { .bins = 3, .keep_always = true, .dummies = dummies, .dummy_chance = chance }
	};
	struct pt_randomizer slots = { .slots = { .kinds = 1,
					       .slot = { { .count = 1,
						       .groups = 1,
						       .each = { .bins = 4,
							       .keep_always = true,
							       .dummies = dummies,
							       .dummy_chance = chance } } } } };

	return take_row(protocol, in_slot ? &slots : &p, d);
}

static void a_dummy_by_chance_is_for_rows_that_have_it_and_written_as_read(void **state)
{
	struct rd_randomizer_wire wire_of;
	struct rd_descriptor d, back;

	(void)state;
	for (int in_slot = 0; in_slot < 2; in_slot++) {
		const char *row = in_slot ? "words" : "bins";

		assert_int_equal(take_rare(row, 0, 12345, in_slot, &d), CM_OK);
		back = d;
		rd_randomizer_wire(&d.randomizer, &wire_of);
		assert_int_equal(rd_randomizer_read(&wire_of.m, &back.query, &back.randomizer, &err), CM_OK);
		assert_true(pt_randomizer_equal(&d.randomizer, &back.randomizer));
		assert_true((in_slot ? back.randomizer.slots.slot[0].each.dummy_chance
				     : back.randomizer.mixbins.dummy_chance) == 12345);
		assert_int_equal(d.randomizer.row->messages(&d.randomizer), 2);
		assert_int_equal(take_rare(row, 1022, UINT64_MAX, in_slot, &d), CM_OK);
		assert_int_equal(d.randomizer.row->messages(&d.randomizer), 1024);
		assert_int_equal(take_rare(row, 1023, 1, in_slot, &d), CM_EPROTO);
		assert_int_equal(take_rare(row, 1023, 0, in_slot, &d), CM_OK);
		assert_int_equal(take_rare(row, UINT32_MAX, 1, in_slot, &d), CM_EPROTO);
		assert_int_equal(take_rare(row, 0, 0, in_slot, &d), CM_EPROTO);
	}
	assert_int_equal(take_rare("marginals", 0, 1, true, &d), CM_EPROTO);
	assert_int_equal(take_rare("rotated", 0, 1, true, &d), CM_EPROTO);
	assert_non_null(strstr(err.msg, "rotated: has whole dummies only"));
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
