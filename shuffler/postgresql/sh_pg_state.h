/* sh_pg_state.h - rounds, records, pins, heads, standings and the accepted loss: functions of sh_store.h on
 * one connection; part of sh_postgresql.c. */
#pragma once

#include "sh_pg.h"
#include "sh_store.h"

/* As declared in sh_store.h. */
CM_CHECK enum cm_rc sh_pg_row_put(struct sh_pg *pg, const struct sh_row *row, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_row_get(struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn,
	void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_row_each(struct sh_pg *pg, sh_row_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_records_put(
	struct sh_pg *pg, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_record_get(
	struct sh_pg *pg, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_record_each(struct sh_pg *pg, sh_record_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_pin_put(struct sh_pg *pg, const struct sh_pin_row *pin, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_pin_each(struct sh_pg *pg, sh_pin_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_loss_get(struct sh_pg *pg, struct sh_loss *loss, struct cm_err *err);
/* sh_store.h's loss_put within the caller's transaction. */
CM_CHECK enum cm_rc sh_pg_loss(struct sh_pg *pg, const struct sh_loss *loss, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_head_put(struct sh_pg *pg, const struct sh_head_row *head, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_head_each(struct sh_pg *pg, sh_head_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_standings_put(
	struct sh_pg *pg, const struct sh_standing *standing, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_standing_get(
	struct sh_pg *pg, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err);
