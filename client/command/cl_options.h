/* cl_options.h - reads the options that `send` and `encode` share: which readings to read and which devices
 * take part. */
#pragma once

#include "cl_prepare.h"
#include "cm_cli.h"

/* Indices of the shared options.  Both verbs list them first, in this order. */
enum { CL_OPTION_FORMAT, CL_OPTION_DEVICE_FIELD, CL_OPTION_DEVICES, CL_OPTION_LIMIT, CL_INPUT_OPTIONS };
#define CL_OPTIONS_OF_INPUT                                                                   \
	CM_OPTION("format", "csv|ndjson|npy", "of FILE; by its extension when absent"),       \
		CM_OPTION("device-field", "NAME",                                             \
			"field that names the device; every row its own device when absent"), \
		CM_OPTION("devices", "LIST",                                                  \
			"file of the devices that take part, a name a line; "                 \
			"those that FILE's rows name when absent"),                           \
		CM_OPTION("limit", "N", "the first N devices only")

/* Fill *in with the readings and devices that the command line names; the configuration supplies what the
 * command line leaves out.  Choices of the command line are also written into *setup, so that the rest of the
 * program sees them.  Everything in *in is borrowed from the command line and *setup.  CM_EUSAGE,
 * CM_ENOINPUT. */
CM_CHECK enum cm_rc cl_options_input(const struct cm_cli *cli, struct cl_setup *setup, const char *path,
	struct cl_input *in, struct cm_err *err);
/* Parse a duration as cm_clock_duration does: more than zero, at most 7 days.  `option` is its name, such as
 * "--wait", for the message.  CM_EUSAGE. */
CM_CHECK enum cm_rc cl_options_time(const char *option, const char *text, int64_t *ms, struct cm_err *err);
/* Parse --wait by cl_options_time.  NULL means one minute. */
CM_CHECK enum cm_rc cl_options_wait(const char *text, int64_t *ms, struct cm_err *err);
