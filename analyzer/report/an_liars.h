/* an_liars.h - puts into a result document what dishonest devices can have done (pt_liars.h). */
#pragma once

#include <jansson.h>
#include <math.h>

#include "an_tally.h"
#include "es_estimate.h"
#include "rd_descriptor.h"

/* How many devices are assumed to have lied, and the claim about each item. */
struct an_liars {
	uint64_t m;
	const char *from; /* who says m: "plan" or "asked" */
	/* The claim is that the item is above this.  NAN: that it is above 0 if it is a count of devices, and
	 * nothing about other items. */
	double above;
};

/* The liars that the round's descriptor allows for: all participants but those whom its charge takes to be
 * honest.  Its smallest batch has at least one honest device, so this is below `devices`. */
struct an_liars an_liars_of(const struct rd_descriptor *d, uint64_t devices);
/* Set "liars" in the result `doc`, and in every item of its answer e, which was made from t's counts, what is
 * known of the honest devices if so many of `devices` lied or, if more were seen to, if those did.  Keys that
 * are there are replaced.  If the counts contradict what is assumed, "liars" has a "fault", and the items
 * have nothing.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc an_liars_set(json_t *doc, const struct rd_descriptor *d, const struct an_tally *t,
	const struct es_estimate *e, uint64_t devices, const struct an_liars *liars, struct cm_err *err);
/* The same for a stored result of this round, from the counts that it states. */
CM_CHECK enum cm_rc an_liars_assume(
	json_t *doc, const struct rd_descriptor *d, const struct an_liars *liars, struct cm_err *err);
/* How many lied by the result `doc`: as many as assumed, or as many as were seen if these are more. */
uint64_t an_liars_in(const json_t *doc);
