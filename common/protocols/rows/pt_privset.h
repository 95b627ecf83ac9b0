/* pt_privset.h - sets of items: each device pads its set to the same size, and sends one item of it by
 * randomized response.
 *
 * The alphabet is the D items, among them the symbol of none, and s symbols of padding: d = D + s.  A
 * device brings its set to s items: of a larger set it draws s evenly, and to a smaller one it adds
 * padding.  It draws one of the s, each with chance 1/s, and sends it by response on the d symbols: that
 * symbol with chance keep / 2^64, each other one with Q = (1 - keep / 2^64) / (d - 1).  The set of a device
 * without a reading consists of the symbol of none alone.  So the message depends only on the s items, of
 * which every device has equally many.
 *
 * Guarantee.  Whichever s items a device has, each of them is sent with chance P = keep / 2^64 / s + (1 -
 * 1/s) Q, and each other symbol with Q: E = P / Q.  This is PrivSet (Wang et al., INFOCOM 2018) with
 * subsets of one item, the accountant's privset with k=1. */
#pragma once

#include "pt_device.h"

/* E. */
struct pt_ratio pt_privset_ratio(const struct pt_randomizer *p);
