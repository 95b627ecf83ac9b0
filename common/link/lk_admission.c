/* lk_admission.c - decides which peers of a listener may have a link. */
#include "lk_admission.h"

#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "lk_link_private.h"

#define CHAINS 256u /* the first byte of a key's hash chooses the chain, since it is uniform */

/* The key of a certificate that has links. */
struct lk_holder {
	struct lk_holder *next;
	uint8_t key_hash[32];
	uint32_t n;
};

struct lk_admission {
	uint32_t most, of_one;
	uint32_t clients, services;
	struct lk_holder *chain[CHAINS];
};

struct lk_admission *lk_admission_new(uint32_t most, uint32_t of_one)
{
	struct lk_admission *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->most = most > 0 ? most : UINT32_MAX;
	d->of_one = of_one > 0 ? of_one : UINT32_MAX;
	return d;
}

void lk_admission_free(struct lk_admission *d)
{
	free(d);
}

static struct lk_holder **place_of(struct lk_admission *d, const uint8_t key_hash[32])
{
	struct lk_holder **at = &d->chain[key_hash[0]];

	while (*at && memcmp((*at)->key_hash, key_hash, sizeof(*at)->key_hash) != 0)
		at = &(*at)->next;
	return at;
}

void lk_admission_leave(struct lk_admission *d, struct lk_link *l)
{
	struct lk_holder **at, *h = l->holder;

	if (l->service)
		d->services--;
	l->service = false;
	l->holder = NULL;
	if (!h)
		return;
	d->clients--;
	if (--h->n > 0)
		return;
	at = place_of(d, h->key_hash);
	*at = h->next;
	free(h);
}

/* Find the holder of most links, if it has more than `than`. */
static const struct lk_holder *largest(const struct lk_admission *d, uint32_t than)
{
	const struct lk_holder *out = NULL;

	for (size_t i = 0; i < CHAINS; i++)
		for (const struct lk_holder *h = d->chain[i]; h; h = h->next)
			if (h->n > than) {
				out = h;
				than = h->n;
			}
	return out;
}

/* Remove the newest link of this holder, or the oldest service if h is NULL, and return it. */
static struct lk_link *put_out(struct lk_admission *d, const struct lk_holder *h, struct lk_link *others)
{
	struct lk_link *found = NULL;

	for (struct lk_link *l = others; l && (!h || !found); l = l->next)
		if (h ? l->holder == h : l->service)
			found = l;
	if (found)
		lk_admission_leave(d, found);
	return found;
}

static enum cm_rc enter_client(struct lk_admission *d, struct lk_link *l, struct lk_link *others,
	struct lk_link **out, struct cm_err *err)
{
	const uint8_t *key_hash = lk_peer(l)->key_hash;
	struct lk_holder **at = place_of(d, key_hash), *h = *at;
	uint32_t has = h ? h->n : 0;

	if (CM_CHECKED("link.of_one") && has >= d->of_one && lk_peer(l)->role != CR_ROLE_INTAKE)
		return cm_fail(err, CM_ELATER, "this certificate has %u connections already", (unsigned)has);
	if (d->clients >= d->most) {
		const struct lk_holder *most = CM_CHECKED("link.fair") ? largest(d, has + 1) : NULL;

		*out = most ? put_out(d, most, others) : NULL;
		if (!*out)
			return cm_fail(err, CM_ELATER, "too many connections");
		/* look up the place again, since put_out may have freed a holder */
		at = place_of(d, key_hash);
	}
	if (!*at) {
		*at = calloc(1, sizeof **at);
		if (!*at)
			return cm_fail(err, CM_ELATER, "out of memory");
		memcpy((*at)->key_hash, key_hash, sizeof(*at)->key_hash);
	}
	l->holder = *at;
	l->holder->n++;
	d->clients++;
	return CM_OK;
}

enum cm_rc lk_admission_enter(struct lk_admission *d, struct lk_link *l, struct lk_link *others,
	struct lk_link **out, struct cm_err *err)
{
	*out = NULL;
	/* An intake counts as a client, since it opens a link for each of its own clients. */
	if (lk_peer(l)->role == CR_ROLE_CLIENT || lk_peer(l)->role == CR_ROLE_INTAKE ||
		!CM_CHECKED("link.kept"))
		return enter_client(d, l, others, out, err);
	if (d->services >= LK_KEPT)
		*out = put_out(d, NULL, others);
	l->service = true;
	d->services++;
	return CM_OK;
}
