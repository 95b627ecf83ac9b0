/* cl_device.h - derives the pseudonym of each device from the gateway's secret: one per device and
 * population. */
#pragma once

#include <stdbool.h>

#include "cr_rand.h"
#include "cr_secret.h"
#include "pr_limits.h"

/* Read the gateway's secret from DIR/gateway.key (mode 0600), creating the file at first use.  Losing the
 * file would give every device a new pseudonym, so operators back it up with the ledger.  charged: whether
 * the ledger holds charges; then a missing file is an error (CM_EDATA), and no new one is created. */
CM_CHECK enum cm_rc cl_device_secret(const char *state_dir, bool charged, const struct cr_rng *rng,
	struct cr_key *out, struct cm_err *err);

/* Whether gateway.key exists.  If it does, the devices have taken part in a round or were about to. */
CM_CHECK enum cm_rc cl_device_has_secret(const char *state_dir, bool *out, struct cm_err *err);

/* HMAC-SHA-256(secret, "tombola device" 0x00 population 0x00 device).  Without the secret, nobody can link a
 * pseudonym to a device, or the pseudonyms of one device in two populations. */
void cl_device_pseudonym(const struct cr_key *secret, const char *population, const char *device,
	uint8_t out[PR_PSEUDONYM_LEN]);
