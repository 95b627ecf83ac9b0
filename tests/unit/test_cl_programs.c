/* test_cl_programs.c - programs of devices in their cell: what they answer, and what they cannot do.  The
 * spawner is this file itself, run anew. */
#define _GNU_SOURCE /* ppoll, memfd */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cl_cell.h"
#include "cl_programs.h"
#include "cl_slots.h"
#include "cl_spawner.h"
#include "cm_file.h"
#include "cr_hash.h"

#define FEATURES 3u
#define DEVICES  4u
#define SECONDS  1.2 /* time of a device; its program has three quarters of it */

static struct cl_program_allowed allowed[2];
static struct cl_program_conf conf;
static struct cl_programs *programs;
static char script[] = "/tmp/tombola-script-XXXXXX";

static void allow(struct cl_program_allowed *a, char *path)
{
	struct cm_buf bytes;
	struct cm_err err;

	cm_buf_init(&bytes, CL_PROGRAM_MAX);
	assert_int_equal(cm_file_read(path, CL_PROGRAM_MAX, &bytes, &err), CM_OK);
	a->file = path;
	cr_sha256(bytes.data, bytes.len, a->hash);
	cm_buf_fini(&bytes);
}

/* A script that answers the double of each device's features, and moves the place in its file: who finds it
 * moved, or the time of somebody's read on it, answers the negative.  It is read by its interpreter, and once
 * more by itself; it was last written after it had been made. */
static void write_script(void)
{
	static const char text[] =
		"#!/usr/bin/python3 -I\n"
		"import os, struct, sys\n"
		"def frame():\n"
		"    head = sys.stdin.buffer.read(4)\n"
		"    return head and sys.stdin.buffer.read(struct.unpack('<I', head)[0])\n"
		"_, m, k, d = struct.unpack('<4I', frame())\n"
		"payload = frame()\n"
		"at, apart = os.stat(sys.argv[0]), sys.argv[0] != '/dev/fd/3'\n"
		"factor = 2 if (apart or os.lseek(3, 0, os.SEEK_CUR) == 0) and at.st_atime_ns <= at.st_mtime_ns else -2\n"
		"open(sys.argv[0], 'rb').read()\n"
		"apart or os.lseek(3, 1, os.SEEK_SET)\n"
		"while row := frame():\n"
		"    x = struct.unpack(f'<{m}fI', row)\n"
		"    sys.stdout.buffer.write(struct.pack(f'<{d}f', *(factor * v for v in x[:d])))\n"
		"    sys.stdout.buffer.flush()\n";
	int fd = mkstemp(script);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
	assert_int_equal(close(fd), 0);
}

static void start(bool isolate, const char *what)
{
	struct cm_err err = { 0 };

	conf = (struct cl_program_conf){ .allow = { .item = allowed, .n = 2 },
		.isolate = isolate,
		.at_once = DEVICES,
		.memory_mib = 512,
		.uid = 65534,
		.gid = 65534,
		/* The machine of the test may isolate less. */
		.accepts = UINT32_MAX };
	if (cl_programs_start(&conf, &programs, &err) != CM_OK)
		fail_msg("%s: %s", what, err.msg);
	assert_non_null(programs);
}

static int set_up(void **state)
{
	(void)state;
	write_script();
	allow(&allowed[0], MISBEHAVES);
	allow(&allowed[1], script);
	start(true, "the spawner");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_programs_stop(programs);
	(void)unlink(script);
	return 0;
}

/* ---- one round of some devices: number i has i + 0.25, i + 0.5, i + 0.75 ---- */

struct asked {
	uint32_t reading[16][FEATURES + 1];
	float answer[16][FEATURES];
	bool there[16];
	int none; /* the device without a reading, -1: none */
	size_t told;
};

static const uint32_t *reading(void *user, size_t i)
{
	struct asked *a = user;

	for (uint32_t j = 0; j < FEATURES; j++) {
		float x = (float)i + 0.25F * (float)(j + 1);

		memcpy(&a->reading[i][j], &x, sizeof x);
	}
	return (int)i == a->none ? NULL : a->reading[i];
}

