/* sh_pg_payload.h - stores payloads in PostgreSQL, in pieces: the payload_ functions of sh_store.h. */
#pragma once

#include "sh_pg.h"
#include "sh_store.h"

/* As declared in sh_store.h. */
CM_CHECK enum cm_rc sh_pg_payload_add(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
	const void *bytes, size_t len, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_payload_finish(
	struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_payload_read(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], uint64_t offset,
	void *out, size_t len, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_payload_drop(struct sh_pg *pg, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_payload_each(struct sh_pg *pg, sh_payload_fn *fn, void *user, struct cm_err *err);
