// The functions of s4d.h. They check arguments and call the functions of main.go.
#include "s4d.h"

#include <stdio.h>
#include <string.h>

#include "_cgo_export.h"
#include "fail.h"

// Per thread, so that no call frees a text while another thread reads it.
static _Thread_local char message[1024], version[128], level[32];

s4d_status s4d_fail(s4d_status code, const char *text, size_t n) {
	if (n >= sizeof message) n = sizeof message - 1;
	memmove(message, text, n);
	message[n] = 0;
	return code;
}

static s4d_status fail(s4d_status code, const char *format, const char *name) {
	int n = snprintf(message, sizeof message, format, name);
	return n < 0 ? S4D_ERR_INTERNAL : code;
}

// A child process has none of the threads of Go's runtime, so that a call could wait forever.
static int forked;

#ifndef _WIN32
#include <pthread.h>

static void in_child(void) { forked = 1; }

__attribute__((constructor)) static void watch_fork(void) { pthread_atfork(NULL, NULL, in_child); }
#endif

#define ENTER                                                                                            \
	if (forked) return fail(S4D_ERR_FORKED, "%s: the library was loaded before fork(), which its threads do not survive", __func__)

// OUTPUT checks a pointer to a result and sets the result to 0.
#define OUTPUT(p)                                                                  \
	do {                                                                             \
		if (!(p)) return fail(S4D_ERR_ARGUMENT, #p " is NULL in a call of %s", __func__); \
		memset((p), 0, sizeof *(p));                                                   \
	} while (0)

#define INPUT(p) \
	if (!(p)) return fail(S4D_ERR_ARGUMENT, #p " is NULL in a call of %s", __func__)

#define ARRAY(p, n, limit)                                                                                     \
	do {                                                                                                         \
		if ((n) > (limit)) return fail(S4D_ERR_ARGUMENT, #n " is larger than " #limit " in a call of %s", __func__); \
		if (!(p) && (n) > 0) return fail(S4D_ERR_ARGUMENT, #p " is NULL and " #n " is not 0 in a call of %s", __func__); \
	} while (0)

const char *s4d_error(void) { return message; }

int32_t s4d_abi(void) { return S4D_ABI; }

const char *s4d_version(void) {
	if (!forked && !version[0]) s4dVersion(version, sizeof version);
	return version;
}

const char *s4d_level(void) {
	if (!forked && !level[0]) s4dLevel(level, sizeof level);
	return level;
}

s4d_status s4d_model_builtin(const char *name, s4d_model *model) {
	ENTER;
	OUTPUT(model);
	INPUT(name);
	return s4dModelBuiltin((char *)name, strnlen(name, 256), model);
}

s4d_status s4d_model_load(const char *path, s4d_model *model) {
	ENTER;
	OUTPUT(model);
	INPUT(path);
	return s4dModelLoad((char *)path, strnlen(path, 1 << 16), model);
}

s4d_status s4d_model_read(const void *bytes, size_t size, s4d_model *model) {
	ENTER;
	OUTPUT(model);
	ARRAY(bytes, size, S4D_MAX_BYTES);
	return s4dModelRead((void *)bytes, size, model);
}

s4d_status s4d_model_get_options(s4d_model model, s4d_options *options) {
	ENTER;
	OUTPUT(options);
	return s4dModelGetOptions(model, options);
}

s4d_status s4d_model_with_options(s4d_model model, const s4d_options *options, s4d_model *changed) {
	ENTER;
	OUTPUT(changed);
	INPUT(options);
	return s4dModelWithOptions(model, (s4d_options *)options, changed);
}

s4d_status s4d_model_get_info(s4d_model model, s4d_model_info *info) {
	ENTER;
	OUTPUT(info);
	return s4dModelGetInfo(model, info);
}

s4d_status s4d_model_label(s4d_model model, int32_t label, char *buffer, size_t capacity, size_t *length) {
	ENTER;
	ARRAY(buffer, capacity, S4D_MAX_BYTES);
	size_t unused;
	return s4dModelLabel(model, label, buffer, capacity, length ? length : &unused);
}

s4d_status s4d_model_destroy(s4d_model model) {
	ENTER;
	return s4dModelDestroy(model);
}

s4d_status s4d_stream_create(s4d_model model, s4d_stream *stream) {
	ENTER;
	OUTPUT(stream);
	return s4dStreamCreate(model, stream);
}

s4d_status s4d_stream_process(s4d_stream stream, const float *samples, size_t n, s4d_event *events, size_t capacity,
                              size_t *count) {
	ENTER;
	OUTPUT(count);
	ARRAY(samples, n, S4D_MAX_SAMPLES);
	ARRAY(events, capacity, S4D_MAX_EVENTS);
	return s4dStreamProcess(stream, (float *)samples, n, events, capacity, count);
}

s4d_status s4d_stream_flush(s4d_stream stream, s4d_event *events, size_t capacity, size_t *count) {
	ENTER;
	OUTPUT(count);
	ARRAY(events, capacity, S4D_MAX_EVENTS);
	return s4dStreamFlush(stream, events, capacity, count);
}

s4d_status s4d_stream_skip(s4d_stream stream, int64_t lost, s4d_event *events, size_t capacity, size_t *count) {
	ENTER;
	OUTPUT(count);
	ARRAY(events, capacity, S4D_MAX_EVENTS);
	return s4dStreamSkip(stream, lost, events, capacity, count);
}

s4d_status s4d_stream_pending(s4d_stream stream, size_t *count) {
	ENTER;
	OUTPUT(count);
	return s4dStreamPending(stream, count);
}

s4d_status s4d_stream_position(s4d_stream stream, int64_t *position) {
	ENTER;
	OUTPUT(position);
	return s4dStreamPosition(stream, position);
}

s4d_status s4d_stream_posterior(s4d_stream stream, float *posterior, size_t capacity, size_t *count) {
	ENTER;
	OUTPUT(count);
	ARRAY(posterior, capacity, S4D_MAX_SAMPLES);
	return s4dStreamPosterior(stream, posterior, capacity, count);
}

s4d_status s4d_stream_reset(s4d_stream stream) {
	ENTER;
	return s4dStreamReset(stream);
}

s4d_status s4d_stream_snapshot(s4d_stream stream, void *buffer, size_t capacity, size_t *size) {
	ENTER;
	OUTPUT(size);
	ARRAY(buffer, capacity, S4D_MAX_BYTES);
	return s4dStreamSnapshot(stream, buffer, capacity, size);
}

s4d_status s4d_stream_restore(s4d_stream stream, const void *snapshot, size_t size) {
	ENTER;
	ARRAY(snapshot, size, S4D_MAX_BYTES);
	return s4dStreamRestore(stream, (void *)snapshot, size);
}

s4d_status s4d_stream_destroy(s4d_stream stream) {
	ENTER;
	return s4dStreamDestroy(stream);
}
