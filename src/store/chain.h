/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of the audit log is one line of JSON:
 *
 *	{"seq":7,"prev":"HASH","torn":12,"time":…,"hash":"HASH"}
 *
 * `hash` is the SHA-256 of the line's bytes before `,"hash":`, and `prev` the hash of the record
 * before it, 64 zeros in the first. `torn` is there only after a line that a crash cut off: so many
 * bytes of it are left, and they are no record. What counts is the bytes, so that no two programs
 * need to agree on how JSON is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/sha256.h"

struct link {
	uint64_t seq;
	uint64_t torn;
	char prev[SHA256_HEX + 1];
	char hash[SHA256_HEX + 1];
	size_t covered; /* bytes of the line that the hash covers */
};

/* What the first record follows. */
void link_init(struct link *link);

/* Reads a line without its newline. False: it has not the form of a record, as no part of one has:
 * its end can stand nowhere else in it, since the quotes in a string are escaped. */
bool link_parse(const char *line, size_t len, struct link *link);

/* Whether the hash is that of the bytes. */
bool link_holds(const char *line, const struct link *link);

/* Appends the line, with its newline, of the record that follows `last`. `body` is the JSON text of
 * an object that is not empty. 0, or -ENOSPC. */
int link_forge(const struct link *last, uint64_t torn, const char *body, struct buf *out);
