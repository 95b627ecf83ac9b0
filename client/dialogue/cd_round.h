/* cd_round.h - a round from the sealing of its messages to their erasure: a table of steps, and actions that
 * its caller carries out.  Works in its caller's memory.  No I/O, no clock.
 *
 *   seal, save .. -> whole -> hold -> connect -> (load .. send .. note ..) -> erase -> over
 *
 * What must be durable before the next frame leaves is an action of its own, so the order "saved, then sent"
 * is visible here and nowhere else.  Nothing is sent before every device is sealed and saved, and sending
 * begins at a moment that was fixed before the readings were read (cd_times.h).  The order and the moments of
 * all actions follow from the configuration, the shuffler's frames, the time and random draws; no value of a
 * device comes in here.
 *
 * Call cd_round_next after every other call, and carry out what it says, until it says CD_ACT_WAIT. */
#pragma once

#include "cd_upload.h"

#define CD_CONNECTIONS_MAX 8u

enum cd_act {
	CD_ACT_WAIT,    /* call again at until_ms, or when there is something to report */
	CD_ACT_SEAL,    /* randomize and seal devices first..first+n-1; then call cd_round_sealed */
	CD_ACT_SAVE,    /* make durable what cd_round_sealed reported last; then call cd_round_done */
	CD_ACT_WHOLE,   /* record durably that no device will be added; then call cd_round_done */
	CD_ACT_CONNECT, /* sending begins: open all connections */
	CD_ACT_LOAD,    /* load at most n saved devices without an outcome, whose slot is above `after`, into
			 * room; then call cd_round_loaded */
	CD_ACT_SEND,    /* send submit on the connection; one that fails is to be ended */
	CD_ACT_NOTE,    /* record the answer, and a conflict; then call cd_round_done */
	CD_ACT_DROP,    /* end the connection because of *why, and dial it again after at least pause_ms */
	CD_ACT_ERASE,   /* record that the round is over and destroy its sealed bytes, durably; then call
			 * cd_round_done */
	CD_ACT_OVER,    /* the round has ended because of *why; given as often as it is asked for */
};

/* Pointers are valid until the next call on the round. */
struct cd_action {
	enum cd_act act;
	int64_t until_ms; /* INT64_MAX: only a report can change anything */
	size_t first, n;
	int64_t after;
	struct cd_frame_room room;
	unsigned connection;
	Tombola__V1__Submit *submit;
	struct cd_answer answer;
	/* the answer has the first conflict of this round: record that another copy of this client's state
	 * answered */
	bool conflict;
	uint32_t pause_ms;
	/* of CD_ACT_OVER: CM_OK if every device has its outcome, or the shuffler says that the round is
	 * closed or that it holds other bytes of a device, and the sealed bytes are erased.  With other codes
	 * they are kept for another try: CM_ELATER if the deadline has passed by our clock and the shuffler
	 * has not answered; CM_EPERM or CM_EPROTO if the shuffler misbehaves; or what was reported. */
	const struct cm_err *why;
};

/* The steps in their order.  A fault, or the end of a round, goes on with CD_AT_END from any before it; a
 * shuffler that says that the round is closed, with CD_AT_CLOSE. */
enum cd_step {
	CD_AT_SEAL,  /* devices are sealed and saved */
	CD_AT_WHOLE, /* it is recorded that no device will be added */
	CD_AT_HOLD,  /* until the moment of sending */
	CD_AT_SEND,
	CD_AT_CLOSE, /* nothing is sent; answers that are on their way are awaited */
	CD_AT_END,   /* until no device is being sealed; what is sealed now is not saved */
	CD_AT_ERASE,
	CD_AT_OVER,
};

