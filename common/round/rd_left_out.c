/* rd_left_out.c - the reasons for which devices of a round are not taken, in a table. */
#include "rd_left_out.h"

#include <stdio.h>
#include <string.h>

#include "cm_table.h"
#include "tombola.pb-c.h"

#define WHY(name) TOMBOLA__V1__LEFT_OUT_WHY__LEFT_OUT_##name

/* X(reason, name, words) */
#define REASONS(X)                                                                            \
	X(MAX_SHARE, "max_share", "were over max_share of the shuffler's policy")             \
	X(CERTIFICATE, "certificate", "were more than their client's certificate speaks for") \
	X(FULL, "full", "came when the round had its target")                                 \
	X(LATE, "late", "came after the deadline")                                            \
	X(DECLINED, "other", "declined, and their client's log says why")                     \
	X(CLOCK, "clock", "declined by their client's clock")                                 \
	X(ACCEPT_LOSS, "accept-loss", "declined since their client's ledger was lost")        \
	X(PIN, "pin", "declined an entry that their client did not take with the plan")       \
	POLICY(X, PLAN, "plan")                                                               \
	POLICY(X, MAX_EPSILON, "max_epsilon")                                                 \
	POLICY(X, MAX_EPSILON0, "max_epsilon0")                                               \
	POLICY(X, MIN_BATCH, "min_batch")                                                     \
	POLICY(X, MAX_TRIES, "max_tries")                                                     \
	POLICY(X, MAX_ROUNDS, "max_rounds")                                                   \
	POLICY(X, MAX_PLAN_ENTRIES, "max_plan_entries")                                       \
	POLICY(X, MAX_PAYLOAD, "max_payload")                                                 \
	POLICY(X, PROTOCOLS, "protocols")                                                     \
	POLICY(X, QUERIES, "queries")                                                         \
	POLICY(X, FIELDS, "fields")                                                           \
	POLICY(X, MAPS, "maps")                                                               \
	X(PROGRAMS, "programs", "declined by `programs` of their client's configuration")     \
	POLICY(X, ACCEPT_ADAPTIVE, "accept_adaptive")                                         \
	POLICY(X, ACCEPT_SHUFFLER_DUMMIES, "accept_shuffler_dummies")                         \
	POLICY(X, HONEST_FRACTION, "honest_fraction")
#define POLICY(X, reason, name) X(reason, name, "declined by `" name "` of their client's policy")

#define ROW(reason, name, words)  { WHY(reason), words },
#define NAME(reason, name, words) name,

static const struct {
	unsigned why;
	const char *words;
} reasons[] = { REASONS(ROW) };
const char *const rd_left_out_names[] = { REASONS(NAME) NULL };

#define KNOWN (sizeof reasons / sizeof *reasons)

size_t rd_left_out_place(unsigned why)
{
	size_t other = 0;

	for (size_t i = 0; i < KNOWN; i++) {
		if (reasons[i].why == why)
			return i;
		if (reasons[i].why == WHY(DECLINED))
			other = i;
	}
	return other;
}

unsigned rd_left_out_of(const char *key)
{
	for (size_t i = rd_left_out_place(WHY(DECLINED)); key && i < KNOWN; i++)
		if (strcmp(rd_left_out_names[i], key) == 0)
			return reasons[i].why;
	return WHY(DECLINED);
}

bool rd_left_out_declined(unsigned why)
{
	return why >= WHY(DECLINED);
}

const char *rd_left_out_name(unsigned why)
{
	return rd_left_out_names[rd_left_out_place(why)];
}

const char *rd_left_out_words(unsigned why)
{
	return reasons[rd_left_out_place(why)].words;
}

/* The reason that follows `last` by numbers of devices; 0: none does. */
static unsigned next(const struct rd_left_out *l, unsigned last)
{
	uint64_t most = last > 0 ? l->devices[last] : UINT64_MAX;
	unsigned best = 0;

	for (unsigned why = 1; why < RD_LEFT_OUT; why++) {
		uint64_t n = l->devices[why];

		if (n > 0 && (n < most || (n == most && why > last)) && (best == 0 || n > l->devices[best]))
			best = why;
	}
	return best;
}

void rd_left_out_text(const struct rd_left_out *l, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned why = next(l, 0); why > 0; why = next(l, why)) {
		char number[32];

		int n = snprintf(out + used, size - used, "%s%s %s", used > 0 ? "; " : "",
			cm_thousands((int64_t)l->devices[why], number), rd_left_out_words(why));
		if (n < 0 || (size_t)n >= size - used) {
			out[used] = '\0';
			return;
		}
		used += (size_t)n;
	}
}
