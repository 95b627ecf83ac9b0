/* sh_tagged.h - a row whose dummies tell the tag they were made for, in place of "grr".  The program wraps
 * pt_device_find and pt_protocol_of. */
#pragma once

#include "sh_steps.h"

#include <string.h>

#include "pt_record.h"
#include "sh_blanket.h"

#define TAGS    4u
#define CAP     20u
#define DEVICES 60u /* 30 of tag 0, 20 of 1, 10 of 2, none of 3 */

static struct pt_device tagged;

const struct pt_device *__real_pt_device_find(const char *name);
const struct pt_device *__wrap_pt_device_find(const char *name);
const struct pt_protocol *__real_pt_protocol_of(const struct pt_device *device);
const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device);

const struct pt_device *__wrap_pt_device_find(const char *name)
{
	return strcmp(name, "grr") == 0 ? &tagged : __real_pt_device_find(name);
}

const struct pt_protocol *__wrap_pt_protocol_of(const struct pt_device *device)
{
	return __real_pt_protocol_of(device == &tagged ? __real_pt_device_find("grr") : device);
}

static inline void tell_tag(
	const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	(void)p;
	(void)rng;
	pt_record_put(record, tag);
}

static inline void by_level(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)p;
	(void)records;
	tags[0] = (uint16_t)value->level;
}

/* by_value: what the row that the descriptor names says of its tags. */
static inline void use_row(bool by_value)
{
	tagged = *__real_pt_device_find("grr");
	tagged.dummy = tell_tag;
	tagged.route = by_level;
	tagged.routes_by_value = by_value;
}

static inline uint32_t uneven(uint64_t device)
{
	return device < 30 ? 0 : device < 50 ? 1 : 2;
}
