/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes, and descriptors over sockets. Everything returns >= 0 or -errno. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes all of it, or -errno. */
int io_write(int fd, const void *data, size_t len);

/* Writes all of it to `fd`, whether that blocks or not. Gives up with -EINTR when `interrupt_fd`
 * (-1: none) becomes readable, so that a reader who never reads cannot hold us. */
int io_write_until(int fd, const char *text, size_t len, int interrupt_fd);

/* Opens `path` beneath `dir_fd`, writes `text` in one call, closes. For cgroup and proc files. */
int io_write_at(int dir_fd, const char *path, const char *text);

/* Reads a small file beneath `dir_fd` into `text` (NUL-terminated). Length or -errno. */
ssize_t io_read_at(int dir_fd, const char *path, char *text, size_t size);

/* Opens a path of another root: no link and no `..` leads out of `root_fd`. fd, or -1 and errno. */
int io_open_in_root(int root_fd, const char *path, uint64_t flags);

/* Whether `fd`, a new one, and `more` after it may stay open though they could be had again: only
 * in the first eighth of what a process may have; the rest is for what cannot. */
bool io_has_room(int fd, size_t more);

enum { IO_FDS_MAX = 24 };

/* One SEQPACKET message with descriptors. */
int io_send(int sock, const void *data, size_t len, const int *fds, size_t fd_count);

/* Receives one message; descriptors arrive close-on-exec. Returns its length (0: the peer is
 * gone), -EBADMSG when it was cut or carried more descriptors than `*fd_count`, which is set to
 * the number received. */
ssize_t io_recv(int sock, void *data, size_t size, int *fds, size_t *fd_count);
