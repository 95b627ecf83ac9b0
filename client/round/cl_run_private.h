/* cl_run_private.h - the state of a running client, shared by cl_run.c, cl_run_ask.c, cl_run_mqtt.c,
 * cl_run_proof.c and cl_run_round.c only. */
#pragma once

#include "cl_metrics.h"
#include "cl_mqtt_metrics.h"
#include "cl_plans.h"
#include "cl_proof.h"
#include "cl_round.h"
#include "cl_run.h"
#include "cm_log.h"
#include "nt_http.h"
#include "nt_loop.h"

#define CL_PAUSE_MS     5000u /* pause after a fault before the next request */
#define CL_ASK_AGAIN_MS 500u

struct cl_run {
	struct cl_run_conf conf;
	const struct cl_setup *setup;
	uv_loop_t loop;
	struct nt_loop *signals;
	struct nt_http *http;
	struct cl_metrics *metrics; /* NULL: metrics are not served */
	struct nt_tls_ctx *tls;
	struct cl_links *links;
	struct cl_db *db; /* NULL when only fetching */
	struct cr_key secret;
	/* The participating devices; NULL: the file of readings names them.  devices_next: the list read on
	 * SIGHUP, which replaces `devices` when no preparation is running. */
	struct cl_devices *devices, *devices_next;
	struct cl_run_mqtt *mqtt;   /* NULL: the readings are in a file */
	struct cl_run_proof *proof; /* NULL when only fetching */
	uv_timer_t ask_timer, wait_timer;
	enum cl_phase phase;
	bool asked, ever_up, stopped;
	enum cl_ask ask;       /* the request that is waiting for its answer */
	struct cl_plans plans; /* requests for standing, plan and manifest */
	bool waited;           /* the wait limit passed while a round was being judged */
	bool confirming;       /* asked whether the round judged in `prepared` is still open */
	uint64_t after;        /* rounds up to this sequence number are finished */
	/* The round passed over by our clock, and its times; sequence 0: none. */
	struct {
		uint64_t sequence;
		int64_t opens_ms, deadline_ms;
	} by_clock;
	struct cl_active active;  /* the stored active round; sequence 0: none */
	struct cm_buf descriptor; /* of the current round, as received */
	uint8_t signature[PR_SIGNATURE_LEN];
	size_t signature_len;
	uv_work_t work;
	struct cl_input input; /* of the current preparation */
	int64_t prepare_from;  /* wall time just before the preparation reads the readings */
	struct cl_prepared prepared;
	struct cm_err prepare_err;
	struct cl_round *round;
	uint64_t rounds;
	double spent;               /* epsilon of the slices of all pinned plans */
	struct cm_err down, result; /* why the last connection ended; why the loop ends */
};

/* cl_run.c */

void cl_run_say(const struct cl_run *run, enum cm_level level, const char *msg, const struct cm_err *why);
/* Close everything on the loop, so that it ends: at once, or when the running work or round returns and calls
 * this again. */
void cl_run_finish(struct cl_run *run, const struct cm_err *why);
/* Report a fault that ends `send` and that `run` survives. */
void cl_run_fault(struct cl_run *run, const char *msg, const struct cm_err *why);

/* Put the list of devices that SIGHUP read into force.  A fault is logged, and the old list stays. */
void cl_run_adopt_devices(struct cl_run *run);

/* cl_run_ask.c: the dialogue between rounds, and the connections' callbacks */

void cl_run_begin_asking(struct cl_run *run, uint32_t later_ms);
/* Start the wait limit for a round from now. */
void cl_run_begin_waiting(struct cl_run *run);
void cl_run_on_up(void *user, unsigned i);
void cl_run_on_down(void *user, unsigned i, bool was_up, const struct cm_err *why);
void cl_run_on_frame(void *user, unsigned i, const Tombola__V1__Frame *frame);

/* cl_run_round.c: from a descriptor to its summary */

void cl_run_take_round(struct cl_run *run, const Tombola__V1__Round *round);
/* Sum of epsilon over the slices of all pinned plans; 0 for none. */
double cl_run_spent(const struct cl_run *run);
/* Discard the judged round that was to be confirmed. */
void cl_run_forget_judged(struct cl_run *run);
/* The document that the current round needed has been answered: judge the round again. */
void cl_run_judge_again(struct cl_run *run);
/* The judged round closed before it was charged. */
void cl_run_gone(struct cl_run *run);
/* Continue after preparation: the round is judged, and its readings are read or could not be. */
void cl_run_prepared(struct cl_run *run);
/* Upload the stored reports of the active round, and no others. */
void cl_run_start_stored(struct cl_run *run);

/* cl_run_proof.c: asks whether watched messages are in the manifests of rounds that are over */

CM_CHECK enum cm_rc cl_run_proof_open(struct cl_run *run, struct cm_err *err);
/* Close together with everything else on the loop; free after the loop has ended. */
void cl_run_proof_close(struct cl_run *run);
void cl_run_proof_free(struct cl_run *run);
/* Schedule a request at a random moment, if any proof is due. */
void cl_run_proof_begin(struct cl_run *run);
/* Process a frame of connection i; true if it answered a request for proofs. */
bool cl_run_proof_frame(struct cl_run *run, unsigned i, const Tombola__V1__Frame *frame);
/* Connection 0 ended. */
void cl_run_proof_down(struct cl_run *run);

/* cl_run_mqtt.c: readings by MQTT instead of a file */

/* Subscribe for the devices of run->devices.  The caller closes and frees it, also after a fault. */
CM_CHECK enum cm_rc cl_run_mqtt_open(struct cl_run *run, struct cm_err *err);
void cl_run_mqtt_close(struct cl_run *run);
void cl_run_mqtt_free(struct cl_run *run); /* once the loop has ended */
/* Wait while devices publish for the round judged in run->prepared, then ask whether the round is still open
 * (confirming); if it is, cl_run_mqtt_draw follows. */
void cl_run_mqtt_gather(struct cl_run *run);
/* Take the readings, then call cl_run_prepared. */
void cl_run_mqtt_draw(struct cl_run *run);
/* Whether it waits for readings, so that no work is on the thread pool. */
bool cl_run_mqtt_gathering(const struct cl_run *run);
/* Use the changed run->devices. */
CM_CHECK enum cm_rc cl_run_mqtt_list(struct cl_run *run, struct cm_err *err);
/* Its state for metrics; false without MQTT. */
bool cl_run_mqtt_now(const struct cl_run *run, struct cl_mqtt_now *out);
