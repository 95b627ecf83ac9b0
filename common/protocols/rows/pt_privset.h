/* pt_privset.h - sets of items: response on one item of a set that is padded to the same size everywhere.
 *
 * The alphabet is the D items, the symbol of none among them, and s of padding: d = D + s.  A device pads its
 * set to s items: of a set with more, s that it draws evenly; of one with fewer, all and as much padding as
 * is missing.  It draws one of the s, each with chance 1/s, and tells it by response on the d: it with chance
 * keep / 2^64, each other with Q = (1 - keep / 2^64) / (d - 1).  The set of a device without a reading is the
 * symbol alone, so nothing but the s items, which all devices have, bears on what is sent.
 *
 * Guarantee.  Whichever s a device drew, each of them is sent with chance P = keep / 2^64 / s + (1 - 1/s) Q,
 * each other symbol with Q: E = P / Q.  This is PrivSet (Wang et al., INFOCOM 2018) with subsets of one item,
 * the accountant's privset with k=1. */
#pragma once

#include "pt_device.h"

/* E, of a relative error below 2^(2 - LDBL_MANT_DIG). */
long double pt_privset_ratio(const struct pt_randomizer *p);
