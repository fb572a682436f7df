"""Spoken words and other sounds in continuous audio, as events.

    import s4d_fast

    with s4d_fast.Model("digits") as model:      # or the path of a model file
        with model.stream() as stream:
            for block in blocks:                 # NumPy arrays of any length
                for event in stream.process(block):
                    print(event.label, event.onset / model.sample_rate)

The module requires NumPy and the shared library of s4d-fast (docs/embedding.md). It looks for the library
at the path in the environment variable S4D_LIBRARY, then in its own folder, then where the system does.

Samples are arrays of one dimension at the sampling rate of the model: float32 or float64 of full scale ±1,
or int16. Integers are divided by 32768. Positions are sample counts from the beginning of the stream.

A model may be shared by threads. A stream belongs to one thread at a time. Calls release Python's global
lock. The library does not survive fork(): with multiprocessing, use the start method "spawn".
"""

import ctypes
import operator
import os
import sys
from typing import List, NamedTuple, Optional

import numpy as np

__all__ = ["Error", "Event", "Model", "Options", "Stream", "level", "version"]

_ABI = 2
_HANDLE, _SPACE = 2, 6
_ROOM = 16  # events per call


class Event(NamedTuple):
    """A sound: its first sample, its exclusive end, its label, and the largest posterior between them."""

    onset: int
    end: int
    label: str
    confidence: float


