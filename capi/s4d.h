/*
 * s4d.h: spoken words and other sounds in continuous audio, as events.
 *
 * The library contains the whole engine and the built-in models. A program needs this header and
 * libs4d.so, and no other files.
 *
 *	s4d_model model;
 *	s4d_stream stream;
 *	s4d_event events[16];
 *	size_t count;
 *	s4d_model_builtin("digits", &model);
 *	s4d_stream_create(model, &stream);
 *	s4d_stream_process(stream, samples, 800, events, 16, &count);
 *
 * example/example.c is a complete program. docs/embedding.md in the repository describes how to
 * build the library, its limits, and the Python module.
 *
 * Errors. Every function that returns a status returns S4D_OK or an error. s4d_error() describes
 * the last error of the calling thread. A call that fails changes nothing, except where its
 * description says so. A panic inside the library is S4D_ERR_INTERNAL. Go's runtime still ends the
 * process if memory or threads run out.
 *
 * Handles. Models and streams are integers. A process never reuses a handle, and no handle is 0. A
 * call with a handle that does not exist, or that was destroyed, returns S4D_ERR_HANDLE.
 *
 * Threads. All functions may be called from any thread. A model may be shared by any number of
 * threads. A stream belongs to one thread at a time. While one thread is in a call with a stream,
 * a call of another thread with it returns S4D_ERR_BUSY and changes nothing.
 *
 * Processes. The library has threads of its own, which do not exist in a child process after
 * fork(). There, every call returns S4D_ERR_FORKED. Load the library after fork(), or call exec().
 *
 * Signals. Install the program's signal handlers with SA_ONSTACK:
 *
 *     action.sa_flags |= SA_ONSTACK;
 *
 * A handler without it that interrupts a call runs on a small stack of Go and corrupts memory. The
 * library does not block signals during a call, because that would cost more than a short call.
 *
 * Pointers. The library reads and writes the caller's memory only during a call, and returns no
 * memory that the caller must free. A pointer may be NULL only if its length is 0, or where its
 * description says so.
 */
#ifndef S4D_H
#define S4D_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Increases when programs must be compiled again. Compare it with s4d_abi(). */
#define S4D_ABI 2

/* Limits of one call. */
#define S4D_MAX_SAMPLES ((size_t)1 << 28) /* of s4d_stream_process */
#define S4D_MAX_BYTES ((size_t)1 << 30)   /* of a model or snapshot */
#define S4D_MAX_EVENTS ((size_t)1 << 24)  /* of the caller's buffer */
#define S4D_MAX_PENDING 4096              /* see s4d_stream_process */

typedef uint64_t s4d_model;
typedef uint64_t s4d_stream;

typedef int32_t s4d_status;
enum {
	S4D_OK = 0,
	S4D_ERR_ARGUMENT = 1, /* NULL, or a value that is out of range */
	S4D_ERR_HANDLE = 2,   /* the handle does not exist */
	S4D_ERR_BUSY = 3,     /* another thread uses the stream */
	S4D_ERR_MODEL = 4,    /* the model cannot be read, or is not a detector */
	S4D_ERR_SNAPSHOT = 5, /* damaged snapshot, or other model, options or level */
	S4D_ERR_SPACE = 6,    /* the buffer is too small */
	S4D_ERR_PENDING = 7,  /* waiting events must be fetched first */
	S4D_ERR_OUTPUT = 8,   /* the output of the network is NaN or infinite */
	S4D_ERR_INTERNAL = 9, /* a defect of the library; please report it with s4d_error() */
	S4D_ERR_FORKED = 10   /* the library was loaded before fork() */
};

/* ---- The library ---- */

/* The version of the library. Never NULL. */
const char *s4d_version(void);

/* The S4D_ABI that the library was compiled with. */
int32_t s4d_abi(void);

/*
 * The level of the kernels: generic, avx2, avx512, amx or neon. To select another level, set the
 * environment variable S4D_LEVEL before the library is loaded. Results differ between levels by
 * rounding.
 */
const char *s4d_level(void);

/*
 * Describes the last call of the calling thread that returned an error. Never NULL; "" before the
 * first error. The text is valid until the thread's next error.
 */
const char *s4d_error(void);

/* ---- Models ---- */

/* The options define what counts as an event. docs/stream.md describes how to choose them. */
typedef struct {
	double threshold;     /* lowest posterior of an event, 0 to 1 */
	double off_threshold; /* posterior below which an event ends, at most threshold */
	double refractory;    /* seconds after an event in which no other event begins */
	double smoothing;     /* seconds over which the output is averaged, more than 0 */
	int32_t confirm;      /* frames in a row that must agree, at least 1 */
	int32_t reserved;     /* ignored */
} s4d_options;

