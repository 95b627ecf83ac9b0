/* pt_bits.h - a record that is a set of items: eight bytes as in pt_record.h, then bit i of item i.
 *
 *   8 + i / 8   bit i % 8 of the byte; whole 8-byte words, bits of no item zero */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

uint32_t pt_bits_len(uint32_t items);
/* The empty set. */
void pt_bits_clear(uint8_t *record, uint32_t items);
/* Add item i if bit is 1, not if it is 0; constant time in bit. */
void pt_bits_put(uint8_t *record, uint32_t i, uint64_t bit);
/* CM_EDATA for another version, kind, slot or filler, a bit of no item, or (`size` not 0) another number of
 * items than `size`. */
CM_CHECK enum cm_rc pt_bits_check(const uint8_t *record, uint32_t items, uint32_t size, struct cm_err *err);
/* counts[i] += bit i. */
void pt_bits_count(const uint8_t *record, uint32_t items, uint64_t *counts);
