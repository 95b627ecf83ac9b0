/* cl_links.c - keeps several connections to one shuffler open. */
#include "cl_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_FIRST_MS 200u
#define BACKOFF_LAST_MS  10000u
/* Pauses after "busy": CROWDED_MS for the first connection, CROWDED_MORE_MS for a further one, which the
 * client can do without. */
#define CROWDED_MS      5000u
#define CROWDED_MORE_MS 60000u

struct one {
	struct cl_links *owner;
	unsigned i;
	unsigned at;                  /* index into `order` of the address that it dials */
	bool stays;                   /* the connection is closed on purpose: the address did not fail */
	struct lk_link *link;         /* NULL while waiting to dial */
	bool up, was_up;              /* usable now; was usable at some time since it was dialled */
	uint32_t backoff_ms, wait_ms; /* wait_ms: least pause before the next dial, used once */
	uv_timer_t timer;
};

struct cl_links {
	struct cl_links_conf conf;
	struct one one[CL_CONNECTIONS_MAX];
	unsigned order[CL_ADDRESSES_MAX];
	/* the last fault of each address in the order; CM_OK if it has had none */
	struct cm_err fault[CL_ADDRESSES_MAX];
	unsigned open; /* timers and links that are not closed yet */
	unsigned wanted;
	bool closing;
};

static void dial(struct one *o);

static void gone(struct cl_links *l)
{
	if (--l->open > 0)
		return;
	l->conf.on_closed(l->conf.user);
	free(l);
}

static void on_timer(uv_timer_t *t)
{
	dial(t->data);
}

static void on_timer_closed(uv_handle_t *h)
{
	gone(((struct one *)h->data)->owner);
}

/* Lengthen the pause by up to a half, so that clients refused together do not return together.  The jitter
 * hides nothing, so it uses the kernel's random bytes directly; without any there is no jitter. */
static uint32_t jittered(uint32_t ms)
{
	uint32_t random = 0;

	(void)uv_random(NULL, NULL, &random, sizeof random, 0, NULL);
	return ms + (uint32_t)((uint64_t)random * (ms / 2) >> 32);
}

static void dial_later(struct one *o)
{
	uint32_t wait;

	if (o->i >= o->owner->wanted)
		return;
	wait = jittered(o->backoff_ms > o->wait_ms ? o->backoff_ms : o->wait_ms);

	o->wait_ms = 0;
	o->backoff_ms = o->backoff_ms < BACKOFF_FIRST_MS ? BACKOFF_FIRST_MS : o->backoff_ms * 2;
	if (o->backoff_ms > BACKOFF_LAST_MS)
		o->backoff_ms = BACKOFF_LAST_MS;
	(void)uv_timer_start(&o->timer, on_timer, wait, 0);
}

/* Record the fault with which a connection to an address ended; the text names the address. */
static void note_fault(struct one *o, const struct cm_err *why)
{
	struct cl_links *l = o->owner;
	struct cm_err *fault = &l->fault[o->at];
	const char *address = cl_links_address(l, o->i);

	*fault = *why;
	if (l->conf.addresses > 1 && strncmp(why->msg, address, strlen(address)) != 0)
		(void)cm_context(fault, "%.100s", address);
}

/* Dial the next address after a fault, unless the address is not to blame. */
static void move_on(struct one *o, const struct cm_err *why)
{
	if (why->code != CM_OK && !o->stays)
		o->at = (o->at + 1) % (unsigned)o->owner->conf.addresses;
	o->stays = false;
}

static void on_ready(struct lk_link *link, void *user)
{
	struct one *o = user;

	(void)link;
	if (o->owner->closing || o->i >= o->owner->wanted)
		return;
	o->up = o->was_up = true;
	o->owner->fault[o->at].code = CM_OK;
	o->owner->conf.on_up(o->owner->conf.user, o->i);
}

static void on_frame(struct lk_link *link, void *user, const Tombola__V1__Frame *frame)
{
	struct one *o = user;

	(void)link;
	/* Only a peer that answers resets the pause.  Otherwise a peer that accepts connections and cuts
	 * them would be dialled without a pause for ever. */
	o->backoff_ms = 0;
	if (o->up && !o->owner->closing)
		o->owner->conf.on_frame(o->owner->conf.user, o->i, frame);
}

static void on_close(struct lk_link *link, void *user, const struct cm_err *why)
{
	struct one *o = user;
	struct cl_links *l = o->owner;
	bool was_up = o->was_up;
	struct cm_err said;

	(void)link;
	note_fault(o, why);
	said = l->fault[o->at];
	o->link = NULL;
	o->up = o->was_up = false;
	/* The shuffler has no room: this client's certificate has used up its share of connections, or all
	 * connections are in use. */
	if (!was_up && why->code == CM_ELATER)
		o->wait_ms = o->i == 0 ? CROWDED_MS : CROWDED_MORE_MS;
	move_on(o, why);
	if (!l->closing) {
		l->conf.on_down(l->conf.user, o->i, was_up, &said);
		if (!l->closing)
			dial_later(o);
	}
	gone(l);
}

static void dial(struct one *o)
{
	struct cl_links *l = o->owner;
	const struct lk_handler handler = {
		.on_ready = on_ready, .on_frame = on_frame, .on_close = on_close, .counts = l->conf.counts
	};
	struct cm_err why;

	if (l->closing || o->i >= l->wanted || o->link)
		return;
	l->open++;
	if (lk_dial(l->conf.loop, cl_links_address(l, o->i), l->conf.tls, NULL, &handler, o, &o->link,
		    &why) == CM_OK)
		return;
	o->link = NULL;
	note_fault(o, &why);
	why = l->fault[o->at];
	move_on(o, &why);
	l->conf.on_down(l->conf.user, o->i, false, &why);
	if (!l->closing)
		dial_later(o);
	gone(l);
}

