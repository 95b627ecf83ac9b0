/* fuzz_sh_intake.c - Submits of a few certificates and devices, well and badly formed, with tags and without,
 * against a model that is a plain table: every outcome must be the model's, and what is taken must be what
 * the batch holds. */
#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "sh_intake.h"

#define CERTIFICATES 4u
#define NAMES        16u
#define TARGET       12u
#define SEALED       (16u + CR_HPKE_OVERHEAD)
#define TAGS         3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN]);
void __real_sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN]);
void __wrap_sh_vault_certificate(
	const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN]);
void __real_sh_vault_certificate(
	const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN]);
void __wrap_sh_vault_digest(const struct sh_vault *v, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t *sealed, size_t len, uint8_t out[SH_TAG_LEN]);
void __real_sh_vault_digest(const struct sh_vault *v, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t *sealed, size_t len, uint8_t out[SH_TAG_LEN]);

/* Hashes take most of the time: in most inputs they are what tells two of a few devices apart, spread out. */
static bool hashed;

static void spread(uint64_t a, uint64_t b, uint8_t out[SH_TAG_LEN])
{
	cm_put_le64(out, (a + 1) * 0x9e3779b97f4a7c15u);
	cm_put_le64(out + 8, (b + 1) * 0xd6e8feb86659fd93u);
}

void __wrap_sh_vault_tag(const struct sh_vault *v, const uint8_t key_hash[32],
	const uint8_t pseudonym[PR_PSEUDONYM_LEN], uint8_t out[SH_TAG_LEN])
{
	if (hashed)
		__real_sh_vault_tag(v, key_hash, pseudonym, out);
	else
		spread(2u * key_hash[0], pseudonym[0], out);
}

void __wrap_sh_vault_certificate(
	const struct sh_vault *v, const uint8_t key_hash[32], uint8_t out[SH_TAG_LEN])
{
	if (hashed)
		__real_sh_vault_certificate(v, key_hash, out);
	else
		spread(2u * key_hash[0] + 1, 0, out);
}

void __wrap_sh_vault_digest(const struct sh_vault *v, const uint8_t pseudonym[PR_PSEUDONYM_LEN],
	const uint8_t *sealed, size_t len, uint8_t out[SH_TAG_LEN])
{
	uint64_t sum = 0;

	if (hashed) {
		__real_sh_vault_digest(v, pseudonym, sealed, len, out);
		return;
	}
	for (uint64_t part; len >= sizeof part; len -= sizeof part, sealed += sizeof part) {
		memcpy(&part, sealed, sizeof part);
		sum = sum * 131 + part;
	}
	spread(sum, pseudonym[0], out);
}

struct model {
	int variant[CERTIFICATES][NAMES]; /* -1: never seen */
	unsigned count[CERTIFICATES], total;
	size_t gathered;
	unsigned tags;  /* of the round; else 0 */
	unsigned share; /* devices of one certificate in the round */
	int classes;
};

static uint8_t expect(struct model *m, unsigned who, unsigned devices, unsigned name, int variant, int late)
{
	int *seen = &m->variant[who][name];

	if (*seen == variant)
		return TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;
	if (*seen >= 0)
		return TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT;
	if (late || m->total >= TARGET)
		return TOMBOLA__V1__OUTCOME__OUTCOME_CLOSED;
	if (m->count[who] >= devices || m->count[who] >= m->share)
		return TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT;
	*seen = variant;
	m->count[who]++;
	m->total++;
	m->gathered++;
	return TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED;
}

/* Two messages of a device; their tags from the clock's byte.  Would the round take such a pair? */
static int put(const struct model *m, uint8_t *at, uint8_t name, uint8_t clock)
{
	unsigned len = m->tags > 0 ? PR_TAG_LEN + SEALED : SEALED, first = clock % 4, second = clock / 4 % 4;

	memset(at, name >> 6, (size_t)2 * len);
	if (m->tags == 0)
		return 1;
	cm_put_le16(at, (uint16_t)first);
	cm_put_le16(at + len, (uint16_t)second);
	return first < m->tags && second < m->tags && (!m->classes || first == second);
}

