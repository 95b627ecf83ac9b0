/* misbehaves.c - a program that devices run in tests: its payload says what it does.
 *
 * It answers each device's features.  A payload that names something forbidden makes it try that, and answer
 * their negatives if it succeeds; "all" tries all of it but "names" and "seen".  With "works" and a number
 * the device whose first feature is below 1 computes for so many milliseconds before it answers, and with
 * "busy" the others compute for ever beside it.  With "each" a device's last feature says what it does
 * instead of answering.  With "second" the answers of a process are negatives after its first, and with
 * "whole" unless the payload goes on with 0, 1, .., 250, 0, .. from its 8th byte to its end. */
#define _GNU_SOURCE /* memfd_create, environ */
#include <fcntl.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 65536u

static float first[MOST], x[MOST + 1], answer[MOST];
static char *does;
static uint32_t m, d, does_len;

static int read_all(void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t got = read(0, (char *)to + at, n - at);

		if (got <= 0)
			return 0;
		at += (size_t)got;
	}
	return 1;
}

static void write_all(const void *from, size_t n)
{
	for (size_t at = 0; at < n;) {
		ssize_t put = write(1, (const char *)from + at, n - at);

		if (put <= 0)
			_exit(1);
		at += (size_t)put;
	}
}

/* ---- what must not succeed ---- */

static void *nothing(void *unused)
{
	return unused;
}

static int opens(const char *path, int how)
{
	return open(path, how, 0600) >= 0;
}

static int tries_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)sleep(1000);
	return pid > 0;
}

static int tries_thread(void)
{
	pthread_t t;

	return pthread_create(&t, NULL, nothing, NULL) == 0;
}

static int tries_net(void)
{
	static const int family[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET };
	int pair[2];

	for (size_t i = 0; i < sizeof family / sizeof family[0]; i++)
		if (socket(family[i], SOCK_STREAM, 0) >= 0 || socket(family[i], SOCK_DGRAM, 0) >= 0)
			return 1;
	return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
}

static int tries_read(void)
{
	return opens("/etc/passwd", O_RDONLY) || opens("/proc/self/environ", O_RDONLY) ||
	       opens("/", O_RDONLY | O_DIRECTORY) || opens("/proc/1/cmdline", O_RDONLY) ||
	       opens("/bin/sh", O_RDONLY);
}

/* Read any of the host's files that it can. */
static int finds_names(void)
{
	static const char *const host[] = { "/etc/passwd", "/home", "/root", "/bin/sh", "/var", "/dev/zero",
		"/tmp" };
	struct stat st;
	int found = 0;

	for (size_t i = 0; i < sizeof host / sizeof host[0]; i++)
		found += stat(host[i], &st) == 0 || access(host[i], F_OK) == 0;
	return found;
}

static int tries_write(void)
{
	return opens("/tmp/tombola-escaped", O_WRONLY | O_CREAT) ||
	       opens("/dev/shm/tombola-escaped", O_RDWR | O_CREAT) || opens("/tmp", O_RDWR | O_TMPFILE) ||
	       mkdir("/tmp/tombola-escaped.d", 0700) == 0 || memfd_create("x", 0) >= 0 ||
	       opens("/proc/self/comm", O_WRONLY) || opens("/lib/tombola-escaped", O_WRONLY | O_CREAT);
}

static int tries_exec(void)
{
	static const char *const loader[] = { "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1" };
	char *argv[] = { "sh", "-c", "exit 0", NULL }, *none[] = { NULL };

	/* Where it succeeds there is no answer. */
	if (strcmp(does, "exec") == 0 || strcmp(does, "all") == 0) {
		(void)execve("/bin/sh", argv, none);
		(void)execve("/lib64/ld-linux-x86-64.so.2", argv, none);
		/* Landlock lets it be run: the filter of calls alone forbids it. */
		for (size_t i = 0; i < sizeof loader / sizeof loader[0]; i++)
			(void)execveat(AT_FDCWD, loader[i], argv, none, 0);
		(void)execveat(3, "", argv, none, AT_EMPTY_PATH);
	}
	return 0;
}

