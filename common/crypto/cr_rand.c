/* cr_rand.c - the process's CSPRNG, and a seeded generator. */
#include "cr_rand.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/evp.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_hash.h"
#include "cr_libcrypto.h"
#ifdef TOMBOLA_MUTANTS
#include <stdatomic.h>

#include "cm_log.h"
#endif

#define KEY_LEN      32u
#define BUFFER_LEN   8192u
#define RESEED_BYTES (1u << 14)
#define POINT_BYTES  (1u << 20) /* number of bytes that a generator makes at once after a cr_rng_point */
#define DRAW_LEN     8u         /* number of bytes that cr_rng_u64 draws */
#define KEY_BYTES    12u /* a draw of this length is a key, a nonce or an id, not one of many numbers */

/* A keystream, and its part not yet used: buf[at..BUFFER_LEN). */
struct stream {
	EVP_CIPHER_CTX *ctx;
	size_t at;
	uint8_t buf[BUFFER_LEN];
};

/* The generator of one thread. */
struct generator {
	struct stream stream;
	uint64_t forks;    /* value of fork_count when it was last seeded */
	size_t since_seed; /* number of bytes made since the last seed */
	/* key of the next block of output; stream.ctx has it too, and no earlier key */
	uint8_t key[KEY_LEN];
#ifdef TOMBOLA_MUTANTS
	bool seeded; /* seeded by a cr_rng_point: no entropy of the kernel is mixed in */
#endif
};
#ifdef TOMBOLA_MUTANTS
#define FOLLOWS_POINT(g) ((g)->seeded)
#else
#define FOLLOWS_POINT(g) false
#endif

