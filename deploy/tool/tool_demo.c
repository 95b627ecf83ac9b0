/* tool_demo.c - carries out the verb `demo`: makes a scratch folder, runs the daemons in it, has them
 * answer a plan, and prints the events. */
#define _GNU_SOURCE /* declares nftw */
#include "tool_demo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_clock.h"
#include "cm_file.h"
#include "cm_log.h"
#include "cr_pki.h"
#include "cr_rand.h"
#include "tool_demo_private.h"

#define TICK_MS     100
#define LINE_MAX_   65536u
#define TIMEOUT_MAX (7 * INT64_C(86400000))

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

/* ---- seeds ---- */

#ifdef TOMBOLA_MUTANTS
/* Set the environment variable with the seed, which the daemons inherit. */
static enum cm_rc pass_seed(const char *seed, struct cm_err *err)
{
	uint64_t n;

	if (cm_cli_u64(seed, "--seed", 0, UINT64_MAX, &n, err) != CM_OK)
		return err->code;
	return setenv("TOMBOLA_TEST_SEED", seed, 1) == 0 ? CM_OK
							 : cm_fail(err, CM_EINTERNAL, "out of memory");
}

/* In a seeded run every daemon that draws logs that it took the seed; a daemon that did not log it is
 * another build. */
static enum cm_rc seeds_taken(const struct demo *d, struct cm_err *err)
{
	static const char *const logs[] = { "client.log", "shuffler.log" };
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < 2; i++) {
		char path[DEMO_PATH];
		struct cm_buf text;

		cm_buf_init(&text, 256u << 20);
		rc = tool_demo_path(d, logs[i], path, err);
		if (rc == CM_OK)
			rc = cm_file_read(path, text.max - 1, &text, err);
		if (rc == CM_OK && cm_buf_put(&text, "", 1) != CM_OK)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		if (rc == CM_OK && !strstr((char *)text.data, CR_RNG_POINT_WARNING))
			rc = cm_fail(
				err, CM_EOTHER, "--seed: a daemon is not a test build, and ignored the seed");
		cm_buf_fini(&text);
	}
	return rc;
}
#else
static enum cm_rc pass_seed(const char *seed, struct cm_err *err)
{
	(void)seed;
	return cm_fail(err, CM_EUSAGE, "--seed: only a test build takes a seed, and this is not one");
}

static enum cm_rc seeds_taken(const struct demo *d, struct cm_err *err)
{
	(void)d;
	(void)err;
	return CM_OK;
}
#endif

/* ---- setting up ---- */

static enum cm_rc read_options(const struct cm_cli *cli, struct demo *d, struct cm_err *err)
{
	const char *port = cli->option[TOOL_DEMO_PORT], *timeout = cli->option[TOOL_DEMO_TIMEOUT];
	const char *devices = cli->option[TOOL_DEMO_DEVICES];
	int64_t ms = 600000;
	uint64_t n = 0;

	d->json = cli->json;
	d->plan_path = cli->option[TOOL_DEMO_PLAN];
	d->own_plan = !d->plan_path;
	d->clients = 1;
	d->device_field = cli->option[TOOL_DEMO_DEVICE_FIELD];
	d->client_dials = cli->option[TOOL_DEMO_CLIENT_DIALS];
	d->seed = cli->option[TOOL_DEMO_SEED];
	if (d->seed && pass_seed(d->seed, err) != CM_OK)
		return err->code;
	if (d->own_plan && cli->option[TOOL_DEMO_READINGS])
		return cm_fail(err, CM_EUSAGE, "--readings need the --plan that asks for them");
	if (devices && cli->option[TOOL_DEMO_READINGS])
		return cm_fail(
			err, CM_EUSAGE, "--devices generates readings, --readings gives them: not both");
	if (devices && cm_cli_u64(devices, "--devices", 1, DEMO_DEVICES_MAX, &d->devices, err) != CM_OK)
		return err->code;
	if (cli->option[TOOL_DEMO_RECURRENCES] &&
		cm_cli_u64(cli->option[TOOL_DEMO_RECURRENCES], "--recurrences", 1, PL_ROUNDS_MAX,
			&d->recurrences, err) != CM_OK)
		return err->code;
	n = 0;
	if (port && cm_cli_u64(port, "--port", 1, 65535, &n, err) != CM_OK)
		return err->code;
	d->port = (uint16_t)n;
	if (timeout && (!cm_clock_duration(timeout, &ms) || ms < 1 || ms > TIMEOUT_MAX))
		return cm_fail(err, CM_EUSAGE, "--timeout: '%.40s' is not a time like 90s or 10m, at most 7d",
			timeout);
	d->timeout_ms = ms;
	d->deadline_ms = cm_clock_mono_ms() + ms;
	return CM_OK;
}

