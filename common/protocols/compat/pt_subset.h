/* pt_subset.h - subset selection: k of the d categories, the value's more often than by chance. */
#pragma once

#include "pt_device.h"

/* Chance of one subset with the value in it over that of one without. */
long double pt_subset_ratio(const struct pt_randomizer *p);
