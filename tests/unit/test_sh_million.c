/* test_sh_million.c - a million submissions through core and store: counted once each, in bounded memory. */
#include "sh_play.h"

#include <string.h>
#include <sys/resource.h>

#define DEVICES   1000000u
#define LIMIT_MIB 256
#define FRAME     4096u

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURED 0 /* shadow memory is not the shuffler's */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEASURED 0
#endif
#endif
#ifndef MEASURED
#define MEASURED 1
#endif

static void a_million_submissions_are_counted_once_within_256_mib(void **state)
{
	static struct sh_play play;
	static struct sh_receipt receipt;
	uint8_t *seen = calloc(DEVICES, 1);
	struct rusage used;
	uint64_t total = 0;

	(void)state;
	assert_non_null(seen);
	sh_play_init(&play);
	sh_play_start(&play);
	sh_play_round(&play, &(struct sh_wish){ .target = DEVICES });
	for (uint64_t at = 0; at < DEVICES; at += FRAME) {
		size_t n = DEVICES - at < FRAME ? DEVICES - at : FRAME;
		if (sh_play_submit(&play, 1, DEVICES, at, n, &receipt) != CM_OK)
			fail_msg("submit: %s", play.no.text);
		if (at / FRAME % 16 == 15)
			sh_play_work(&play);
	}
	sh_play_work(&play);
	assert_null(sh_core_collecting(play.core));
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, DEVICES);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	size_t len = rd_sealed_len(&play.d);
	for (uint32_t b = 0; b < play.manifest.buckets; b++)
		for (uint64_t at = 0;;) {
			struct cr_span part;
			assert_int_equal(sh_play_segment(&play, b, at, 1000000, &part), CM_OK);
			if (part.len == 0)
				break;
			for (size_t i = 0; i < part.len; i += len, at++) {
				uint64_t device = cm_get_le64((const uint8_t *)part.data + i);
				assert_true(device < DEVICES && !seen[device]);
				seen[device] = 1;
				total++;
			}
		}
	assert_int_equal(total, DEVICES);
	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	print_message("resident at most %ld MiB\n", used.ru_maxrss / 1024);
	if (MEASURED)
		assert_true(used.ru_maxrss / 1024 < LIMIT_MIB);
	sh_play_fini(&play);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_million_submissions_are_counted_once_within_256_mib),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