struct cr_rng_seeded {
	struct stream stream;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;
static EVP_CIPHER *aes256ctr;
/* The number of forks that led to this process.  It changes only in a child with one thread, before the
 * child runs anything else. */
static uint64_t fork_count;
static _Thread_local struct generator *mine;

/* End the process: going on without randomness would publish values. */
static _Noreturn void die(const char *why)
{
	char line[128];

	(void)snprintf(line, sizeof line, "no randomness: %s", why);
	cr_libcrypto_die(line);
}

static void generator_free(void *p)
{
	struct generator *g = p;

	if (!g)
		return;
	EVP_CIPHER_CTX_free(g->stream.ctx);
	explicit_bzero(g, sizeof *g);
	free(g);
	if (mine == g)
		mine = NULL;
}

/* The child must not continue the parent's stream, so destroy its copy of the pending output. */
static void after_fork(void)
{
	fork_count++;
	if (mine) {
		explicit_bzero(mine->stream.buf, sizeof mine->stream.buf);
		explicit_bzero(mine->key, sizeof mine->key);
		mine->stream.at = BUFFER_LEN;
	}
}

static void set_up(void)
{
	aes256ctr = EVP_CIPHER_fetch(NULL, "AES-256-CTR", NULL);
	if (!aes256ctr)
		die("libcrypto has no AES-256-CTR");
	if (pthread_key_create(&thread_end, generator_free) != 0 ||
		pthread_atfork(NULL, NULL, after_fork) != 0)
		die("out of memory");
}

static int stream_init(struct stream *s)
{
	if (pthread_once(&once, set_up) != 0)
		return 0;
	s->at = BUFFER_LEN;
	s->ctx = EVP_CIPHER_CTX_new();
	return s->ctx && EVP_EncryptInit_ex2(s->ctx, aes256ctr, NULL, NULL, NULL) == 1;
}

static void stream_rekey(struct stream *s, const uint8_t key[KEY_LEN])
{
	static const uint8_t zero[16];

	if (EVP_EncryptInit_ex2(s->ctx, NULL, key, zero, NULL) != 1)
		die("libcrypto refused a key");
}

/* Produce the next BUFFER_LEN bytes of keystream. */
static void stream_refill(struct stream *s)
{
	int len;

	memset(s->buf, 0, sizeof s->buf);
	if (EVP_EncryptUpdate(s->ctx, s->buf, &len, s->buf, (int)sizeof s->buf) != 1 ||
		len != (int)sizeof s->buf)
		die("libcrypto cannot encrypt");
	s->at = 0;
}

/* Copy out up to n pending bytes, and destroy them here. */
static size_t stream_take(struct stream *s, uint8_t *out, size_t n)
{
	size_t left = sizeof s->buf - s->at, take = n < left ? n : left;

	memcpy(out, s->buf + s->at, take);
	explicit_bzero(s->buf + s->at, take);
	s->at += take;
	return take;
}

/* The same for one draw, if that many bytes are pending. */
static inline bool stream_draw(struct stream *s, uint8_t *out, size_t n)
{
	if (n != DRAW_LEN || sizeof s->buf - s->at < DRAW_LEN)
		return false;
	memcpy(out, s->buf + s->at, DRAW_LEN);
	memset(s->buf + s->at, 0, DRAW_LEN);
	__asm__ volatile(
		""
		:
		: "r"(s->buf)
		: "memory"); /* like explicit_bzero this is not optimised away, but it avoids the call */
	s->at += DRAW_LEN;
	return true;
}

static bool kernel_bytes(uint8_t *out, size_t n)
{
	while (n > 0) {
		ssize_t got = getrandom(out, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		out += got;
		n -= (size_t)got;
	}
	return true;
}

/* Set a new key from the kernel's entropy and the old key, so that neither alone reveals it. */
static bool generator_seed(struct generator *g)
{
	uint8_t fresh[KEY_LEN] = { 0 };
	const struct cr_span spans[] = { { fresh, sizeof fresh }, { g->key, sizeof g->key } };

	if (!FOLLOWS_POINT(g) && !kernel_bytes(fresh, sizeof fresh))
		return false;
	cr_sha256_spans(spans, 2, g->key);
	explicit_bzero(fresh, sizeof fresh);
	g->forks = fork_count;
	g->since_seed = 0;
	g->stream.at = BUFFER_LEN;
	stream_rekey(&g->stream, g->key);
	return true;
}

static struct generator *generator_new(void)
{
	struct generator *g = calloc(1, sizeof *g);

	if (!g)
		return NULL;
	if (stream_init(&g->stream) && generator_seed(g) && pthread_setspecific(thread_end, g) == 0)
		return g;
	generator_free(g);
	return NULL;
}

/* Fast key erasure: the first bytes of each block become the key of the next, so past output cannot be
 * recomputed from memory. */
static void generator_refill(struct generator *g)
{
	if (g->since_seed >= (FOLLOWS_POINT(g) ? POINT_BYTES : RESEED_BYTES) && !generator_seed(g))
		die("the kernel gives no entropy");
	stream_refill(&g->stream);
	(void)stream_take(&g->stream, g->key, sizeof g->key);
	stream_rekey(&g->stream, g->key);
	g->since_seed += BUFFER_LEN;
}

/* Mix fresh entropy into the generator's output.  A virtual machine may have been cloned or restored, and
 * then a copy of this process holds a generator with the same output. */
static void add_kernel_bytes(uint8_t *out, size_t n)
{
	/* a signal does not interrupt the kernel's answer to a request of at most 256 bytes */
	uint8_t fresh[256];

	while (n > 0) {
		size_t part = n < sizeof fresh ? n : sizeof fresh;

		if (!kernel_bytes(fresh, part))
			die("the kernel gives no entropy");
		for (size_t i = 0; i < part; i++)
			out[i] ^= fresh[i];
		out += part;
		n -= part;
	}
	explicit_bzero(fresh, sizeof fresh);
}

/* Prepare `mine`, the generator of this thread, for this process. */
static void generator_here(void)
{
	if (!mine && !(mine = generator_new()))
		die("the kernel gives no entropy");
	if (mine->forks != fork_count && !generator_seed(mine))
		die("the kernel gives no entropy");
}

static void generator_take(struct generator *g, uint8_t *out, size_t n)
{
	while (n > 0) {
		size_t took;

		if (g->stream.at == BUFFER_LEN)
			generator_refill(g);
		took = stream_take(&g->stream, out, n);
		out += took;
		n -= took;
	}
}

static void system_fill(void *ctx, void *out, size_t n)
{
	(void)ctx;
	generator_here();
	if (stream_draw(&mine->stream, out, n))
		return;
	generator_take(mine, out, n);
	if (CM_CHECKED("rand.fresh") && n >= KEY_BYTES && !FOLLOWS_POINT(mine))
		add_kernel_bytes(out, n);
}

enum cm_rc cr_rng_system(struct cr_rng *out, struct cm_err *err)
{
	bool ready = true;

	if (!mine)
		mine = generator_new();
	else if (CM_CHECKED("rand.fresh") && !FOLLOWS_POINT(mine))
		ready = generator_seed(mine);
	if (!mine || !ready)
		return cm_fail(
			err, CM_EINTERNAL, "no randomness: the kernel gives no entropy, or out of memory");
	*out = (struct cr_rng){ .fill = system_fill };
	return CM_OK;
}

#ifdef TOMBOLA_MUTANTS
void cr_rng_point(const char *what, uint64_t a, uint64_t b)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const char *seed = getenv("TOMBOLA_TEST_SEED");
	uint8_t numbers[16];
	struct cr_rng unused;
	struct cm_err err = { 0 };

	if (!seed || *seed == '\0' || cr_rng_system(&unused, &err) != CM_OK)
		return;
	if (!atomic_flag_test_and_set(&said))
		cm_log_plain(CM_LOG_WARN, CR_RNG_POINT_WARNING);
	cm_put_le64(numbers, a);
	cm_put_le64(numbers + 8, b);
	const struct cr_span spans[] = { { seed, strlen(seed) + 1 }, { what, strlen(what) + 1 },
		{ numbers, sizeof numbers } };
	cr_sha256_spans(spans, 3, mine->key);
	mine->seeded = true;
	if (!generator_seed(mine))
		die("the kernel gives no entropy");
}
#endif

static void seeded_fill(void *ctx, void *out, size_t n)
{
	struct cr_rng_seeded *g = ctx;
	uint8_t *at = out;

	if (stream_draw(&g->stream, at, n))
		return;
	while (n > 0) {
		size_t took;

		if (g->stream.at == BUFFER_LEN)
			stream_refill(&g->stream);
		took = stream_take(&g->stream, at, n);
		at += took;
		n -= took;
	}
}

struct cr_rng_seeded *cr_rng_seeded_new(const uint8_t seed[CR_SEED_LEN], struct cr_rng *out)
{
	struct cr_rng_seeded *g = calloc(1, sizeof *g);

	if (!g || !stream_init(&g->stream)) {
		cr_rng_seeded_free(g);
		return NULL;
	}
	stream_rekey(&g->stream, seed);
	*out = (struct cr_rng){ .fill = seeded_fill, .ctx = g };
	return g;
}

void cr_rng_seeded_free(struct cr_rng_seeded *g)
{
	if (!g)
		return;
	EVP_CIPHER_CTX_free(g->stream.ctx);
	explicit_bzero(g, sizeof *g);
	free(g);
}

void cr_rng_u64s(const struct cr_rng *rng, uint64_t *out, size_t n)
{
	/* These are many numbers and no key, so as in single draws no entropy of the kernel is mixed in. */
	if (rng->fill == system_fill) {
		generator_here();
		generator_take(mine, (uint8_t *)out, n * sizeof *out);
	}
	for (size_t i = 0; i < n; i++)
		out[i] = rng->fill == system_fill ? cm_get_le64((const uint8_t *)&out[i]) : cr_rng_u64(rng);
}
