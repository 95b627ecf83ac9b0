/* an_refusals.h - explains the rounds that the budget refused, one after the other, on a thread that shares
 * nothing with the loop. */
#pragma once

#include "an_context.h"

struct an_refusals;
CM_CHECK enum cm_rc an_refusals_new(struct an_context *context, struct an_refusals **out, struct cm_err *err);
void an_refusals_close(struct an_refusals *x);
void an_refusals_free(struct an_refusals *x);

/* Call when a page was requested: starts making an explanation if one is missing. */
void an_refusals_want(struct an_refusals *x);
/* The explanations made so far, as "tombola.refusals/1", owned by the caller; NULL if out of memory. */
char *an_refusals_text(struct an_refusals *x);
unsigned an_refusals_made(const struct an_refusals *x);
