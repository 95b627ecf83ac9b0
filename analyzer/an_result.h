/* an_result.h - the result of a round as a document, and as people read it.
 *
 * A document depends on the ledger and the opened batch only, never on the clock or the order of arrival:
 * opening a charged round again gives the same bytes. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "an_state.h"
#include "an_tally.h"

#define AN_RESULT_SCHEMA "tombola.result/1"
/* 131072 coordinates of 400 bytes, and PR_TALLIES_MAX counts. */
#define AN_RESULT_MAX ((size_t)128 << 20)

/* The result's bytes appended to out.  spoiled: why the batch must not be used (then t is not looked at, and
 * the document says so in place of an estimate); NULL if it may.  CM_EINTERNAL: no memory, so that no
 * document says that for ever. */
CM_CHECK enum cm_rc an_result_make(const struct an_state *s, const struct an_round_state *r,
	uint64_t messages, const struct an_tally *t, const char *spoiled, struct cm_buf *out,
	struct cm_err *err);

/* STATE_DIR/results/round-0001.json, malloc'd; NULL out of memory. */
char *an_result_path(const char *state_dir, uint32_t number);
/* Durable; the folder is made. */
CM_CHECK enum cm_rc an_result_write(
	const char *state_dir, uint32_t number, const struct cm_buf *bytes, struct cm_err *err);
/* The bytes of a settled round's result, into the empty buffer out.  CM_ENOINPUT when there is none, CM_EDATA
 * when they are not those whose hash the ledger holds. */
CM_CHECK enum cm_rc an_result_read(
	const char *state_dir, const struct an_round_state *r, struct cm_buf *out, struct cm_err *err);
/* The same as a document.  Free with json_decref. */
CM_CHECK enum cm_rc an_result_load(
	const char *state_dir, const struct an_round_state *r, json_t **out, struct cm_err *err);

/* A table; of a long list of items the largest, or the first of numbers, with a line that says how many more
 * there are and how to see them, unless `all`. */
#define AN_RESULT_SHOWN 40u
void an_result_print(const json_t *result, bool all, FILE *out);
void an_result_csv(const json_t *result, FILE *out);

/* A JSON number, or "inf", "-inf", "nan" where JSON has none. */
json_t *an_json_real(double v);
/* Lower-case hex. */
json_t *an_json_hex(const uint8_t *bytes, size_t n);
/* As text, flags of jansson's; NULL out of memory, also where jansson has only left something out. */
char *an_json_text(json_t *doc, size_t flags);
/* One line (indent 0) or indented, 17 significant digits, keys in the order they were set. */
CM_CHECK enum cm_rc an_json_print(json_t *doc, int indent, FILE *out, struct cm_err *err);
