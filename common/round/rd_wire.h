/* rd_wire.h - casts our const fields for protobuf-c, whose structures are not const.  Encoding only reads
 * them. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

static inline ProtobufCBinaryData rd_wire_bytes(const uint8_t *p, size_t n)
{
	return (ProtobufCBinaryData){ .len = n, .data = (uint8_t *)(uintptr_t)p };
}

static inline char *rd_wire_text(const char *s)
{
	return (char *)(uintptr_t)s;
}
