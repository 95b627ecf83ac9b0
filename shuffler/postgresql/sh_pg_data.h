/* sh_pg_data.h - the messages and tags of a round in tables of a partition: the data_ functions of
 * sh_store.h.
 *
 * Partition p of round ID has the tables tombola.block_ID_p (bucket, id, body) and tombola.tags_ID_p (id,
 * runs, devices, body).  They are append-only, have no index until a bucket is first read, are not
 * vacuumed, and are dropped as a whole.  tombola.data has a row for each pair.  An id is stored as the
 * signed number of the same bits, so ids of runs are below 0; `runs` is the number of runs after the
 * commit.  Partition 0 is in the database of the state; others are on the servers that are listed beside it
 * (sh_pg_servers.h). */
#pragma once

#include "sh_pg.h"
#include "sh_store.h"

struct sh_pg_data;

enum sh_pg_opening { SH_PG_CREATE, SH_PG_WRITE, SH_PG_READ, SH_PG_JOIN };

/* Open on a connection of its own.  The connection holds the lock "data" of this round and partition unless
 * it only reads, or joins for one epoch (sh_pg_data_join).  CM_ENOINPUT: there are no tables.  CM_EDATA:
 * the tables are incomplete.  CM_ELATER: another process has the lock.  `conf` is borrowed until the
 * close. */
CM_CHECK enum cm_rc sh_pg_data_open(const struct sh_pg_conf *conf, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint32_t partition, enum sh_pg_opening how, struct sh_pg_data **out, struct cm_err *err);
void sh_pg_data_close(struct sh_pg_data *d);       /* accepts NULL */
bool sh_pg_data_is_up(const struct sh_pg_data *d); /* see sh_pg_is_up */
/* As declared in sh_store.h. */
uint64_t sh_pg_data_runs(const struct sh_pg_data *d);
/* bucket: the bucket to empty first in the same transaction, NULL: there is none.  Only the head empties
 * one, after the intake has closed: this is the only DELETE on a round's tables. */
CM_CHECK enum cm_rc sh_pg_data_commit(struct sh_pg_data *d, const uint32_t *bucket, sh_block_source *next,
	void *user, const struct sh_block *tags, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_tags(struct sh_pg_data *d, sh_block_fn *fn, void *user, struct cm_err *err);
/* Join, to commit only in this epoch. */
void sh_pg_data_join(struct sh_pg_data *d, uint64_t epoch);
/* number: that of the epoch, in a partition above 0; there `closed` is also set if that epoch has begun or
 * ended already.  Partition 0 makes the number, and ignores this one. */
CM_CHECK enum cm_rc sh_pg_data_epoch(
	struct sh_pg_data *d, bool close, uint64_t number, struct sh_epoch *out, struct cm_err *err);

/* ---- A round whose partitions are on several servers (sh_pg_parts.h) ---- */

/* In partition 0: visit the partitions above 0 that the round has, in order.  name: name of the server, ""
 * if its place is not known. */
typedef enum cm_rc sh_pg_part_fn(void *user, uint32_t partition, struct cr_span name, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_parts(struct sh_pg_data *d, sh_pg_part_fn *fn, void *user, struct cm_err *err);
/* In partition 0: note, durably, that the round has this partition. */
CM_CHECK enum cm_rc sh_pg_data_part_add(struct sh_pg_data *d, uint32_t partition, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_is_closed(struct sh_pg_data *d, bool *out, struct cm_err *err);
/* For a joined partition.  CM_ELATER: its epoch is over; CM_EIO: its epoch has not begun here, so this is
 * not a server that the head writes to. */
CM_CHECK enum cm_rc sh_pg_data_is_now(struct sh_pg_data *d, struct cm_err *err);
/* Say that there are other partitions: a bucket that sh_pg_data_commit empties is then only in this
 * partition. */
void sh_pg_data_of_several(struct sh_pg_data *d);
/* A block with this negative number in partition 0 says that no other partition has blocks of the bucket. */
#define SH_PG_ALONE(bucket) (-1 - (int64_t)(bucket))
/* Find which of the buckets first..first+n-1 are only in partition 0. */
CM_CHECK enum cm_rc sh_pg_data_alone(
	struct sh_pg_data *d, uint32_t first, uint32_t n, bool *alone, struct cm_err *err);
/* Drop all partitions of a round; and visit the ids of rounds that have any. */
CM_CHECK enum cm_rc sh_pg_data_drop(
	struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
/* Drop over the connection of an open partition, which must still be closed. */
CM_CHECK enum cm_rc sh_pg_data_erase(struct sh_pg_data *d, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_data_each(struct sh_pg *pg, sh_place_fn *fn, void *user, struct cm_err *err);
