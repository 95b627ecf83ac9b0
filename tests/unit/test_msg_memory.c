/* test_msg_memory.c - the memory of a decoded message: few blocks, wiped when freed; and its contents. */
#include "wire_bytes.h"

#include <stdlib.h>

#include "pr_arena.h"
#include "pr_msg.h"
#include "pr_read.h"
#include "unpacked.h"

static struct cm_err err;

/* ---- an allocator that fails when told to, and looks at what is freed ---- */

void *__real_malloc(size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void __wrap_free(void *p);

static long fail_after = -1; /* allocations still granted; -1: all */
static uint8_t *watched;     /* the next allocated block, while watching */
static size_t watched_len;
static int watching, leaked_on_free;

void *__wrap_malloc(size_t n)
{
	void *p;

	if (fail_after == 0)
		return NULL;
	if (fail_after > 0)
		fail_after--;
	p = __real_malloc(n);
	if (watching && !watched && p) {
		memset(p, 0, n); /* the block is read to its end when it is freed */
		watched = p;
		watched_len = n;
	}
	return p;
}

void __wrap_free(void *p)
{
	if (watching && p && p == watched) {
		for (size_t i = 0; i + 8 <= watched_len; i++)
			leaked_on_free |= memcmp(watched + i, "SECRETSS", 8) == 0;
		watched = NULL;
	}
	__real_free(p);
}

/* ---- */

static void put_hello(struct cm_buf *frame)
{
	struct cm_buf b;

	cm_buf_init(&b, 8u << 20);
	wb_number(&b, 1, 1);
	wb_text(&b, 3, "SECRETSS and more");
	for (int i = 0; i < 40; i++)
		wb_number(&b, 50, 1);
	wb_bytes(frame, 1, b.data, b.len);
	cm_buf_fini(&b);
}

static void put_manifest(struct cm_buf *manifest)
{
	struct cm_buf bucket;

	cm_buf_init(&bucket, 8u << 20);
	wb_fill(&bucket, 2, 1, 32);
	wb_fill(manifest, 2, 1, 16);
	wb_fill(manifest, 3, 2, 32);
	for (int i = 0; i < 500; i++)
		wb_bytes(manifest, 8, bucket.data, bucket.len);
	cm_buf_fini(&bucket);
}

static void a_message_of_several_blocks_fails_cleanly_at_each(void **state)
{
	struct cm_buf manifest;
	long blocks = 0;
	enum cm_rc rc = CM_EINTERNAL;

	(void)state;
	cm_buf_init(&manifest, 8u << 20);
	put_manifest(&manifest);
	while (rc != CM_OK) {
		struct pr_arena *a = pr_arena_new(64);
		ProtobufCMessage *m = NULL;

		assert_non_null(a);
		fail_after = blocks;
		rc = pr_read(&tombola__v1__manifest__descriptor, manifest.data, manifest.len, a, &m, &err);
		fail_after = -1;
		assert_true(rc == CM_OK || rc == CM_EINTERNAL);
		pr_arena_free(a);
		blocks++;
	}
	/* blocks double, from 64 bytes to the 60,000 that 500 buckets take */
	assert_in_range(blocks, 8, 16);
	cm_buf_fini(&manifest);
}

static void without_memory_decoding_is_an_internal_fault_and_nothing_leaks(void **state)
{
	struct cm_buf frame;
	struct pr_frame f;

	(void)state;
	cm_buf_init(&frame, 8u << 20);
	put_hello(&frame);
	fail_after = 0;
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_EINTERNAL);
	fail_after = 1; /* one allocation is all a decode makes */
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_OK);
	fail_after = -1;
	pr_free(&f);
	cm_buf_fini(&frame);
}

static void a_freed_message_is_wiped(void **state)
{
	struct cm_buf frame;
	struct pr_frame f;

	(void)state;
	cm_buf_init(&frame, 8u << 20);
	put_hello(&frame);
	watching = 1;
	watched = NULL;
	leaked_on_free = 0;
	assert_int_equal(pr_decode(frame.data, frame.len, &f, &err), CM_OK);
	assert_string_equal(f.frame->hello->software, "SECRETSS and more");
	assert_non_null(watched);
	pr_free(&f);
	assert_null(watched); /* the freed block was that one */
	watching = 0;
	assert_false(leaked_on_free);
	pr_free(&f); /* twice is fine */
	cm_buf_fini(&frame);
}

/* xorshift64*: the test needs variety, not secrecy. */
static uint64_t next_random(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * UINT64_C(2685821657736338717);
}

static void what_is_read_is_what_protobuf_c_unpacks(void **state)
{
	uint64_t seed = 20240607;
	unsigned accepted = 0;
	struct cm_buf b, frame;

	(void)state;
	cm_buf_init(&b, 8u << 20);
	cm_buf_init(&frame, 8u << 20);
	for (int round = 0; round < 40000; round++) {
		uint32_t kind = (uint32_t)(next_random(&seed) % 20);
		unsigned flips = (unsigned)(next_random(&seed) % 4);
		struct pr_frame f;
		enum cm_rc rc;

		b.len = frame.len = 0;
		wb_fill(&b, 1, 'a', next_random(&seed) % 2 ? 16 : 5);
		for (unsigned i = (unsigned)(next_random(&seed) % 50); i > 0; i--)
			wb_fill(&b, (uint32_t)(20 + next_random(&seed) % 9), 'b', next_random(&seed) % 40);
		wb_fill(&b, 3, 'c', 1 + next_random(&seed) % 100);
		if (next_random(&seed) % 2)
			wb_fill(&b, 2, 'd', 32u << next_random(&seed) % 2);
		wb_bytes(&frame, kind == 0 ? 77 : kind, b.data, b.len);
		for (; flips > 0; flips--)
			frame.data[next_random(&seed) % frame.len] ^= (uint8_t)(1u << next_random(&seed) % 8);
		rc = pr_decode(frame.data, frame.len, &f, &err);
		accepted += rc == CM_OK;
		assert_true(rc != CM_OK || unpacks_to(&tombola__v1__frame__descriptor, frame.data, frame.len,
						   &f.frame->base));
		pr_free(&f);
	}
	assert_true(accepted > 2000 && accepted < 38000);
	cm_buf_fini(&frame);
	cm_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_of_several_blocks_fails_cleanly_at_each),
		cmocka_unit_test(without_memory_decoding_is_an_internal_fault_and_nothing_leaks),
		cmocka_unit_test(a_freed_message_is_wiped),
		cmocka_unit_test(what_is_read_is_what_protobuf_c_unpacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
