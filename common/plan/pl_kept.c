/* pl_kept.c - writes and reads what protocol "auto" chose. */
#include "pl_kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_file.h"
#include "pl_why.h"

/* Raise this when the search (pl_choose.h) may choose differently for the same plan and the same rows. */
#define SEARCH_VERSION 1u
#define FILE_MAX       (1u << 20)

static const char magic[] = "tombola auto 1\n";

/* ---- What the choice depends on ---- */

static void add_number(struct cr_hasher *h, uint32_t n)
{
	uint8_t bytes[4];

	cm_put_le32(bytes, n);
	cr_hasher_add(h, bytes, sizeof bytes);
}

/* The digest covers the plan's bytes, which include its budget and its honest fraction; the table of rows;
 * and this version. */
static void digest(const struct pl_plan *p, uint8_t out[PR_HASH_LEN])
{
	struct cr_hasher *h = cr_hasher_new();
	const struct pt_protocol *row;

	cr_hasher_add(h, TOMBOLA_VERSION, sizeof TOMBOLA_VERSION);
	add_number(h, SEARCH_VERSION);
	cr_hasher_add(h, p->digest, PR_HASH_LEN);
	for (size_t i = 0; (row = pt_row(i)); i++) {
		cr_hasher_add(h, row->device->name, strlen(row->device->name) + 1);
		add_number(h, row->automatic);
		add_number(h, (uint32_t)row->device->kinds);
	}
	cr_hasher_done(h, out);
	cr_hasher_free(h);
}

/* ---- Fields, written and read by the same list ---- */

struct item {
	uint32_t item; /* which item of the plan's rounds it is for (pl_round.item) */
	char row[32];
	struct pt_request request;
	double cost;
	char why[PL_WHY_LEN];
};

struct cursor {
	struct cm_buf *to; /* where the bytes go, when the file is written */
	const uint8_t *at; /* where the bytes are, when it is read */
	size_t left;
	bool failed;
};

static void bytes(struct cursor *c, void *field, size_t n)
{
	if (c->failed)
		return;
	if (c->to) {
		c->failed = cm_buf_put(c->to, field, n) != CM_OK;
		return;
	}
	c->failed = c->left < n;
	if (c->failed)
		return;
	memcpy(field, c->at, n);
	c->at += n;
	c->left -= n;
}

static void number64(struct cursor *c, uint64_t *v)
{
	uint8_t raw[8];

	cm_put_le64(raw, *v);
	bytes(c, raw, sizeof raw);
	*v = cm_get_le64(raw);
}

static void number32(struct cursor *c, uint32_t *v)
{
	uint64_t wide = *v;

	number64(c, &wide);
	c->failed = c->failed || wide > UINT32_MAX;
	*v = (uint32_t)wide;
}

static void real(struct cursor *c, double *v)
{
	uint64_t raw;

	memcpy(&raw, v, sizeof raw);
	number64(c, &raw);
	memcpy(v, &raw, sizeof raw);
	c->failed = c->failed || isnan(*v);
}

/* The parts of a request that "auto" chooses; classes and padding are for rows that a plan names. */
static void item_fields(struct cursor *c, struct item *i)
{
	number32(c, &i->item);
	bytes(c, i->row, sizeof i->row);
	real(c, &i->request.epsilon0);
	number32(c, &i->request.levels);
	number32(c, &i->request.dummies);
	number64(c, &i->request.dummy_chance);
	number32(c, &i->request.size);
	number32(c, &i->request.slots);
	number64(c, &i->request.min_reports);
	number64(c, &i->request.shuffler_dummies);
	real(c, &i->request.noise_epsilon);
	real(c, &i->request.noise_delta);
	real(c, &i->cost);
	bytes(c, i->why, sizeof i->why);
	i->row[sizeof i->row - 1] = i->why[sizeof i->why - 1] = '\0';
}

static bool chosen_first(const struct pl_plan *p, size_t i)
{
	return p->round[i].automatic && !pl_repeats(p, i);
}

static enum cm_rc put(const struct pl_plan *p, struct cm_buf *out, struct cm_err *err)
{
	struct cursor c = { .to = out };
	uint8_t hash[PR_HASH_LEN];
	char head[sizeof magic];

