/* rd_tags.h - decodes and encodes what a descriptor says about the tags of a round's messages. */
#pragma once

#include "pt_device.h"
#include "tombola.pb-c.h"

/* Decode into p->shuffler; p->row must be there.  CM_EPROTO names the field: the row has no tags, the
 * messages are more than a shuffler may add, or there is not one class minimum for each tag. */
CM_CHECK enum cm_rc rd_tags_read(
	const Tombola__V1__ShufflerPart *r, struct pt_randomizer *p, struct cm_err *err);
/* Fill *r for encoding; it borrows from *s. */
void rd_tags_fill(const struct pt_shuffler *s, Tombola__V1__ShufflerPart *r);
