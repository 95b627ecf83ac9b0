/* wire_bytes.h - writes protobuf bytes by hand, for messages that no encoder would produce. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cm_buf.h"

static inline void wb_put(struct cm_buf *b, const void *p, size_t n)
{
	assert_int_equal(cm_buf_put(b, p, n), CM_OK);
}

static inline void wb_varint(struct cm_buf *b, uint64_t v)
{
	do {
		uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));

		wb_put(b, &byte, 1);
		v >>= 7;
	} while (v > 0);
}

static inline void wb_tag(struct cm_buf *b, uint32_t field, unsigned wire)
{
	wb_varint(b, (uint64_t)field << 3 | wire);
}

static inline void wb_number(struct cm_buf *b, uint32_t field, uint64_t v)
{
	wb_tag(b, field, 0);
	wb_varint(b, v);
}

static inline void wb_bytes(struct cm_buf *b, uint32_t field, const void *p, size_t n)
{
	wb_tag(b, field, 2);
	wb_varint(b, n);
	wb_put(b, p, n);
}

/* n equal bytes. */
static inline void wb_fill(struct cm_buf *b, uint32_t field, uint8_t byte, size_t n)
{
	wb_tag(b, field, 2);
	wb_varint(b, n);
	for (size_t i = 0; i < n; i++)
		wb_put(b, &byte, 1);
}

static inline void wb_text(struct cm_buf *b, uint32_t field, const char *s)
{
	wb_bytes(b, field, s, strlen(s));
}