static enum cm_rc make_dir(struct demo *d, const char *wanted, struct cm_err *err)
{
	const char *tmp = getenv("TMPDIR");
	char made[DEMO_PATH];
	int n;

	if (wanted) {
		if (mkdir(wanted, 0700) != 0)
			return cm_fail(err, CM_ECREATE, "--dir: %.200s: %s", wanted, strerror(errno));
		d->made = true;
		n = snprintf(made, sizeof made, "%s", wanted);
	} else {
		n = snprintf(made, sizeof made, "%s/tombola-demo-XXXXXX", tmp && *tmp != '\0' ? tmp : "/tmp");
		if (n < 0 || n >= DEMO_PATH || !mkdtemp(made))
			return cm_fail(err, CM_ECREATE, "no folder can be made in %.200s: %s",
				tmp && *tmp != '\0' ? tmp : "/tmp", strerror(errno));
		d->scratch = true;
	}
	if (n < 0 || n >= DEMO_PATH || !realpath(made, d->dir) || strlen(d->dir) > DEMO_PATH - 256)
		return cm_fail(err, CM_EUSAGE, "--dir: the path is too long");
	return CM_OK;
}

/* Find the daemons beside this program, or on PATH. */
static void find_programs(struct demo *d)
{
	ssize_t n = readlink("/proc/self/exe", d->bin, sizeof d->bin - 1);
	char *slash = NULL, beside[DEMO_PATH + 32];

	if (n > 0) {
		d->bin[n] = '\0';
		slash = strrchr(d->bin, '/');
	}
	if (slash) {
		*slash = '\0';
		(void)snprintf(beside, sizeof beside, "%s/tombola-shuffler", d->bin);
		if (access(beside, X_OK) == 0)
			return;
	}
	d->bin[0] = '\0';
}

/* Find free ports, all different; if `d->port` is 0, any will do.  The sockets stay bound while the demo
 * runs and never listen, so that no other program gets these ports before the daemons listen on them, which
 * SO_REUSEADDR allows (socket(7)). */
static enum cm_rc hold_ports(struct demo *d, struct cm_err *err)
{
	uint16_t *const port[] = { &d->port, &d->http[0], &d->http[1], &d->http[2] };
	int *fd = d->held;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < DEMO_PORTS; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET,
			.sin_port = htons(*port[i]),
			.sin_addr = { htonl(INADDR_LOOPBACK) } };
		socklen_t len = sizeof a;
		const int yes = 1;

		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd[i] < 0 || setsockopt(fd[i], SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
			bind(fd[i], (struct sockaddr *)&a, len) != 0 ||
			getsockname(fd[i], (struct sockaddr *)&a, &len) != 0)
			rc = cm_fail(err, CM_EUNAVAIL, "port %u of 127.0.0.1: %s", *port[i], strerror(errno));
		*port[i] = ntohs(a.sin_port);
	}
	return rc;
}

/* Count the lines of a file: no more devices than that have readings in it. */
static enum cm_rc count_lines(const char *path, uint64_t *out, struct cm_err *err)
{
	FILE *f = fopen(path, "r");
	int c;

	if (!f)
		return cm_fail(err, CM_ENOINPUT, "--readings: %.200s: %s", path, strerror(errno));
	for (*out = 1; (c = getc_unlocked(f)) != EOF;)
		*out += c == '\n';
	(void)fclose(f);
	return *out <= CR_PKI_MAX_DEVICES
		       ? CM_OK
		       : cm_fail(err, CM_EUSAGE, "--readings: more than %u lines", CR_PKI_MAX_DEVICES);
}

