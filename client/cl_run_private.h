/* cl_run_private.h - the running client from the inside: for cl_run.c, cl_run_ask.c, cl_run_mqtt.c and
 * cl_run_round.c only. */
#pragma once

#include "cl_metrics.h"
#include "cl_mqtt_metrics.h"
#include "cl_round.h"
#include "cl_run.h"
#include "cm_http.h"
#include "cm_log.h"
#include "cm_loop.h"

#define CL_PAUSE_MS     5000u /* after a fault, before asking again */
#define CL_ASK_AGAIN_MS 500u

/* As cl_metrics names them. */
enum phase { ASKING = CL_ASKING, PREPARING = CL_PREPARING, UPLOADING = CL_UPLOADING, ENDING = CL_ENDING };

struct cl_run {
	struct cl_run_conf conf;
	const struct cl_setup *setup;
	uv_loop_t loop;
	struct cm_loop *signals;
	struct cm_http *http;
	struct cl_metrics *metrics; /* NULL: nobody can ask for them */
	struct cm_tls_ctx *tls;
	struct cl_links *links;
	struct cl_db *db; /* NULL when only fetching */
	struct cm_key secret;
	struct cl_run_mqtt *mqtt; /* NULL: the readings are in a file */
	uv_timer_t ask_timer, wait_timer;
	enum phase phase;
	bool asked, ever_up, stopped;
	bool waited;     /* the limit of waiting has passed while a round was judged */
	bool confirming; /* asked whether the round that `prepared` has judged is still open */
	uint64_t after;  /* rounds up to this sequence number are done with */
	uint64_t late;   /* passed over: its deadline, late_until, had passed by our clock; 0: none */
	int64_t late_until;
	struct cl_active active;  /* sequence 0: none */
	struct cm_buf descriptor; /* of the round under way, as received */
	uint8_t signature[PR_SIGNATURE_LEN];
	size_t signature_len;
	uv_work_t work;
	const struct cl_input *input; /* of the preparation under way */
	struct cl_prepared prepared;
	struct cm_err prepare_err;
	struct cl_round *round;
	uint64_t rounds;
	double spent;               /* by the ledger, epsilon */
	struct cm_err down, result; /* why the last connection ended; why all ends */
};

/* cl_run.c */

void cl_run_say(const struct cl_run *run, enum cm_level level, const char *msg, const struct cm_err *why);
/* Take everything off the loop, so that it ends: at once, or when the work or round under way is back and
 * calls again. */
void cl_run_finish(struct cl_run *run, const struct cm_err *why);
/* What ends `send` and what `run` outlives. */
void cl_run_fault(struct cl_run *run, const char *msg, const struct cm_err *why);

/* cl_run_ask.c: the dialogue between rounds, and the connections' callbacks */

void cl_run_begin_asking(struct cl_run *run, uint32_t later_ms);
/* The limit of waiting for a round starts now, anew. */
void cl_run_begin_waiting(struct cl_run *run);
void cl_run_on_up(void *user, unsigned i);
void cl_run_on_down(void *user, unsigned i, bool was_up, const struct cm_err *why);
void cl_run_on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame);

/* cl_run_round.c: from a descriptor to its summary */

void cl_run_take_round(struct cl_run *run, const Tombola__V1__Round *round);
/* epsilon of all rounds so far by this client's ledger, an upper bound; 0 for none. */
double cl_run_spent(const struct cl_run *run);
/* Of a round that was to be confirmed nothing is kept. */
void cl_run_forget_judged(struct cl_run *run);
/* The round that was judged has closed before it was charged. */
void cl_run_gone(struct cl_run *run);
/* Judged, and its readings are there or could not be read: go on. */
void cl_run_prepared(struct cl_run *run);
/* The active round's stored submissions, and no others. */
void cl_run_start_stored(struct cl_run *run);

/* cl_run_mqtt.c: readings by MQTT instead of a file */

/* Subscribe; run->conf.input then is what came.  Closed and freed by the caller, also after a fault. */
CM_CHECK enum cm_rc cl_run_mqtt_open(struct cl_run *run, struct cm_err *err);
void cl_run_mqtt_close(struct cl_run *run);
void cl_run_mqtt_free(struct cl_run *run); /* once the loop has ended */
/* Wait for readings of the round that run->prepared has judged, and ask whether it is still open
 * (confirming); cl_run_mqtt_draw once it is. */
void cl_run_mqtt_gather(struct cl_run *run);
/* Draw them, then cl_run_prepared. */
void cl_run_mqtt_draw(struct cl_run *run);
/* Is it waiting, so that nothing comes back from the thread pool? */
bool cl_run_mqtt_gathering(const struct cl_run *run);
/* How it stands; false without MQTT. */
bool cl_run_mqtt_now(const struct cl_run *run, struct cl_mqtt_now *out);
