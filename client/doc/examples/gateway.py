#!/usr/bin/env python3
"""A gateway: many devices behind it, one connection to dpotd, many reports in one POST.

    python3 gateway.py --upstream https://pool.example.org --listen 192.168.1.1:8080

For devices it is their server (config.server_url): it hands out the signed keys and campaigns,
which it keeps for a while, and takes their POSTs of reports. It forwards the sealed bodies as they
are, in one POST to /v1/forward, and gives each device the answer to its own (wire.md, Gateways). A
bridge from another network, such as BLE, calls Gateway.handle with method, path and body of a
request that dpot_client_next_request has made, and gives the answer to dpot_client_take_response.

It writes nothing to a disk and logs no device. When it is killed, devices send again, and dpotd
counts each report once. What it learns about devices is in privacy.md. Needs Python 3.8 and nothing
else.

Between devices and this gateway is plain HTTP: use a network of your own, or TLS before it."""

import argparse
import concurrent.futures
import http.client
import http.server
import os
import random
import re
import socketserver
import struct
import sys
import threading
import time
import typing
import urllib.parse

PROTOBUF, FORWARD, TEXT = "application/x-protobuf", "application/vnd.dpot.forward", "text/plain"
MAGIC = b"DPF1"
BODIES_MAX = 1000  # of one POST
BODY_MAX = 8 << 20
WAITING_MAX = 64 << 20  # bytes of all waiting bodies
DEVICES_MAX = 1000  # at a time; further ones are hung up on, and come again
TIMEOUT_S = 20  # of a request to dpotd; devices wait 30 s for an answer

REPORTS_PATH = re.compile(r"/v1/campaigns/([0-9a-f]{32})/reports")
CAMPAIGN_PATH = re.compile(r"/v1/campaigns/[0-9a-f]{32}")
KEYS_PATH = "/v1/keys"


class Answer(typing.NamedTuple):
    status: int
    content_type: str
    retry_after: int  # seconds; 0: the answer names none
    content: bytes


# Devices keep their report after these: they are not in the form of dpotd's refusals.
BUSY = Answer(503, TEXT, 5, b"the gateway has no answer from the server: try again\n")
UNKNOWN = Answer(404, TEXT, 0, b"the gateway does not know this path\n")
NO_LENGTH = Answer(411, TEXT, 0, b"send the body with its Content-Length\n")
TOO_LARGE = Answer(413, TEXT, 0, b"the body is too large for the gateway\n")


def pack(bodies):
    """The list of (campaign id, body) that /v1/forward takes."""
    parts = [MAGIC]
    for campaign, body in bodies:
        parts += [campaign, struct.pack("<I", len(body)), body]
    return b"".join(parts)


def unpack(data, n):
    """The n answers of /v1/forward. ValueError, struct.error: they have another form."""
    answers, at = [], len(MAGIC)
    while at < len(data):
        status, type_length, retry_after, length = struct.unpack_from("<HHII", data, at)
        at += 12 + type_length + length
        content_type = data[at - length - type_length:at - length].decode("ascii")
        if not 200 <= status <= 599 or not content_type.isprintable():
            raise ValueError("an answer has no HTTP status or type")
        answers.append(Answer(status, content_type, retry_after, data[at - length:at]))
    if data[:len(MAGIC)] != MAGIC or at != len(data) or len(answers) != n:
        raise ValueError("the list of answers is damaged")
    return answers


