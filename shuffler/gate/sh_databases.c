/* sh_databases.c - watches the connections to each database. */
#include "sh_databases.h"

#include <math.h>

/* Numbers of databases; each that was ever added has a number of its own. */
#define NUMBERS 64u
const char *const sh_databases_numbers[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11",
	"12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28",
	"29", "30", "31", "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45",
	"46", "47", "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62",
	"63", "64_and_above", NULL };

void sh_databases_set(struct cm_metrics *table, unsigned row,
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of)
{
	double all[NUMBERS + 1];
	uint32_t number;
	bool up;

	for (size_t i = 0; i <= NUMBERS; i++)
		all[i] = (double)NAN;
	for (size_t i = 0; database(of, i, &number, &up); i++) {
		double *at = &all[number < NUMBERS ? number : NUMBERS];
		*at = up && *at != 0;
	}
	for (unsigned i = 0; i <= NUMBERS; i++)
		cm_metrics_set(table, row, i, all[i]);
}

bool sh_databases_lost(
	bool (*database)(void *of, size_t i, uint32_t *number, bool *up), void *of, uint32_t *number)
{
	bool up;

	for (size_t i = 0; database(of, i, number, &up); i++)
		if (!up)
			return true;
	return false;
}

void sh_databases_say(uint32_t number, struct cm_err *err)
{
	(void)cm_fail(err, CM_EIO, "database %u: the server or the network has ended the session",
		(unsigned)number);
}
