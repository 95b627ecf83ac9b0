/* cl_options.c - reads the options of `send` and `encode` that say what the input is, and how long to
 * wait. */
#include "cl_options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cm_clock.h"

#define WAIT_DEFAULT_MS 60000
#define TIME_MAX_MS     (7 * 86400000LL)

enum cm_rc cl_options_time(const char *option, const char *text, int64_t *ms, struct cm_err *err)
{
	if (cm_clock_duration(text, ms) && *ms > 0 && *ms <= TIME_MAX_MS)
		return CM_OK;
	return cm_fail(err, CM_EUSAGE, "%s: '%.40s' is no duration like 500ms, 60s, 10m, 1h, 2d (up to 7d)",
		option, text);
}

enum cm_rc cl_options_wait(const char *text, int64_t *ms, struct cm_err *err)
{
	if (text)
		return cl_options_time("--wait", text, ms, err);
	*ms = WAIT_DEFAULT_MS;
	return CM_OK;
}

enum cm_rc cl_options_input(const struct cm_cli *cli, struct cl_setup *setup, const char *path,
	struct cl_input *in, struct cm_err *err)
{
	const char *format = cli->option[CL_OPTION_FORMAT];

	*in = (struct cl_input){ .path = path, .map = &setup->conf.map, .csv = setup->conf.csv };
	in->device_field = cli->option[CL_OPTION_DEVICE_FIELD] ? cli->option[CL_OPTION_DEVICE_FIELD]
							       : setup->conf.device_field;
	/* The configuration's list for MQTT does not apply, because this input is a file. */
	setup->devices =
		cli->option[CL_OPTION_DEVICES] ? cli->option[CL_OPTION_DEVICES] : setup->conf.devices;
	if (format) {
		in->format = cl_format_parse(format);
		if (in->format == CL_FORMAT_GUESS)
			return cm_fail(err, CM_EUSAGE, "--format: csv, ndjson or npy, not '%.40s'", format);
	} else if (setup->conf.format && setup->conf.input && strcmp(path, setup->conf.input) == 0) {
		in->format = setup->format;
	} else {
		in->format = cl_format_of_path(path);
	}
	if (in->format == CL_FORMAT_GUESS && setup->conf.format)
		in->format = setup->format;
	if (in->format == CL_FORMAT_GUESS)
		return cm_fail(
			err, CM_EUSAGE, "%s tells no format: say --format csv or --format ndjson", path);
	cl_setup_device_field(setup, in->device_field, in->format);
	if (in->format == CL_FORMAT_NPY)
		in->labels = setup->conf.labels;
	else if (setup->devices && !in->device_field)
		return cm_fail(err, CM_EUSAGE, "--devices needs --device-field: rows are numbered");
	if (cli->option[CL_OPTION_LIMIT] && cm_cli_u64(cli->option[CL_OPTION_LIMIT], "--limit", 1,
						    CL_BATCH_MAX, &in->limit, err) != CM_OK)
		return err->code;
	/* Report an unreadable file now rather than in the first round. */
	if (strcmp(path, "-") != 0 && access(path, R_OK) != 0)
		return cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));
	return CM_OK;
}
