/* pt_subset.h - subset selection: a message is k of the d categories, among them the value more often than
 * by chance. */
#pragma once

#include "pt_device.h"

/* The chance of one subset that has the value divided by that of one that does not. */
struct pt_ratio pt_subset_ratio(const struct pt_randomizer *p);
