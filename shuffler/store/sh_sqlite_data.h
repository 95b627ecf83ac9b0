/* sh_sqlite_data.h - stores the messages and tags of rounds in SQLite files: the data_ functions of
 * sh_store.h. */
#pragma once

#include "sh_store.h"

/* The files of rounds are in folder `rounds`; ctx of the functions below is that path. */
enum cm_rc sh_sqlite_data_open(const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], bool create,
	void **data, struct cm_err *err);
/* The same only for reading, as sh_sqlite_open_readonly says. */
enum cm_rc sh_sqlite_data_open_readonly(
	const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], void **data, struct cm_err *err);
void sh_sqlite_data_close(void *data);
uint64_t sh_sqlite_data_runs(void *data);
enum cm_rc sh_sqlite_data_commit(
	void *data, sh_block_source *next, void *user, const struct sh_block *tags, struct cm_err *err);
enum cm_rc sh_sqlite_data_replace(void *data, uint32_t bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err);
enum cm_rc sh_sqlite_data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err);
enum cm_rc sh_sqlite_data_tags(void *data, sh_block_fn *fn, void *user, struct cm_err *err);
enum cm_rc sh_sqlite_data_drop(
	const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err);
enum cm_rc sh_sqlite_data_each(const char *rounds, sh_place_fn *fn, void *user, struct cm_err *err);
