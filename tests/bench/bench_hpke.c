/* bench_hpke.c - what sealing and opening a report cost, beside one X25519 product of libcrypto.
 *
 * All are timed in turns on this thread's processor time, so that a busy machine disturbs them alike;
 * the median turn counts.  Usage: bench_hpke [turns] */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cr_hpke.h"

#define PER_TURN  512
#define MAX_TURNS 1000
#define RECORD    64u
#define AAD       44u

struct bench {
	struct cr_rng rng;
	struct cr_hpke_sealer *sealer;
	struct cr_hpke_opener *opener;
	EVP_PKEY_CTX *raw;
	uint8_t aad[AAD], record[RECORD], sealed[PER_TURN][RECORD + CR_HPKE_OVERHEAD];
};

static void must(int ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "bench_hpke: %s failed\n", what);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0, "clock_gettime");
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void setup(struct bench *b, enum cr_hpke_suite suite)
{
	uint8_t public_key[CR_HPKE_PUBLIC_LEN];
	EVP_PKEY *own, *peer;
	struct cr_key secret;
	struct cm_err err;

	must(cr_rng_system(&b->rng, &err) == CM_OK, "cr_rng_system");
	must(cr_hpke_keygen(&b->rng, &secret, public_key, &err) == CM_OK, "cr_hpke_keygen");
	must(cr_hpke_sealer_new(suite, public_key, "info", 4, &b->sealer, &err) == CM_OK,
		"cr_hpke_sealer_new");
	must(cr_hpke_opener_new(suite, &secret, "info", 4, &b->opener, &err) == CM_OK, "cr_hpke_opener_new");
	own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret.bytes, sizeof secret.bytes);
	peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, public_key, sizeof public_key);
	b->raw = EVP_PKEY_CTX_new(own, NULL);
	must(b->raw && EVP_PKEY_derive_init(b->raw) == 1 && EVP_PKEY_derive_set_peer(b->raw, peer) == 1,
		"EVP_PKEY_derive_set_peer");
	EVP_PKEY_free(own);
	EVP_PKEY_free(peer);
	cr_key_fini(&secret);
}

static void teardown(struct bench *b)
{
	cr_hpke_sealer_free(b->sealer);
	cr_hpke_opener_free(b->opener);
	EVP_PKEY_CTX_free(b->raw);
}

static double turn_raw(struct bench *b)
{
	double start = now_ns();

	for (int i = 0; i < PER_TURN; i++) {
		uint8_t out[32];
		size_t len = sizeof out;

		must(EVP_PKEY_derive(b->raw, out, &len) == 1, "EVP_PKEY_derive");
	}
	return (now_ns() - start) / PER_TURN;
}

/* As a device and the analyzer do it: CR_HPKE_MANY together. */
static double turn_seal_many(struct bench *b)
{
	static uint8_t records[PER_TURN][RECORD];
	static struct cr_key secret[PER_TURN];
	double start = now_ns();
	struct cm_err err;

	for (size_t i = 0; i < PER_TURN; i++)
		b->rng.fill(b->rng.ctx, secret[i].bytes, sizeof secret[i].bytes);
	must(cr_hpke_seal_many(b->sealer, secret, PER_TURN, b->aad, AAD, records[0], RECORD, b->sealed[0],
		     sizeof b->sealed[0], &err) == CM_OK,
		"cr_hpke_seal_many");
	return (now_ns() - start) / PER_TURN;
}

static double turn_open_many(struct bench *b)
{
	static uint8_t records[PER_TURN][RECORD];
	const uint8_t *at[PER_TURN];
	bool good[PER_TURN];
	double start = now_ns();
	struct cm_err err;

	for (size_t i = 0; i < PER_TURN; i++)
		at[i] = b->sealed[i];
	must(cr_hpke_open_many(b->opener, b->aad, AAD, at, PER_TURN, sizeof b->sealed[0], records[0], good,
		     &err) == CM_OK,
		"cr_hpke_open_many");
	for (size_t i = 0; i < PER_TURN; i++)
		must(good[i], "opening a message");
	return (now_ns() - start) / PER_TURN;
}

static double turn_seal(struct bench *b)
{
	double start = now_ns();
	struct cm_err err;

	for (int i = 0; i < PER_TURN; i++)
		must(cr_hpke_seal(b->sealer, &b->rng, b->aad, AAD, b->record, RECORD, b->sealed[i], &err) ==
				CM_OK,
			"cr_hpke_seal");
	return (now_ns() - start) / PER_TURN;
}

static double turn_open(struct bench *b)
{
	double start = now_ns();
	uint8_t plain[RECORD];
	struct cm_err err;

	for (int i = 0; i < PER_TURN; i++)
		must(cr_hpke_open(b->opener, b->aad, AAD, b->sealed[i], sizeof b->sealed[i], plain, &err) ==
				CM_OK,
			"cr_hpke_open");
	return (now_ns() - start) / PER_TURN;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, compare);
	return v[n / 2];
}

static void run(const char *name, enum cr_hpke_suite suite, size_t turns)
{
	static const struct {
		const char *name;
		double (*turn)(struct bench *b);
	} kinds[] = { { "raw X25519", turn_raw }, { "seal", turn_seal }, { "open", turn_open },
		{ "seal many", turn_seal_many }, { "open many", turn_open_many } };
	enum { KINDS = sizeof kinds / sizeof kinds[0] };
	static double ns[KINDS][MAX_TURNS];
	static struct bench b;
	double raw = 0;

	setup(&b, suite);
	for (size_t i = 0; i < turns; i++)
		for (size_t k = 0; k < KINDS; k++)
			ns[k][i] = kinds[k].turn(&b);
	for (size_t k = 0; k < KINDS; k++) {
		double each = median(ns[k], turns);

		raw = k == 0 ? each : raw;
		printf("%-18s %-10s %7.0f ns  %.3f of raw  %.0f /s a core\n", name, kinds[k].name, each,
			each / raw, 1e9 / each);
	}
	teardown(&b);
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? strtol(argv[1], NULL, 10) : 15;

	if (turns < 1 || turns > MAX_TURNS) {
		(void)fprintf(stderr, "usage: bench_hpke [1..%d]\n", MAX_TURNS);
		return 64;
	}
	const char *line;
	struct cm_err err;

	must(cr_hpke_begin(&line, &err) == CM_OK, "cr_hpke_begin");
	puts(line);
	run("aes128gcm", CR_HPKE_AES128GCM, (size_t)turns);
	run("chacha20poly1305", CR_HPKE_CHACHA20POLY1305, (size_t)turns);
	return 0;
}
