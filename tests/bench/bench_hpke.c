/* bench_hpke.c - what sealing and opening a report cost, beside the curve multiplication they cannot avoid.
 *
 * The three are timed in turns on this thread's processor time, so that a busy machine disturbs them alike;
 * the median turn counts.  Usage: bench_hpke [turns] */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cr_hpke.h"

#define PER_TURN  500
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
	static double raw[MAX_TURNS], seal[MAX_TURNS], opened[MAX_TURNS];
	static struct bench b;
	double r, s, o;

	setup(&b, suite);
	for (size_t i = 0; i < turns; i++) {
		raw[i] = turn_raw(&b);
		seal[i] = turn_seal(&b);
		opened[i] = turn_open(&b);
	}
	r = median(raw, turns);
	s = median(seal, turns);
	o = median(opened, turns);
	printf("%-18s raw X25519 %7.0f ns   seal %7.0f ns (%.2fx)   open %7.0f ns (%.2fx)   %.0f "
	       "opens/s/core\n",
		name, r, s, s / r, o, o / r, 1e9 / o);
	teardown(&b);
}

int main(int argc, char **argv)
{
	long turns = argc > 1 ? strtol(argv[1], NULL, 10) : 15;

	if (turns < 1 || turns > MAX_TURNS) {
		(void)fprintf(stderr, "usage: bench_hpke [1..%d]\n", MAX_TURNS);
		return 64;
	}
	run("aes128gcm", CR_HPKE_AES128GCM, (size_t)turns);
	run("chacha20poly1305", CR_HPKE_CHACHA20POLY1305, (size_t)turns);
	return 0;
}