/* Choose the readings: the file that --readings gives, or generated ones for as many devices as the largest
 * round needs. */
static enum cm_rc choose_readings(struct demo *d, const char *given, char path[PATH_MAX], struct cm_err *err)
{
	if (given) {
		if (!realpath(given, path))
			return cm_fail(err, CM_ENOINPUT, "--readings: %.200s: %s", given, strerror(errno));
		d->readings = path;
		return count_lines(path, &d->devices, err);
	}
	d->readings = "readings.ndjson";
	if (!d->device_field)
		d->device_field = "device";
	if (d->devices == 0)
		d->devices = tool_demo_wanted(&d->plan);
	if (d->devices > DEMO_DEVICES_MAX)
		return cm_fail(err, CM_EUSAGE,
			"the plan wants %llu devices: readings are generated for at most %u",
			(unsigned long long)d->devices, DEMO_DEVICES_MAX);
	return tool_demo_readings(d, err);
}

/* ---- running ---- */

/* Copies the analyzer's output to its log, and handles each line. */
static enum cm_rc listen_on(struct demo *d, FILE *log, struct cm_err *err)
{
	struct pollfd p = { .fd = d->said, .events = POLLIN };
	char *line = malloc(LINE_MAX_);
	size_t len = 0;
	enum cm_rc rc = line ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	while (rc == CM_OK) {
		int ready = poll(&p, 1, TICK_MS);
		ssize_t n = ready > 0 ? read(d->said, line + len, LINE_MAX_ - 1 - len) : -1;
		char *end;

		if (interrupted != 0)
			rc = cm_fail(err, CM_EOTHER, "ended by signal %d", (int)interrupted);
		else if (ready == 0 || (n < 0 && errno == EINTR))
			rc = tool_demo_complaints(d, true, err);
		if (rc == CM_OK && d->given_up.code != CM_OK) {
			*err = d->given_up;
			rc = err->code;
		}
		if (rc == CM_OK && (ready == 0 || (n < 0 && errno == EINTR)))
			rc = tool_demo_alive(d, err);
		if (ready <= 0 || rc != CM_OK)
			continue;
		if (n <= 0)
			break;
		(void)fwrite(line + len, 1, (size_t)n, log);
		(void)fflush(log);
		len += (size_t)n;
		while (rc == CM_OK && (end = memchr(line, '\n', len))) {
			*end = '\0';
			rc = tool_demo_heard(d, line, err);
			len -= (size_t)(end + 1 - line);
			memmove(line, end + 1, len);
		}
		if (len == LINE_MAX_ - 1) /* every log line of ours is shorter */
			len = 0;
	}
	free(line);
	return rc;
}

static enum cm_rc run_plan(struct demo *d, struct cm_err *err)
{
	char path[DEMO_PATH] = "";
	struct cm_err unsaid = { 0 };
	FILE *log = NULL;
	enum cm_rc late = tool_demo_windows(d, err), rc = CM_OK;

	/* Report what the logs say before the demo ends. */
	if (late != CM_OK)
		return tool_demo_started(d, &unsaid) == CM_OK ? late
							      : cm_fail(err, unsaid.code, "%s", unsaid.msg);
	rc = tool_demo_start(d, DEMO_SHUFFLER, err);
	if (rc == CM_OK)
		rc = tool_demo_ready(d, err);
	if (rc == CM_OK)
		rc = tool_demo_started(d, err);
	for (unsigned k = 0; rc == CM_OK && k < d->clients; k++)
		rc = tool_demo_start(d, (enum tool_demo_party)(DEMO_CLIENT + k), err);
	if (rc == CM_OK)
		rc = tool_demo_start(d, DEMO_ANALYZER, err);
	if (rc == CM_OK)
		rc = tool_demo_path(d, "analyzer.log", path, err);
	if (rc == CM_OK && !(log = fopen(path, "a")))
		rc = cm_fail(err, CM_ECREATE, "%s: %s", path, strerror(errno));
	if (rc == CM_OK)
		rc = listen_on(d, log, err);
	if (rc == CM_ELATER && tool_demo_complaints(d, false, &unsaid) !=
				       CM_OK) /* the time is over, so report why it took so long */
		cm_log_plain(CM_LOG_WARN, unsaid.msg);
	if (rc == CM_OK)
		rc = tool_demo_ended(d, err);
	if (log)
		(void)fclose(log);
	/* If no round was settled nothing may have been drawn, and no estimate could vary. */
	return rc == CM_OK && d->seed && d->settled > 0 ? seeds_taken(d, err) : rc;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	return remove(path);
}