struct cd_round_conf {
	const struct rd_descriptor *d; /* borrowed, like upload */
	struct cd_upload *upload;      /* begun, with no frame */
	size_t frame_devices;          /* most devices of a frame, as in cd_upload_conf */
	unsigned connections;          /* 1..CD_CONNECTIONS_MAX */
	uint64_t saved, answered; /* number of devices that an earlier run saved; those with an outcome */
	size_t devices;           /* number of devices to seal now */
	size_t part;              /* most devices of one CD_ACT_SEAL, 1.. */
	/* Most CD_ACT_SEAL at a time, 1..; a caller to whom saving takes time has 1. */
	unsigned parts;
	/* Readings were read for this run, from from_ms; otherwise all was saved before, and sending begins
	 * at once. */
	bool drawn;
	int64_t from_ms;
	int64_t prepare_ms, spread_ms; /* as configured */
	/* A loss of the ledger is undecided, or what is saved was charged under another key: nothing is
	 * sent, and saved reports are erased. */
	bool stopped;
	unsigned bad_receipts; /* how many bad receipts in a row end the round, 1.. */
	struct cr_rng rng;     /* for the times of sending */
};

/* All fields belong to cd_round.c. */
struct cd_round {
	struct cd_round_conf conf;
	enum cd_step step;
	enum cd_act awaits; /* the action whose report is awaited; CD_ACT_WAIT: none is */
	struct cm_err why;  /* once step is CD_AT_END */
	/* It was offered, or resumed, after its deadline by our clock: the shuffler decides when it is
	 * closed. */
	bool late;
	/* when frames are sent: from begin_ms on, the next one at send_ms, the last one at spread_end_ms */
	int64_t begin_ms, send_ms, spread_end_ms;
	int64_t over_ms;  /* when it ends if the shuffler says nothing */
	int64_t close_ms; /* when CD_AT_CLOSE ends */

	size_t next;   /* the first device that was not given out to be sealed */
	unsigned open; /* parts that were given out and are neither saved nor dropped */
	bool sealed;   /* a part is sealed and waits for CD_ACT_SAVE */
	bool whole;    /* CD_ACT_WHOLE is done */

	uint64_t total; /* number of devices of the round */
	uint64_t given; /* number of devices that are loaded or had an outcome before */
	int64_t after;  /* slot of the last device that was loaded */
	bool empty;     /* everything that is saved is loaded */
	struct cd_frame_room room;

	bool connected;
	bool up[CD_CONNECTIONS_MAX];
	unsigned turn; /* the connection that is given a frame next */
	Tombola__V1__Submit submit;

	unsigned bad_receipts;   /* in a row */
	bool conflict;           /* an answer had one */
	struct cd_action answer; /* CD_ACT_NOTE if an answer waits to be recorded */
	struct cd_action drop;   /* CD_ACT_DROP if a connection waits to be ended */
	struct cm_err drop_why;
};

/* Begin; all times are in milliseconds of one clock that nobody sets, ahead of or behind the wall clock as
 * cm_steady.h has it. */
void cd_round_begin(struct cd_round *r, const struct cd_round_conf *conf, int64_t now_ms);
/* The next action; each is handed out once. */
void cd_round_next(struct cd_round *r, int64_t now_ms, struct cd_action *out);

/* A part has been sealed, or could not be: why is NULL or the fault.  Parts may end in any order. */
void cd_round_sealed(struct cd_round *r, const struct cm_err *why);
/* The action whose report is awaited was carried out, or could not be: why is NULL or the fault. */
void cd_round_done(struct cd_round *r, const struct cm_err *why);
/* CD_ACT_LOAD loaded n devices; 0 if no more are saved. */
void cd_round_loaded(struct cd_round *r, size_t n);

/* A connection can be used from now on, and no longer. */
void cd_round_up(struct cd_round *r, unsigned connection);
void cd_round_down(struct cd_round *r, unsigned connection);
/* Process a frame, borrowed, of a connection that can be used.  Call it only while no report is awaited but
 * those of CD_ACT_SEAL. */
void cd_round_frame(struct cd_round *r, unsigned connection, const Tombola__V1__Frame *frame, int64_t now_ms);
/* End the round early because of *why; what is saved is kept. */
void cd_round_stop(struct cd_round *r, const struct cm_err *why);

/* Whether sending has begun.  Until then nothing outside shows how far this device is. */
bool cd_round_sends(const struct cd_round *r);
