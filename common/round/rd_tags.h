/* rd_tags.h - the tags of a round's messages in its descriptor: what stands there, and what it must be. */
#pragma once

#include "pt_device.h"
#include "tombola.pb-c.h"

/* Into p->shuffler, for the row of p.  CM_EPROTO names the field: tags where the row has none, more messages
 * than a shuffler may add, classes that are not one number for each tag. */
CM_CHECK enum cm_rc rd_tags_read(
	const Tombola__V1__ShufflerPart *r, struct pt_randomizer *p, struct cm_err *err);
/* Into *r, which borrows from *s. */
void rd_tags_fill(const struct pt_shuffler *s, Tombola__V1__ShufflerPart *r);
