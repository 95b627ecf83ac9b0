/* rd_mode.c - the names of a ledger's modes. */
#include "rd_mode.h"

#include <stdio.h>
#include <string.h>

enum acct_filter_kind rd_mode_filter(const char *mode)
{
	size_t n = sizeof RD_MODE_ADAPTIVE - 1;

	return strncmp(mode, RD_MODE_ADAPTIVE, n) == 0 ? acct_filter_named(mode + n) : 0;
}

bool rd_mode_is_known(const char *mode)
{
	return strcmp(mode, RD_MODE_PLAN) == 0 || rd_mode_filter(mode) != 0;
}

void rd_mode_text(enum acct_filter_kind filter, char out[RD_MODE_LEN])
{
	if (filter == 0)
		(void)snprintf(out, RD_MODE_LEN, "%s", RD_MODE_PLAN);
	else
		(void)snprintf(out, RD_MODE_LEN, RD_MODE_ADAPTIVE "%s", acct_filter_name(filter));
}
