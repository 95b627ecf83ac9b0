/* hpke_peer.c - the C half of hpke_check.py: seals or opens one report for a descriptor, hex in and hex out.
 *
 *     hpke_peer open SUITE DESCRIPTOR SECRET_KEY SEALED
 *     hpke_peer seal SUITE DESCRIPTOR PUBLIC_KEY PLAIN */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "rd_descriptor.h"

static struct cm_err err;

static size_t unhex(const char *hex, uint8_t *out, size_t max)
{
	size_t n = strlen(hex) / 2;

	if (n > max || cm_unhex(hex, out, n) != CM_OK) {
		(void)fprintf(stderr, "hpke_peer: bad hex\n");
		exit(64);
	}
	return n;
}

static enum cm_rc seal(const struct rd_descriptor *d, const uint8_t info[RD_INFO_LEN],
	const uint8_t aad[RD_AAD_LEN], const uint8_t *in, size_t n, uint8_t *out)
{
	struct cr_hpke_sealer *sealer = NULL;
	struct cr_rng rng;
	enum cm_rc rc = cr_rng_system(&rng, &err);

	if (rc == CM_OK)
		rc = cr_hpke_sealer_new(d->suite, d->hpke_key, info, RD_INFO_LEN, &sealer, &err);
	if (rc == CM_OK)
		rc = cr_hpke_seal(sealer, &rng, aad, RD_AAD_LEN, in, n, out, &err);
	cr_hpke_sealer_free(sealer);
	return rc;
}

static enum cm_rc open_report(const struct rd_descriptor *d, const struct cr_key *secret,
	const uint8_t info[RD_INFO_LEN], const uint8_t aad[RD_AAD_LEN], const uint8_t *in, size_t n,
	uint8_t *out)
{
	struct cr_hpke_opener *opener = NULL;
	enum cm_rc rc = cr_hpke_opener_new(d->suite, secret, info, RD_INFO_LEN, &opener, &err);

	if (rc == CM_OK)
		rc = cr_hpke_open(opener, aad, RD_AAD_LEN, in, n, out, &err);
	cr_hpke_opener_free(opener);
	return rc;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[PR_DESCRIPTOR_MAX], in[PR_SEALED_MAX], out[PR_SEALED_MAX];
	static char hex[2 * PR_SEALED_MAX + 1];
	uint8_t info[RD_INFO_LEN], aad[RD_AAD_LEN];
	struct rd_descriptor d = { 0 };
	struct cr_key key;
	size_t n, len;
	enum cm_rc rc;

	if (argc != 6)
		return 64;
	d.suite = (enum cr_hpke_suite)strtol(argv[2], NULL, 10);
	n = unhex(argv[3], bytes, sizeof bytes);
	cr_sha256(bytes, n, d.hash);
	rd_hpke_info(&d, info);
	rd_hpke_aad(&d, aad);
	(void)unhex(argv[4], key.bytes, sizeof key.bytes);
	memcpy(d.hpke_key, key.bytes, sizeof d.hpke_key);
	len = unhex(argv[5], in, sizeof in - CR_HPKE_OVERHEAD);
	if (strcmp(argv[1], "seal") == 0) {
		rc = seal(&d, info, aad, in, len, out);
		len += CR_HPKE_OVERHEAD;
	} else {
		if (len < CR_HPKE_OVERHEAD)
			return 65;
		rc = open_report(&d, &key, info, aad, in, len, out);
		len -= CR_HPKE_OVERHEAD;
	}
	if (rc != CM_OK) {
		(void)fprintf(stderr, "hpke_peer: %s\n", err.msg);
		return cm_exit_code(rc);
	}
	cm_hex(out, len, hex);
	return puts(hex) == EOF ? 74 : 0;
}
