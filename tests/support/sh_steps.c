/* sh_steps.c - steps that many tests of the shuffler repeat. */
#include "sh_steps.h"

#include <string.h>
#include <sys/stat.h>

struct sh_play play;
struct sh_receipt receipt;

int steps_set_up(void **state)
{
	(void)state;
	sh_play_init(&play);
	sh_play_start(&play);
	return 0;
}

int steps_tear_down(void **state)
{
	(void)state;
	sh_play_fini(&play);
	return 0;
}

void steps_refused(enum cm_rc rc, Tombola__V1__ErrorCode code)
{
	assert_int_equal(rc, CM_EPROTO);
	if (play.no.code != code)
		fail_msg("code %d: %s", play.no.code, play.no.text);
}

void steps_submit(unsigned certificate, uint64_t first, size_t n)
{
	if (sh_play_submit(&play, certificate, 1000000, first, n, &receipt) != CM_OK)
		fail_msg("submit: %s", play.no.text);
}

void steps_all_are(Tombola__V1__Outcome outcome)
{
	for (size_t i = 0; i < receipt.n; i++)
		if (receipt.outcomes[i] != outcome)
			fail_msg("outcome %zu is %u", i, receipt.outcomes[i]);
}

void steps_accepted(unsigned certificate, uint64_t first, size_t n)
{
	steps_submit(certificate, first, n);
	steps_all_are(OUTCOME(ACCEPTED));
}

void steps_restart(void)
{
	sh_play_stop(&play);
	sh_play_start(&play);
}

char *steps_place(char out[256], const char *folder, const char *suffix)
{
	char id[33];

	cm_hex(play.d.round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(out, 256, "%s/%s/%s%s", play.dir, folder, id, suffix);
	return out;
}

bool steps_file_exists(const char *folder, const char *suffix)
{
	char path[256];
	struct stat st;

	if (play.database[0] && strcmp(folder, "rounds") == 0)
		return strcmp(suffix, ".db") == 0 && sh_play_has_data(&play, play.d.round_id);
	return stat(steps_place(path, folder, suffix), &st) == 0;
}

void steps_each_once(const struct cm_buf *pulled, uint64_t devices)
{
	size_t len = rd_sealed_len(&play.d), each = play.d.messages_per_client;
	uint8_t *seen = calloc(devices, each), want[PR_SEALED_MAX];

	assert_non_null(seen);
	assert_int_equal(pulled->len, devices * each * len);
	for (size_t at = 0; at < pulled->len; at += len) {
		uint64_t device = cm_get_le64(pulled->data + at);
		uint32_t number = cm_get_le32(pulled->data + at + 8);
		assert_true(device < devices && number < each);
		assert_int_equal(seen[device * each + number]++, 0);
		sh_play_message(device, number, want, len);
		assert_memory_equal(pulled->data + at, want, len);
	}
	free(seen);
}

void steps_pull_each_once(uint64_t devices)
{
	struct cm_buf pulled;

	cm_buf_init(&pulled, 256u << 20);
	sh_play_pull(&play, 4000, &pulled);
	steps_each_once(&pulled, devices);
	cm_buf_fini(&pulled);
}

void steps_release_all(uint64_t devices)
{
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, devices);
	sh_play_charge(&play);
	if (sh_play_release(&play) != CM_OK)
		fail_msg("release: %s", play.no.text);
	steps_pull_each_once(devices);
}

void steps_void(void)
{
	assert_int_equal(sh_play_void(&play), CM_OK);
}