static void answer(void *user, size_t i, const float *numbers)
{
	struct asked *a = user;

	assert_int_equal(i, a->told);
	a->told++;
	a->there[i] = numbers != NULL;
	if (numbers)
		memcpy(a->answer[i], numbers, sizeof a->answer[i]);
}

static int64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static enum cm_rc ask_for(struct asked *a, int program, const char *payload, size_t devices, double seconds)
{
	const struct cl_program_round round = { .hash = allowed[program].hash,
		.job = { FEATURES, 0, FEATURES, (const uint8_t *)payload, strlen(payload) },
		.seconds = seconds,
		.payload_size = strlen(payload),
		.start_ns = now_ns(),
		.devices = devices,
		.reading = reading,
		.answer = answer,
		.user = a };
	int64_t takes = cl_programs_time(&conf, devices, seconds, strlen(payload)), end = 0;
	struct cm_err err = { 0 };
	enum cm_rc rc;

	*a = (struct asked){ .none = -1 };
	rc = cl_programs_run(programs, &conf, &round, &end, &err);
	assert_int_equal(a->told, devices);
	/* The call returns at that time, whatever programs did, and not before. */
	assert_true(end - round.start_ns == takes && now_ns() >= end);
	return rc;
}

static void is_good(const struct asked *a, size_t devices, float factor)
{
	for (size_t i = 0; i < devices; i++) {
		assert_true(a->there[i]);
		for (uint32_t j = 0; j < FEATURES; j++)
			assert_float_equal(a->answer[i][j], factor * ((float)i + 0.25F * (float)(j + 1)), 0);
	}
}

static void is_none(const struct asked *a, size_t devices)
{
	for (size_t i = 0; i < devices; i++)
		assert_false(a->there[i]);
}

static void a_good_program_answers_every_device(void **state)
{
	struct asked a;

	(void)state;
	assert_int_equal(ask_for(&a, 0, "good", DEVICES + 1, SECONDS), CM_OK);
	is_good(&a, DEVICES + 1, 1);
	/* An answer that comes in time counts, however long the program keeps running. */
	assert_int_equal(ask_for(&a, 0, "stays", 1, SECONDS), CM_OK);
	is_good(&a, 1, 1);
}

static bool has_root(void)
{
	return !(cl_programs_lacks(programs) & (CL_CELL_NAMESPACES | CL_CELL_ROOT));
}

static void a_script_answers_too(void **state)
{
	struct asked a;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ask_for(&a, 1, "", 2, 7), CM_OK);
		/* In a root of their own no times of access are kept. */
		is_good(&a, 2, has_root() || !(cl_programs_lacks(programs) & CL_CELL_TIMES) ? 2 : -2);
	}
}

static void what_is_no_answer_is_none(void **state)
{
	static const char *const bad[] = { "hang", "spin", "late", "exit", "crash", "short", "long",
		"fails" };
	struct asked a;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(ask_for(&a, 0, bad[i], 1, 0.4), CM_OK);
		is_none(&a, 1);
	}
	assert_int_equal(ask_for(&a, 0, "good", 1, SECONDS), CM_OK);
	is_good(&a, 1, 1);
}

/* More programs than processors, in slots so short that this machine is late. */
static void spinning_does_not_move_the_end(void **state)
{
	struct asked a;

	(void)state;
	/* ask_for compares the end. */
	assert_int_equal(ask_for(&a, 0, "spin", 16, 0.05), CM_OK);
	is_none(&a, 16);
	assert_int_equal(ask_for(&a, 0, "spin", 16, 0.002), CM_OK);
	is_none(&a, 16);
}

/* Device 0 needs 11/16 of its slot: a processor could have given it that, had it been left alone.  Its answer
 * is the same whatever the others do.  A device that needs little has an answer beside any other. */
