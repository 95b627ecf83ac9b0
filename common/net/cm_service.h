/* cm_service.h - what a service manager gives a daemon and is told by it: sd_notify(3), sd_listen_fds(3) and
 * sd_watchdog_enabled(3) of systemd, spoken without its library. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Is anybody listening at $NOTIFY_SOCKET? */
bool cm_service_listens(void);
/* "READY=1", "STATUS=...", several lines at once; nothing without $NOTIFY_SOCKET.  Never blocks. */
void cm_service_notify(const char *state);
/* RELOADING=1 with the moment it began; READY=1 ends it. */
void cm_service_reloading(void);
/* Milliseconds after which WATCHDOG=1 is due, half of what is asked for; 0: this process is not watched. */
uint64_t cm_service_watchdog_ms(void);

/* The listening stream socket that was passed to this process ($LISTEN_FDS, $LISTEN_PID), 0 for none; it is
 * the caller's, and no child inherits it.  The variables are removed, so a second call finds none.
 * CM_ECONFIG: more than one, or something that is no listening TCP socket. */
CM_CHECK enum cm_rc cm_service_socket(int *fd, struct cm_err *err);
