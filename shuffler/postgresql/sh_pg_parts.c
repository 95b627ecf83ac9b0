/* sh_pg_parts.c - stores the messages and tags of a round on the servers of a list, one partition on
 * each. */
#include "sh_pg_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cm_buf.h"

struct part {
	uint32_t number;
	struct sh_pg_data *data;
};

struct sh_pg_parts {
	struct part at[1 + SH_PG_FURTHER_MAX]; /* sorted by their numbers */
	size_t n, own; /* own: the index in `at` of the partition that reports go to */
};

/* ---- Opening ---- */

/* What partition 0 says about the others. */
struct known {
	const struct sh_pg_servers *servers;
	bool has[1 + SH_PG_FURTHER_MAX]; /* by their places in the list */
	uint32_t lacking;                /* number of one that is not in the list; 0: there is none */
	char name[100];                  /* its name */
};

static enum cm_rc take_known(void *user, uint32_t partition, struct cr_span name, struct cm_err *err)
{
	struct known *k = user;

	(void)err;
	for (size_t i = 1; i < k->servers->n; i++)
		if (k->servers->at[i].number == partition) {
			k->has[i] = true;
			return CM_OK;
		}
	k->lacking = partition;
	(void)snprintf(k->name, sizeof k->name, "%.*s", (int)name.len, (const char *)name.data);
	return CM_OK;
}

static enum cm_rc open_part(struct sh_pg_parts *p, const struct sh_pg_server *server, const uint8_t *round_id,
	enum sh_pg_opening how, uint64_t epoch, struct cm_err *err)
{
	struct part *part = &p->at[p->n];

	enum cm_rc rc = sh_pg_data_open(&server->conf, round_id, server->number, how, &part->data, err);
	if (rc != CM_OK)
		return rc;
	part->number = server->number;
	p->n++;
	if (how == SH_PG_JOIN)
		sh_pg_data_join(part->data, epoch);
	return CM_OK;
}

/* Open the partitions that the round has, and with `extend` make those on servers that are new: first their
 * tables, then the note about them. */
static enum cm_rc open_others(struct sh_pg_parts *p, const struct known *k, const uint8_t *round_id,
	enum sh_pg_opening how, uint64_t epoch, bool extend, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 1; rc == CM_OK && i < k->servers->n; i++) {
		const struct sh_pg_server *server = &k->servers->at[i];
		if (k->has[i]) {
			rc = open_part(
				p, server, round_id, how == SH_PG_CREATE ? SH_PG_WRITE : how, epoch, err);
		} else if (extend) {
			rc = open_part(p, server, round_id, SH_PG_CREATE, epoch, err);
			if (rc == CM_OK)
				rc = sh_pg_data_part_add(p->at[0].data, server->number, err);
		}
	}
	return rc;
}

