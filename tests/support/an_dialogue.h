/* an_dialogue.h - a round of an_world.h, driven to its end, and what it left behind. */
#pragma once

#include "an_world.h"

#define FOREVER 100000u

static inline struct fake honest(void)
{
	return (struct fake){ .participants = 30, .buckets = 3, .segment = 4 };
}

/* How many records of a kind the ledger on disk holds for a plan round's id. */
static inline unsigned records(const struct world *w, enum rd_record_kind kind)
{
	uint64_t last = an_ledger_chain(w->files.ledger)->seq;
	unsigned n = 0;

	for (uint64_t seq = 1; seq <= last; seq++) {
		struct an_entry e = an_ledger_entry(w->files.ledger, seq);
		struct cm_err err = { 0 };
		struct rd_record r;

		assert_int_equal(rd_record_decode(e.bytes, e.len, &r, &err), CM_OK);
		n += r.kind == kind;
		rd_record_fini(&r);
	}
	return n;
}

static inline void drive_ok(struct world *w, struct fake *f, uint32_t number)
{
	struct cm_err err = { 0 };

	if (world_drive(w, f, number, FOREVER, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

/* The result of round 1, as text. */
static inline char *result(const struct world *w)
{
	size_t n;
	char *text = (char *)world_file(w, "results/round-0001.json", &n);

	text[n - 1] = '\0'; /* its last newline */
	return text;
}