static int tries_others(void)
{
	return kill(1, 0) == 0 || kill(getppid(), 0) == 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 ||
	       shmget(IPC_PRIVATE, 4096, 0600) >= 0 || setuid(0) == 0 || getuid() == 0 || chroot("/") == 0;
}

static int finds_more(void)
{
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	return environ[0] != NULL;
}

/* The input and output of programs beside it, and of the spawner, by their numbers in the /proc it sees. */
static int tries_neighbours(void)
{
	char path[64] = "";
	long self;
	int found = 0;

	if (readlink("/proc/self", path, sizeof path - 1) < 0)
		return 0;
	self = strtol(path, NULL, 10);
	/* All that begin with this one are there. */
	(void)nanosleep(&(const struct timespec){ 0, 200000000 }, NULL);
	for (long pid = self - 12; pid <= self + 12; pid++)
		for (int fd = 0; pid != self && fd < 12; fd++) {
			(void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", pid, fd);
			found += opens(path, O_RDONLY | O_NONBLOCK) || opens(path, O_WRONLY | O_NONBLOCK);
		}
	return found;
}

/* The number of processes is how many links there are, and each new name takes the next number of a counter
 * of all processes. */
static int sees_neighbours(void)
{
	struct stat st;

	return stat("/proc", &st) == 0 || stat("/dev/fd", &st) == 0;
}

/* How long another process has computed, or whether there is one of that number. */
static int reads_clocks(void)
{
	const struct timespec begin = { 0, 0 };
	struct timespec t;
	int found = 0;

	for (int pid = 1; pid <= getpid() + 12; pid++) {
		/* The number of a process's clock, as clock_getcpuclockid() makes it; the second is that of a
		 * thread, the third that of its time in the kernel. */
		for (int kind = 0; kind < 8; kind++) {
			long clock = (long)(int)(~(unsigned)pid << 3 | (unsigned)kind);

			found += syscall(SYS_clock_gettime, clock, &t) == 0;
			found += syscall(SYS_clock_getres, clock, &t) == 0;
			if (kind == 2)
				found +=
					syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, &begin, NULL) == 0;
		}
	}
	return found;
}

/* Faults of pages that others brought in, and pages that are one where two are alike. */
static int shares_pages(void)
{
	struct rusage used;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return getrusage(RUSAGE_SELF, &used) == 0 || syscall(SYS_times, NULL) > 0 ||
	       syscall(SYS_membarrier, 0, 0, 0) >= 0 || madvise(page, 4096, MADV_MERGEABLE) == 0 ||
	       madvise(page, 4096, 21 /* MADV_PAGEOUT */) == 0 ||
	       mincore(page, 4096, (unsigned char[1]){ 0 }) == 0;
}

/* A page that all processes have: one waits at it, and another counts who was woken. */
static int tries_talk(void)
{
	static const char *const library[] = { "/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/aarch64-linux-gnu/libc.so.6" };
	const struct timespec wait = { 0, 5000000 };
	int fd = open(library[0], O_RDONLY), found = 0;
	const uint32_t *page;

	if (fd < 0)
		fd = open(library[1], O_RDONLY);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	for (int i = 0; page != MAP_FAILED && i < 80; i++) {
		found += syscall(SYS_futex, page, FUTEX_WAIT, *page, &wait, NULL, 0) == 0;
		found += syscall(SYS_futex, page, FUTEX_WAKE, 1, NULL, NULL, 0) > 0;
		(void)nanosleep(&(const struct timespec){ 0, 1000000 }, NULL);
	}
	return found;
}