static void a_busy_neighbour_changes_no_answer(void **state)
{
	struct asked a;

	(void)state;
	assert_int_equal(ask_for(&a, 0, "works825", DEVICES, 1.2), CM_OK);
	assert_false(a.there[0]);
	for (size_t i = 1; i < DEVICES; i++)
		assert_true(a.there[i]);
	assert_int_equal(ask_for(&a, 0, "busy 825", DEVICES, 1.2), CM_OK);
	is_none(&a, DEVICES);
	assert_int_equal(ask_for(&a, 0, "busy 50", DEVICES, 4), CM_OK);
	assert_true(a.there[0]);
}

static void slots_divide_the_processors(void **state)
{
	(void)state;
	/* Together they need no more than the processors offer in five eighths of a slot. */
	assert_int_equal(cl_slots_processor(800, 1, 4), 500);
	assert_int_equal(cl_slots_processor(800, 4, 4), 500);
	assert_int_equal(cl_slots_processor(800, 8, 4), 250);
	assert_int_equal(cl_slots_processor(800, 64, 1), 7);
}

static void numbers_are_handed_on_as_they_are(void **state)
{
	struct asked a;

	(void)state;
	assert_int_equal(ask_for(&a, 0, "nan", 1, SECONDS), CM_OK);
	assert_true(a.there[0] && isnan(a.answer[0][0]));
	assert_int_equal(ask_for(&a, 0, "infinite", 1, SECONDS), CM_OK);
	assert_true(a.there[0] && isinf(a.answer[0][0]));
}

static void nothing_forbidden_succeeds(void **state)
{
	static const char *const tries[] = { "fork", "thread", "net", "write", "exec", "others", "more",
		"memory", "pages" };
	/* These are tried beside other programs, and after them. */
	static const char *const together[] = { "neighbours", "traces", "talk", "clocks" };
	struct asked a;

	(void)state;
	for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
		print_message("%s\n", tries[i]);
		assert_int_equal(ask_for(&a, 0, tries[i], 1, SECONDS), CM_OK);
		is_good(&a, 1, 1);
	}
	for (size_t i = 0; i < sizeof together / sizeof together[0]; i++) {
		print_message("%s\n", together[i]);
		assert_int_equal(ask_for(&a, 0, together[i], DEVICES + 2, SECONDS), CM_OK);
		is_good(&a, DEVICES + 2, 1);
	}
	assert_int_equal(ask_for(&a, 0, "read", 1, SECONDS), CM_OK);
	if (cl_programs_lacks(programs) & CL_CELL_FILES)
		print_message("no Landlock here: files can be read\n");
	else
		is_good(&a, 1, 1);
	assert_int_equal(ask_for(&a, 0, "names", 1, SECONDS), CM_OK);
	if (!has_root())
		print_message("no root of their own here: names of files can be seen\n");
	else
		is_good(&a, 1, 1);
	assert_int_equal(ask_for(&a, 0, "seen", DEVICES, SECONDS), CM_OK);
	if (!has_root())
		print_message("no root of their own here: the number of processes can be seen\n");
	else
		is_good(&a, DEVICES, 1);
}

/* The program cheats: it answers with its first device's features for every later one. */
static void what_a_program_remembers_is_gone(void **state)
{
	struct asked a;

	(void)state;
	assert_int_equal(ask_for(&a, 0, "leak", DEVICES + 2, SECONDS), CM_OK);
	is_good(&a, DEVICES + 2, 1);
	/* Without isolation a lane's second device gets the first one's answer. */
	conf.isolate = false;
	assert_int_equal(ask_for(&a, 0, "leak", DEVICES + 2, SECONDS), CM_OK);
	is_good(&a, DEVICES, 1);
	for (size_t i = DEVICES; i < DEVICES + 2; i++)
		assert_float_equal(a.answer[i][0], (float)(i - DEVICES) + 0.25F, 0);
	/* A process that answers is kept. */
	assert_int_equal(ask_for(&a, 0, "good", DEVICES + 2, SECONDS), CM_OK);
	is_good(&a, DEVICES + 2, 1);
	assert_int_equal(ask_for(&a, 0, "long", DEVICES + 1, SECONDS), CM_OK);
	is_none(&a, DEVICES + 1);
	conf.isolate = true;
}

