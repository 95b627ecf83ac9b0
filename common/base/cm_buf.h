/* cm_buf.h - a growable byte buffer with a maximum length. libc only. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

/* The bytes data[0..len), owned by the caller; `data` moves when the buffer grows.  With `secret`, the bytes
 * are wiped before the memory is freed or moved. */
struct cm_buf {
	uint8_t *data;
	size_t len, cap, max;
	int secret;
};

/* Make an empty buffer that never holds more than max bytes; allocates nothing yet. */
void cm_buf_init(struct cm_buf *b, size_t max);
/* Wipe it if it is secret, free it, and leave an empty buffer with the same maximum.  Accepts a zeroed
 * struct. */
void cm_buf_fini(struct cm_buf *b);
/* Make room for n more bytes and return where they go (data + len); NULL if that exceeds max or memory runs
 * out. */
uint8_t *cm_buf_room(struct cm_buf *b, size_t n);
/* Append n bytes.  CM_EDATA over the maximum, CM_EINTERNAL out of memory; the buffer is unchanged then. */
CM_CHECK enum cm_rc cm_buf_put(struct cm_buf *b, const void *bytes, size_t n);
/* Drop the first n bytes (n <= len). */
void cm_buf_drop(struct cm_buf *b, size_t n);

/* Compute a + b, or a * b, into *out; false when it would wrap. */
CM_CHECK int cm_size_add(size_t a, size_t b, size_t *out);
CM_CHECK int cm_size_mul(size_t a, size_t b, size_t *out);

/* An array that holds n items of `size` bytes and has room for *cap: returns the same array when one more
 * item fits, else moves it to twice the room and updates *cap.  NULL out of memory; the array is then
 * unchanged.  Not for secrets: the old memory is not wiped. */
void *cm_grow(void *array, size_t n, size_t *cap, size_t size);

/* Write and read little- and big-endian integers at p. */
void cm_put_le64(uint8_t p[8], uint64_t v);
void cm_put_le32(uint8_t p[4], uint32_t v);
void cm_put_le16(uint8_t p[2], uint16_t v);
void cm_put_be32(uint8_t p[4], uint32_t v);

/* Defined here and written out, so that each is one load: random draws and the reading of messages spend
 * much of their time here. */
static inline uint16_t cm_get_le16(const uint8_t p[2])
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t cm_get_le32(const uint8_t p[4])
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t cm_get_le64(const uint8_t p[8])
{
	return (uint64_t)cm_get_le32(p) | (uint64_t)cm_get_le32(p + 4) << 32;
}

static inline uint32_t cm_get_be32(const uint8_t p[4])
{
	return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

/* Write lower-case hex of n bytes into out[2n+1]; and read it back: CM_EDATA unless there are exactly 2n
 * hex digits. */
void cm_hex(const uint8_t *bytes, size_t n, char *out);
CM_CHECK enum cm_rc cm_unhex(const char *hex, uint8_t *out, size_t n);
