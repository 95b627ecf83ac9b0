/* lk_admission.h - decides which peers of a listener may have a link: for lk_server.c only.
 *
 * Clients share `most` places, and one certificate (identified by its key's hash) has at most `of_one` of
 * them.  When all are taken, the certificate that has most links loses one to a client that will have fewer
 * even then; so no certificate loses a link to one that has as many or more.
 *
 * Services - every other role, here the analyzer - have LK_KEPT places of their own, which clients cannot
 * take.  A new service is always admitted; beyond LK_KEPT the oldest service is closed. */
#pragma once

#include "lk_link.h"

struct lk_admission;
/* Make an admission; most, of_one: 0 means no limit.  NULL out of memory. */
struct lk_admission *lk_admission_new(uint32_t most, uint32_t of_one);
/* Call it after every link has left. */
void lk_admission_free(struct lk_admission *d);

/* CM_OK if l, whose peer is verified, may be a link.  others: the links of the same listener, newest first.
 * *out is NULL, or the link that the caller must close to make room (it has left already).  CM_ELATER: it
 * may not, with the reason. */
CM_CHECK enum cm_rc lk_admission_enter(struct lk_admission *d, struct lk_link *l, struct lk_link *others,
	struct lk_link **out, struct cm_err *err);
/* Give up l's place; does nothing when it has none. */
void lk_admission_leave(struct lk_admission *d, struct lk_link *l);
