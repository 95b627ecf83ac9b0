/* mqtt_held.h - what readings by MQTT are made of: a form, and a list of devices. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_device.h"
#include "cl_mqtt_input.h"

static struct cm_err err;

static inline struct cl_mqtt_form form(const char *device, const char *payload, const char *field)
{
	struct cl_mqtt_form out;
	const char *which;

	assert_int_equal(cl_mqtt_form_parse(&(struct cl_mqtt_form_of){ device, payload, field, NULL }, &out,
				 &which, &err),
		CM_OK);
	return out;
}

#define MAX_AGE 1000

/* A list of names, one a line; the caller frees it. */
static inline struct cl_devices *devices(const char *names, const struct cr_key *secret)
{
	char path[] = "/tmp/tombola-devices-XXXXXX";
	struct cl_devices *d = NULL;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, names, strlen(names)), strlen(names));
	assert_int_equal(close(fd), 0);
	assert_int_equal(cl_devices_load(path, secret, "test", &d, &err), CM_OK);
	assert_int_equal(unlink(path), 0);
	return d;
}
