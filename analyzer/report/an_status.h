/* an_status.h - describes what the analyzer is doing, in one line for people and as JSON.  No I/O, no clock.
 *
 * For an open round it says how many reports the round needs.  It cannot say how many have arrived: the
 * shuffler tells nobody. */
#pragma once

#include <jansson.h>

#include "an_budget.h"
#include "an_dashboard.h"
#include "an_state.h"

enum an_doing {
	AN_IDLE,       /* no round is left to run, or the next one opens later */
	AN_JUDGING,    /* judging whether the next round fits the budget */
	AN_ANNOUNCING, /* sending the ledger and then the round to the shuffler */
	AN_AWAITING,   /* waiting for reports */
	AN_OPENING,    /* fetching and opening the released messages */
	AN_CLOSING,    /* storing the result, settling, destroying the key */
};

/* Everything that the description depends on; all borrowed. */
struct an_status {
	const struct an_state *state;
	const struct an_round_state *round; /* the current round; NULL only in AN_IDLE and before the first is
					     * judged */
	/* in AN_IDLE the round that it waits for; NULL if no round is left */
	const struct an_round_state *next;
	enum an_doing doing;
	bool stopping;
	const char *not_signed; /* why the plan is not signed yet; NULL or empty if it is, or if nothing
				   prevents it */
	int64_t now_ms, started_ms;
	const struct rd_figure *figure; /* NULL if the accountant has no answer */
	struct {
		bool connected;
		/* time of the shuffler's last frame; 0 if none has come since the start */
		int64_t seen_ms;
		const char *away; /* why the shuffler cannot be reached; empty if it can be */
	} shuffler;
	struct {
		const struct rd_chain *chain;
		/* the fault found when the ledger was read again; empty if there was none */
		const char *fault;
	} ledger;
	const struct an_dashboard *view; /* without contents until the first view is made */
	unsigned explained;              /* how many refusals are explained so far */
	struct {
		bool known;
		int64_t not_after; /* end of the certificate in unix seconds */
		const char *fault; /* why the certificate cannot be read; empty if it can be */
	} certificate;
};

/* One word for programs: stopping, fault, unsigned, unreachable, waiting, running, scheduled, refused or
 * done. */
const char *an_status_code(const struct an_status *s);
/* One sentence without a full stop, cut to fit. */
void an_status_words(const struct an_status *s, char *out, size_t size);
/* The JSON "tombola.status/1"; NULL: out of memory.  Free with json_decref. */
json_t *an_status_json(const struct an_status *s);
