/* sh_pg_parts.h - the messages and tags of a round on the servers of a list (sh_pg_servers.h), one
 * partition on each: the data_ functions of sh_store.h.  If there is one server it is that partition, and
 * nothing else.
 *
 * Partition 0, in the database of the state, notes which others the round has.  An epoch begins
 * (doc/intakes.md), and the data close, in every partition, with one number that partition 0 gives, before
 * anybody is told.  A bucket consists of its parts in all partitions, in their order.  Data are dropped in
 * every partition, in that of the state last. */
#pragma once

#include "sh_pg_data.h"
#include "sh_pg_servers.h"

struct sh_pg_parts;

/* Open all partitions as sh_pg_data_open does.  An open round gets a partition on servers that are new.
 * epoch: with SH_PG_JOIN.  CM_ENOINPUT, at an intake CM_ECONFIG: a server that has a partition is not in
 * the list. */
CM_CHECK enum cm_rc sh_pg_parts_open(const struct sh_pg_servers *s, const uint8_t round_id[PR_ROUND_ID_LEN],
	enum sh_pg_opening how, uint64_t epoch, struct sh_pg_parts **out, struct cm_err *err);
void sh_pg_parts_close(struct sh_pg_parts *p); /* accepts NULL */
/* As declared in sh_store.h, and sh_pg_data.h. */
uint64_t sh_pg_parts_runs(const struct sh_pg_parts *p);
bool sh_pg_parts_database(const struct sh_pg_parts *p, size_t i, uint32_t *number, bool *up);
CM_CHECK enum cm_rc sh_pg_parts_commit(struct sh_pg_parts *p, const uint32_t *bucket, sh_block_source *next,
	void *user, const struct sh_block *tags, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_parts_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_parts_tags(struct sh_pg_parts *p, sh_block_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_parts_epoch(
	struct sh_pg_parts *p, bool close, struct sh_epoch *out, struct cm_err *err);
/* Drop on the servers of the list: a database that was left out drops its tables when it is in the list
 * again. */
CM_CHECK enum cm_rc sh_pg_parts_drop(
	const struct sh_pg_servers *s, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* The same, and close p.  Another thread may use the session of the state meanwhile. */
CM_CHECK enum cm_rc sh_pg_parts_erase(const struct sh_pg_servers *s, struct sh_pg_parts *p,
	const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* It may show a round more than once. */
CM_CHECK enum cm_rc sh_pg_parts_each(
	const struct sh_pg_servers *s, sh_place_fn *fn, void *user, struct cm_err *err);
