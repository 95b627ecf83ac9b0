/* sh_pg_data.h - the messages and tags of a round in tables of a partition: the data_ functions of
 * sh_store.h.
 *
 * Partition p of round ID has tombola.block_ID_p (bucket, id, body) and tombola.tags_ID_p (id, runs, devices,
 * body): append-only, without an index until a bucket is read first, without vacuum, dropped as a whole.
 * tombola.data has a row for each pair.  An id is stored as the signed number of the same bits, so runs are
 * below 0; `runs` is how many there are after the commit.  The head alone uses partition 0. */
#pragma once

#include "sh_pg.h"
#include "sh_store.h"

struct sh_pg_data;

enum sh_pg_opening { SH_PG_CREATE, SH_PG_WRITE, SH_PG_READ, SH_PG_JOIN };

/* Open on a connection of its own, which holds the lock "data" of this round and partition unless it only
 * reads, or joins for one epoch (sh_pg_data_join). CM_ENOINPUT: there is none.  CM_EDATA: the tables are not
 * whole.  CM_ELATER: another process has it. `conf` is borrowed until the close. */
CM_CHECK enum cm_rc sh_pg_data_open(const struct sh_pg_conf *conf, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint32_t partition, enum sh_pg_opening how, struct sh_pg_data **out, struct cm_err *err);
void sh_pg_data_close(struct sh_pg_data *d); /* accepts NULL */
/* As declared in sh_store.h. */
uint64_t sh_pg_data_runs(const struct sh_pg_data *d);
/* bucket: the bucket to empty first in the same transaction, NULL: none.  Only the head empties one, after
 * the intake has closed: it is the only DELETE that a round's tables see. */
CM_CHECK enum cm_rc sh_pg_data_commit(struct sh_pg_data *d, const uint32_t *bucket, sh_block_source *next,
	void *user, const struct sh_block *tags, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_tags(struct sh_pg_data *d, sh_block_fn *fn, void *user, struct cm_err *err);
/* What is joined commits in this epoch alone. */
void sh_pg_data_join(struct sh_pg_data *d, uint64_t epoch);
CM_CHECK enum cm_rc sh_pg_data_epoch(
	struct sh_pg_data *d, bool close, struct sh_epoch *out, struct cm_err *err);
/* All partitions of a round; and the ids of rounds that have any. */
CM_CHECK enum cm_rc sh_pg_data_drop(
	struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_each(struct sh_pg *pg, sh_place_fn *fn, void *user, struct cm_err *err);
