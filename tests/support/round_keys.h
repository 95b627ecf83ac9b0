/* round_keys.h - a fresh Ed25519 key pair for tests of signed documents. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cr_sign.h"

struct round_keys {
	struct cr_signer *signer;
	struct cr_verifier *verifier;
};

static inline void round_keys_make(struct round_keys *k)
{
	char dir[] = "/tmp/tombola-keys-XXXXXX", secret[64], open[64];
	struct cm_err err;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(secret, sizeof secret, "%s/k.key", dir);
	(void)snprintf(open, sizeof open, "%s/k.pub", dir);
	assert_int_equal(cr_sign_keygen(secret, open, &err), CM_OK);
	assert_int_equal(cr_signer_load(secret, &k->signer, &err), CM_OK);
	assert_int_equal(cr_verifier_load(open, &k->verifier, &err), CM_OK);
	assert_int_equal(unlink(secret) | unlink(open) | rmdir(dir), 0);
}

static inline void round_keys_free(struct round_keys *k)
{
	cr_signer_free(k->signer);
	cr_verifier_free(k->verifier);
}
