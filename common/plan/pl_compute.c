/* pl_compute.c - what a device computes before it answers, and the payload that this reads, of a round in a
 * plan file. */
#include <string.h>

#include "pl_read.h"

#define PAYLOAD_DEFAULT 1048576u

void pl_compute_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r)
{
	struct cm_err e = { 0 };

	if (raw->compute)
		pl_map_take(c, r);
	if (c->found == 0 && rd_descriptor_fits(&r->query, &r->computing, &e) != CM_OK)
		pl_fault_of(c, r->line, &e);
	if (!raw->payload) {
		if (pl_round_says(c, r, "payload_max"))
			pl_fault(c, pl_round_line(c, r, "payload_max"),
				"'payload_max' is of a round with 'payload'");
		return;
	}
	if (strcmp(raw->payload, "later") != 0)
		pl_fault(c, pl_round_line(c, r, "payload"), "'payload' must be \"later\"");
	if (!raw->compute)
		pl_fault(c, pl_round_line(c, r, "payload"),
			"'payload' needs 'compute': nothing would read the payload");
	if (raw->every_ms > 0)
		pl_fault(c, pl_round_line(c, r, "payload"),
			"'payload' and 'every' exclude each other: the round waits for its payload; take "
			"'repeat'");
	r->payload_max = raw->payload_max > 0 ? (uint64_t)raw->payload_max : PAYLOAD_DEFAULT;
}