void cl_links_order(const struct cr_rng *rng, unsigned n, unsigned *order)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned j = i > 0 ? (unsigned)cr_rng_below(rng, i + 1u) : 0;

		order[i] = order[j];
		order[j] = i;
	}
}

enum cm_rc cl_links_new(const struct cl_links_conf *conf, struct cl_links **out, struct cm_err *err)
{
	struct cl_links *l = calloc(1, sizeof *l);
	struct cr_rng rng;

	*out = l;
	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	l->conf = *conf;
	if (cr_rng_system(&rng, err) != CM_OK) {
		free(l);
		*out = NULL;
		return err->code;
	}
	cl_links_order(&rng, (unsigned)conf->addresses, l->order);
	for (unsigned i = 0; i < conf->n; i++) {
		struct one *o = &l->one[i];

		o->owner = l;
		o->i = i;
		(void)uv_timer_init(conf->loop, &o->timer);
		o->timer.data = o;
		l->open++;
	}
	cl_links_want(l, 1);
	return CM_OK;
}

void cl_links_want(struct cl_links *l, unsigned n)
{
	if (l->closing)
		return;
	l->wanted = n < l->conf.n ? n : l->conf.n;
	for (unsigned i = 0; i < l->conf.n; i++) {
		struct one *o = &l->one[i];

		/* Dials from the loop, so that no callback comes before the caller has its pointer. */
		if (i < l->wanted && !o->link && !uv_is_active((uv_handle_t *)&o->timer)) {
			/* A further connection begins where the first is, not at an address that failed. */
			o->at = l->one[0].at;
			(void)uv_timer_start(&o->timer, on_timer, 0, 0);
		}
		if (i >= l->wanted) {
			(void)uv_timer_stop(&o->timer);
			o->up = false;
			if (o->link)
				lk_close(o->link, NULL);
		}
	}
}

void cl_links_close(struct cl_links *l)
{
	if (l->closing)
		return;
	l->closing = true;
	for (unsigned i = 0; i < l->conf.n; i++) {
		if (l->one[i].link)
			lk_close(l->one[i].link, NULL);
		uv_close((uv_handle_t *)&l->one[i].timer, on_timer_closed);
	}
}

bool cl_links_up(const struct cl_links *l, unsigned i)
{
	return i < l->conf.n && l->one[i].up;
}

const char *cl_links_group(const struct cl_links *l, unsigned i)
{
	return lk_group(l->one[i].link);
}

const char *cl_links_address(const struct cl_links *l, unsigned i)
{
	return l->conf.address[l->order[l->one[i].at]];
}

bool cl_links_refused(const struct cl_links *l)
{
	for (size_t i = 0; i < l->conf.addresses; i++)
		if (l->fault[i].code != CM_EPERM && l->fault[i].code != CM_EPROTO)
			return false;
	return true;
}

enum cm_rc cl_links_faults(const struct cl_links *l, struct cm_err *err)
{
	size_t n = l->conf.addresses, room = sizeof err->msg / n, at = 0;

	*err = (struct cm_err){ .code = CM_EUNAVAIL };
	for (size_t i = 0; i < n; i++) {
		const char *address = l->conf.address[l->order[i]];
		const char *said = l->fault[i].code != CM_OK ? l->fault[i].msg : "no answer";
		bool named = strncmp(said, address, strlen(address)) == 0;
		int put = snprintf(err->msg + at, room, "%s%s%s%s", i > 0 ? "; " : "", named ? "" : address,
			named ? "" : ": ", said);

		at += put < 0 ? 0 : (size_t)put < room ? (size_t)put : room - 1;
	}
	return err->code;
}

unsigned cl_links_count_up(const struct cl_links *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->conf.n; i++)
		n += l->one[i].up;
	return n;
}

enum cm_rc cl_links_send(struct cl_links *l, unsigned i, const Tombola__V1__Frame *frame, struct cm_err *err)
{
	if (!cl_links_up(l, i))
		return cm_fail(err, CM_EUNAVAIL, "not connected");
	return lk_send(l->one[i].link, frame, err);
}

void cl_links_drop(struct cl_links *l, unsigned i, uint32_t wait_ms, const struct cm_err *why)
{
	if (i >= l->conf.n || !l->one[i].link)
		return;
	/* The peer may have chosen this pause, so it is limited; dialling another address instead would not
	 * help. */
	l->one[i].wait_ms = wait_ms < BACKOFF_LAST_MS ? wait_ms : BACKOFF_LAST_MS;
	/* Ignore further frames of this connection, although it closes later. */
	l->one[i].up = false;
	lk_close(l->one[i].link, why);
}

void cl_links_reload(struct cl_links *l, struct nt_tls_ctx *tls, bool keep)
{
	struct cm_err why;

	l->conf.tls = tls;
	for (unsigned i = 0; i < l->conf.n; i++) {
		if (keep && l->one[i].up && lk_recheck(l->one[i].link, tls, &why) == CM_OK)
			continue;
		(void)cm_fail(&why, CM_EUNAVAIL, "certificates were reloaded");
		l->one[i].stays = l->one[i].link != NULL;
		cl_links_drop(l, i, 0, &why);
	}
}
