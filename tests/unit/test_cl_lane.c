/* test_cl_lane.c - what a program is given and what counts as its answer; frames of the spawner; slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cl_lane.h"
#include "cl_slots.h"
#include "cl_spawn_frame.h"

#define SECOND 1000000000LL

static const uint8_t payload[] = { 'p', 'a', 'y' };
static const struct cl_lane_job job = {
	.features = 2, .classes = 5, .dimension = 2, .payload = payload, .payload_len = sizeof payload
};
static const uint8_t row[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 4, 0, 0, 0 };

/* Take all that is to be written, some bytes at a time. */
static size_t drain(struct cl_lane *l, size_t most, uint8_t *out)
{
	const uint8_t *bytes;
	size_t n, all = 0;

	while ((n = cl_lane_next(l, &bytes)) > 0) {
		n = n < most ? n : most;
		memcpy(out + all, bytes, n);
		cl_lane_wrote(l, n);
		all += n;
	}
	return all;
}

static struct cl_lane open_lane(void)
{
	struct cl_lane l;
	struct cm_err err;

	assert_int_equal(cl_lane_init(&l, &job, &err), CM_OK);
	cl_lane_begin(&l);
	return l;
}

static void the_input_is_head_payload_and_rows(void **state)
{
	static const uint8_t want[] = { 16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0,
		0, 'p', 'a', 'y', 12, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 0, 0, 0 };
	uint8_t out[128];

	(void)state;
	for (size_t most = 1; most <= sizeof want; most++) {
		struct cl_lane l = open_lane();

		cl_lane_give(&l, row);
		assert_int_equal(drain(&l, most, out), sizeof want);
		assert_memory_equal(out, want, sizeof want);
		/* For the next device only its frame is written. */
		cl_lane_give(&l, row);
		assert_int_equal(drain(&l, most, out), 16);
		assert_memory_equal(out, want + sizeof want - 16, 16);
		cl_lane_fini(&l);
	}
}

