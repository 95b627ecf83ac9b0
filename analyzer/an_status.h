/* an_status.h - what the analyzer is doing, in one line for people and as a document.  No I/O, no clock.
 *
 * It says what the analyzer may know: while a round is open that is how many reports it needs, and not how
 * many have come, which the shuffler tells nobody. */
#pragma once

#include <jansson.h>

#include "an_state.h"
#include "an_view.h"

enum an_doing {
	AN_IDLE,       /* the plan is through */
	AN_JUDGING,    /* whether the next round fits the budget */
	AN_ANNOUNCING, /* the ledger, then the round, to the shuffler */
	AN_AWAITING,   /* reports */
	AN_OPENING,    /* fetching and opening what was released */
	AN_CLOSING,    /* result, ledger, keys */
};

/* Borrowed all of it. */
struct an_status {
	const struct an_state *state;
	const struct an_round_state *round; /* at hand; NULL only in AN_IDLE and before the first is judged */
	enum an_doing doing;
	bool stopping;
	int64_t now_ms, started_ms;
	struct {
		bool connected;
		int64_t seen_ms;  /* its last frame; 0: none since the start */
		const char *away; /* why it cannot be reached; "" */
	} shuffler;
	struct {
		const struct rd_chain *chain;
		const char *fault; /* found when it was read again; "" */
	} ledger;
	const struct an_view *view; /* empty until the first is there */
	unsigned explained;         /* refusals that are explained by now */
	struct {
		bool known;
		int64_t not_after; /* unix seconds */
		const char *fault; /* "" */
	} certificate;
};

/* A word for programs: stopping, fault, unreachable, waiting, running, refused or done. */
const char *an_status_code(const struct an_status *s);
/* One sentence, without a full stop; cut when it does not fit. */
void an_status_words(const struct an_status *s, char *out, size_t size);
/* "tombola.status/1"; NULL out of memory.  Free with json_decref. */
json_t *an_status_json(const struct an_status *s);
