/* pt_flame.h - coordinates of a vector as levels, one in a message: what the rows after FLAME share.
 *
 * Liu, Cao, Chen, Guo, Yoshikawa, "FLAME: differentially private federated learning in the shuffle model",
 * 2021, with its errors corrected (doc/protocols/paper.md, "FLAME"): one coordinate in a message, one index
 * from each public group, levels 0..b with a blanket on all of them. */
#pragma once

#include "pt_slots.h"

/* Initialisers for members of struct pt_device that such rows have in common. */
#define PT_FLAME_DEVICE .kinds = QY_VECTOR, .epsilon0 = pt_slots_epsilon0

/* Round a coordinate, X / 2^31 of its range, to one of the levels 0..b, whose mean is exactly X b / 2^31.
 * Constant time. */
uint64_t pt_flame_level(uint32_t x, uint32_t b, const struct cr_rng *rng);
/* The group that a record of slot s is about.  Constant time in the record's contents. */
uint32_t pt_flame_group(const struct pt_slot *s, const uint8_t record[PT_RECORD_LEN]);
/* Check that the plan says how many messages of each coordinate the shuffler leaves, and that these are not
 * too many in all. If not, returns `code`. */
CM_CHECK enum cm_rc pt_flame_padded(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);

/* Check that so many coordinates can be sent.  If not, returns `code`.  "ss-double" sends one of each
 * group; "ss-topk" sends those chosen for their value, besides the client's own dummies, which are of
 * coordinates drawn uniformly. */
CM_CHECK enum cm_rc pt_ss_double_shape(
	const struct qy_query *q, uint32_t sent, enum cm_rc code, struct cm_err *err);
CM_CHECK enum cm_rc pt_ss_topk_shape(
	const struct qy_query *q, uint32_t sent, uint32_t dummies, enum cm_rc code, struct cm_err *err);