static void a_device_without_a_reading_is_computed_with_zeroes(void **state)
{
	const struct cl_program_round round = { .hash = allowed[0].hash,
		.job = { FEATURES, 0, FEATURES, NULL, 0 },
		.seconds = SECONDS,
		.start_ns = now_ns(),
		.devices = 2,
		.reading = reading,
		.answer = answer };
	struct cl_program_round r = round;
	struct asked a = { .none = 1 };
	struct cm_err err;
	int64_t end;

	(void)state;
	r.user = &a;
	assert_int_equal(cl_programs_run(programs, &conf, &r, &end, &err), CM_OK);
	assert_true(a.there[1]);
	assert_float_equal(a.answer[1][2], 0, 0);
	assert_float_equal(a.answer[0][2], 0.75, 0);
}

static void another_program_is_not_run(void **state)
{
	static const uint8_t other[CL_PROGRAM_HASH] = { 1 };
	struct cm_err err;
	bool timeless;
	int fd;

	(void)state;
	assert_int_equal(cl_program_file_open(MISBEHAVES, other, &fd, &timeless, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "not the program that was agreed to"));
	assert_int_equal(cl_program_file_open("/etc/passwd", other, &fd, &timeless, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "neither an ELF program nor a script"));
	assert_int_equal(cl_program_file_open("/nowhere", other, &fd, &timeless, &err), CM_ENOINPUT);
	assert_int_equal(cl_program_conf_find(&conf, other), -1);
	assert_int_equal(cl_program_conf_find(&conf, allowed[1].hash), 1);
}

/* A process whose kernel has no Landlock. */
static int without_landlock(void)
{
	struct sock_filter deny[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog filter = { sizeof deny / sizeof deny[0], deny };
	struct cl_programs *p = NULL;
	struct cm_err err = { 0 };
	bool refused, alone, started;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 2;
	conf.accepts = CL_CELL_MACHINE;
	refused = cl_programs_start(&conf, &p, &err) == CM_ECONFIG && !p &&
		  strstr(err.msg, "does not name ") && strstr(err.msg, "landlock");
	cl_programs_stop(p);
	conf.accepts = UINT32_MAX;
	alone = cl_programs_start(&conf, &p, &err) == CM_ECONFIG && !p && strstr(err.msg, "programs.at_once");
	cl_programs_stop(p);
	conf.at_once = 1;
	started = cl_programs_start(&conf, &p, &err) == CM_OK && (cl_programs_lacks(p) & CL_CELL_FILES) != 0;
	cl_programs_stop(p);
	return refused && alone && started ? 0 : 1;
}

static void what_the_kernel_lacks_is_never_passed_over(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(without_landlock());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void each_thing_that_may_be_lacking_is_accepted_by_its_name(void **state)
{
	static const char *const name[] = { "namespaces", "user", "landlock", "one-program", "access-times",
		"root", "process", "machine" };
	static const uint32_t bit[] = { CL_CELL_NAMESPACES, CL_CELL_USER, CL_CELL_FILES, CL_CELL_ONCE,
		CL_CELL_TIMES, CL_CELL_ROOT, CL_CELL_PROCESS, CL_CELL_MACHINE };
	struct cl_program_conf c = { .isolate = true };
	char text[CL_CELL_TEXT];
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bit / sizeof bit[0]; i++) {
		assert_int_equal(cl_cell_lack(name[i]), bit[i]);
		cl_cell_text(bit[i], text);
		assert_string_equal(text, name[i]);
		c.accepts = bit[i];
		assert_int_equal(cl_program_conf_accepts(&c, bit[i], &err), CM_OK);
		c.accepts = ~bit[i];
		assert_int_equal(cl_program_conf_accepts(&c, UINT32_MAX, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, name[i]));
	}
	assert_int_equal(cl_cell_lack("landloc"), 0);
	cl_cell_text(UINT32_MAX, text);
	assert_string_equal(
		text, "namespaces, user, landlock, one-program, access-times, root, process, machine");
	assert_int_equal(cl_program_conf_lacks(&c), CL_CELL_MACHINE);
	c.isolate = false;
	assert_int_equal(cl_program_conf_lacks(&c), CL_CELL_MACHINE | CL_CELL_PROCESS);
}

/* The only child that this process has. */
static pid_t spawner(void)
{
	char path[64], text[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	(void)fclose(f);
	return (pid_t)strtol(text, NULL, 10);
}

/* A kernel that gives all of it to a process of this test must give it to the spawner, too. */
static void what_the_kernel_gives_is_there(void **state)
{
	static const char *const kind[] = { "net", "mnt", "pid", "ipc", "uts" };
	uint32_t lacks = cl_programs_lacks(programs);
	char path[64], own[64] = "", its[64] = "", line[512];
	struct cl_programs *full = NULL;
	size_t mounts = 0;
	struct cm_err err;
	FILE *f;

	(void)state;
	if (geteuid() != 0 || lacks != 0) {
		print_message("not root, or a kernel that isolates in part\n");
		skip();
	}
	for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
		(void)snprintf(path, sizeof path, "/proc/self/ns/%s", kind[i]);
		assert_true(readlink(path, own, sizeof own - 1) > 0);
		(void)snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)spawner(), kind[i]);
		assert_true(readlink(path, its, sizeof its - 1) > 0);
		assert_string_not_equal(own, its);
	}
	(void)snprintf(path, sizeof path, "/proc/%ld/mountinfo", (long)spawner());
	f = fopen(path, "r");
	assert_non_null(f);
	for (; fgets(line, sizeof line, f); mounts++)
		assert_non_null(strstr(line, " ro,"));
	(void)fclose(f);
	assert_true(mounts > 0);
	conf.accepts = CL_CELL_MACHINE;
	assert_int_equal(cl_programs_start(&conf, &full, &err), CM_OK);
	conf.accepts = UINT32_MAX;
	assert_int_equal(cl_programs_lacks(full), 0);
	cl_programs_stop(full);
}

