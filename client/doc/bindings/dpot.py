"""libdpot in Python: local differential privacy on the device.

    with dpot.Client(folder="state", server_url="https://pool.example.org", pin=PIN,
                     campaign_epsilon_cap=4, window_epsilon_cap=4, window_seconds=86400,
                     lifetime_epsilon_cap=20) as client:
        client.enroll(CAMPAIGN)
        client.submit_points(CAMPAIGN, [[40.71, -74.01], [34.05, -118.24]])
        client.pump(10)

Needs Python 3.8 and libdpot.so.0, searched where the system searches libraries; DPOT_LIBRARY in the
environment is its path. Data are lists, or objects with the buffer protocol such as NumPy arrays.
They are in no exception, and the arrays made of them here are wiped. Calls wait for the network and the
disk without the interpreter's lock; those of several threads on one client take turns."""

import ctypes
import enum
import functools
import json
import os
import threading
import weakref

_JSON_SIZE = 4096
_POINTER, _ID, _BYTES = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p
_DOUBLES, _OUTCOME = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int)
_HANDLE = ctypes.POINTER(ctypes.c_void_p)
_TEXT, _SIZE, _U32 = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32

_FUNCTIONS = {  # name: what it returns, what it takes
    "dpot_version": (_TEXT, ()),
    "dpot_status_name": (_TEXT, (ctypes.c_int,)),
    "dpot_status_text": (_TEXT, (ctypes.c_int,)),
    "dpot_settings_new": (ctypes.c_int, (_HANDLE,)),
    "dpot_settings_set": (ctypes.c_int, (_POINTER, _TEXT, _TEXT, _TEXT, _SIZE)),
    "dpot_settings_free": (None, (_POINTER,)),
    "dpot_client_open_settings": (ctypes.c_int, (_POINTER, _HANDLE, _TEXT, _SIZE)),
    "dpot_client_close": (None, (_POINTER,)),
    "dpot_client_last_error": (_TEXT, (_POINTER,)),
    "dpot_client_enroll": (ctypes.c_int, (_POINTER, _ID)),
    "dpot_client_import": (ctypes.c_int, (_POINTER, _BYTES, _SIZE, _ID)),
    "dpot_client_expect": (ctypes.c_int, (_POINTER, _BYTES, _SIZE)),
    "dpot_client_submit_points": (
        ctypes.c_int, (_POINTER, _ID, _DOUBLES, _DOUBLES, _SIZE, _U32, _OUTCOME)),
    "dpot_client_submit_histogram": (ctypes.c_int, (_POINTER, _ID, _DOUBLES, _SIZE, _OUTCOME)),
    "dpot_client_submit_vector": (ctypes.c_int, (_POINTER, _ID, _DOUBLES, _U32, _OUTCOME)),
    "dpot_client_withdraw": (ctypes.c_int, (_POINTER,)),
    "dpot_client_grant": (ctypes.c_int, (_POINTER,)),
    "dpot_client_pump_json": (ctypes.c_int, (_POINTER, _U32, _TEXT, _SIZE)),
    "dpot_client_get_status_json": (ctypes.c_int, (_POINTER, _TEXT, _SIZE)),
    "dpot_client_get_campaign_json": (ctypes.c_int, (_POINTER, _ID, _TEXT, _SIZE)),
    "dpot_client_get_statement": (ctypes.c_int, (_POINTER, _TEXT, _SIZE)),
    "dpot_filesystem_posix_new": (ctypes.c_int, (_TEXT, _HANDLE)),
    "dpot_filesystem_posix_free": (None, (_POINTER,)),
    "dpot_folder_withdraw": (ctypes.c_int, (_POINTER, _TEXT, _SIZE)),
}


@functools.lru_cache(maxsize=None)
def _library():
    library = ctypes.CDLL(os.environ.get("DPOT_LIBRARY") or "libdpot.so.0")
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Error(Exception):
    """A call that libdpot refused, or that failed: `status`, such as -300; `name`, such as
    "DPOT_ERR_BUDGET"; as text the name and one sentence, which never holds data. `result` of a
    failed pump is what that pump did, None otherwise. doc/status.md says what to do."""

    def __init__(self, status, sentence=b""):
        library = _library()
        sentence = (sentence or library.dpot_status_text(status)).decode("utf-8", "replace")
        self.status = status
        self.name = library.dpot_status_name(status).decode()
        self.result = None
        super().__init__(f"{self.name}: {sentence}")


class CallError(Error):
    """A mistake in the call or the settings."""


class TemporaryError(Error):
    """Memory, disk, network or a lock: the same call may succeed later."""


class DataError(Error):
    """A campaign, a file or the shape of the data: they have to change."""


class PrivacyError(Error):
    """Budget, caps, consent, a closed campaign: trying again does not help."""


