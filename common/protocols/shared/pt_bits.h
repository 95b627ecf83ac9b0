/* pt_bits.h - a record that is a set of items: eight bytes as in pt_record.h, then one bit for each item.
 *
 *   8 + i / 8   bit i % 8 of this byte is item i; the set fills whole 8-byte words, and unused bits are
 *   zero */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

uint32_t pt_bits_len(uint32_t items);
/* Make the empty set. */
void pt_bits_clear(uint8_t *record, uint32_t items);
/* Add item i if bit is 1, and not if it is 0; the time is constant in bit. */
void pt_bits_put(uint8_t *record, uint32_t i, uint64_t bit);
/* CM_EDATA for another version, kind, slot or filler, for an unused bit that is set, or if `size` is not 0
 * for another number of items than `size`. */
CM_CHECK enum cm_rc pt_bits_check(const uint8_t *record, uint32_t items, uint32_t size, struct cm_err *err);
/* Add bit i to counts[i], for every i. */
void pt_bits_count(const uint8_t *record, uint32_t items, uint64_t *counts);