/* The spawner is killed while a program runs: everybody is NONE from then on, at the same times. */
static void without_its_spawner_everybody_is_none(void **state)
{
	pid_t victim = spawner(), killer;
	struct asked a;

	(void)state;
	killer = fork();
	if (killer == 0) {
		(void)sleep(2);
		_exit(kill(victim, SIGKILL));
	}
	assert_int_equal(ask_for(&a, 0, "stays", 1, 4), CM_EUNAVAIL);
	is_none(&a, 1);
	assert_int_equal(waitpid(killer, NULL, 0), killer);
	assert_int_equal(ask_for(&a, 0, "good", DEVICES + 1, 0.3), CM_EUNAVAIL);
	is_none(&a, DEVICES + 1);
	cl_programs_stop(programs);
	start(true, "another spawner");
	assert_int_equal(ask_for(&a, 0, "good", 1, SECONDS), CM_OK);
	is_good(&a, 1, 1);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_program_answers_every_device),
		cmocka_unit_test(a_script_answers_too),
		cmocka_unit_test(what_is_no_answer_is_none),
		cmocka_unit_test(spinning_does_not_move_the_end),
		cmocka_unit_test(a_busy_neighbour_changes_no_answer),
		cmocka_unit_test(slots_divide_the_processors),
		cmocka_unit_test(numbers_are_handed_on_as_they_are),
		cmocka_unit_test(nothing_forbidden_succeeds),
		cmocka_unit_test(what_a_program_remembers_is_gone),
		cmocka_unit_test(a_device_without_a_reading_is_computed_with_zeroes),
		cmocka_unit_test(another_program_is_not_run),
		cmocka_unit_test(each_thing_that_may_be_lacking_is_accepted_by_its_name),
		cmocka_unit_test(what_the_kernel_lacks_is_never_passed_over),
		cmocka_unit_test(what_the_kernel_gives_is_there),
		cmocka_unit_test(without_its_spawner_everybody_is_none),
	};
	int code;

	if (cl_spawner_main(argc, argv, &code))
		return code;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
