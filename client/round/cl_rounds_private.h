/* cl_rounds_private.h - state of cl_rounds.c, and what it and cl_rounds_prepare.c call of each other. */
#pragma once

#include "cl_asker.h"
#include "cl_await.h"
#include "cl_done.h"
#include "cl_preparation.h"
#include "cl_round.h"
#include "cl_rounds.h"

struct cl_rounds {
	struct cl_rounds_conf conf;
	struct cl_context *context;
	struct cl_asker *asker;
	struct cl_preparation prep;
	struct cl_round *round;  /* being uploaded; NULL: none */
	enum cl_phase phase;     /* CL_ENDING: closed */
	bool closed_told;        /* on_closed was called */
	struct cl_active active; /* the stored active round; sequence 0: none */
	bool confirming;         /* asked whether the round judged in prep is still open */
	struct cl_await await;   /* of a round with a payload */
	uint64_t count;          /* rounds done in this run */
	struct cl_done done;
};

/* ---- cl_rounds.c ---- */

/* on_closed, once nothing works any more. */
void cl_rounds_tell_closed(struct cl_rounds *r);
/* on_end. */
void cl_rounds_end(void *user, const struct cm_err *why);
/* Ask the shuffler for the next thing that is wanted, after a pause. */
void cl_rounds_ask(struct cl_rounds *r, uint32_t later_ms);
/* No round is wanted in this phase. */
void cl_rounds_enter(struct cl_rounds *r, enum cl_phase phase);
/* The round judged in prep is not taken part in. */
void cl_rounds_refused(struct cl_rounds *r, const struct cm_err *why);
/* Upload the prepared round; or the stored reports of the active one, and no others. */
void cl_rounds_start(struct cl_rounds *r);
void cl_rounds_start_stored(struct cl_rounds *r);

/* ---- cl_rounds_prepare.c ---- */

/* Judge the round in prep, and go on: fetch what that needs, or read the readings and upload. */
void cl_rounds_judge(void *user);
/* The round judged in prep is still open: take its readings. */
void cl_rounds_draw(struct cl_rounds *r);
/* The time to fetch its payload is over. */
void cl_rounds_fetched(void *user);
