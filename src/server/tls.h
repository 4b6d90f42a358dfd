/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate and the key that HTTPS is served with. */
#pragma once

#include "base/err.h"

struct tls {
	char *cert, *key; /* owned; PEM */
};

/* Reads both files and checks that they belong together; errors name the file and the fix. */
int tls_load(const char *cert_path, const char *key_path, struct tls *ret_tls, struct err *err);
void tls_done(struct tls *tls);
