/* cm_owned.h - checks that only this process's user and root can change a file.  libc only.
 *
 * Everything that decides about privacy is read from such files: policies, pinned keys, CA certificates,
 * revocation lists, configurations, plans, lists of devices, programs, keys, state.  Readings are data,
 * which their producer writes.
 *
 * A file or folder is good when it belongs to this user or to root, and nobody else may write to it.  Its
 * group may write if /etc/passwd and /etc/group give that group no other user, as Debian gives each user a
 * group.  Every folder above it is judged alike, from the root on.  A folder with the sticky bit, such as
 * /tmp, may be writable by all, since nobody else can rename our files in it.  Each symbolic link on the
 * way is judged where it is, and so is everything that it leads to.
 *
 * Nothing inside a container proves who can write to a file that its host lends it: owners may be users
 * that only the host knows, and systemd's ProtectSystem= makes a whole host look as read-only as such a
 * mount.  So whoever starts the process must say it: with TOMBOLA_TRUST_MOUNTS=read-only in the
 * environment, files on a mount that is read-only here count as root's. */
#pragma once

#include "cm_buf.h"

/* Is the file that is open as fd on a read-only mount that TOMBOLA_TRUST_MOUNTS tells us to trust? */
bool cm_owned_vouched(int fd);
/* Judge the file that is open as fd, which path led to, and every folder above it.  CM_EPERM with what is
 * wrong and what to do; CM_ELATER: path now leads elsewhere; CM_EINTERNAL; CM_EIO. */
CM_CHECK enum cm_rc cm_owned_check(const char *path, int fd, struct cm_err *err);
/* The same for a file or folder that a library will open by its name, which nobody can then exchange.
 * CM_ENOINPUT when it does not exist; CM_EIO when this process may not reach it. */
CM_CHECK enum cm_rc cm_owned_path(const char *path, struct cm_err *err);
/* Judge a state folder, all folders above it, and all files and folders below it.  CM_EPERM; CM_ECREATE
 * when it is not a folder.  CM_OK when it does not exist and those above are good. */
CM_CHECK enum cm_rc cm_owned_state(const char *dir, struct cm_err *err);
/* cm_file_read for a file that decides about privacy.  Also CM_EPERM, CM_ELATER: see cm_owned_check. */
CM_CHECK enum cm_rc cm_owned_read(const char *path, size_t max, struct cm_buf *b, struct cm_err *err);
