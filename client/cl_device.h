/* cl_device.h - devices behind a gateway: each its own pseudonym, stable per population. */
#pragma once

#include <stdbool.h>

#include "cm_rand.h"
#include "cm_secret.h"
#include "pr_limits.h"

/* The gateway's secret, DIR/gateway.key (0600), made at first use.  Losing it would give every device a new
 * pseudonym, so it is backed up with the ledger.  charged: the ledger knows of rounds, so CM_EDATA when it is
 * not there. */
CM_CHECK enum cm_rc cl_device_secret(const char *state_dir, bool charged, const struct cm_rng *rng,
	struct cm_key *out, struct cm_err *err);

/* Is that file there?  Then these devices have taken part, or were about to. */
CM_CHECK enum cm_rc cl_device_has_secret(const char *state_dir, bool *out, struct cm_err *err);

/* HMAC-SHA-256(secret, "tombola device" 0x00 population 0x00 device): nobody without the secret links a
 * pseudonym to a device, nor a device's pseudonyms in two populations. */
void cl_device_pseudonym(const struct cm_key *secret, const char *population, const char *device,
	uint8_t out[PR_PSEUDONYM_LEN]);