/* The exit code for the plan's outcome; the built-in plan's last round is meant to be refused. */
static int verdict(const struct demo *d)
{
	if (d->voided > 0)
		return cm_exit_code(CM_ELATER);
	if (d->own_plan)
		return d->refused == 1 && d->settled + 1 == d->plan.rounds ? 0 : cm_exit_code(CM_EOTHER);
	return d->refused > 0 ? cm_exit_code(CM_EBUDGET) : d->wrong[0] != '\0' ? cm_exit_code(CM_EDATA) : 0;
}

static enum cm_rc set_up(
	const struct cm_cli *cli, struct demo *d, char readings[PATH_MAX], struct cm_err *err)
{
	enum cm_rc rc = make_dir(d, cli->option[TOOL_DEMO_DIR], err);

	find_programs(d);
	if (rc == CM_OK)
		rc = tool_demo_plan(d, cli->option[TOOL_DEMO_PLAN], err);
	if (rc == CM_OK)
		rc = choose_readings(d, cli->option[TOOL_DEMO_READINGS], readings, err);
	if (rc == CM_OK)
		rc = hold_ports(d, err);
	if (rc == CM_OK)
		rc = tool_demo_deploy(d, err);
	/* The first client has no list of devices yet, so that it finds all devices. */
	if (rc == CM_OK && !d->own_plan)
		rc = tool_demo_judge(d, err);
	if (rc == CM_OK)
		rc = tool_demo_classes(d, err);
	if (rc == CM_OK && d->clients > 1)
		rc = tool_demo_divide(d, err);
	for (unsigned k = 0; rc == CM_OK && d->clients > 1 && k < d->clients; k++)
		rc = tool_demo_client(d, k, err);
	return rc;
}

enum cm_rc tool_demo(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	static struct demo d = { .said = -1, .held = { -1, -1, -1, -1 } };
	static char readings[PATH_MAX];
	const struct sigaction quit = { .sa_handler = on_signal };
	struct cm_err unsaid = { 0 };
	enum cm_rc rc = read_options(cli, &d, err);
	bool set;

	if (rc != CM_OK)
		return rc;
	(void)sigaction(SIGINT, &quit, NULL);
	(void)sigaction(SIGTERM, &quit, NULL);
	(void)signal(SIGPIPE,
		SIG_IGN); /* when the reader has gone a write fails, and then everything is stopped */
	rc = set_up(cli, &d, readings, err);
	set = rc == CM_OK;
	if (set)
		rc = run_plan(&d, err);
	tool_demo_stop(&d);
	for (size_t i = 0; i < DEMO_PORTS; i++)
		if (d.held[i] >= 0)
			(void)close(d.held[i]);
	*exit_code = rc == CM_OK ? verdict(&d) : cm_exit_code(rc);
	if (set && tool_demo_finished(&d, *exit_code, rc == CM_OK ? NULL : err->msg, &unsaid) != CM_OK &&
		rc == CM_OK)
		rc = cm_fail(err, unsaid.code, "%s", unsaid.msg);
	/* Keep the files of a run that failed. */
	if (d.scratch && set && rc != CM_OK)
		(void)fprintf(stderr, "tombola: logs and databases are in %s\n", d.dir);
	else if (d.scratch || (d.made && !set)) /* a demo that did not begin leaves no files */
		(void)nftw(d.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	json_decref(d.judged);
	pl_plan_fini(&d.plan);
	return rc;
}