class FatalError(Error):
    """The client can only be closed."""


def _error(status, sentence=b""):
    kinds = ((-99, CallError), (-199, TemporaryError), (-299, DataError), (-399, PrivacyError))
    kind = next((kind for least, kind in kinds if status >= least), FatalError)
    return kind(status, sentence)


class Outcome(enum.IntEnum):
    """What a submit did. Each but LOST is a report that was sent or will be."""

    REPORTED = 1  # made, charged and stored
    RESUMED = 2  # made under the charge of a submit that a crash cut off
    PENDING = 3  # this round's report exists and waits to be sent
    DONE = 4  # this round's report has had its final answer, or was dropped
    LOST = 5  # this round's report was charged, and its file was damaged or lost


def version():
    """The version of libdpot, such as "0.1.0"."""
    return _library().dpot_version().decode()


def withdraw(folder):
    """Withdraws consent for a folder that cannot be opened; the next opening wipes what waits."""
    library, files, text = _library(), ctypes.c_void_p(), ctypes.create_string_buffer(400)
    status = library.dpot_filesystem_posix_new(_text("folder", folder), ctypes.byref(files))
    if status == 0:
        status = library.dpot_folder_withdraw(files, text, len(text))
        library.dpot_filesystem_posix_free(files)
    if status != 0:
        raise _error(status, text.value)


# ---- arguments ----


def _text(name, value):
    """A setting as the text that libdpot reads; bytes in hexadecimal."""
    if isinstance(value, (bytes, bytearray)):
        text = value.hex().encode()
    elif isinstance(value, os.PathLike):
        text = os.fsencode(value)
    else:
        text = str(value).encode("utf-8", "surrogateescape")
    if b"\0" in text:
        raise ValueError(f"{name}: has a NUL")
    return text


def _binary(name, value, size):
    """`size` bytes, given as bytes or in hexadecimal."""
    try:
        data = bytes.fromhex(value) if isinstance(value, str) else bytes(value)
    except (TypeError, ValueError):
        data = b""
    if len(data) != size:
        raise ValueError(f"{name}: give {2 * size} hexadecimal digits, or {size} bytes")
    return data


def _id(campaign):
    return _binary("campaign", campaign, 16)


def _flatten(data):
    """The numbers of a list, or of a list of rows, and its shape."""
    rows = list(data)
    if not rows or not hasattr(rows[0], "__len__"):
        return rows, (len(rows),)
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError
    return [number for row in rows for number in row], (len(rows), len(rows[0]))


