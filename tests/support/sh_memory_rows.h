/* sh_memory_rows.h - the rows of a store in memory: tables, each sorted by a number. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "sh_memory.h"

#define SPANS 5 /* byte fields of a row: a round has most */

enum table { ROUNDS, RECORDS, PINS, LOSSES, HEADS, STANDINGS, PLACES, BLOCKS, TAGS, PAYLOADS };

struct row {
	enum table table;
	uint8_t key[PR_HASH_LEN]; /* of what it is, or whose */
	uint64_t number;          /* columns by which the rows of a table are sorted */
	uint32_t bucket;
	int state;
	double epsilon;
	struct cr_span span[SPANS]; /* owned */
};

struct sh_memory {
	struct row *row;
	size_t rows, cap;
};

static inline void *some(void *p)
{
	if (!p)
		abort();
	return p;
}

static inline struct cr_span copied(struct cr_span s)
{
	if (s.len == 0)
		return (struct cr_span){ NULL, 0 };
	uint8_t *bytes = some(malloc(s.len));
	memcpy(bytes, s.data, s.len);
	return (struct cr_span){ bytes, s.len };
}

static inline void drop(struct sh_memory *m, size_t i)
{
	for (size_t k = 0; k < SPANS; k++)
		free((void *)(uintptr_t)m->row[i].span[k].data);
	memmove(&m->row[i], &m->row[i + 1], (--m->rows - i) * sizeof *m->row);
}

/* A copy of `r` in its place, after those of its number. */
static inline void put(struct sh_memory *m, const struct row *r)
{
	size_t at = m->rows;

	m->row = some(cm_grow(m->row, m->rows, &m->cap, sizeof *m->row));
	while (at > 0 && m->row[at - 1].number > r->number)
		at--;
	memmove(&m->row[at + 1], &m->row[at], (m->rows++ - at) * sizeof *m->row);
	m->row[at] = *r;
	for (size_t k = 0; k < SPANS; k++)
		m->row[at].span[k] = copied(r->span[k]);
}

/* The next row of the table from *at, with this key (NULL: any); NULL past the last. */
static inline struct row *next(struct sh_memory *m, enum table table, const uint8_t *key, size_t *at)
{
	for (; *at < m->rows; ++*at)
		if (m->row[*at].table == table && (!key || memcmp(m->row[*at].key, key, PR_HASH_LEN) == 0))
			return &m->row[(*at)++];
	return NULL;
}

static inline void take_away(struct sh_memory *m, enum table table, const uint8_t *key)
{
	for (size_t i = 0; next(m, table, key, &i);)
		drop(m, --i);
}

static inline const uint8_t *key_of(const uint8_t round_id[PR_ROUND_ID_LEN], uint8_t key[PR_HASH_LEN])
{
	memset(key, 0, PR_HASH_LEN);
	memcpy(key, round_id, PR_ROUND_ID_LEN);
	return key;
}

/* The row that says where a round's data are: its state is the epoch, its bucket says whether they are
 * closed.  NULL: none. */
static inline struct row *place_of(struct sh_memory *m, const uint8_t *key)
{
	size_t i = 0;

	return next(m, PLACES, key, &i);
}

static inline enum cm_rc show_row(const struct row *r, sh_row_fn *fn, void *user, struct cm_err *err)
{
	struct sh_row row = { .sequence = r->number,
		.state = (enum sh_state)r->state,
		.descriptor = r->span[0],
		.signature = r->span[1],
		.manifest = r->span[2],
		.manifest_signature = r->span[3],
		.charge = r->span[4] };

	memcpy(row.round_id, r->key, PR_ROUND_ID_LEN);
	return fn(user, &row, err);
}
