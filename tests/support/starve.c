/* starve.c - refuses allocations on purpose. */
#include "starve.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static bool armed, on_and_on;
static unsigned asked, refuse, refused; /* refuse: from 1; 0 for none */

static bool granted(void)
{
	if (!armed)
		return true;
	asked++;
	if (refuse == 0 || asked < refuse || (asked > refuse && !on_and_on))
		return true;
	refused++;
	errno = ENOMEM;
	return false;
}

void *__wrap_malloc(size_t n)
{
	return granted() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return granted() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n)
{
	return granted() ? __real_realloc(p, n) : NULL;
}

char *__wrap_strdup(const char *s)
{
	return granted() ? __real_strdup(s) : NULL;
}

char *__wrap_strndup(const char *s, size_t n)
{
	return granted() ? __real_strndup(s, n) : NULL;
}

bool starve_set(bool on)
{
	bool was = armed;

	armed = on;
	return was;
}

static enum cm_rc once(
	starve_attempt *attempt, const void *what, unsigned k, uint64_t *answer, struct cm_err *err)
{
	enum cm_rc rc;

	*err = (struct cm_err){ 0 };
	*answer = 0;
	asked = 0;
	refuse = k;
	armed = true;
	rc = attempt(what, answer, err);
	armed = false;
	return rc;
}

unsigned starve(const char *name, starve_attempt *attempt, const void *what)
{
	return starve_every(1, name, attempt, what);
}

unsigned starve_every(unsigned nth, const char *name, starve_attempt *attempt, const void *what)
{
	unsigned step = getenv("TOMBOLA_STARVE_ALL") ? 1 : nth;
	uint64_t fed, answer;
	struct cm_err err;
	unsigned all;

	refused = 0;
	if (once(attempt, what, 0, &fed, &err) != CM_OK)
		fail_msg("%s: %s", name, err.msg);
	all = asked;
	for (unsigned k = 1; k <= all; k += step) {
		for (unsigned lasting = 0; lasting <= 1; lasting++) {
			on_and_on = lasting != 0;
			enum cm_rc rc = once(attempt, what, k, &answer, &err);
			if (rc == CM_OK && answer != fed)
				fail_msg("%s, allocation %u refused: another answer", name, k);
			if (rc != CM_OK && (rc != CM_EINTERNAL || err.msg[0] == '\0'))
				fail_msg("%s, allocation %u refused: code %d, '%s'", name, k, (int)rc,
					err.msg);
		}
	}
	/* An allocation that was refused earlier was no fault of this call. */
	if (once(attempt, what, 0, &answer, &err) != CM_OK || answer != fed)
		fail_msg("%s: does not recover", name);
	return refused;
}