	memcpy(head, magic, sizeof head);
	bytes(&c, head, sizeof head);
	digest(p, hash);
	bytes(&c, hash, sizeof hash);
	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		struct item item = { .item = r->item, .request = r->request, .cost = r->cost };

		if (!chosen_first(p, i))
			continue;
		(void)snprintf(item.row, sizeof item.row, "%s", r->protocol->device->name);
		(void)snprintf(item.why, sizeof item.why, "%s", r->why);
		item_fields(&c, &item);
	}
	if (!c.failed)
		cr_sha256(out->data, out->len, hash);
	bytes(&c, hash, sizeof hash);
	return c.failed ? cm_fail(err, CM_EINTERNAL, "out of memory") : CM_OK;
}

/* ---- Reading ---- */

/* Make round r with the choice of its item; false unless "auto" might have made this choice for the round's
 * question. */
static bool take(const struct pl_round *r, const struct item *item, struct pl_round *out)
{
	const struct pt_protocol *row = pt_find(item->row);
	struct cm_err unused;

	*out = *r;
	if (item->item != r->item || !row || row->automatic == 0 ||
		!(row->device->kinds & (unsigned)r->query.kind))
		return false;
	if (r->cost > 0 && (item->cost < r->cost || item->cost > r->cost))
		return false;
	if (!r->shuffler && (item->request.shuffler_dummies > 0 || item->request.noise_epsilon > 0))
		return false;
	if (pt_derive(row, &r->query, &item->request, &out->randomizer, &unused) != CM_OK)
		return false;
	out->protocol = row;
	out->request = item->request;
	out->epsilon0 = out->randomizer.row->epsilon0(&out->randomizer);
	out->cost = item->cost;
	memcpy(out->why, item->why, sizeof out->why);
	return out->epsilon0 <= r->request.epsilon0 && pl_bytes(row, &out->randomizer) <= r->max_bytes;
}

/* Make every round of `to`, a copy of the plan's rounds; false: the file is of no use, and `to` must be
 * dropped. */
static bool take_all(const struct pl_plan *p, struct cursor *c, struct pl_round *to)
{
	struct item item = { .item = 0 };

	for (size_t i = 0; i < p->rounds; i++) {
		if (!p->round[i].automatic)
			continue;
		if (chosen_first(p, i)) {
			item = (struct item){ .item = 0 };
			item_fields(c, &item);
		}
		if (c->failed || !take(&p->round[i], &item, &to[i]))
			return false;
	}
	return c->left == 0;
}

static bool from_bytes(const struct cm_buf *b, struct pl_plan *p)
{
	struct cursor c = { .at = b->data, .left = b->len };
	uint8_t hash[PR_HASH_LEN], wanted[PR_HASH_LEN];
	char head[sizeof magic];
	struct pl_round *round;
	bool ok;

	if (b->len < sizeof head + sizeof hash + sizeof hash)
		return false;
	c.left -= sizeof hash;
	cr_sha256(b->data, c.left, hash);
	if (memcmp(hash, b->data + c.left, sizeof hash) != 0)
		return false;
	bytes(&c, head, sizeof head);
	bytes(&c, hash, sizeof hash);
	digest(p, wanted);
	if (memcmp(head, magic, sizeof head) != 0 || memcmp(hash, wanted, sizeof hash) != 0)
		return false;
	round = malloc(p->rounds * sizeof *round);
	if (!round)
		return false;
	memcpy(round, p->round, p->rounds * sizeof *round);
	ok = take_all(p, &c, round);
	if (ok)
		memcpy(p->round, round, p->rounds * sizeof *round);
	free(round);
	return ok;
}

bool pl_kept_read(const char *path, struct pl_plan *p)
{
	struct cm_buf b;
	struct cm_err unused;
	bool ok;

	cm_buf_init(&b, FILE_MAX);
	ok = cm_file_read(path, FILE_MAX, &b, &unused) == CM_OK && from_bytes(&b, p);
	cm_buf_fini(&b);
	return ok;
}

enum cm_rc pl_kept_write(const char *path, const struct pl_plan *p, struct cm_err *err)
{
	struct cm_buf b;
	enum cm_rc rc;

	cm_buf_init(&b, FILE_MAX);
	rc = put(p, &b, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, b.data, b.len, 0600, err);
	cm_buf_fini(&b);
	return rc;
}
