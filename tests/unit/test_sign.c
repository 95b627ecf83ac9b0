/* test_sign.c - Ed25519 signatures: key files, purposes, and what must not verify. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cr_sign.h"

struct place {
	char dir[64], private_path[128], public_path[128];
};

static int make_place(void **state)
{
	static struct place p;

	(void)snprintf(p.dir, sizeof p.dir, "/tmp/tombola-sign-XXXXXX");
	if (!mkdtemp(p.dir))
		return -1;
	(void)snprintf(p.private_path, sizeof p.private_path, "%s/a-sign.key", p.dir);
	(void)snprintf(p.public_path, sizeof p.public_path, "%s/a-sign.pub", p.dir);
	*state = &p;
	return 0;
}

static int drop_place(void **state)
{
	struct place *p = *state;

	(void)unlink(p->private_path);
	(void)unlink(p->public_path);
	return rmdir(p->dir);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

struct keys {
	struct cr_signer *s;
	struct cr_verifier *v;
};

static struct keys fresh_keys(const struct place *p)
{
	struct cm_err err;
	struct keys k;

	assert_int_equal(cr_sign_keygen(p->private_path, p->public_path, &err), CM_OK);
	assert_int_equal(cr_signer_load(p->private_path, &k.s, &err), CM_OK);
	assert_int_equal(cr_verifier_load(p->public_path, &k.v, &err), CM_OK);
	return k;
}

static void free_keys(struct keys *k)
{
	cr_signer_free(k->s);
	cr_verifier_free(k->v);
}

static void rfc8032_test_1_key_signs_the_framed_message(void **state)
{
	/* The key pair of RFC 8032 section 7.1 TEST 1, in the layouts of RFC 8410.  The signature over
	 * "manifest" 00 "hello" is from the Python package cryptography. */
	struct place *p = *state;
	uint8_t want[CR_SIGN_LEN], got[CR_SIGN_LEN];
	struct cr_signer *s;
	struct cr_verifier *v;
	struct cm_err err;

	write_file(p->private_path,
		"-----BEGIN PRIVATE KEY-----\n"
		"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
		"-----END PRIVATE KEY-----\n",
		0600);
	write_file(p->public_path,
		"-----BEGIN PUBLIC KEY-----\n"
		"MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
		"-----END PUBLIC KEY-----\n",
		0644);
	assert_int_equal(cm_unhex("d5462ae1a6d5672ca6b08bbb082373a0aed29239325092d1eafa9f2313dc884a"
				  "1a147706a07b2cac39752ee2cf6ceecf6f0509f2f35a8a84597a54972eba7a0e",
				 want, sizeof want),
		CM_OK);
	assert_int_equal(cr_signer_load(p->private_path, &s, &err), CM_OK);
	assert_int_equal(cr_sign(s, "manifest", "hello", 5, got, &err), CM_OK);
	assert_memory_equal(got, want, sizeof got);
	assert_int_equal(cr_verifier_load(p->public_path, &v, &err), CM_OK);
	assert_int_equal(cr_verify(v, "manifest", "hello", 5, got, &err), CM_OK);
	cr_signer_free(s);
	cr_verifier_free(v);
}

