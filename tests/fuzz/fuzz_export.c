/* fuzz_export.c - an exported ledger, any bytes: records or one fault with its line, and what is read may be
 * asked about. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
enum cm_rc __wrap_cmd_fail(enum cm_rc code, const char *format, ...);
FILE *__wrap_fopen64(const char *path, const char *mode);

#define PATH "ledger"

/* The file's contents, in memory: a file costs ten times what its lines do. */
static const uint8_t *bytes;
static size_t len;

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	(void)path;
	return fmemopen((void *)(uintptr_t)bytes, len, mode);
}

/* The line that was said last, instead of standard error. */
static char said[1024];

enum cm_rc __wrap_cmd_fail(enum cm_rc code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(said, sizeof said, format, ap);
	va_end(ap);
	return code;
}

static void check(const struct cmd_record *r)
{
	const char *why = NULL;

	if (!memchr(r->query, '\0', sizeof r->query) || !(r->epsilon_round >= 0 && r->epsilon_total >= 0))
		abort();
	if ((r->kind == CMD_RESERVED || r->kind == CMD_CHARGED) &&
		(r->parts < 1 || r->parts > CMD_LEDGER_PARTS || r->dummies_batch > r->dummies_each))
		abort();
	for (size_t i = 0; i < r->parts; i++)
		if (acct_round_check(&r->part[i], &why))
			abort();
	if (r->kind == CMD_OPENED && !(r->delta > 0 && r->delta < 1 && r->limit >= 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cmd_ledger *l = NULL;
	struct cmd_record r;
	enum cm_rc rc;
	bool more;

	bytes = data;
	len = size;
	if (cmd_ledger_open(PATH, &l))
		abort();
	said[0] = '\0';
	while (!(rc = cmd_ledger_next(l, &r, &more)) && more)
		check(&r);
	if (rc && (rc != CM_EDATA || strncmp(said, PATH, strlen(PATH)) != 0 || strchr(said, '\n')))
		abort();
	cmd_ledger_close(l);
	return 0;
}