static int by_number(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static enum cm_rc lacks(const struct known *k, enum sh_pg_opening how, struct cm_err *err)
{
	return how == SH_PG_JOIN
		       ? cm_fail(err, CM_ECONFIG,
				 "other_databases: the head's data are also in \"%s\", which is not in the list",
				 k->name)
		       : cm_fail(err, CM_ENOINPUT,
				 "data_databases: \"%s\" has messages of a round, and is not in the list: put it "
				 "back, or if it is lost, give the round up",
				 k->name);
}

/* Find this intake's own partition, and check that all are in the epoch that the head has begun. */
static enum cm_rc check_joined(
	struct sh_pg_parts *p, const struct sh_pg_servers *s, bool *is_mine, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*is_mine = false;
	for (size_t i = 0; i < p->n; i++)
		if (p->at[i].number == s->own) {
			p->own = i;
			*is_mine = true;
		}
	for (size_t i = 0; rc == CM_OK && p->n > 1 && i < p->n; i++)
		rc = sh_pg_data_is_now(p->at[i].data, err);
	return rc;
}

static enum cm_rc open_all(struct sh_pg_parts *p, const struct sh_pg_servers *s, const uint8_t *round_id,
	enum sh_pg_opening how, uint64_t epoch, struct cm_err *err)
{
	struct known k = { .servers = s };
	bool writes = how == SH_PG_CREATE || how == SH_PG_WRITE, closed = true, is_mine = true;

	enum cm_rc rc = open_part(p, &s->at[0], round_id, how, epoch, err);
	if (rc == CM_OK)
		rc = sh_pg_data_parts(p->at[0].data, take_known, &k, err);
	if (rc == CM_OK && k.lacking > 0)
		rc = lacks(&k, how, err);
	if (rc == CM_OK && writes && s->n > 1)
		rc = sh_pg_data_is_closed(p->at[0].data, &closed, err);
	if (rc == CM_OK)
		rc = open_others(p, &k, round_id, how, epoch, !closed, err);
	qsort(p->at, p->n, sizeof *p->at, by_number);
	if (rc == CM_OK && p->n > 1)
		sh_pg_data_of_several(p->at[0].data);
	if (rc == CM_OK && how == SH_PG_JOIN)
		rc = check_joined(p, s, &is_mine, err);
	return rc == CM_OK && !is_mine
		       ? cm_fail(err, CM_ECONFIG,
				 "database: the round has no partition here: it is not in the head's data_databases")
		       : rc;
}

enum cm_rc sh_pg_parts_open(const struct sh_pg_servers *s, const uint8_t round_id[PR_ROUND_ID_LEN],
	enum sh_pg_opening how, uint64_t epoch, struct sh_pg_parts **out, struct cm_err *err)
{
	struct sh_pg_parts *p = calloc(1, sizeof *p);

	if (!p)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	enum cm_rc rc = open_all(p, s, round_id, how, epoch, err);
	if (rc != CM_OK) {
		sh_pg_parts_close(p);
		return rc;
	}
	*out = p;
	return CM_OK;
}

void sh_pg_parts_close(struct sh_pg_parts *p)
{
	for (size_t i = 0; p && i < p->n; i++)
		sh_pg_data_close(p->at[i].data);
	free(p);
}

/* ---- Epochs and commits ---- */

/* Go through the partitions one after the other.  If a fault interrupts this, the epoch has begun for
 * nobody, and the next one has a higher number in all. Partition 0 is the first to close, so if any
 * partition is closed, it is. */
enum cm_rc sh_pg_parts_epoch(struct sh_pg_parts *p, bool close, struct sh_epoch *out, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_data_epoch(p->at[0].data, close, 0, out, err);
	bool ends = close || out->closed;

	for (size_t i = 1; rc == CM_OK && i < p->n; i++) {
		struct sh_epoch e;
		rc = sh_pg_data_epoch(p->at[i].data, ends, out->number, &e, err);
		out->devices += e.devices;
		if (rc == CM_OK && !ends && e.closed)
			rc = cm_fail(err, CM_EDATA,
				"database: partition %" PRIu32
				" is in a later epoch than the state: that is an older copy",
				p->at[i].number);
	}
	return rc;
}

uint64_t sh_pg_parts_runs(const struct sh_pg_parts *p)
{
	return sh_pg_data_runs(p->at[p->own].data);
}

bool sh_pg_parts_database(const struct sh_pg_parts *p, size_t i, uint32_t *number, bool *up)
{
	if (i >= p->n)
		return false;
	*number = p->at[i].number;
	*up = sh_pg_data_is_up(p->at[i].data);
	return true;
}

enum cm_rc sh_pg_parts_commit(struct sh_pg_parts *p, const uint32_t *bucket, sh_block_source *next,
	void *user, const struct sh_block *tags, struct cm_err *err)
{
	return sh_pg_data_commit(p->at[p->own].data, bucket, next, user, tags, err);
}

/* ---- Reading ---- */

struct key {
	uint64_t id;
	uint32_t bucket;
};

/* A reading of several partitions.  A block that was copied to another partition could replace one that is
 * missing.  Within a partition an index prevents it; across partitions check_once does. */
struct reading {
	sh_block_fn *fn;
	void *user;
	uint32_t first;
	bool *alone; /* buckets that are only in partition 0 */
	bool above;  /* a partition above 0 is being read */
	struct key *key;
	size_t n, cap;
};

static enum cm_rc take_block(void *user, const struct sh_block *block, struct cm_err *err)
{
	struct reading *r = user;

	if (r->above && r->alone[block->bucket - r->first])
		return CM_OK;
	struct key *key = cm_grow(r->key, r->n, &r->cap, sizeof *key);
	if (!key)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	r->key = key;
	r->key[r->n++] = (struct key){ block->id, block->bucket };
	return r->fn(r->user, block, err);
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static enum cm_rc check_once(struct reading *r, struct cm_err *err)
{
	if (r->n > 0)
		qsort(r->key, r->n, sizeof *r->key, by_key);
	for (size_t i = 1; i < r->n; i++)
		if (by_key(&r->key[i - 1], &r->key[i]) == 0)
			return cm_fail(err, CM_EDATA, "database: a block is stored in two partitions");
	return CM_OK;
}

enum cm_rc sh_pg_parts_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err)
{
	const struct sh_pg_parts *p = data;
	struct reading r = { .fn = fn, .user = user, .first = first };

	if (p->n == 1)
		return sh_pg_data_buckets(p->at[0].data, first, n, fn, user, err);
	r.alone = calloc(n, sizeof *r.alone);
	enum cm_rc rc = r.alone ? sh_pg_data_alone(p->at[0].data, first, n, r.alone, err)
				: cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; rc == CM_OK && i < p->n; i++) {
		r.above = i > 0;
		rc = sh_pg_data_buckets(p->at[i].data, first, n, take_block, &r, err);
	}
	if (rc == CM_OK)
		rc = check_once(&r, err);
	free(r.alone);
	free(r.key);
	return rc;
}

enum cm_rc sh_pg_parts_tags(struct sh_pg_parts *p, sh_block_fn *fn, void *user, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < p->n; i++)
		rc = sh_pg_data_tags(p->at[i].data, fn, user, err);
	return rc;
}

/* ---- All rounds ---- */

enum cm_rc sh_pg_parts_drop(
	const struct sh_pg_servers *s, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = s->n; rc == CM_OK && i-- > 0;)
		rc = sh_pg_data_drop(s->at[i].pg, round_id, err);
	return rc;
}

/* Database 0 is that of the state, whose session another thread uses.  So its part of the data is erased
 * over the session that the round has with it. */
enum cm_rc sh_pg_parts_erase(const struct sh_pg_servers *s, struct sh_pg_parts *p,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = s->n; rc == CM_OK && i-- > 1;)
		rc = sh_pg_data_drop(s->at[i].pg, round_id, err);
	if (rc == CM_OK)
		rc = sh_pg_data_erase(p->at[0].data, err);
	sh_pg_parts_close(p);
	return rc;
}

enum cm_rc sh_pg_parts_each(const struct sh_pg_servers *s, sh_place_fn *fn, void *user, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < s->n; i++)
		rc = sh_pg_data_each(s->at[i].pg, fn, user, err);
	return rc;
}
