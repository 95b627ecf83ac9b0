/* cr_libcrypto.c - allocators for libcrypto that end the process when memory runs out. */
#include "cr_libcrypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "cm_fault.h"
#include "cm_rc.h"

_Noreturn void cr_libcrypto_die(const char *why)
{
	(void)fprintf(stderr, "tombola: %s\n", why);
	_exit(cm_exit_code(CM_EINTERNAL)); /* not exit(): libcrypto would clean up in the middle of a call */
}

static void *must(void *p)
{
	if (!p)
		cr_libcrypto_die("out of memory in libcrypto");
	return p;
}

static void *get(size_t n, const char *file, int line)
{
	(void)file, (void)line;
	return must(malloc(n > 0 ? n : 1));
}

static void give(void *p, const char *file, int line)
{
	(void)file, (void)line;
	free(p);
}

static void *change(void *p, size_t n, const char *file, int line)
{
	if (n == 0) {
		give(p, file, line);
		return NULL;
	}
	return must(realloc(p, n));
}

void cr_libcrypto_fresh(void)
{
	if (!CM_CHECKED("rand.libcrypto"))
		return;
	/* The result is not needed: a failed entropy source shows when the generator is used. */
	(void)RAND_poll();
}

void cr_libcrypto_begin(void)
{
	(void)CRYPTO_set_mem_functions(get, change, give);
}
