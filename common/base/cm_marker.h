/* cm_marker.h - the file DIR/in-service, which tells a party that has lost its state from one that starts for
 * the first time.
 *
 * Its first line says when the state in DIR came into service.  Each further line says when an operator
 * accepted that the state was lost.  The party writes the file once the state is durable, and never removes
 * it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

struct cm_marker {
	bool there;
	unsigned losses; /* how many losses of the state operators have accepted */
	char last[32];   /* when the last one was accepted; "": none was */
};
/* CM_EPERM, CM_EIO and others when the file cannot be read. */
CM_CHECK enum cm_rc cm_marker_read(const char *dir, struct cm_marker *out, struct cm_err *err);
/* Record that the state is in service from now on; durable when the call returns.  Leaves an existing file
 * as it is. */
CM_CHECK enum cm_rc cm_marker_make(const char *dir, struct cm_err *err);
/* Append an accepted loss, durably. */
CM_CHECK enum cm_rc cm_marker_add_loss(const char *dir, struct cm_err *err);
