/* an_tally.c - counts opened records. */
#include "an_tally.h"

#include <stdlib.h>

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