static void generated_keys_sign_and_verify(void **state)
{
	struct place *p = *state;
	struct keys k = fresh_keys(p);
	uint8_t sig[CR_SIGN_LEN];
	struct cm_err err;
	struct stat st;

	assert_int_equal(cr_sign(k.s, "charge", "", 0, sig, &err), CM_OK);
	assert_int_equal(cr_verify(k.v, "charge", NULL, 0, sig, &err), CM_OK);
	assert_int_equal(stat(p->private_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	free_keys(&k);
}

static void a_signature_is_good_for_its_purpose_only(void **state)
{
	struct keys k = fresh_keys(*state);
	uint8_t sig[CR_SIGN_LEN];
	struct cm_err err;

	assert_int_equal(cr_sign(k.s, "manifest", "bytes", 5, sig, &err), CM_OK);
	assert_int_equal(cr_verify(k.v, "charge", "bytes", 5, sig, &err), CM_EPERM);
	/* Text may not move between purpose and message either. */
	assert_int_equal(cr_verify(k.v, "manifes", "t\0bytes", 7, sig, &err), CM_EPERM);
	assert_int_equal(cr_verify(k.v, "manifestb", "ytes", 4, sig, &err), CM_EPERM);
	assert_int_equal(cr_verify(k.v, "", "manifest\0bytes", 14, sig, &err), CM_EINTERNAL);
	assert_int_equal(cr_sign(k.s, "", "bytes", 5, sig, &err), CM_EINTERNAL);
	free_keys(&k);
}

static void altered_messages_and_signatures_do_not_verify(void **state)
{
	struct keys k = fresh_keys(*state);
	uint8_t sig[CR_SIGN_LEN], bytes[] = "message";
	struct cm_err err;

	assert_int_equal(cr_sign(k.s, "charge", bytes, 7, sig, &err), CM_OK);
	assert_int_equal(cr_verify(k.v, "charge", bytes, 6, sig, &err), CM_EPERM);
	for (size_t i = 0; i < 7; i++) {
		bytes[i] ^= 1;
		assert_int_equal(cr_verify(k.v, "charge", bytes, 7, sig, &err), CM_EPERM);
		bytes[i] ^= 1;
	}
	for (size_t i = 0; i < sizeof sig; i++) {
		sig[i] ^= 0x20;
		assert_int_equal(cr_verify(k.v, "charge", bytes, 7, sig, &err), CM_EPERM);
		sig[i] ^= 0x20;
	}
	memset(sig, 0, sizeof sig);
	assert_int_equal(cr_verify(k.v, "charge", bytes, 7, sig, &err), CM_EPERM);
	free_keys(&k);
}

static void another_key_does_not_verify(void **state)
{
	struct place *p = *state;
	struct keys k = fresh_keys(p), other;
	uint8_t sig[CR_SIGN_LEN];
	struct cm_err err;

	assert_int_equal(cr_sign(k.s, "charge", "x", 1, sig, &err), CM_OK);
	assert_int_equal(unlink(p->private_path) | unlink(p->public_path), 0);
	other = fresh_keys(p);
	assert_int_equal(cr_verify(other.v, "charge", "x", 1, sig, &err), CM_EPERM);
	free_keys(&k);
	free_keys(&other);
}

static void existing_files_are_not_overwritten(void **state)
{
	struct place *p = *state;
	struct cm_err err;
	char text[8] = "";
	FILE *f;

	write_file(p->private_path, "mine", 0600);
	assert_int_equal(cr_sign_keygen(p->private_path, p->public_path, &err), CM_ECREATE);
	assert_int_equal(access(p->public_path, F_OK), -1);
	f = fopen(p->private_path, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof text, f), 4);
	assert_string_equal(text, "mine");
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(p->private_path, p->public_path), 0);
	assert_int_equal(cr_sign_keygen(p->private_path, p->public_path, &err), CM_ECREATE);
	assert_int_equal(access(p->private_path, F_OK), -1);
}

static void a_private_key_others_may_use_is_refused_by_name(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0601, 0644 };
	struct place *p = *state;
	struct keys k = fresh_keys(p);
	struct cr_signer *s;
	struct cm_err err;

	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		assert_int_equal(chmod(p->private_path, modes[i]), 0);
		assert_int_equal(cr_signer_load(p->private_path, &s, &err), CM_EPERM);
		assert_non_null(strstr(err.msg, p->private_path));
	}
	free_keys(&k);
}

static void files_that_are_no_ed25519_keys_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"not a key",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		/* X25519: the same shape, another curve */
		"-----BEGIN PRIVATE "
		"KEY-----\nMC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3+6UduSwq\n"
		"-----END PRIVATE KEY-----\n",
		"-----BEGIN ENCRYPTED PRIVATE "
		"KEY-----\nMC4CAQAwBQYDK2VuBCIEIHcHbQpzGKV9PBbBclGyZkXfTC+H68CZKrF3\n"
		"-----END ENCRYPTED PRIVATE KEY-----\n",
	};
	struct place *p = *state;
	struct cr_signer *s;
	struct cr_verifier *v;
	struct cm_err err;

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		write_file(p->private_path, texts[i], 0600);
		assert_int_equal(cr_signer_load(p->private_path, &s, &err), CM_EDATA);
		assert_non_null(strstr(err.msg, p->private_path));
		assert_int_equal(cr_verifier_load(p->private_path, &v, &err), CM_EDATA);
	}
	assert_int_equal(unlink(p->private_path), 0);
	assert_int_equal(cr_signer_load(p->private_path, &s, &err), CM_ENOINPUT);
	assert_int_equal(cr_verifier_load(p->private_path, &v, &err), CM_ENOINPUT);
	assert_int_equal(cr_signer_load(p->dir, &s, &err), CM_EDATA);
}

static void a_public_key_is_no_private_key(void **state)
{
	struct place *p = *state;
	struct keys k = fresh_keys(p);
	struct cr_signer *s;
	struct cr_verifier *v;
	struct cm_err err;

	assert_int_equal(chmod(p->public_path, 0600), 0);
	assert_int_equal(cr_signer_load(p->public_path, &s, &err), CM_EDATA);
	assert_int_equal(cr_verifier_load(p->private_path, &v, &err), CM_EDATA);
	free_keys(&k);
}

#define IN_PLACE(f) cmocka_unit_test_setup_teardown(f, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(rfc8032_test_1_key_signs_the_framed_message),
		IN_PLACE(generated_keys_sign_and_verify),
		IN_PLACE(a_signature_is_good_for_its_purpose_only),
		IN_PLACE(altered_messages_and_signatures_do_not_verify),
		IN_PLACE(another_key_does_not_verify),
		IN_PLACE(existing_files_are_not_overwritten),
		IN_PLACE(a_private_key_others_may_use_is_refused_by_name),
		IN_PLACE(files_that_are_no_ed25519_keys_are_refused),
		IN_PLACE(a_public_key_is_no_private_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