static void an_answer_has_its_length_and_comes_after_the_question(void **state)
{
	static const uint8_t said[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	uint8_t out[128];

	(void)state;
	for (size_t n = 0; n <= sizeof said; n++) {
		struct cl_lane l = open_lane();

		cl_lane_give(&l, row);
		assert_null(cl_lane_answer(&l));
		(void)drain(&l, 7, out);
		for (size_t i = 0; i < n; i++)
			cl_lane_read(&l, said + i, 1);
		assert_int_equal(cl_lane_answer(&l) != NULL, n == 8);
		assert_int_equal(cl_lane_goes_on(&l), n == 8);
		cl_lane_read(&l, NULL, 0);
		assert_int_equal(cl_lane_answer(&l) != NULL, n == 8);
		assert_false(cl_lane_goes_on(&l));
		cl_lane_fini(&l);
	}
	/* An answer that is given before the reading is known does not depend on it. */
	for (int whole = 0; whole < 2; whole++) {
		struct cl_lane l = open_lane();

		cl_lane_give(&l, row);
		if (whole)
			(void)drain(&l, 128, out);
		cl_lane_read(&l, said, 8);
		assert_int_equal(cl_lane_answer(&l) != NULL, whole);
		cl_lane_fini(&l);
	}
}

static void an_answer_is_of_one_device(void **state)
{
	static const uint8_t said[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct cl_lane l = open_lane();
	uint8_t out[128];

	(void)state;
	cl_lane_give(&l, row);
	(void)drain(&l, 128, out);
	cl_lane_read(&l, said, 8);
	assert_memory_equal(cl_lane_answer(&l), said, 8);
	cl_lane_give(&l, row);
	assert_null(cl_lane_answer(&l));
	(void)drain(&l, 128, out);
	assert_null(cl_lane_answer(&l));
	/* A new process knows nothing, so it gets everything again. */
	cl_lane_begin(&l);
	assert_true(drain(&l, 128, out) > 16);
	cl_lane_fini(&l);
}

/* ---- frames ---- */

static const struct cl_spawn_frame frames[] = {
	{ .kind = CL_SPAWN_BEGIN,
		.job = 1,
		.program = 2,
		.features = 3,
		.classes = 4,
		.dimension = 5,
		.budget_ns = 6000000000,
		.keep = 3,
		.bytes = payload,
		.len = 3 },
	{ .kind = CL_SPAWN_BEGIN, .job = 0xffffffff, .budget_ns = UINT64_MAX },
	{ .kind = CL_SPAWN_ROW, .job = 7, .serial = 8, .lane = 9, .bytes = row, .len = sizeof row },
	{ .kind = CL_SPAWN_END, .job = 10 },
	{ .kind = CL_SPAWN_READY, .job = 11 },
	{ .kind = CL_SPAWN_ANSWER, .job = 12, .serial = 13, .bytes = row, .len = 4 },
	{ .kind = CL_SPAWN_ANSWER, .job = 12, .serial = 13 },
};
#define FRAMES (sizeof frames / sizeof frames[0])

static void frames_are_read_as_they_were_written(void **state)
{
	struct cm_buf b, part;
	struct cm_err err;
	size_t at = 0, taken = 0;
	struct cl_spawn_frame f;

	(void)state;
	cm_buf_init(&b, CL_SPAWN_MAX);
	for (size_t i = 0; i < FRAMES; i++)
		assert_int_equal(cl_spawn_put(&b, &frames[i]), CM_OK);
	for (size_t i = 0; i < FRAMES; i++, at += taken) {
		assert_int_equal(cl_spawn_take(&b, at, &f, &taken, &err), CM_OK);
		assert_int_equal(f.len, frames[i].len);
		assert_true(f.len == 0 || memcmp(f.bytes, frames[i].bytes, f.len) == 0);
		f.bytes = frames[i].bytes;
		assert_int_equal(f.kind, frames[i].kind);
		assert_int_equal(f.job, frames[i].job);
		assert_int_equal(f.serial, frames[i].serial);
		assert_int_equal(f.lane, frames[i].lane);
		assert_int_equal(f.program, frames[i].program);
		assert_int_equal(f.features, frames[i].features);
		assert_int_equal(f.classes, frames[i].classes);
		assert_int_equal(f.dimension, frames[i].dimension);
		assert_true(f.budget_ns == frames[i].budget_ns && f.keep == frames[i].keep);
		/* A part of it is none. */
		for (size_t n = 0; n < taken; n++) {
			part = (struct cm_buf){ .data = b.data, .len = at + n, .cap = b.cap, .max = b.max };
			assert_int_equal(cl_spawn_take(&part, at, &f, &(size_t){ 0 }, &err), CM_EMORE);
		}
	}
	assert_int_equal(at, b.len);
	cm_buf_fini(&b);
}

static void what_is_no_frame_is_refused(void **state)
{
	static const uint8_t bad[][9] = { { 5, 0, 0, 0, 0, 1, 1, 1, 1 }, { 5, 0, 0, 0, 6, 1, 1, 1, 1 },
		{ 0, 0, 0, 0, 3 }, { 4, 0, 0, 0, 3, 1, 1, 1 }, { 6, 0, 0, 0, 3, 1, 1, 1, 1 },
		{ 0xff, 0xff, 0xff, 0xff, 2 }, { 12, 0, 0, 0, 2 }, { 29, 0, 0, 0, 1 }, { 8, 0, 0, 0, 5 } };
	struct cl_spawn_frame f;
	struct cm_err err;
	size_t taken;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		uint8_t bytes[9];
		const struct cm_buf b = {
			.data = bytes, .len = sizeof bytes, .cap = sizeof bytes, .max = sizeof bytes
		};

		memcpy(bytes, bad[i], sizeof bytes);
		assert_int_equal(cl_spawn_take(&b, 0, &f, &taken, &err), CM_EDATA);
	}
}

/* ---- slots ---- */

static int64_t length(size_t devices, size_t at_once, double seconds)
{
	return cl_slots_length(&(struct cl_slots_of){ devices, at_once, seconds, 0, false });
}

static void slots_are_where_they_were_fixed(void **state)
{
	struct cl_slots s;
	int64_t end, first = 50 * SECOND + CL_SLOTS_BEGIN_NS;

	(void)state;
	/* One slot of 16 is spare, and at least one. */
	assert_true(length(10, 4, 0.5) == CL_SLOTS_BEGIN_NS + 4 * SECOND / 2);
	assert_true(length(1, 64, 3600) == CL_SLOTS_BEGIN_NS + 2 * 3600 * SECOND);
	assert_true(length(32, 1, 1) == CL_SLOTS_BEGIN_NS + 35 * SECOND);
	assert_true(length(10000000, 1, 3600) == INT64_MAX);
	assert_true(length(0, 4, 0.5) == CL_SLOTS_BEGIN_NS);
	assert_true(cl_slots_budget(SECOND) == 750000000);
	cl_slots_init(&s, 50 * SECOND, &(struct cl_slots_of){ 10, 4, 0.5, 0, false });
	/* Being a little late or early moves no slot. */
	assert_int_equal(cl_slots_take(&s, first + SECOND / 20, &end), 4);
	assert_true(end == first + SECOND / 2);
	assert_int_equal(cl_slots_take(&s, end, &end), 4);
	assert_true(end == first + SECOND);
	/* The end of all is the end of the spare slot. */
	assert_int_equal(cl_slots_take(&s, end, &end), 2);
	assert_true(end == first + 3 * SECOND / 2);
	assert_int_equal(cl_slots_take(&s, end, &end), 0);
	assert_true(end == first + 2 * SECOND);
}

static void a_late_machine_does_not_move_the_end(void **state)
{
	struct cl_slots s;
	int64_t end, first = 50 * SECOND + CL_SLOTS_BEGIN_NS;

	(void)state;
	/* The machine is late by less than the spare slot: every device still has its slot. */
	cl_slots_init(&s, 50 * SECOND, &(struct cl_slots_of){ 10, 4, 0.5, 0, false });
	assert_int_equal(cl_slots_take(&s, first + SECOND / 4, &end), 4);
	assert_true(end == first + 3 * SECOND / 4);
	assert_int_equal(cl_slots_take(&s, end, &end), 4);
	assert_int_equal(cl_slots_take(&s, end, &end), 2);
	assert_true(end == first + 7 * SECOND / 4);
	assert_int_equal(cl_slots_take(&s, end, &end), 0);
	assert_true(end == first + 2 * SECOND);
	/* The machine is later than that: the devices that are left have no slot, and the end is the same. */
	cl_slots_init(&s, 50 * SECOND, &(struct cl_slots_of){ 10, 4, 0.5, 0, false });
	assert_int_equal(cl_slots_take(&s, first + SECOND, &end), 4);
	assert_int_equal(cl_slots_take(&s, end + SECOND / 4, &end), 0);
	assert_true(end == first + 2 * SECOND);
	assert_int_equal(cl_slots_take(&s, first + 9 * SECOND, &end), 0);
	assert_true(end == first + 2 * SECOND);
}

/* Four processes are fed 16 MiB each in a second: in each slot, or before the first. */
static void a_payload_has_its_time(void **state)
{
	struct cl_slots_of of = { 10, 4, 0.5, 16 << 20, false };
	struct cl_slots s;
	int64_t end, first = 50 * SECOND + CL_SLOTS_BEGIN_NS;

	(void)state;
	assert_true(cl_slots_length(&of) == CL_SLOTS_BEGIN_NS + 4 * (SECOND + SECOND / 2));
	cl_slots_init(&s, 50 * SECOND, &of);
	assert_int_equal(cl_slots_take(&s, first, &end), 4);
	assert_true(end == first + SECOND + SECOND / 2);
	of.kept = true;
	assert_true(cl_slots_length(&of) == CL_SLOTS_BEGIN_NS + SECOND + 4 * SECOND / 2);
	cl_slots_init(&s, 50 * SECOND, &of);
	assert_int_equal(cl_slots_take(&s, first + SECOND, &end), 4);
	assert_true(end == first + SECOND + SECOND / 2);
	/* Of a smaller group less. */
	of.devices = 1;
	assert_true(cl_slots_length(&of) == CL_SLOTS_BEGIN_NS + SECOND / 4 + 2 * SECOND / 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_input_is_head_payload_and_rows),
		cmocka_unit_test(an_answer_has_its_length_and_comes_after_the_question),
		cmocka_unit_test(an_answer_is_of_one_device),
		cmocka_unit_test(frames_are_read_as_they_were_written),
		cmocka_unit_test(what_is_no_frame_is_refused),
		cmocka_unit_test(slots_are_where_they_were_fixed),
		cmocka_unit_test(a_late_machine_does_not_move_the_end),
		cmocka_unit_test(a_payload_has_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
