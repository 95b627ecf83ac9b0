/* an_result.h - makes the result document of a round, and stores it.
 *
 * A document depends on the ledger and the opened batch only, not on the clock or the order of arrival:
 * opening a charged round again gives the same bytes. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_json.h"
#include "an_state.h"
#include "an_tally.h"
#include "rd_manifest.h"

#define AN_RESULT_SCHEMA "tombola.result/1"
/* Room for 131072 coordinates of 400 bytes, and PR_TALLIES_MAX counts. */
#define AN_RESULT_MAX ((size_t)128 << 20)

/* Append the result's bytes to out.  m: the round's manifest, or NULL if there is no manifest to be had.
 * spoiled: why the batch must not be used; the document then states that instead of an estimate, and t is
 * not read.  NULL: the batch may be used.  CM_EINTERNAL: out of memory; no document is made, because a
 * document is final. */
CM_CHECK enum cm_rc an_result_make(const struct an_state *s, const struct an_round_state *r,
	const struct rd_manifest *m, const struct an_tally *t, const char *spoiled, struct cm_buf *out,
	struct cm_err *err);

/* STATE_DIR/results/round-0001.json for the first plan, results/plan-2-round-0001.json for the second;
 * malloc'd; NULL: out of memory. */
char *an_result_path(const char *state_dir, const struct an_round_state *r);
/* Store the bytes durably; creates the folder. */
CM_CHECK enum cm_rc an_result_write(const char *state_dir, const struct an_round_state *r,
	const struct cm_buf *bytes, struct cm_err *err);
/* Read a settled round's result into the empty buffer out.  CM_ENOINPUT: no file.  CM_EDATA: its hash differs
 * from the one in the ledger. */
CM_CHECK enum cm_rc an_result_read(
	const char *state_dir, const struct an_round_state *r, struct cm_buf *out, struct cm_err *err);
/* The same as parsed JSON.  Free with json_decref. */
CM_CHECK enum cm_rc an_result_load(
	const char *state_dir, const struct an_round_state *r, json_t **out, struct cm_err *err);
