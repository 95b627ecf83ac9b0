/* nt_service.h - exchanges messages with the service manager: sd_notify(3), sd_listen_fds(3) and
 * sd_watchdog_enabled(3) of systemd, without its library. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

/* Is $NOTIFY_SOCKET set, so that a service manager listens? */
bool nt_service_listens(void);
/* Send "READY=1", "STATUS=..." or several lines at once; does nothing without $NOTIFY_SOCKET.  Never
 * blocks. */
void nt_service_notify(const char *state);
/* Send RELOADING=1 with the time at which the reload began; READY=1 ends it. */
void nt_service_reloading(void);
/* Milliseconds after which WATCHDOG=1 is due, half of the interval that the service manager asks for; 0: it
 * does not watch this process. */
uint64_t nt_service_watchdog_ms(void);

/* Take the listening stream socket that was passed to this process ($LISTEN_FDS, $LISTEN_PID), 0 if there
 * is none.  The caller owns it, and no child inherits it.  The variables are removed, so a second call
 * finds nothing.  CM_ECONFIG: there is more than one, or it is no listening TCP socket. */
CM_CHECK enum cm_rc nt_service_socket(int *fd, struct cm_err *err);
