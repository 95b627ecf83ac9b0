/* cl_conf.h - loads the client's configuration and the files that it names: keys, certificates, policy. */
#pragma once

#include <stdio.h>

#include "cl_devices.h"
#include "cl_map.h"
#include "cl_mqtt_conf.h"
#include "cl_policy.h"
#include "cl_program_conf.h"
#include "cl_readings.h"
#include "cr_files.h"
#include "nt_tls.h"

#define CL_PARTY "client" /* the party that owns a state_dir of the client */

struct cl_conf {
	struct cf_strings shuffler; /* 1 to CL_ADDRESSES_MAX addresses, all of the same shuffler */
	char *state_dir, *population;
	char *cert, *key, *services_ca, *crl;
	char *analyzer_key, *shuffler_key, *policy;
	char *input, *labels, *format, *device_field, *devices;
	struct cl_map map; /* the map of the input */
	struct cl_csv_form csv;
	struct cl_mqtt_conf mqtt; /* readings by MQTT; unused if it has no topics */
	int64_t connections, frame_devices, prepare_ms, spread_ms, fetch_ms, proofs, proof_within_ms;
	struct cl_program_conf programs; /* programs that the client may run; unused if it names none */
	bool show_readings;
	char *http;
	bool http_anywhere;
};
extern const struct cf_row cl_conf_rows[];

/* A configuration together with the loaded keys and policy. */
struct cl_setup {
	const char *path; /* of the configuration; borrowed */
	struct cl_conf conf;
	struct cf_file *file; /* tells on which lines the keys of conf are; NULL if out of memory */
	struct cl_policy policy;
	struct cr_verifier *analyzer, *shuffler;
	uint8_t (*program_hash)[PR_HASH_LEN]; /* hashes of conf.programs, for the policy */
	enum cl_format format;                /* the format of conf.input */
	/* the name that the file gives to the field that names devices; for the policy */
	char device_name[CL_PATH_MAX + 1];
	/* path of the list of devices, from conf or from an option; borrowed.  NULL: the devices that the
	 * input names take part */
	const char *devices;
};
/* Load the configuration and everything it names.  Every fault of both files is printed to `faults` as
 * file:line: text, and the first is also put into err.  Call cl_setup_fini on success and on failure. */
CM_CHECK enum cm_rc cl_setup_load(const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err);
/* Load only what it takes to listen to the broker of the group `mqtt`, which need not have a list of devices:
 * keys, certificates towards the shuffler and policy are not read.  Otherwise as cl_setup_load. */
CM_CHECK enum cm_rc cl_setup_load_mqtt(
	const char *path, struct cl_setup *out, FILE *faults, struct cm_err *err);
void cl_setup_fini(struct cl_setup *s);
/* Read the policy file again, for the same readings and programs.  Call cl_policy_free on success; a fault
 * says file, line and key. */
CM_CHECK enum cm_rc cl_setup_policy(const struct cl_setup *s, struct cl_policy *out, struct cm_err *err);
/* Like cf_changes_wait, for the configuration. */
void cl_setup_changes_wait(const struct cl_setup *s);
/* Tell the policy that this field of a file names devices, and under which other names a query may ask for
 * it. */
void cl_setup_device_field(struct cl_setup *s, const char *device_field, enum cl_format format);
/* Whether logs and metrics may say how many readings were usable and how many devices had none.  True only if
 * the configuration asks for it; otherwise logs and metrics do not depend on readings. */
bool cl_setup_shows(const struct cl_setup *s);
/* Load the configured list of devices, with pseudonyms made by this gateway's secret.  *out is NULL if the
 * file of readings itself names the devices.  Errors as cl_devices_load. */
CM_CHECK enum cm_rc cl_setup_devices(
	const struct cl_setup *s, const struct cr_key *secret, struct cl_devices **out, struct cm_err *err);
/* The files that expire (certificates and revocation lists); their paths are borrowed. */
struct cr_files cl_setup_files(const struct cl_setup *s);
/* Report every fault of these files: wrong certificate or role, dates that have passed, CAs that were
 * exchanged.  A running client keeps using files with such faults if nt_tls_ctx_new accepts them. */
void cl_setup_check_files(const struct cl_setup *s, FILE *faults, struct cm_err *first);
/* Create a TLS context from the certificate files as they are now. */
CM_CHECK enum cm_rc cl_setup_tls(const struct cl_setup *s, struct nt_tls_ctx **out, struct cm_err *err);