def _copy_view(data, view):
    """A copy of an object with the buffer protocol, and its shape."""
    if view.format in ("d", "@d", "=d") and view.c_contiguous and view.nbytes > 0:
        return (ctypes.c_double * (view.nbytes // 8)).from_buffer_copy(view), view.shape
    numbers, shape = getattr(data, "tolist", view.tolist)(), view.shape  # NumPy has more formats
    for _ in shape[1:]:
        numbers = [number for row in numbers for number in row]
    return (ctypes.c_double * len(numbers))(*numbers), shape


def _copy(data):
    try:
        view = memoryview(data)
    except TypeError:
        view = None
    if view is not None:
        return _copy_view(data, view)
    numbers, shape = _flatten(data)
    return (ctypes.c_double * len(numbers))(*numbers), shape


class _Doubles:
    """A copy of private numbers with its shape, wiped at the end of a `with`. `array` is None for
    None. No exception holds a number, or another exception that does."""

    def __init__(self, name, data):
        self.array, self.shape = None, (0,)
        if data is not None:
            try:
                self.array, self.shape = _copy(data)
            except Exception:  # its message may quote the data
                pass
            if self.array is None:
                raise TypeError(f"{name}: not a list or an array of numbers, in rows of one length")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.array is not None:
            ctypes.memset(self.array, 0, ctypes.sizeof(self.array))


def _milliseconds(seconds):
    return max(0, min(int(seconds * 1000), 2**32 - 1))


# ---- the client ----


def _close(library, handle, process):
    if os.getpid() == process:
        library.dpot_client_close(handle)


class Client:
    """A folder of libdpot, opened. Settings are those of dpot/settings.h, by name: numbers, texts,
    bytes (pin, keystore_key) and paths; None leaves one out. `groups` maps campaigns to the group
    of this device in them.

    Campaigns are 32 hexadecimal digits or 16 bytes. After close() every call is a ValueError."""

    def __init__(self, *, groups=None, **settings):
        library, text = _library(), ctypes.create_string_buffer(400)
        values = ctypes.c_void_p()
        status = library.dpot_settings_new(ctypes.byref(values))
        if status != 0:
            raise _error(status)
        for campaign, group in (groups or {}).items():
            settings["group." + _id(campaign).hex()] = group
        try:
            for key, value in settings.items():
                if value is not None and status == 0:
                    status = library.dpot_settings_set(
                        values, key.encode(), _text(key, value), text, len(text))
            handle = ctypes.c_void_p()
            if status == 0:
                status = library.dpot_client_open_settings(
                    values, ctypes.byref(handle), text, len(text))
        finally:
            library.dpot_settings_free(values)
        if status != 0:
            raise _error(status, text.value)
        self._handle, self._lock, self._process = handle, threading.Lock(), os.getpid()
        self._finalizer = weakref.finalize(self, _close, library, handle, self._process)

    def close(self):
        """Closes the folder; reports that wait stay in it. Closing again does nothing."""
        with self._lock:
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _check(self):
        if not self._finalizer.alive:
            raise ValueError("the client is closed")
        if os.getpid() != self._process:
            raise RuntimeError("this client is of the parent process: open the folder anew")

    def _call(self, name, *arguments):
        """Under the lock, since last_error is about the last call."""
        library = _library()
        with self._lock:
            self._check()
            status = getattr(library, name)(self._handle, *arguments)
            if status != 0:
                raise _error(status, library.dpot_client_last_error(self._handle))

    def _describe(self, name, *arguments):
        text = ctypes.create_string_buffer(_JSON_SIZE)
        try:
            self._call(name, *arguments, text, len(text))
        except Error as error:
            error.result = json.loads(text.value) if text.value else None
            raise
        return json.loads(text.value)

    # -- campaigns --

    def enroll(self, campaign):
        """Fetches and stores the newest revision. Call it again for a newer one."""
        self._call("dpot_client_enroll", _id(campaign))

    def import_campaign(self, data):
        """The same from the bytes of a signed campaign; returns its id."""
        campaign = ctypes.create_string_buffer(16)
        self._call("dpot_client_import", bytes(data), len(data), campaign)
        return campaign.raw.hex()

    def expect(self, digests):
        """From now on accepts only campaigns and seal keys with these BLAKE2b-256 hashes; with an
        empty list again whatever the pin has signed."""
        digests = [_binary("digest", digest, 32) for digest in digests]
        self._call("dpot_client_expect", b"".join(digests), len(digests))

    def campaign(self, campaign):
        """The stored revision and what was spent on it: struct dpot_campaign_info, spent_..."""
        return self._describe("dpot_client_get_campaign_json", _id(campaign))

    # -- submitting: one report for each round; None is the public default --

    def submit_points(self, campaign, points, weights=None):
        """Places: (n, dim), or (n) numbers on a line. Returns an Outcome."""
        outcome = ctypes.c_int()
        with _Doubles("points", points) as places, _Doubles("weights", weights) as weighed:
            n = places.shape[0]
            dim = places.shape[1] if len(places.shape) > 1 else 1
            if len(places.shape) > 2:
                raise TypeError("points: give rows of coordinates")
            if weighed.array is not None and weighed.shape != (n,):
                raise TypeError("weights: give one for each point")
            self._call("dpot_client_submit_points", _id(campaign), places.array, weighed.array,
                       n, dim, outcome)
        return Outcome(outcome.value)

    def submit_histogram(self, campaign, histogram):
        """Weights of all cells of the domain, an array of grids row by row."""
        return self._submit("dpot_client_submit_histogram", campaign, "histogram", histogram)

    def submit_vector(self, campaign, vector):
        """A vector, for campaigns of laplace, gaussian and spheres."""
        return self._submit("dpot_client_submit_vector", campaign, "vector", vector)

    def _submit(self, function, campaign, name, data):
        outcome = ctypes.c_int()
        with _Doubles(name, data) as numbers:
            n = len(numbers.array) if numbers.array is not None else 0
            self._call(function, _id(campaign), numbers.array, n, outcome)
        return Outcome(outcome.value)

    # -- sending and status --

    def pump(self, seconds=10):
        """Sends what is due, for at most `seconds`: struct dpot_pump_result. Call it again at
        next_due_ms."""
        return self._describe("dpot_client_pump_json", _milliseconds(seconds))

    def status(self):
        """What was spent, what became of every report: struct dpot_client_status."""
        return self._describe("dpot_client_get_status_json")

    def statement(self):
        """Sentences for the owner of the device."""
        size = 4096
        while True:
            text = ctypes.create_string_buffer(size)
            self._call("dpot_client_get_statement", text, size)
            if len(text.value) < size - 1:
                return text.value.decode("utf-8", "replace")
            size *= 2

    # -- consent --

    def withdraw(self):
        """The owner withdraws: waiting reports are wiped, submits are refused until grant()."""
        self._call("dpot_client_withdraw")

    def grant(self):
        """The owner consents again."""
        self._call("dpot_client_grant")