typedef struct {
	double sample_rate;   /* Hz, of the audio that streams expect */
	int64_t stream_bytes; /* memory of a stream */
	int32_t labels;       /* number of labels */
	int32_t frame;        /* samples per frame: events change at most once per frame */
} s4d_model_info;

/* Loads a built-in model: "digits" (8 kHz), "commands" or "wake" (16 kHz). */
s4d_status s4d_model_builtin(const char *name, s4d_model *model);

/* Loads a model file of s4d-fast train. path must be a regular file. */
s4d_status s4d_model_load(const char *path, s4d_model *model);

/* Loads a model from the bytes of such a file, which may be freed afterwards. */
s4d_status s4d_model_read(const void *bytes, size_t size, s4d_model *model);

/* Writes the options of the model: those that calibrate stored in it, or the defaults. */
s4d_status s4d_model_get_options(s4d_model model, s4d_options *options);

/* Creates a model with other options. It shares no state with the first one. */
s4d_status s4d_model_with_options(s4d_model model, const s4d_options *options, s4d_model *changed);

s4d_status s4d_model_get_info(s4d_model model, s4d_model_info *info);

/*
 * Writes a label and a terminating 0 to buffer, and the label's number of bytes without the 0 to
 * *length. length may be NULL. If buffer is too small, the function returns S4D_ERR_SPACE and sets
 * *length. Events never have the label "none".
 */
s4d_status s4d_model_label(s4d_model model, int32_t label, char *buffer, size_t capacity, size_t *length);

/* Destroys a model. Streams that it created remain usable. */
s4d_status s4d_model_destroy(s4d_model model);

/* ---- Streams ---- */

typedef struct {
	int64_t onset;     /* first sample, counted from the beginning of the stream */
	int64_t end;       /* exclusive; onset < end */
	double confidence; /* the largest posterior of the label between onset and end */
	int32_t label;     /* index of the label */
	int32_t reserved;
} s4d_event;

s4d_status s4d_stream_create(s4d_model model, s4d_stream *stream);

/*
 * Processes n samples of full scale ±1 at the sampling rate of the model. The events do not depend
 * on how the audio is divided into calls. A NaN or infinite sample, or one beyond ±1e6, counts as
 * 0.
 *
 * The function writes the events that have ended to events, at most capacity of them, and their
 * number to *count. events may be NULL if capacity is 0. If *count equals capacity, more events may
 * wait. To fetch them, call the function with n = 0. If S4D_MAX_PENDING events wait, the function
 * returns S4D_ERR_PENDING and processes nothing.
 *
 * After S4D_ERR_OUTPUT, *count and events are valid. The rest of the samples was not processed, and
 * the stream can continue. After S4D_ERR_INTERNAL, the stream must be reset or destroyed.
 */
s4d_status s4d_stream_process(s4d_stream stream, const float *samples, size_t n, s4d_event *events, size_t capacity,
                              size_t *count);

/*
 * Ends the signal, and with it the event in progress. Writes events as s4d_stream_process does. The
 * stream can continue with another signal. Its position does not change.
 */
s4d_status s4d_stream_flush(s4d_stream stream, s4d_event *events, size_t capacity, size_t *count);

/* Does what s4d_stream_flush does, then advances the position by the number of lost samples, 0 … 2^53. */
s4d_status s4d_stream_skip(s4d_stream stream, int64_t lost, s4d_event *events, size_t capacity, size_t *count);

/* Writes the number of events that wait. */
s4d_status s4d_stream_pending(s4d_stream stream, size_t *count);

/* Writes the number of samples since the beginning of the stream. */
s4d_status s4d_stream_position(s4d_stream stream, int64_t *position);

/*
 * Writes the posteriors of the last evaluation, one per label, and their number to *count. The
 * number is 0 before the first evaluation. If capacity is too small, the function returns
 * S4D_ERR_SPACE and sets *count to the number of values.
 */
s4d_status s4d_stream_posterior(s4d_stream stream, float *posterior, size_t capacity, size_t *count);

/* Begins a new signal at position 0. Discards waiting events. */
s4d_status s4d_stream_reset(s4d_stream stream);

/*
 * Writes the state of a stream to buffer, and its number of bytes to *size. If capacity is too
 * small, the function returns S4D_ERR_SPACE and sets *size. To get the size, call it with capacity
 * 0. If events wait, it returns S4D_ERR_PENDING, because a snapshot does not contain them.
 */
s4d_status s4d_stream_snapshot(s4d_stream stream, void *buffer, size_t capacity, size_t *size);

/*
 * Restores the state of a stream from a snapshot, which may be from another process. The model, its
 * options and the level must be those of the snapshot. The same audio then gives the same events.
 */
s4d_status s4d_stream_restore(s4d_stream stream, const void *snapshot, size_t size);

s4d_status s4d_stream_destroy(s4d_stream stream);

#ifdef __cplusplus
}
#endif

#endif
