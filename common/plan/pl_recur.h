/* pl_recur.h - private to common/plan: rounds of the plan file that recur or repeat. */
#pragma once

#include "pl_fault.h"
#include "pl_keys.h"

/* Number of rounds that this item of `rounds` stands for. */
size_t pl_raw_count(const struct pl_raw_round *raw);
/* Read `every`, `count`, `start` and `repeat` of a round. */
void pl_recur_take(struct pl_checker *c, const struct pl_raw_round *raw, struct pl_round *r);
/* Write the other recurrences of *first behind it in the array. */
void pl_recur_repeat(struct pl_round *first);
