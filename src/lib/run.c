/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "engine/engine.h"
#include "lib/parts.h"
#include "loan/loan.h"
#include "wire/json.h"

_Static_assert((int)HOTCELL_STATUS_OK == (int)STATUS_OK, "statuses are handed on");
_Static_assert(
	(int)HOTCELL_STATUS_SETUP_ERROR == (int)STATUS_SETUP_ERROR, "statuses are handed on");
_Static_assert((int)STATUS_SETUP_ERROR + 1 == (int)RUN_STATUS_COUNT, "each has a public name");

struct hotcell_result *result_give(struct result *result, const struct spec *spec)
{
	struct hotcell_result *given = xcalloc(1, sizeof(*given));
	given->json = result_to_json(result, spec, false);
	given->compact = result_compact(result, spec);
	given->result = *result;
	*result = (struct result){ 0 };
	return given;
}

void result_refuse(struct result *result, const struct err *err)
{
	result->status = STATUS_SETUP_ERROR;
	result->exit_code = EXIT_COULD_NOT_RUN;
	result_set_error(result, "setup", "%s", err->text);
}

/* As the program wrote it: what to make of it is the reader's affair. */
static void render(void *context, int stream, const char *data, size_t len, struct buf *pending)
{
	(void)context;
	(void)stream;
	(void)buf_append(pending, data, len);
}

struct outlet outlet_of(const struct hotcell_spec *asked)
{
	return (struct outlet){ .fds = { asked ? asked->follow_fds[0] : -1,
					asked ? asked->follow_fds[1] : -1 },
		.render = render };
}

static int run(
	const struct hotcell_spec *asked, struct hotcell_result **ret_result, struct err *err)
{
	struct spec spec;
	struct result result;
	struct engine_rest rest = { 0 };
	const struct engine_wishes wishes = {
		.outlet = outlet_of(asked),
		.interrupt_fd = asked->interrupt_fd,
		.wants_version = true,
	};
	result_init(&result);
	int r = spec_build_settled(asked, &spec, err);
	if (r < 0)
		result_refuse(&result, err);
	else
		r = engine_run(&spec, &wishes, &result, NULL, &rest, err);
	*ret_result = result_give(&result, &spec);
	engine_clean(&rest);
	spec_done(&spec);
	return r;
}

int hotcell_run(const struct hotcell_spec *spec, struct hotcell_result **ret_result,
	struct hotcell_error *error)
{
	struct call call;
	call_begin(&call);
	int r = run(spec, ret_result, &call.err);
	return call_end(&call, r, error);
}

/* ---- what a result says ------------------------------------------------------------------------
 */

void hotcell_result_free(struct hotcell_result *result)
{
	if (!result)
		return;
	result_done(&result->result);
	free(result->json);
	free(result->compact);
	free(result);
}

enum hotcell_status hotcell_result_status(const struct hotcell_result *result)
{
	return (enum hotcell_status)result->result.status;
}

const char *hotcell_result_status_name(const struct hotcell_result *result)
{
	return run_status_names[result->result.status];
}

int hotcell_result_exit_code(const struct hotcell_result *result)
{
	return result_exit_code(&result->result);
}

static const char *text_of(const struct captured *captured, size_t *ret_len)
{
	if (ret_len)
		*ret_len = captured->text ? captured->len : 0;
	return captured->text ? captured->text : "";
}

const char *hotcell_result_stdout(const struct hotcell_result *result, size_t *ret_len)
{
	return text_of(&result->result.out, ret_len);
}

const char *hotcell_result_stderr(const struct hotcell_result *result, size_t *ret_len)
{
	return text_of(&result->result.err, ret_len);
}

const char *hotcell_result_message(const struct hotcell_result *result)
{
	return result->result.error.message;
}

const char *hotcell_result_hint(const struct hotcell_result *result)
{
	return result->result.hint;
}

const char *hotcell_result_json(const struct hotcell_result *result)
{
	return result->json;
}

const char *hotcell_result_compact(const struct hotcell_result *result)
{
	return result->compact;
}

/* ---- for agents --------------------------------------------------------------------------------
 */

/* Written without printf's point, which a program's locale may have made a comma. */
static int set_timeout(struct hotcell_spec *spec, double timeout, struct hotcell_error *error)
{
	char text[48];
	if (timeout == 0)
		return 0;
	/* what is out of bounds is refused by the field, which knows them */
	double bounded = timeout > 1e12 ? 1e12 : timeout < -1 ? -1 : timeout;
	bool is_number = bounded == bounded;
	long long ms = is_number ? (long long)(bounded * 1000 + 0.5) : -1;
	(void)snprintf(text, sizeof(text), "%s%lld.%03lld", ms < 0 ? "-" : "", llabs(ms) / 1000,
		llabs(ms) % 1000);
	return hotcell_spec_set(spec, "timeout", text, error);
}

int hotcell_run_python_code(
	const char *code, double timeout, char **ret_text, struct hotcell_error *error)
{
	struct hotcell_result *result = NULL;
	struct hotcell_spec *spec = hotcell_spec_new();
	int r = hotcell_spec_set(spec, "language", "python", error);
	if (r == 0)
		r = hotcell_spec_set(spec, "code", code, error);
	if (r == 0)
		r = set_timeout(spec, timeout, error);
	if (r == 0) {
		(void)hotcell_run(spec, &result, error);
		*ret_text = take_ptr(&result->compact);
	}
	hotcell_result_free(result);
	hotcell_spec_free(spec);
	return r;
}

static int analyze(const struct hotcell_spec *asked, char **ret_json, struct err *err)
{
	struct spec spec;
	struct result result;
	struct guard_report report = { 0 };
	struct strings reasons = { 0 };
	result_init(&result);
	int r = spec_build_settled(asked, &spec, err);
	if (r == 0 && spec.exec.count > 0)
		r = err_set(err, ERR_INVALID,
			"a program of the cell is not analysed: give code or file");
	if (r == 0)
		r = engine_check(&spec, asked->interrupt_fd, &report, &result, err);
	if (r == 0) {
		enum autorun autorun = guard_autorun(&report, &spec, &result, &reasons);
		*ret_json = guard_report_to_json(
			&report, &spec, result.language, spec.file, &autorun, &reasons, false);
	}
	strings_done(&reasons);
	guard_report_done(&report);
	result_done(&result);
	spec_done(&spec);
	return r;
}

int hotcell_analyze(const struct hotcell_spec *spec, char **ret_json, struct hotcell_error *error)
{
	struct call call;
	call_begin(&call);
	int r = analyze(spec, ret_json, &call.err);
	return call_end(&call, r, error);
}

/* Whether cells are lent here. */
static bool is_lent(void)
{
	char path[PATH_MAX];
	loan_socket_path(path, sizeof(path));
	auto_fd int fd = loan_connect(path);
	return fd >= 0;
}

int hotcell_languages(char **ret_json, struct hotcell_error *error)
{
	struct call call;
	auto_json struct json_object *list = NULL;
	call_begin(&call);
	int r = engine_languages(is_lent(), &list, &call.err);
	if (r == 0)
		*ret_json = json_print(list, false);
	return call_end(&call, r, error);
}