/* Look for what another process of the same program left for this one. */
static int finds_traces(void)
{
	int flags = fcntl(2, F_GETFL), found = (flags & (O_APPEND | O_NONBLOCK)) != 0;

	for (int fd = 2; fd <= 3; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			found += lseek(fd, 0, SEEK_CUR) != 0 || lseek(fd, 7, SEEK_SET) < 0;
	(void)fcntl(2, F_SETFL, flags | O_APPEND);
	return found;
}

static int tries_memory(void)
{
	size_t n = (size_t)4 << 30;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p != MAP_FAILED;
}

static const struct {
	const char *name;
	int (*tries)(void);
} forbidden[] = { { "fork", tries_fork }, { "thread", tries_thread }, { "net", tries_net },
	{ "read", tries_read }, { "write", tries_write }, { "exec", tries_exec }, { "others", tries_others },
	{ "more", finds_more }, { "memory", tries_memory }, { "neighbours", tries_neighbours },
	{ "traces", finds_traces }, { "talk", tries_talk }, { "names", finds_names },
	{ "seen", sees_neighbours }, { "clocks", reads_clocks }, { "pages", shares_pages } };

/* ---- what must not be an answer ---- */

static int is(const char *name)
{
	return strcmp(does, name) == 0;
}

static void work(void)
{
	int64_t least = strtol(does + 5, NULL, 10) * 1000000;
	struct timespec t = { 0, 0 };

	while (t.tv_sec * INT64_C(1000000000) + t.tv_nsec < least)
		(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
}

static void answer_badly(void)
{
	if (x[0] < 1 && (strncmp(does, "works", 5) == 0 || strncmp(does, "busy ", 5) == 0))
		work();
	else if (strncmp(does, "busy ", 5) == 0)
		for (volatile int i = 0;; i++)
			;
	if (is("hang"))
		for (;;)
			(void)sleep(1000);
	if (is("spin"))
		for (volatile int i = 0;; i++)
			;
	if (is("late"))
		(void)nanosleep(&(const struct timespec){ 100, 0 }, NULL);
	if (is("exit"))
		_exit(0);
	if (is("crash"))
		__builtin_trap();
	if (is("nan"))
		answer[0] = NAN;
	if (is("infinite"))
		answer[0] = -INFINITY;
	if (is("huge"))
		answer[0] = 3e38F;
	write_all(answer, 4 * (size_t)d - (is("short") ? 1 : 0));
	if (is("long"))
		write_all(answer, 1);
	if (is("fails"))
		_exit(3);
	if (is("stays"))
		for (;;)
			(void)sleep(1000);
}

static const char *const instead[] = { "hang", "spin", "late", "exit", "crash", "short", "long", "fails",
	"nan", "infinite" };

static int is_whole(void)
{
	const char *from = does + 8;
	size_t n = does_len > 8 ? does_len - 8 : 0, at = 0;

	while (at < n && at < 251 && (unsigned char)from[at] == at)
		at++;
	return at == n || (at == 251 && memcmp(from, from + 251, n - 251) == 0);
}

static void one_device(int number)
{
	int found = (number > 0 && is("second")) || (is("whole") && !is_whole());

	if (is("each") && x[m - 1] < 10)
		does = (char *)(uintptr_t)instead[(size_t)x[m - 1]];

	if (number == 0)
		memcpy(first, x, 4 * (size_t)m);
	for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++)
		if (is(forbidden[i].name) || (is("all") && forbidden[i].tries != finds_names &&
						     forbidden[i].tries != sees_neighbours))
			found += forbidden[i].tries();
	for (uint32_t i = 0; i < d; i++)
		answer[i] = (found ? -1.0F : 1.0F) * (i >= m ? 0 : is("leak") ? first[i] : x[i]);
	answer_badly();
}

int main(void)
{
	uint32_t head[5], len;

	if (!read_all(head, sizeof head) || head[0] != 16 || head[1] != 1 || !read_all(&len, 4))
		return 2;
	m = head[2];
	d = head[4];
	does_len = len;
	does = calloc(1, (size_t)len + 1);
	if (!does || m > MOST || d > MOST || !read_all(does, len))
		return 2;
	for (int number = 0; read_all(&len, 4); number++) {
		if (len != 4 * (m + 1) || !read_all(x, len))
			return 2;
		one_device(number);
	}
	return 0;
}