class Upstream:
    """Requests to dpotd."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self._connect = lambda: kinds[parts.scheme](parts.netloc, timeout=TIMEOUT_S)
        self._prefix = parts.path.rstrip("/")
        if parts.scheme not in kinds or not parts.netloc:
            raise ValueError(f"--upstream is {url}: give http://HOST:PORT or https://HOST")

    def request(self, method, path, body=None, content_type=PROTOBUF):
        connection = self._connect()
        try:
            headers = {"Content-Type": content_type} if body is not None else {}
            connection.request(method, self._prefix + path, body, headers)
            response = connection.getresponse()
            retry_after = response.getheader("Retry-After", "")
            return Answer(response.status, response.getheader("Content-Type", ""),
                          int(retry_after) if retry_after.isdecimal() else 0, response.read())
        except (OSError, http.client.HTTPException) as failure:
            print(f"gateway: {method} {path}: {failure}", file=sys.stderr)
            return BUSY
        finally:
            connection.close()

    def forward(self, bodies):
        """An answer to each body. A list that is too long for the server goes in halves; a single
        body, or each for a server that has no /v1/forward, goes in a POST of its own."""
        if len(bodies) == 1:
            campaign, body = bodies[0]
            return [self.request("POST", f"/v1/campaigns/{campaign.hex()}/reports", body)]
        answer = self.request("POST", "/v1/forward", pack(bodies), FORWARD)
        size = {404: 1, 405: 1, 413: (len(bodies) + 1) // 2}.get(answer.status)
        if size:
            parts = [bodies[i:i + size] for i in range(0, len(bodies), size)]
            return [given for part in parts for given in self.forward(part)]
        try:
            if answer.status == 200 and answer.content_type == FORWARD:
                return unpack(answer.content, len(bodies))
        except (ValueError, struct.error) as failure:
            print(f"gateway: /v1/forward: {failure}", file=sys.stderr)
        return [BUSY] * len(bodies)


class Collector:
    """Bodies wait for others: until there are `most`, or the first has waited for wait_s seconds.
    They leave in random order, so that their places in the list do not tell which came first."""

    def __init__(self, upstream, most, wait_s):
        self._upstream, self._most, self._wait_s = upstream, most, wait_s
        self._condition = threading.Condition()
        self._waiting, self._n_bytes = [], 0
        threading.Thread(target=self._run, daemon=True).start()

    def post(self, campaign, body):
        """Returns when the answer is there."""
        answer = concurrent.futures.Future()
        with self._condition:
            if self._n_bytes + len(body) > WAITING_MAX:
                return BUSY
            self._n_bytes += len(body)
            self._waiting.append((campaign, body, answer))
            self._condition.notify()
        return answer.result()

    def _take(self):
        with self._condition:
            while not self._waiting:
                self._condition.wait()
            until = time.monotonic() + self._wait_s
            while len(self._waiting) < self._most and time.monotonic() < until:
                self._condition.wait(max(0, until - time.monotonic()))
            taken, self._waiting = self._waiting[:self._most], self._waiting[self._most:]
            return taken

    def _run(self):
        while True:
            taken = self._take()
            random.SystemRandom().shuffle(taken)
            try:
                answers = self._upstream.forward([(campaign, body) for campaign, body, _ in taken])
            except Exception as failure:  # this thread goes on, whatever the server answers
                print(f"gateway: {failure!r}", file=sys.stderr)
                answers = [BUSY] * len(taken)
            for (_, _, answer), given in zip(taken, answers):
                answer.set_result(given)
            with self._condition:
                self._n_bytes -= sum(len(body) for _, body, _ in taken)


class Gateway:
    """What devices ask for. Thread-safe."""

    def __init__(self, upstream, most, wait_s, keep_s):
        self._upstream, self._keep_s = upstream, keep_s
        self._collector = Collector(upstream, most, wait_s)
        self._kept = {}  # path: (until when, Answer); only dpotd's own keys and campaigns

    def handle(self, method, path, body=b""):
        reports = REPORTS_PATH.fullmatch(path)
        if method == "POST" and reports:
            return self._post(reports.group(1), body)
        if method == "GET" and (path == KEYS_PATH or CAMPAIGN_PATH.fullmatch(path)):
            return self._get(path)
        return UNKNOWN

    def _get(self, path):
        until, answer = self._kept.get(path, (0, None))
        if time.monotonic() >= until:
            answer = self._upstream.request("GET", path)
            if answer.status == 200:
                self._kept[path] = (time.monotonic() + self._keep_s, answer)
        return answer

    def _post(self, campaign, body):
        answer = self._collector.post(bytes.fromhex(campaign), body)
        if answer.status == 410:  # the seal key has expired, so there are other keys
            self._kept.pop(KEYS_PATH, None)
        elif answer.status in (404, 409):
            self._kept.pop(f"/v1/campaigns/{campaign}", None)
        return answer


class Device(http.server.BaseHTTPRequestHandler):
    """One connection of a device."""

    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self):
        self._answer(self.server.gateway.handle("GET", self.path))

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or self.headers.get("Transfer-Encoding"):
            self._answer(NO_LENGTH, closes=True)
        elif int(length) > BODY_MAX:
            self._answer(TOO_LARGE, closes=True)
        else:
            body = self.rfile.read(int(length))
            if len(body) == int(length):
                self._answer(self.server.gateway.handle("POST", self.path, body))

    def _answer(self, answer, closes=False):
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.content)))
        if answer.retry_after > 0:
            self.send_header("Retry-After", str(answer.retry_after))
        if closes:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_):
        """Devices are not logged."""


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    _places = threading.BoundedSemaphore(DEVICES_MAX)

    def process_request(self, request, client_address):
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request, client_address):
        """A device that hangs up is not logged either."""


def main():
    parser = argparse.ArgumentParser(description="Forwards the requests of devices to dpotd.")
    parser.add_argument("--upstream", required=True, help="dpotd, http:// or https://")
    parser.add_argument("--listen", default="127.0.0.1:8080", help="HOST:PORT; port 0: a free one")
    parser.add_argument("--batch", type=int, default=100, help="bodies of one POST, at most 1000")
    parser.add_argument("--wait", type=float, default=1, help="seconds to wait for others")
    parser.add_argument("--keep", type=float, default=60, help="seconds to keep keys and campaigns")
    parser.add_argument("--ready-file", help="a file that gets the address once it listens")
    options = parser.parse_args()
    if not 1 <= options.batch <= BODIES_MAX or options.wait < 0 or options.keep < 0:
        parser.error(f"--batch is from 1 to {BODIES_MAX}, --wait and --keep are 0 or more")
    host, _, port = options.listen.rpartition(":")
    try:
        upstream = Upstream(options.upstream)
        server = Server((host, int(port)), Device)
    except (OSError, ValueError, OverflowError) as failure:
        parser.error(f"{failure} (--upstream URL, --listen HOST:PORT)")
    server.gateway = Gateway(upstream, options.batch, options.wait, options.keep)
    if options.ready_file:
        with open(options.ready_file + ".new", "w") as file:
            file.write(f"http://{host}:{server.server_address[1]}")
        os.replace(options.ready_file + ".new", options.ready_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
