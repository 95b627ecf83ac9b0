/* cm_fault.c - checks that the tests can remove by name; empty outside the mutant build. */
#include "cm_fault.h"

#ifdef TOMBOLA_MUTANTS
#include <stdlib.h>
#include <string.h>

#include "cm_log.h"

void cm_fault_warn(void)
{
	const char *list = getenv("TOMBOLA_MUTANT");

	if (list && *list != '\0')
		cm_log(CM_LOG_WARN, "checks are removed: this test build keeps no promise",
			CM_S("checks", list));
}

bool cm_checked(const char *name)
{
	const char *list = getenv("TOMBOLA_MUTANT");
	size_t len = strlen(name);

	while (list && *list != '\0') {
		size_t n = strcspn(list, ",");

		if (n == len && memcmp(list, name, n) == 0)
			return false;
		list += n;
		list += *list == ',';
	}
	return true;
}
#else
/* ISO C requires a declaration in every translation unit. */
extern int cm_fault_unused;
#endif
