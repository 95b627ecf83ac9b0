/* cl_links.h - keeps the client's connections to its shuffler open, dialling again when one ends.  Uses
 * libuv.
 *
 * A shuffler may have several addresses.  cl_links_new puts them into a random order, so that clients share
 * them evenly; the first connection begins with the first address, a further one with the address that the
 * first connection has, and each goes to the next address whenever its connection could not be made or
 * was lost, at the same pauses as with one address.  So when the client dials, and whom, follows from its
 * random numbers, the network and the times of rounds.  It must never follow from a reading: shuffler and
 * network see it. */
#pragma once

#include "cl_limits.h"
#include "cr_rand.h"
#include "lk_link.h"

struct cl_links;
struct cl_links_conf {
	uv_loop_t *loop;
	char *const *address; /* addresses of the shuffler, 1..CL_ADDRESSES_MAX; borrowed, like user */
	size_t addresses;
	struct nt_tls_ctx *tls; /* borrowed until cl_links_reload replaces it */
	/* Most connections, 1..CL_CONNECTIONS_MAX.  Only one is kept until cl_links_want asks for more.  If
	 * the shuffler has no room, the first connection is dialled again after seconds, a further one after
	 * a minute; each pause is jittered. */
	unsigned n;
	void *user;
	/* Called when the peer's Hello has arrived; the connection is usable from then on. */
	void (*on_up)(void *user, unsigned i);
	void (*on_frame)(void *user, unsigned i, const Tombola__V1__Frame *frame);
	/* Called when a connection ended; was_up: its Hello had arrived.  It is dialled again unless
	 * cl_links_close was called. */
	void (*on_down)(void *user, unsigned i, bool was_up, const struct cm_err *why);
	/* Called after cl_links_close, when no handle is left on the loop. */
	void (*on_closed)(void *user);
	struct lk_counts *counts; /* as in lk_handler */
};
/* Start dialling.  *out is NULL after a fault: CM_EINTERNAL, out of memory or of random numbers. */
CM_CHECK enum cm_rc cl_links_new(const struct cl_links_conf *conf, struct cl_links **out, struct cm_err *err);
/* End every connection.  on_closed is called later, and then the links are freed. */
void cl_links_close(struct cl_links *l);
/* Dial with the new tls from now on; the caller frees the old one.  Every connection is dialled again, so
 * that its peer is verified with the new certificates; with `keep` only one whose peer is not accepted. */
void cl_links_reload(struct cl_links *l, struct nt_tls_ctx *tls, bool keep);
/* Keep connections 0..n-1 (at most conf.n); the others end. */
void cl_links_want(struct cl_links *l, unsigned n);
bool cl_links_up(const struct cl_links *l, unsigned i);
/* The name of the key exchange group (nt_tls_group) of a connection that is up. */
const char *cl_links_group(const struct cl_links *l, unsigned i);
unsigned cl_links_count_up(const struct cl_links *l);
/* The address that connection i dials, or dialled last. */
const char *cl_links_address(const struct cl_links *l, unsigned i);
/* Whether every address has failed since a connection to it was last up, each for a reason that will stay:
 * a certificate or role, or a broken protocol. */
bool cl_links_refused(const struct cl_links *l);
/* The last fault of each address in one text, "a:1: no answer; b:1: connection refused"; returns CM_EUNAVAIL.
 * Addresses that were not dialled yet have "no answer". */
enum cm_rc cl_links_faults(const struct cl_links *l, struct cm_err *err);
/* Fill `order` with a random order of n items: each of the n! orders is as likely as any other. */
void cl_links_order(const struct cr_rng *rng, unsigned n, unsigned *order);
CM_CHECK enum cm_rc cl_links_send(
	struct cl_links *l, unsigned i, const Tombola__V1__Frame *frame, struct cm_err *err);
/* End one connection; it is dialled again after at least wait_ms, or 10 s if that is less. */
void cl_links_drop(struct cl_links *l, unsigned i, uint32_t wait_ms, const struct cm_err *why);
