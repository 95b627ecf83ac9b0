/* cm_begun.h - DIR/in-service: tells a party that has lost its state from one that starts for the first time.
 *
 * A line of text each: when the state in DIR came into service, and when an operator accepted that it was
 * lost.  It is made once the state is durable, and stays. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

struct cm_begun {
	bool there;
	unsigned losses; /* accepted ones */
	char last[32];   /* when the last was, "" for none */
};
/* CM_EPERM, CM_EIO... when it cannot be known. */
CM_CHECK enum cm_rc cm_begun_read(const char *dir, struct cm_begun *out, struct cm_err *err);
/* In service from now on: durable when it returns; what is noted already stays as it is. */
CM_CHECK enum cm_rc cm_begun_note(const char *dir, struct cm_err *err);
/* Add a loss, durably. */
CM_CHECK enum cm_rc cm_begun_lost(const char *dir, struct cm_err *err);
