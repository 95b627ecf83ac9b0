/* an_tally.c - counts opened records and remembers encapsulations. */
#include "an_tally.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"

enum cm_rc an_tally_init(struct an_tally *t, uint32_t counts, struct cm_err *err)
{
	*t = (struct an_tally){ .counts = counts };
	t->count = calloc(counts, sizeof *t->count);
	return t->count ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

void an_tally_fini(struct an_tally *t)
{
	free(t->count);
	*t = (struct an_tally){ 0 };
}

void an_tally_add(struct an_tally *t, const struct an_tally *other)
{
	for (uint32_t i = 0; i < t->counts; i++)
		t->count[i] += other->count[i];
	t->counted += other->counted;
	t->bad += other->bad;
	t->duplicates += other->duplicates;
}

enum cm_rc an_tally_record(
	struct an_tally *t, const struct pt_randomizer *p, const uint8_t *record, struct cm_err *err)
{
	struct cm_err why = { 0 };

	if (pt_protocol_of(p->row)->tally(p, record, t->count, &why) != CM_OK) {
		if (why.code != CM_EDATA)
			return cm_fail(err, CM_EINTERNAL, "tally: %s", why.msg);
		t->bad++;
		return CM_OK;
	}
	t->counted++;
	return CM_OK;
}

uint64_t an_tally_reports(
	const struct an_tally *t, uint64_t messages, uint64_t participants, uint32_t messages_each)
{
	uint64_t sent = participants * messages_each, lost = messages - t->counted;

	return sent > lost ? (sent - lost) / messages_each : 0;
}

void an_seen_init(struct an_seen *s, const struct cr_rng *rng)
{
	*s = (struct an_seen){ .k0 = cr_rng_u64(rng), .k1 = cr_rng_u64(rng) };
}

void an_seen_fini(struct an_seen *s)
{
	free(s->slot);
	*s = (struct an_seen){ 0 };
}

/* Folded 128-bit product of the masked halves. */
static size_t slot_of(const struct an_seen *s, const uint8_t key[16], size_t room)
{
	__extension__ typedef unsigned __int128 u128;
	u128 m = (u128)(cm_get_le64(key) ^ s->k0) * (cm_get_le64(key + 8) ^ s->k1);

	return (size_t)((uint64_t)m ^ (uint64_t)(m >> 64)) & (room - 1);
}

/* The slot that holds key, or the free one where it belongs. */
static size_t probe(const struct an_seen *s, uint8_t (*slot)[16], size_t room, const uint8_t key[16])
{
	static const uint8_t zero[16];
	size_t i = slot_of(s, key, room);

	while (memcmp(slot[i], zero, 16) != 0 && memcmp(slot[i], key, 16) != 0)
		i = (i + 1) & (room - 1);
	return i;
}

static enum cm_rc grow(struct an_seen *s, struct cm_err *err)
{
	static const uint8_t zero[16];
	size_t room = s->room == 0 ? 1024 : s->room * 2;
	uint8_t(*slot)[16] = calloc(room, sizeof *slot);

	if (!slot)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < s->room; i++)
		if (memcmp(s->slot[i], zero, 16) != 0)
			memcpy(slot[probe(s, slot, room, s->slot[i])], s->slot[i], 16);
	free(s->slot);
	s->slot = slot;
	s->room = room;
	return CM_OK;
}

enum cm_rc an_seen_add(struct an_seen *s, const uint8_t enc[32], bool *again, struct cm_err *err)
{
	static const uint8_t zero[16];
	size_t i;

	if (memcmp(enc, zero, 16) == 0) {
		*again = s->zero;
		s->zero = true;
		return CM_OK;
	}
	if (s->n >= s->room / 4 * 3 && grow(s, err) != CM_OK)
		return err->code;
	i = probe(s, s->slot, s->room, enc);
	*again = memcmp(s->slot[i], enc, 16) == 0;
	if (!*again) {
		memcpy(s->slot[i], enc, 16);
		s->n++;
	}
	return CM_OK;
}
