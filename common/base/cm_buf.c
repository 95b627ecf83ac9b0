/* cm_buf.c - growable bytes with a maximum. */
#include "cm_buf.h"

#include <stdlib.h>
#include <string.h>

#define GROW_FIRST 8u /* an array's first block has room for so many items */

void cm_buf_init(struct cm_buf *b, size_t max)
{
	*b = (struct cm_buf){ .max = max };
}

void cm_buf_fini(struct cm_buf *b)
{
	if (b->secret && b->data)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

uint8_t *cm_buf_room(struct cm_buf *b, size_t n)
{
	size_t need, cap;
	uint8_t *data;

	if (!cm_size_add(b->len, n, &need) || need > b->max)
		return NULL;
	if (need <= b->cap && b->data)
		return b->data + b->len;
	cap = b->cap < 256 ? 256 : b->cap;
	while (cap < need)
		cap = cap > b->max / 2 ? b->max : cap * 2;
	if (cap > b->max)
		cap = b->max > 0 ? b->max : 1;
	/* Not realloc: it would leave the old block unwiped, which may hold secrets. */
	data = malloc(cap);
	if (!data)
		return NULL;
	if (b->data && b->len > 0)
		memcpy(data, b->data, b->len);
	if (b->data && b->secret)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	b->data = data;
	b->cap = cap;
	return b->data + b->len;
}

enum cm_rc cm_buf_put(struct cm_buf *b, const void *bytes, size_t n)
{
	uint8_t *at;

	if (n == 0)
		return CM_OK;
	if (n > b->max || b->len > b->max - n)
		return CM_EDATA;
	at = cm_buf_room(b, n);
	if (!at)
		return CM_EINTERNAL;
	memcpy(at, bytes, n);
	b->len += n;
	return CM_OK;
}

void cm_buf_drop(struct cm_buf *b, size_t n)
{
	/* Return at once when there is nothing to drop: a peer could cause such calls for every byte. */
	if (n == 0)
		return;
	if (n >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

int cm_size_add(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

int cm_size_mul(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

void *cm_grow(void *array, size_t n, size_t *cap, size_t size)
{
	size_t room = n < GROW_FIRST ? GROW_FIRST : n * 2, bytes;
	void *more;

	if (n < *cap)
		return array;
	if (room <= n || !cm_size_mul(room, size, &bytes) || !(more = realloc(array, bytes)))
		return NULL;
	*cap = room;
	return more;
}

void cm_put_le64(uint8_t p[8], uint64_t v)
{
	cm_put_le32(p, (uint32_t)v);
	cm_put_le32(p + 4, (uint32_t)(v >> 32));
}

/* Written out, since compilers then make one load or store of it; random draws spend much of their time
 * here. */
void cm_put_le32(uint8_t p[4], uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
}

void cm_put_le16(uint8_t p[2], uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

void cm_put_be32(uint8_t p[4], uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

void cm_hex(const uint8_t *bytes, size_t n, char *out)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digit[bytes[i] >> 4];
		out[2 * i + 1] = digit[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

enum cm_rc cm_unhex(const char *hex, uint8_t *out, size_t n)
{
	if (strlen(hex) != 2 * n)
		return CM_EDATA;
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return CM_EDATA;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return CM_OK;
}
