/* an_pin.h - waits until a person has signed the plan of the plan file, or makes the plan on a worker
 * thread if the configuration says sign = "at-start".  It pins the plan before any of its rounds is
 * announced. */
#pragma once

#include "an_context.h"

struct an_pin;
struct an_pin_conf {
	struct an_context *context; /* borrowed */
	void *user;
	/* Called when the plan is there and the ledger does not have it: call an_pin_sign when it may be
	 * pinned.  made: borrowed until then, or until an_pin_close. */
	void (*on_made)(void *user, const struct rd_plan *made);
	/* Called when the plan is pinned and its refused rounds were explained. */
	void (*on_pinned)(void *user);
	void (*on_fault)(void *user, const struct cm_err *why);
};
CM_CHECK enum cm_rc an_pin_new(const struct an_pin_conf *conf, struct an_pin **out, struct cm_err *err);
void an_pin_close(struct an_pin *p);
void an_pin_free(struct an_pin *p);

void an_pin_begin(struct an_pin *p);
void an_pin_sign(struct an_pin *p);
/* Whether a worker thread is busy with the plan, or its signature is awaited. */
bool an_pin_works(const struct an_pin *p);
/* Why the plan is not signed, and how to sign it; empty if no signature is awaited.  A run that a person
 * waits for ends with CM_ELATER after `give_up`. */
const char *an_pin_missing(const struct an_pin *p);