class Error(Exception):
    """An error of the library. status is its number in s4d.h. events are the events before the error."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status
        self.events: List[Event] = []


class Options(ctypes.Structure):
    """What counts as an event: the fields of s4d_options. Start from Model.options."""

    _fields_ = [
        ("threshold", ctypes.c_double),
        ("off_threshold", ctypes.c_double),
        ("refractory", ctypes.c_double),
        ("smoothing", ctypes.c_double),
        ("confirm", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]

    def __setattr__(self, name, value):
        types = dict(Options._fields_)
        if name not in types:
            raise TypeError(f"s4d_fast: no option {name!r}, expected one of: {', '.join(list(types)[:-1])}")
        # ctypes would wrap a larger number.
        if types[name] is ctypes.c_int32 and not -(2**31) <= operator.index(value) < 2**31:
            raise OverflowError(f"s4d_fast: option {name}: {value}, expected a number of 32 bits")
        super().__setattr__(name, value)


class _Info(ctypes.Structure):
    _fields_ = [
        ("sample_rate", ctypes.c_double),
        ("stream_bytes", ctypes.c_int64),
        ("labels", ctypes.c_int32),
        ("frame", ctypes.c_int32),
    ]


class _Event(ctypes.Structure):
    _fields_ = [
        ("onset", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("confidence", ctypes.c_double),
        ("label", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


def _open() -> ctypes.CDLL:
    suffix = {"win32": "s4d.dll", "darwin": "libs4d.dylib"}.get(sys.platform, "libs4d.so")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), suffix)
    path = os.environ.get("S4D_LIBRARY") or (beside if os.path.exists(beside) else suffix)
    try:
        lib = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"s4d_fast: {e}: build the library and set S4D_LIBRARY to its path (docs/embedding.md)") from e
    lib.s4d_abi.restype = ctypes.c_int32
    if lib.s4d_abi() != _ABI:
        raise ImportError(f"s4d_fast: {path} has the ABI {lib.s4d_abi()}, this module expects {_ABI}")
    pointer, size, handle = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
    for name, arguments in {
        "model_builtin": (ctypes.c_char_p, pointer),
        "model_load": (ctypes.c_char_p, pointer),
        "model_read": (ctypes.c_char_p, size, pointer),
        "model_get_options": (handle, pointer),
        "model_with_options": (handle, pointer, pointer),
        "model_get_info": (handle, pointer),
        "model_label": (handle, ctypes.c_int32, pointer, size, pointer),
        "model_destroy": (handle,),
        "stream_create": (handle, pointer),
        "stream_process": (handle, pointer, size, pointer, size, pointer),
        "stream_flush": (handle, pointer, size, pointer),
        "stream_skip": (handle, ctypes.c_int64, pointer, size, pointer),
        "stream_position": (handle, pointer),
        "stream_posterior": (handle, pointer, size, pointer),
        "stream_reset": (handle,),
        "stream_snapshot": (handle, pointer, size, pointer),
        "stream_restore": (handle, ctypes.c_char_p, size),
        "stream_destroy": (handle,),
    }.items():
        function = getattr(lib, "s4d_" + name)
        function.argtypes, function.restype = arguments, ctypes.c_int32
    for name in ("version", "level", "error"):
        getattr(lib, "s4d_" + name).restype = ctypes.c_char_p
    return lib


_lib = _open()


def _error(status: int) -> Error:
    return Error(status, _lib.s4d_error().decode("utf-8", "replace"))


def _check(status: int) -> None:
    if status != 0:
        raise _error(status)


def version() -> str:
    """The version of the library."""
    return _lib.s4d_version().decode()


def level() -> str:
    """The level of the kernels, such as "avx2". S4D_LEVEL selects another one before the import."""
    return _lib.s4d_level().decode()


class _Handle:
    """An object of the library, destroyed by close() or at the end of a with block."""

    _destroy = None

    def __init__(self, handle: int):
        self._handle = handle

    def close(self) -> None:
        """Destroys the object. A second call does nothing. While another thread uses the object, this is an error."""
        if self._handle:
            status = self._destroy(self._handle)
            if status not in (0, _HANDLE):  # another thread may have destroyed it
                raise _error(status)
            self._handle = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", 0):
            self._destroy(self._handle)


class Model(_Handle):
    """A model with the options of its streams.

    source is the name of a built-in model ("digits", "commands", "wake"), the path of a model file, or its bytes.
    """

    _destroy = _lib.s4d_model_destroy

    def __init__(self, source):
        handle = ctypes.c_uint64()
        self._handle = 0
        if isinstance(source, (bytes, bytearray)):
            status = _lib.s4d_model_read(bytes(source), len(source), ctypes.byref(handle))
        elif source in ("digits", "commands", "wake"):
            status = _lib.s4d_model_builtin(source.encode(), ctypes.byref(handle))
        else:
            path = os.fsencode(source)
            if b"\0" in path:  # it would end the path
                raise ValueError(f"s4d_fast: the path {source!r} contains a null byte")
            status = _lib.s4d_model_load(path, ctypes.byref(handle))
        _check(status)
        self._describe(handle.value)

    def _describe(self, handle: int) -> None:
        super().__init__(handle)
        info = _Info()
        _check(_lib.s4d_model_get_info(handle, ctypes.byref(info)))
        self.sample_rate: float = info.sample_rate  #: Hz, of the audio that streams expect
        self.stream_bytes: int = info.stream_bytes  #: memory of a stream
        self.frame: int = info.frame  #: samples; events change at most once per frame
        self.labels: List[str] = [self._label(i) for i in range(info.labels)]

    def _label(self, i: int) -> str:
        size = ctypes.c_size_t()
        status = _lib.s4d_model_label(self._handle, i, None, 0, ctypes.byref(size))
        if status != _SPACE:
            _check(status)
        buffer = ctypes.create_string_buffer(size.value + 1)
        _check(_lib.s4d_model_label(self._handle, i, buffer, len(buffer), None))
        return buffer.raw[: size.value].decode()

    @property
    def options(self) -> Options:
        """A copy of the options, for with_options."""
        options = Options()
        _check(_lib.s4d_model_get_options(self._handle, ctypes.byref(options)))
        return options

    def with_options(self, options: Optional[Options] = None, **changes) -> "Model":
        """Returns a model with other options: model.with_options(threshold=0.8, off_threshold=0.4)."""
        options = Options.from_buffer_copy(options) if options else self.options
        for name, value in changes.items():
            setattr(options, name, value)
        handle = ctypes.c_uint64()
        _check(_lib.s4d_model_with_options(self._handle, ctypes.byref(options), ctypes.byref(handle)))
        changed = Model.__new__(Model)
        changed._describe(handle.value)
        return changed

    def stream(self) -> "Stream":
        """Returns a new stream."""
        return Stream(self)

    def recognize(self, samples) -> List[Event]:
        """Returns all events of a recording."""
        with self.stream() as stream:
            return stream.process(samples) + stream.flush()


class Stream(_Handle):
    """The state of one signal. Use Model.stream to create it."""

    _destroy = _lib.s4d_stream_destroy

    def __init__(self, model: Model):
        handle = ctypes.c_uint64()
        self._handle = 0
        _check(_lib.s4d_stream_create(model._handle, ctypes.byref(handle)))
        super().__init__(handle.value)
        self._labels = model.labels

    def _emit(self, call, *arguments) -> List[Event]:
        room, count, found, error = (_Event * _ROOM)(), ctypes.c_size_t(), [], None
        status = call(self._handle, *arguments, room, _ROOM, ctypes.byref(count))
        while True:
            found += [Event(e.onset, e.end, self._labels[e.label], e.confidence) for e in room[: count.value]]
            if status != 0 and error is None:
                error = _error(status)
            if count.value < _ROOM:
                break
            status = _lib.s4d_stream_process(self._handle, None, 0, room, _ROOM, ctypes.byref(count))
        if error is not None:
            error.events = found
            raise error
        return found

    def process(self, samples) -> List[Event]:
        """Processes samples and returns the events that have ended.

        If the output of the network is not finite, the error has the attribute events with those before it.
        """
        x = np.asarray(samples)
        if x.ndim != 1:
            raise ValueError(f"s4d_fast: an array of shape {x.shape}, expected one dimension")
        if x.dtype == np.int16:
            x = x.astype(np.float32) / np.float32(32768)
        elif x.dtype in (np.float32, np.float64):
            x = np.ascontiguousarray(x, dtype=np.float32)
        else:
            raise TypeError(f"s4d_fast: samples of type {x.dtype}, expected float32, float64 or int16")
        return self._emit(_lib.s4d_stream_process, x.ctypes.data, len(x))

    def flush(self) -> List[Event]:
        """Ends the signal and returns the last events. The stream can continue with another signal."""
        return self._emit(_lib.s4d_stream_flush)

    def skip(self, lost: int) -> List[Event]:
        """Ends the signal and advances the position by samples that were lost."""
        if not -(2**63) <= operator.index(lost) < 2**63:  # ctypes would wrap it
            raise OverflowError(f"s4d_fast: {lost} samples to skip, expected a number of 64 bits")
        return self._emit(_lib.s4d_stream_skip, lost)

    @property
    def position(self) -> int:
        """The number of samples since the beginning of the stream."""
        position = ctypes.c_int64()
        _check(_lib.s4d_stream_position(self._handle, ctypes.byref(position)))
        return position.value

    def posterior(self) -> Optional[np.ndarray]:
        """The posteriors of the last evaluation, float32, one per label; None before the first."""
        p, count = np.empty(len(self._labels), np.float32), ctypes.c_size_t()
        _check(_lib.s4d_stream_posterior(self._handle, p.ctypes.data, len(p), ctypes.byref(count)))
        return p if count.value else None

    def reset(self) -> None:
        """Begins a new signal at position 0."""
        _check(_lib.s4d_stream_reset(self._handle))

    def snapshot(self) -> bytes:
        """Returns the state, for restore, also in another process with an equal model at the same level."""
        size = ctypes.c_size_t()
        status = _lib.s4d_stream_snapshot(self._handle, None, 0, ctypes.byref(size))
        if status != _SPACE:
            _check(status)
        buffer = ctypes.create_string_buffer(size.value)
        _check(_lib.s4d_stream_snapshot(self._handle, buffer, len(buffer), ctypes.byref(size)))
        return buffer.raw[: size.value]

    def restore(self, snapshot: bytes) -> None:
        """Continues from a snapshot. After an error the stream is unchanged."""
        _check(_lib.s4d_stream_restore(self._handle, bytes(snapshot), len(snapshot)))
