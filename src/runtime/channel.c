/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/channel.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "wire/json.h"

static char *print_member(struct json_object *json, const char *name)
{
	struct json_object *value = json_object_object_get(json, name);
	return value ? json_print(value, false) : xstrdup("{}");
}

static bool keep_output(struct channel *channel, const struct message *message)
{
	auto_free char *data = print_member(message->json, "data");
	auto_free char *metadata = print_member(message->json, "metadata");
	size_t bytes = strlen(data) + strlen(metadata);
	if (bytes > LIMIT_OUTPUT_BYTES - channel->output_bytes ||
		!result_add_output(channel->result, message->kind == MESSAGE_RESULT,
			take_ptr(&data), take_ptr(&metadata)))
		return false;
	channel->output_bytes += bytes;
	return true;
}

static char *copy_text(struct json_object *json, const char *name)
{
	struct json_object *value = json_object_object_get(json, name);
	return value ? xstrdup(json_object_get_string(value)) : NULL;
}

static int64_t copy_number(struct json_object *json, const char *name)
{
	return json_object_get_int64(json_object_object_get(json, name));
}

static void keep_error(struct failure *failure, struct json_object *json)
{
	struct json_object *trace = json_object_object_get(json, "traceback");
	(void)snprintf(failure->kind, sizeof(failure->kind), "%s",
		json_object_get_string(json_object_object_get(json, "kind")));
	failure->name = copy_text(json, "name");
	failure->value = copy_text(json, "value");
	failure->line = copy_number(json, "line");
	failure->column = copy_number(json, "column");
	for (size_t i = 0; trace && i < json_object_array_length(trace); i++) {
		struct json_object *item = json_object_array_get_idx(trace, i);
		struct trace_frame *frame = failure_add_frame(failure);
		if (!frame)
			return;
		frame->file = copy_text(item, "file");
		frame->function = copy_text(item, "function");
		frame->source = copy_text(item, "source");
		frame->line = copy_number(item, "line");
		frame->column = copy_number(item, "column");
	}
}

int channel_take(struct channel *channel, const char *data, size_t len, struct message *message,
	struct err *err)
{
	TRY(message_read(message, data, len, err));
	bool is_output = message->kind == MESSAGE_DISPLAY || message->kind == MESSAGE_RESULT;
	if (is_output && !keep_output(channel, message)) {
		channel->left_out++;
		message_done(message);
	} else if (message->kind == MESSAGE_ERROR) {
		failure_done(&channel->result->error); /* the last one counts */
		keep_error(&channel->result->error, message->json);
	}
	return 0;
}

void channel_end(struct channel *channel)
{
	if (channel->left_out > 0)
		result_warn(channel->result,
			"%u displayed values were left out: a result holds %d of them and %d MiB",
			channel->left_out, LIMIT_OUTPUTS, LIMIT_OUTPUT_BYTES >> 20);
}
