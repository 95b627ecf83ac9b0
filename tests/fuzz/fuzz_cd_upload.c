/* fuzz_cd_upload.c - any order of frames given, sent, answered (well, for other bytes, of another length) and
 * connections lost, against a model that knows where each frame is: no slot is answered twice or without a
 * receipt over its own bytes, and none is lost. */
#include <stdlib.h>
#include <string.h>

#include "cd_upload.h"
#include "fuzz_sign.h"
#include "must.h"

#define FRAMES_MAX  24u /* frames of a run */
#define HELD        7u  /* frames that the memory has */
#define CONNECTIONS 3u
#define WINDOW      2u
#define DEVICE_LEN  16u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAITS = -1, ANSWERED = -2 };

struct model {
	struct cd_upload *u;
	int at[FRAMES_MAX]; /* WAITS, ANSWERED, or its connection */
	size_t given;
};

static uint8_t key = 1;
static const uint8_t round_id[PR_ROUND_ID_LEN] = { 1, 2, 3 };
static const struct rd_receipt_shape shape = { 2, DEVICE_LEN / 2, 0 };

/* Devices of a frame: one or two. */
static size_t devices(size_t frame)
{
	return 1 + frame % 2;
}

static size_t count(const struct model *m, int at)
{
	size_t n = 0;

	for (size_t i = 0; i < m->given; i++)
		n += m->at[i] == at;
	return n;
}

static void give(struct model *m)
{
	struct cd_frame_room room;
	bool held = m->given - count(m, ANSWERED) < HELD;
	size_t n = devices(m->given);

	must(cd_upload_room(m->u, &room) == held);
	if (!held || m->given == FRAMES_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		room.slot[i] = (int64_t)m->given;
	memset(room.pseudonyms, (int)m->given, n * PR_PSEUDONYM_LEN);
	memset(room.salts, (int)m->given + 1, n * RD_SALT_LEN);
	memset(room.sealed, (int)m->given, n * DEVICE_LEN);
	cd_upload_give(m->u, n);
	m->at[m->given++] = WAITS;
}

/* The oldest that waits, unless the window is full. */
static void next(struct model *m, int connection)
{
	Tombola__V1__Submit s;
	size_t oldest = 0;

	while (oldest < m->given && m->at[oldest] != WAITS)
		oldest++;
	if (cd_upload_next(m->u, (unsigned)connection, &s) != CM_OK) {
		must(oldest == m->given || count(m, connection) == WINDOW);
		return;
	}
	must(oldest < m->given && count(m, connection) < WINDOW);
	must(s.sealed.len == devices(oldest) * DEVICE_LEN && s.sealed.data[0] == oldest);
	must(s.pseudonyms.len == devices(oldest) * PR_PSEUDONYM_LEN);
	must(s.salts.len == devices(oldest) * RD_SALT_LEN && s.salts.data[0] == oldest + 1);
	m->at[oldest] = connection;
}

/* A receipt over frame `over`, by the shuffler or (forged) not by it, as `kind` has it. */
static void receipt(struct model *m, int connection, size_t over, uint8_t kind)
{
	uint8_t name[PR_PSEUDONYM_LEN], salt[RD_SALT_LEN], sealed[DEVICE_LEN], signature[CR_SIGN_LEN],
		id[PR_ROUND_ID_LEN], leaf[PR_HASH_LEN], root[PR_HASH_LEN], bytes[RD_RECEIPT_BYTES];
	uint8_t outcome[2] = { kind % 8, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED };
	size_t n = devices(over);
	bool forged = (kind & 0x40) != 0, known = outcome[0] >= 1 && outcome[0] <= 4, good;
	Tombola__V1__Receipt r = TOMBOLA__V1__RECEIPT__INIT;
	struct rd_receipt_device device;
	struct rd_opening opening;
	struct cd_answer answer;
	struct rd_tree tree;
	struct cm_err err;

	memset(name, (int)over, sizeof name);
	memset(salt, (int)over + 1, sizeof salt);
	memset(sealed, (int)over, sizeof sealed);
	memcpy(id, round_id, sizeof id);
	rd_tree_init(&tree);
	rd_receipt_device(&shape, name, salt, sealed, &device);
	for (size_t i = 0; i < n; i++) {
		rd_receipt_leaf(&device, outcome[i], leaf);
		rd_tree_add(&tree, leaf);
	}
	rd_tree_root(&tree, root);
	rd_receipt_bytes(id, root, n, bytes);
	fuzz_signature(&key, RD_PURPOSE_RECEIPT, bytes, sizeof bytes, signature);
	signature[kind % CR_SIGN_LEN] ^= forged;
	id[0] ^= kind >> 7;
	r.round_id = (ProtobufCBinaryData){ sizeof id, id };
	r.outcomes = (ProtobufCBinaryData){ n, outcome };
	r.signature = (ProtobufCBinaryData){ sizeof signature - (kind >> 5 & 1), signature };
	good = over < m->given && m->at[over] == connection && known && !forged && kind < 0x80 &&
	       !(kind & 0x20);
	must((cd_upload_receipt(m->u, (unsigned)connection, &r, &answer, &err) == CM_OK) == good);
	if (!good)
		return;
	cd_upload_opening(m->u, n - 1, kind % 2, &opening);
	must((rd_opening_verify(&opening, round_id, shape.messages, fuzz_verifier(&key), &err) == CM_OK) ==
		(outcome[n - 1] == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED));
	must(answer.n == n && answer.slot[0] == (int64_t)over && memcmp(answer.outcome, outcome, n) == 0);
	m->at[over] = ANSWERED;
}

static void lost(struct model *m, int connection)
{
	cd_upload_lost(m->u, (unsigned)connection);
	for (size_t i = 0; i < m->given; i++)
		if (m->at[i] == connection)
			m->at[i] = WAITS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cd_upload_conf conf = { .shape = shape,
		.window = WINDOW,
		.shuffler = fuzz_verifier(&key),
		.devices = 2,
		.frames = HELD };
	struct model m = { .given = 0 };
	void *memory = malloc(cd_upload_len(&conf));

	must(memory != NULL);
	memcpy(conf.round_id, round_id, sizeof round_id);
	m.u = cd_upload_begin(&conf, memory);
	for (size_t steps = 0; size >= 2 && steps < 64; data += 2, size -= 2, steps++) {
		int connection = data[0] / 4 % CONNECTIONS;

		switch (data[0] % 4) {
		case 0:
			give(&m);
			break;
		case 1:
			next(&m, connection);
			break;
		case 2:
			receipt(&m, connection, data[0] / 12 % FRAMES_MAX, data[1]);
			break;
		default:
			lost(&m, connection);
		}
		must(cd_upload_unanswered(m.u) == m.given - count(&m, ANSWERED));
		must(cd_upload_waiting(m.u) == count(&m, WAITS));
	}
	free(memory);
	return 0;
}
