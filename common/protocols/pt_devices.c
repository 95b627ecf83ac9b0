/* pt_devices.c - the table of the rows' device halves. */
#include <string.h>

#include "pt_rows.h"

#define DEVICE(x) &pt_device_##x,
static const struct pt_device *const table[] = { PT_ROWS(DEVICE) };

const struct pt_device *pt_device_at(size_t i)
{
	return i < sizeof table / sizeof table[0] ? table[i] : NULL;
}

const struct pt_device *pt_device_find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
		if (strcmp(table[i]->name, name) == 0)
			return table[i];
	}
	return NULL;
}