/* One Submit read from 8 bytes of input: certificate, devices, n and misfit, clock, then names and
 * variants. */
static void submit(struct sh_intake *in, struct model *m, const uint8_t op[8])
{
	static uint8_t outcomes[PR_SUBMISSIONS_MAX];
	unsigned who = op[0] % CERTIFICATES, devices = 1 + op[1] % 5, n = op[2] % 5;
	uint8_t pseudonyms[5 * PR_PSEUDONYM_LEN] = { 0 }, sealed[10 * (PR_TAG_LEN + SEALED)] = { 0 };
	unsigned each = 2 * (m->tags > 0 ? PR_TAG_LEN + SEALED : SEALED);
	struct cr_identity peer = { .role = CR_ROLE_CLIENT, .devices = devices };
	struct sh_submit s = { &peer, pseudonyms, n * PR_PSEUDONYM_LEN, sealed, n * each, pseudonyms,
		n * PR_HASH_LEN, NULL, NULL };
	int fits = 1;
	int64_t now_ms = 90 + op[3]; /* opens at 100, deadline 300 */
	struct sh_refusal no;
	struct cm_err err;
	size_t got;

	peer.key_hash[0] = (uint8_t)who;
	for (unsigned i = 0; i < n; i++) {
		pseudonyms[i * PR_PSEUDONYM_LEN] = op[4 + i % 4] % NAMES;
		fits &= put(m, sealed + i * each, op[4 + i % 4], op[3]);
	}
	s.pseudonyms_len += op[2] >> 7;
	s.sealed_len -= n > 0 && (op[2] & 0x40) ? 1 : 0;
	enum cm_rc rc = sh_intake_submit(in, &s, now_ms, outcomes, &got, &no, &err);
	if (n == 0 || n > devices || op[2] >> 7 || (op[2] & 0x40) || now_ms < 100 || !fits) {
		must(rc == CM_EPROTO);
		return;
	}
	must(rc == CM_OK && got == n);
	for (unsigned i = 0; i < n; i++)
		must(outcomes[i] == expect(m, who, devices, op[4 + i % 4] % NAMES,
					    op[4 + i % 4] >> 6 | (m->tags > 0 ? op[3] % 16 << 2 : 0),
					    now_ms >= 300));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd_descriptor d = { .messages_per_client = 2,
		.record_len = SEALED - CR_HPKE_OVERHEAD,
		.target = TARGET,
		.opens_ms = 100,
		.deadline_ms = 300 };
	struct sh_vault vault = { .tag = { { 1 } } };
	struct sh_intake in;
	struct sh_batch batch;
	struct model m = { 0 };
	struct cm_err err;

	memset(m.variant, -1, sizeof m.variant);
	hashed = size % 16 == 0;
	m.share = size % 24 < 8 ? 2 : UINT32_MAX;
	if (size % 8 > 0 && data[size - 1] & 1) {
		d.randomizer.shuffler.tags = m.tags = TAGS;
		m.classes = data[size - 1] >> 1 & 1;
		for (unsigned i = 0; i < TAGS; i++)
			d.randomizer.shuffler.tag_least[i] = (uint32_t)m.classes;
	}
	must(sh_intake_init(&in, &vault, &d, (struct sh_limits){ PR_FRAME_MAX, m.share }, &err) == CM_OK);
	for (; size >= 8; data += 8, size -= 8) {
		if (data[0] >= 0xf0 && m.gathered > 0) { /* a commit */
			sh_intake_take(&in, &batch);
			must(sh_batch_submissions(&batch) == m.gathered &&
				sh_batch_messages(&batch) == 2 * m.gathered);
			sh_batch_fini(&batch);
			sh_intake_committed(&in);
			m.gathered = 0;
		} else {
			submit(&in, &m, data);
		}
		must(in.participants == m.total && sh_batch_submissions(&in.gathering) == m.gathered);
		must((sh_intake_waits(&in) == SH_WAIT_NOT) == (m.gathered == 0));
	}
	sh_intake_fini(&in);
	return 0;
}
