/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/own.h"

enum { FILE_MAX = 1 << 20, CERTS_MAX = 32 };

static int read_file(
	const char *option, const char *path, bool is_secret, char **ret_text, struct err *err)
{
	auto_buf struct buf text;
	struct stat st;
	buf_init(&text, FILE_MAX);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, errno, "%s: open '%s'", option, path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%s: '%s' is not a file", option, path);
	if (is_secret && (st.st_mode & 07) != 0)
		return err_set(err, ERR_INVALID,
			"%s: everybody can read '%s'; close it with chmod 600 '%s'", option, path,
			path);
	int r = buf_read(&text, fd);
	if (r < 0)
		return err_sys(err, -r, "%s: read '%s'", option, path);
	*ret_text = xstrdup(buf_text(&text));
	return 0;
}

static gnutls_datum_t datum(char *text)
{
	return (gnutls_datum_t){ .data = (unsigned char *)text,
		.size = text ? (unsigned int)strlen(text) : 0 };
}

static int check_times(gnutls_x509_crt_t cert, const char *path, struct err *err)
{
	time_t now = time(NULL);
	time_t begins = gnutls_x509_crt_get_activation_time(cert);
	time_t ends = gnutls_x509_crt_get_expiration_time(cert);
	if (ends != (time_t)-1 && ends < now)
		return err_set(err, ERR_INVALID,
			"--tls-cert: the certificate in '%s' has expired; get a new one", path);
	if (begins != (time_t)-1 && begins > now)
		return err_set(err, ERR_INVALID,
			"--tls-cert: the certificate in '%s' is not valid yet; is the clock right?",
			path);
	return 0;
}

static int check_cert(char *text, const char *path, struct err *err)
{
	gnutls_x509_crt_t certs[CERTS_MAX];
	unsigned int count = CERTS_MAX;
	gnutls_datum_t data = datum(text);
	int r = gnutls_x509_crt_list_import(certs, &count, &data, GNUTLS_X509_FMT_PEM,
		GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	if (r < 1)
		return err_set(err, ERR_INVALID,
			"--tls-cert: there is no certificate in '%s' (%s); it must be PEM, the "
			"server's own first and then those that vouch for it",
			path, r < 0 ? gnutls_strerror(r) : "it is empty");
	int checked = check_times(certs[0], path, err);
	for (int i = 0; i < r; i++)
		gnutls_x509_crt_deinit(certs[i]);
	return checked;
}

static int check_key(char *text, const char *path, struct err *err)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_datum_t data = datum(text);
	int r = gnutls_x509_privkey_init(&key);
	if (r == 0)
		r = gnutls_x509_privkey_import2(key, &data, GNUTLS_X509_FMT_PEM, NULL, 0);
	gnutls_x509_privkey_deinit(key);
	if (r == GNUTLS_E_DECRYPTION_FAILED)
		return err_set(err, ERR_INVALID,
			"--tls-key: the key in '%s' is encrypted, and nobody is there to type its "
			"password; write it out with openssl pkey -in '%s'",
			path, path);
	if (r < 0)
		return err_set(err, ERR_INVALID,
			"--tls-key: there is no key in '%s' (%s); it must be PEM", path,
			gnutls_strerror(r));
	return 0;
}

static int check_pair(struct tls *tls, const char *cert_path, const char *key_path, struct err *err)
{
	gnutls_certificate_credentials_t pair = NULL;
	gnutls_datum_t cert = datum(tls->cert);
	gnutls_datum_t key = datum(tls->key);
	int r = gnutls_certificate_allocate_credentials(&pair);
	if (r == 0)
		r = gnutls_certificate_set_x509_key_mem(pair, &cert, &key, GNUTLS_X509_FMT_PEM);
	if (pair)
		gnutls_certificate_free_credentials(pair);
	if (r == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		return err_set(err, ERR_INVALID,
			"--tls-key: the key in '%s' does not belong to the certificate in '%s'; "
			"give the one it was made with",
			key_path, cert_path);
	if (r < 0)
		return err_set(err, ERR_INVALID, "--tls-cert: '%s' and '%s' cannot be used: %s",
			cert_path, key_path, gnutls_strerror(r));
	return 0;
}

int tls_load(const char *cert_path, const char *key_path, struct tls *ret_tls, struct err *err)
{
	struct tls tls = { 0 };
	int r = read_file("--tls-cert", cert_path, false, &tls.cert, err);
	if (r == 0)
		r = read_file("--tls-key", key_path, true, &tls.key, err);
	if (r == 0)
		r = check_cert(tls.cert, cert_path, err);
	if (r == 0)
		r = check_key(tls.key, key_path, err);
	if (r == 0)
		r = check_pair(&tls, cert_path, key_path, err);
	if (r < 0)
		tls_done(&tls);
	else
		*ret_tls = tls;
	return r;
}

void tls_done(struct tls *tls)
{
	if (tls->key)
		explicit_bzero(tls->key, strlen(tls->key));
	free(tls->cert);
	free(tls->key);
	*tls = (struct tls){ 0 };
}
