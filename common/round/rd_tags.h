/* rd_tags.h - the tags of a round's messages in its descriptor: what stands there, and what it must be. */
#pragma once

#include "pt_protocol.h"
#include "tombola.pb-c.h"

/* Into *p, for a row.  CM_EPROTO names the field: tags where the row has none, more messages than a shuffler
 * may add, classes that are not one number for each tag. */
CM_CHECK enum cm_rc rd_tags_read(const Tombola__V1__Randomizer *r, const struct pt_protocol *row,
	struct pt_params *p, struct cm_err *err);
/* Into *r, which borrows from *p. */
void rd_tags_fill(const struct pt_params *p, Tombola__V1__Randomizer *r);
