/* cl_found.c - collects the devices and flaws of a round's readings. */
#include "cl_found.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_text.h"
#include "cr_secret.h"
#include "qy_value.h"

#define DEVICES_AT_FIRST 1024u

/* A pseudonym comes from a keyed hash, so all its bits are spread evenly. */
static size_t place_of(const struct cl_found *f, const uint8_t pseudonym[PR_PSEUDONYM_LEN])
{
	size_t at;

	memcpy(&at, pseudonym, sizeof at);
	for (at &= f->slots - 1; f->slot[at] != 0; at = (at + 1) & (f->slots - 1))
		if (memcmp(f->device[f->slot[at] - 1].pseudonym, pseudonym, PR_PSEUDONYM_LEN) == 0)
			break;
	return at;
}

static bool grow(struct cl_found *f)
{
	size_t room = f->room > 0 ? 2 * f->room : DEVICES_AT_FIRST;
	struct cl_found_device *device = realloc(f->device, room * sizeof *device);
	uint32_t *slot = calloc(2 * room, sizeof *slot);

	if (device)
		f->device = device;
	if (!device || !slot) {
		free(slot);
		return false;
	}
	free(f->slot);
	f->room = room;
	f->slot = slot;
	f->slots = 2 * room;
	for (size_t i = 0; i < f->devices; i++)
		f->slot[place_of(f, f->device[i].pseudonym)] = (uint32_t)i + 1;
	return true;
}

/* Find the device with this pseudonym.  NULL if there is none and add is false, or if out of memory. */
static struct cl_found_device *find(struct cl_found *f, const uint8_t pseudonym[PR_PSEUDONYM_LEN], bool add)
{
	size_t at;

	if (f->devices == f->room && add && !grow(f)) {
		f->failed = true;
		return NULL;
	}
	if (f->slots == 0)
		return NULL;
	at = place_of(f, pseudonym);
	if (f->slot[at] != 0)
		return &f->device[f->slot[at] - 1];
	if (!add)
		return NULL;
	f->device[f->devices] = (struct cl_found_device){ .name = NULL };
	memcpy(f->device[f->devices].pseudonym, pseudonym, PR_PSEUDONYM_LEN);
	f->slot[at] = (uint32_t)++f->devices;
	return &f->device[f->devices - 1];
}

enum cm_rc cl_found_init(
	struct cl_found *f, const struct rd_descriptor *d, const struct cl_devices *list, struct cm_err *err)
{
	*f = (struct cl_found){ .d = d, .listed = list != NULL };
	for (size_t i = 0; i < cl_devices_n(list); i++) {
		struct cl_found_device *device = find(f, cl_devices_at(list, i), true);

		if (!device)
			return cm_fail(err, CM_EINTERNAL, "out of memory");
		device->list = cl_devices_line(list, i);
	}
	return CM_OK;
}

void cl_found_fini(struct cl_found *f)
{
	for (size_t i = 0; i < f->devices; i++)
		free(f->device[i].name);
	free(f->device);
	free(f->slot);
	cr_wipe(f, sizeof *f);
}

/* Count a row with this flaw.  Returns the flaw's index. */
static uint32_t count(struct cl_found *f, enum cl_flaw flaw, uint32_t field, const struct cl_row *row)
{
	const char *why = flaw == CL_FLAW_ROW && row->why ? row->why : "", *text = row->text[field];
	struct cl_found_flaw *of;
	size_t i = 0;

	while (i < f->flaws && (f->flaw[i].flaw != flaw || f->flaw[i].field != field ||
				       strncmp(f->flaw[i].why, why, sizeof f->flaw[i].why - 1) != 0))
		i++;
	if (i == CL_FOUND_FLAWS)
		i--;
	of = &f->flaw[i];
	if (i == f->flaws) {
		f->flaws++;
		*of = (struct cl_found_flaw){ .flaw = flaw, .field = field, .line = row->line };
		(void)snprintf(of->why, sizeof of->why, "%s", why);
		cm_text_copy(of->device, sizeof of->device, row->device ? row->device : "");
		cm_text_copy(of->text, sizeof of->text, flaw != CL_FLAW_ROW && text ? text : "");
	}
	of->rows++;
	return (uint32_t)i;
}

/* Count every flaw of the row.  Returns the index of the first one plus 1, or 0 if it has none. */
static uint32_t flaws_of(struct cl_found *f, const struct cl_seen *s)
{
	const struct cl_row *row = s->row;
	const struct qy_query *q = &f->d->query;
	uint32_t first = 0;

	if (row->why) {
		enum cl_flaw flaw = row->absent ? CL_FLAW_ABSENT : CL_FLAW_ROW;

		return count(f, flaw, 0, row) + 1;
	}
	if (qy_computes(&f->d->computing))
		return s->missing > 0 ? count(f, CL_FLAW_COMPUTED, 0, row) + 1 : 0;
	for (uint32_t i = 0; i < qy_query_fields(q); i++) {
		enum cl_flaw flaw = q->kind == QY_VECTOR && q->columns == 0 && s->missing == 0
					    ? CL_FLAW_NONE
					    : cl_flaw_of(q, i, row->text[i]);

		if (flaw == CL_FLAW_NONE)
			continue;
		if (first == 0)
			first = count(f, flaw, i, row) + 1;
		else
			(void)count(f, flaw, i, row);
	}
	return first;
}

/* Update the least and the largest number, in a round that asks for one number. */
static void measure(struct cl_found *f, const struct cl_seen *s)
{
	const struct qy_query *q = &f->d->query;
	bool one = qy_is_mean(q) || q->kind == QY_QUANTILES || q->kind == QY_RANGES;
	char *end;
	double x;

	if (!one || qy_computes(&f->d->computing) || !s->row->text[0] ||
		!qy_number_read(s->row->text[0], &end, &x))
		return;
	f->least = f->numbers ? fmin(f->least, x) : x;
	f->most = f->numbers ? fmax(f->most, x) : x;
	f->numbers = true;
}

static void note_clamped(struct cl_found *f, const struct cl_row *row)
{
	if (f->clamped++ > 0)
		return;
	f->clamped_line = row->line;
	cm_text_copy(f->clamped_device, sizeof f->clamped_device, row->device ? row->device : "");
}

void cl_found_row(void *found, const struct cl_seen *s)
{
	struct cl_found *f = found;
	struct cl_found_device *device = s->pseudonym ? find(f, s->pseudonym, !f->listed) : NULL;
	uint32_t flaw;

	if (s->pseudonym && !device) {
		f->unlisted++;
		return;
	}
	f->rows++;
	f->valid += s->value != NULL;
	flaw = flaws_of(f, s);
	if (s->value)
		measure(f, s);
	if (s->clamped)
		note_clamped(f, s->row);
	if (!device)
		return;
	if (device->line == 0 || (s->value && !device->taken))
		device->line = s->row->line;
	if (!device->name && !(device->name = strdup(s->row->device)))
		f->failed = true;
	device->taken = device->taken || s->value;
	device->clamped = device->clamped || (s->value && s->clamped);
	if (device->flaw == 0)
		device->flaw = flaw;
}
