/* bend.h - a peer's randomizer with other parameters than the row gives it. */
#pragma once

#include "pt_device.h"
#include "tombola.pb-c.h"

/* The parameters of message r as those of the row `of`, after `change`, a statement about the randomizer p.
 * The bytes live as long as the program; they are not the message's to free. */
#define BEND(r, of, change)                                                                                 \
	do {                                                                                                \
		static uint8_t bent[PT_PARAMETERS_MAX];                                                     \
		struct pt_randomizer p = { .row = pt_device_find((r)->protocol) };                          \
		struct cm_err unread;                                                                       \
		assert_int_equal(                                                                           \
			pt_parameters_read((r)->parameters.data, (r)->parameters.len, &p, &unread), CM_OK); \
		p.row = pt_device_find(of);                                                                 \
		(r)->protocol = (char *)(uintptr_t)p.row->name;                                             \
		change;                                                                                     \
		(r)->parameters.len = pt_parameters_write(&p, bent);                                        \
		(r)->parameters.data = bent;                                                                \
	} while (0)
