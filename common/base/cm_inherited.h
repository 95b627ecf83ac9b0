/* cm_inherited.h - repairs what a program inherits from the process that started it.  libc only. */
#pragma once

/* Call it first.
 *
 * If a standard stream is closed, it opens /dev/null under that stream's number, so that no file of the
 * state gets the number: output meant for the log would be written into that file.  Reading and writing the
 * stream fails as before.  Ends the process if there is no /dev/null.
 *
 * It unblocks all signals, so that an orderly stop is possible.  It stops ignoring SIGCHLD: otherwise
 * nobody could wait for a child, and system calls would not be confined. */
void cm_inherited_mend(void);
