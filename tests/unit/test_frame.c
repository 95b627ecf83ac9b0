/* test_frame.c - framing: streams of bytes to whole frames. */
#include "wire_bytes.h"

#include "pr_frame.h"

static struct cm_err err;

static void put_frame(struct cm_buf *b, const char *body)
{
	uint8_t prefix[4];

	cm_put_be32(prefix, (uint32_t)strlen(body));
	wb_put(b, prefix, 4);
	wb_put(b, body, strlen(body));
}

static void a_prefix_of_a_frame_asks_for_more(void **state)
{
	struct cm_buf b;
	const uint8_t *body = NULL;
	size_t len = 77;

	(void)state;
	cm_buf_init(&b, 64);
	put_frame(&b, "abcde");
	for (size_t n = 0, whole = b.len; n < whole; n++) {
		b.len = n;
		assert_int_equal(pr_frame_next(&b, &body, &len, &err), CM_EMORE);
		assert_null(body);
		assert_int_equal(len, 77);
	}
	cm_buf_fini(&b);
}

static void a_length_over_the_maximum_is_refused_from_its_four_bytes(void **state)
{
	static const uint8_t bad[][4] = {
		{ 0xff, 0xff, 0xff, 0xff }, { 0x80, 0, 0, 0 }, { 0x7f, 0xff, 0xff, 0xff },
		{ 0, 0x10, 0, 1 }, /* 2^20 + 1 */
	};
	const uint8_t *body;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct cm_buf b;

		cm_buf_init(&b, 64);
		wb_put(&b, bad[i], 4);
		assert_int_equal(pr_frame_next(&b, &body, &len, &err), CM_EPROTO);
		assert_true(b.cap <= 256);
		cm_buf_fini(&b);
	}
}

static void the_longest_frame_is_accepted(void **state)
{
	static const uint8_t prefix[4] = { 0, 0x10, 0, 0 };
	struct cm_buf b;
	const uint8_t *body;
	uint8_t *room;
	size_t len;

	(void)state;
	cm_buf_init(&b, PR_FRAME_MAX + 4);
	wb_put(&b, prefix, 4);
	assert_int_equal(pr_frame_next(&b, &body, &len, &err), CM_EMORE);
	room = cm_buf_room(&b, PR_FRAME_MAX);
	assert_non_null(room);
	memset(room, 1, PR_FRAME_MAX);
	b.len += PR_FRAME_MAX;
	assert_int_equal(pr_frame_next(&b, &body, &len, &err), CM_OK);
	assert_int_equal(len, PR_FRAME_MAX);
	cm_buf_fini(&b);
}

static void an_empty_frame_is_a_frame(void **state)
{
	struct cm_buf b;
	const uint8_t *body;
	size_t len = 1;

	(void)state;
	cm_buf_init(&b, 64);
	put_frame(&b, "");
	assert_int_equal(pr_frame_next(&b, &body, &len, &err), CM_OK);
	assert_int_equal(len, 0);
	cm_buf_fini(&b);
}

/* Feed `stream` in pieces of `step` bytes; join the bodies with '|'. */
static void read_in_steps(const struct cm_buf *stream, size_t step, char *joined)
{
	struct cm_buf in;

	cm_buf_init(&in, 256);
	*joined = '\0';
	for (size_t at = 0; at < stream->len; at += step) {
		size_t n = stream->len - at < step ? stream->len - at : step, len;
		const uint8_t *body;

		wb_put(&in, stream->data + at, n);
		while (pr_frame_next(&in, &body, &len, &err) == CM_OK) {
			strncat(joined, (const char *)body, len);
			strcat(joined, "|");
			cm_buf_drop(&in, 4 + len);
		}
	}
	assert_int_equal(in.len, 0);
	cm_buf_fini(&in);
}

static void bytes_one_by_one_give_the_same_frames_as_all_at_once(void **state)
{
	struct cm_buf b;
	char joined[128];

	(void)state;
	cm_buf_init(&b, 256);
	put_frame(&b, "first");
	put_frame(&b, "");
	put_frame(&b, "the third");
	put_frame(&b, "4");
	for (size_t step = 1; step <= b.len; step++) {
		read_in_steps(&b, step, joined);
		assert_string_equal(joined, "first||the third|4|");
	}
	cm_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_prefix_of_a_frame_asks_for_more),
		cmocka_unit_test(a_length_over_the_maximum_is_refused_from_its_four_bytes),
		cmocka_unit_test(the_longest_frame_is_accepted),
		cmocka_unit_test(an_empty_frame_is_a_frame),
		cmocka_unit_test(bytes_one_by_one_give_the_same_frames_as_all_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
