/* cm_libcrypto.c - allocators of libcrypto that do not fail. */
#include "cm_libcrypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "cm_rc.h"

_Noreturn void cm_libcrypto_die(const char *why)
{
	(void)fprintf(stderr, "tombola: %s\n", why);
	_exit(cm_exit_code(CM_EINTERNAL)); /* not exit(): libcrypto would clean up in the middle of a call */
}

static void *must(void *p)
{
	if (p == NULL)
		cm_libcrypto_die("out of memory in libcrypto");
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

void cm_libcrypto_begin(void)
{
	(void)CRYPTO_set_mem_functions(get, change, give);
}
