/* computed.h - computings, queries and payloads for tests, written without common/payload and
 * common/compute's own writers. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "co_compute.h"

/* A payload that grows: heads, then numbers. */
struct computed_payload {
	uint8_t head[4096], body[1 << 16];
	size_t head_len, body_len;
	uint32_t arrays;
	uint8_t bytes[(1 << 16) + 4096];
	size_t len;
};

static inline void computed_head(
	struct computed_payload *p, const char *name, uint8_t type, uint8_t dims, const uint32_t *dim)
{
	if (p->arrays++ == 0) {
		memcpy(p->head, "TOMBPAY1", 8);
		p->head_len = 12;
	}
	p->head[p->head_len++] = (uint8_t)strlen(name);
	memcpy(p->head + p->head_len, name, strlen(name));
	p->head_len += strlen(name);
	p->head[p->head_len++] = type;
	p->head[p->head_len++] = dims;
	for (uint8_t i = 0; i < dims; i++, p->head_len += 4)
		cm_put_le32(p->head + p->head_len, dim[i]);
}

static inline void computed_float(struct computed_payload *p, float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	cm_put_le32(p->body + p->body_len, bits);
	p->body_len += 4;
}

static inline void computed_int(struct computed_payload *p, int32_t x)
{
	cm_put_le32(p->body + p->body_len, (uint32_t)x);
	p->body_len += 4;
}

static inline void computed_end(struct computed_payload *p)
{
	cm_put_le32(p->head + 8, p->arrays);
	while (p->head_len % 4 != 0)
		p->head[p->head_len++] = 0;
	memcpy(p->bytes, p->head, p->head_len);
	memcpy(p->bytes + p->head_len, p->body, p->body_len);
	p->len = p->head_len + p->body_len;
}

/* Make what a plan would say: `text` is the map, m the features (an array), k the classes (0: no label). */
static inline struct qy_computing computed_by(
	const char *map, uint32_t m, uint32_t k, enum co_part part, double clip)
{
	struct co_parameters p = { .map = co_map_find(map),
		.array = true,
		.label = k > 0,
		.part = part,
		.features = m,
		.clip = clip,
		.classes = clip > 0 ? k : 0,
		.seconds = strcmp(map, "program") == 0 ? 1 : 0 };
	struct qy_computing c = { .fields = k > 0 ? 2 : 1 };
	struct cm_err err = { 0 };

	(void)strcpy(c.field[0], "x");
	(void)strcpy(c.field[1], k > 0 ? "y" : "");
	if (co_parameters_write(&p, NULL, &c, &err) != CM_OK)
		abort();
	return c;
}

static inline struct qy_query computed_vector(uint32_t dimension, double bound)
{
	struct qy_query q = { .kind = QY_VECTOR, .low = -bound, .high = bound, .dimension = dimension };

	(void)strcpy(q.name, "step");
	(void)strcpy(q.field, "g");
	q.none = QY_NONE_VALUE;
	return q;
}

/* Columns of so many categories, "0", "1", ...; free with qy_query_fini. */
static inline struct qy_query computed_columns(const uint32_t *categories, uint32_t n)
{
	struct qy_query q = { .kind = QY_MARGINALS, .columns = n };

	(void)strcpy(q.name, "counts");
	q.none = QY_NONE_SYMBOL;
	q.column = calloc(n, sizeof *q.column);
	for (uint32_t i = 0; i < n; i++) {
		(void)snprintf(q.column[i].name, sizeof q.column[i].name, "c%u", (unsigned)i);
		q.column[i].categories = categories[i];
		q.column[i].category = calloc(categories[i], sizeof(char *));
		for (uint32_t k = 0; k < categories[i]; k++) {
			q.column[i].category[k] = malloc(12);
			(void)snprintf(q.column[i].category[k], 12, "%u", (unsigned)k);
		}
	}
	return q;
}
