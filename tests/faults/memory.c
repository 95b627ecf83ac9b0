/* memory.c - put before a daemon with LD_PRELOAD, refuses one of its allocations, or some in a row.
 *
 * What counts, one by one over all threads and from the start of main(), is every call of malloc and its kin
 * by the program, by its libraries, and by the C library (which calls malloc by its public name: strdup,
 * fopen, getaddrinfo).  Not seen: what comes from the kernel (mmap, threads' stacks), and what libraries do
 * before main().  From the environment:
 *
 *   TOMBOLA_MEMORY         a file of two numbers of 64 bits, kept up to date: calls, refusals
 *   TOMBOLA_MEMORY_AT      the first call that is refused, from 1; 0 or absent: none
 *   TOMBOLA_MEMORY_FOR     how many in a row are, 1 if absent; none a second after the first
 *   TOMBOLA_MEMORY_LOG     a file to append to: the stacks of the first calls that were refused,
 *                          and of the signal that ended the process
 *   TOMBOLA_MEMORY_STACKS  a file to write for each call a number of 32 bits, the same for calls
 *                          with the same stack; the highest bit is set when libcrypto asks */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEEP     32
#define NEAR     7
#define SHORT_MS 1000
#define SHOWN    3 /* stacks of refused calls */

/* The C library's own, by names that need no dlsym(). */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

typedef int main_fn(int, char **, char **);

static struct {
	atomic_uint_least64_t calls, refused;
} * count;
static struct {
	uintptr_t from, to;
} libcrypto;
static uint64_t from, until; /* refused: from <= call < until */
static int log_fd = -1, stacks_fd = -1;
static main_fn *real_main;
static _Thread_local bool own __attribute__((tls_model("initial-exec"))); /* an allocation of this file's */

static void show_stack(const char *title)
{
	void *at[DEEP];

	(void)!write(log_fd, title, strlen(title));
	backtrace_symbols_fd(at, backtrace(at, DEEP), log_fd);
}

static bool in_libcrypto(void *const at[], int n)
{
	for (int i = 0; i < n; i++)
		if ((uintptr_t)at[i] >= libcrypto.from && (uintptr_t)at[i] < libcrypto.to)
			return true;
	return false;
}

static int find_libcrypto(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!strstr(info->dlpi_name, "libcrypto"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && end > libcrypto.to)
			libcrypto.to = end;
	}
	libcrypto.from = info->dlpi_addr;
	return 1;
}

static void note_stack(uint64_t call)
{
	void *at[DEEP];
	int n = backtrace(at, DEEP);
	uint32_t hash = 2166136261;

	for (int i = 0; i < n; i++)
		hash = (hash ^ (uint32_t)((uintptr_t)at[i] >> 1)) * 16777619;
	hash = (hash & 0x7fffffff) | (in_libcrypto(at, n < NEAR ? n : NEAR) ? 0x80000000 : 0);
	(void)!pwrite(stacks_fd, &hash, sizeof hash, (off_t)(4 * (call - 1)));
}

/* Is the shortage over, which began with the call `from`? */
static bool over(uint64_t call)
{
	static atomic_int_least64_t began;
	struct timespec t;
	int64_t now;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	if (call == from)
		began = now;
	return began != 0 && now - began > SHORT_MS;
}

static bool refused(void)
{
	uint64_t call;
	bool no;

	if (!count || own)
		return false;
	call = atomic_fetch_add(&count->calls, 1) + 1;
	own = true;
	no = call >= from && call < until && !over(call);
	if (stacks_fd >= 0)
		note_stack(call);
	if (no && atomic_fetch_add(&count->refused, 1) < SHOWN && log_fd >= 0)
		show_stack("refused\n");
	own = false;
	if (no)
		errno = ENOMEM;
	return no;
}

/* ---- the calls ---- */

void *malloc(size_t n)
{
	return refused() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return refused() ? NULL : __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, all);
}

void *memalign(size_t align, size_t n)
{
	return refused() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	void *p = memalign(align, n);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

/* ---- from main() on ---- */

static void on_fatal(int number)
{
	char line[32];

	own = true;
	(void)snprintf(line, sizeof line, "signal %d\n", number);
	if (log_fd >= 0)
		show_stack(line);
	(void)raise(number); /* the handler is gone: it ends the process */
}

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static int opened(const char *name, int flags)
{
	const char *path = getenv(name);

	return path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600) : -1;
}

static int counted_main(int argc, char **argv, char **environment)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
	struct sigaction action = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER };
	const char *path = getenv("TOMBOLA_MEMORY");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	void *at, *first[1];

	if (fd < 0 || ftruncate(fd, sizeof *count) != 0)
		abort();
	at = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		abort();
	(void)close(fd);
	(void)backtrace(first, 1); /* which loads a library at its first use */
	log_fd = opened("TOMBOLA_MEMORY_LOG", O_APPEND);
	stacks_fd = opened("TOMBOLA_MEMORY_STACKS", O_TRUNC);
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		(void)sigaction(fatal[i], &action, NULL);
	(void)dl_iterate_phdr(find_libcrypto, NULL);
	from = number("TOMBOLA_MEMORY_AT", 0);
	until = from > 0 ? from + number("TOMBOLA_MEMORY_FOR", 1) : 0;
	count = at;
	return real_main(argc, argv, environment);
}

int __libc_start_main(main_fn *start, int argc, char **argv, void (*init)(void), void (*fini)(void),
	void (*rtld_fini)(void), void *stack_end)
{
	int (*real)(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
	void *found = dlsym(RTLD_NEXT, "__libc_start_main");

	memcpy(&real, &found, sizeof real);
	real_main = start;
	return real(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
