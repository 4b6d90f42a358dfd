/* SPDX-License-Identifier: Apache-2.0 */
/* How things are: our own account, with the keeper's in it. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/weight.h"
#include "model/limits.h"
#include "server/parts.h"
#include "wire/json.h"

/* Takes the keeper's account, which may be NULL. */
static char *describe(const struct server *server, struct json_object *account)
{
	auto_json struct json_object *json = json_object_new_object();
	json_put(json, "version", json_new_string(HOTCELL_VERSION));
	json_put(json, "pid", json_object_new_int(getpid()));
	json_put(json, "socket", json_new_string(server->path));
	json_put(json, "uptime", json_new_decimal((clock_us() - server->started_us) / 1000, 3));
	json_put(json, "state", json_new_string(server->is_draining ? "draining" : "serving"));
	json_put(json, "drain_timeout", json_object_new_int64(server->settings.drain_s));
	json_put(json, "running", json_object_new_uint64(server->running));
	json_put(json, "concurrency", json_object_new_int64(server->settings.concurrency));
	json_put(json, "queued", json_object_new_uint64(server->queue.count));
	json_put(json, "queue", json_object_new_int64(server->settings.queue));
	json_put(json, "served", json_object_new_uint64(server->lent));
	json_put(json, "refused", json_object_new_uint64(server->refused));
	json_put(json, "sessions", json_object_new_uint64(server->sessions));
	json_put(json, "keeper_ended", json_object_new_uint64(server->link.death_count));
	json_put(json, "memory_kb", json_object_new_int64(weight_kb()));
	json_put(json, "http", http_account(server->http));
	json_put(json, "keeper", account);
	return json_print(json, false);
}

/* Who keeps its seat asks the keeper and not us: its loans are known from the keeper's account. */
static void count_again(struct server *server, struct json_object *account)
{
	uint64_t again = json_object_get_uint64(json_object_object_get(account, "again"));
	if (again < server->again)
		server->again = 0; /* another keeper, which began to count anew */
	server->lent += again - server->again;
	server->again = again;
}

void status_answer(struct server *server, const char *keeper, size_t len)
{
	auto_json struct json_object *account = NULL;
	struct err err = { 0 };
	if (keeper)
		(void)json_read(keeper, len, LOAN_TEXT_MAX, LIMIT_FRAME_DEPTH, &account, &err);
	if (account)
		count_again(server, account);
	for (struct client *client = server->quiet.first, *next; client; client = next) {
		next = client->next;
		if (client->state != CLIENT_CURIOUS)
			continue;
		auto_free char *text = describe(server, json_object_get(account));
		if (strlen(text) > LOAN_TEXT_MAX) {
			free(text);
			text = describe(server, NULL);
		}
		(void)loan_send(client->fd, LOAN_INFO, 0, text, strlen(text), NULL, 0);
		client_set_state(client, CLIENT_SILENT);
	}
}
