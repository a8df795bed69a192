"""The gateway of client/doc/examples before a server that answers as each test says."""

import concurrent.futures
import http.client
import http.server
import struct
import threading
import unittest

import gateway

CAMPAIGN = "0123456789abcdef0123456789abcdef"
REPORTS = f"/v1/campaigns/{CAMPAIGN}/reports"


def items_of(data):
    assert data[:4] == b"DPF1"
    items, at = [], 4
    while at < len(data):
        assert data[at:at + 16].hex() == CAMPAIGN
        length, = struct.unpack_from("<I", data, at + 16)
        items.append(data[at + 20:at + 20 + length])
        at += 20 + length
    assert at == len(data)
    return items


def answer_to(item, status=202, retry_after=0, kind=b"a/type"):
    content = b"for " + item
    return struct.pack("<HHII", status, len(kind), retry_after, len(content)) + kind + content


def answer_all(items):
    return 200, b"DPF1" + b"".join(answer_to(item) for item in items)


class Upstream(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.gets.append(self.path)
        self.tell(self.server.get_status, b"signed " + self.path.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/forward":
            items = items_of(body)
            self.server.lists.append(items)
            self.tell(*self.server.answer(items), gateway.FORWARD)
        else:
            assert self.path == REPORTS
            self.server.lists.append(body)
            self.tell(self.server.post_status, b"for " + body)

    def tell(self, status, body, kind="a/type"):
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class GatewayTest(unittest.TestCase):
    def setUp(self):
        self.upstream = self.serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream))
        self.upstream.lists, self.upstream.gets = [], []
        self.upstream.answer, self.upstream.get_status = answer_all, 200
        self.upstream.post_status = 202

    def serve(self, server):
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server

    def open(self, most, wait_s=60):
        """A gateway that forwards as soon as it has `most` bodies."""
        url = f"http://127.0.0.1:{self.upstream.server_port}"
        return gateway.Gateway(gateway.Upstream(url), most, wait_s, 600)

    def send(self, hub, bodies):
        """All at once; the answers in the order of the bodies."""
        with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
            return list(pool.map(lambda body: hub.handle("POST", REPORTS, body), bodies))

    def test_many_reports_share_a_request_and_each_device_gets_its_answer(self):
        bodies = [b"report %d" % i for i in range(20)]
        answers = self.send(self.open(20), bodies)
        self.assertEqual(answers, [gateway.Answer(202, "a/type", 0, b"for " + body)
                                   for body in bodies])
        self.assertEqual(len(self.upstream.lists), 1)
        self.assertEqual(sorted(self.upstream.lists[0]), sorted(bodies))

    def test_refusals_and_waiting_times_are_passed_on(self):
        self.upstream.answer = lambda items: (200, b"DPF1" + answer_to(items[0], 503, 77) +
                                              answer_to(items[1], 409))
        answers = self.send(self.open(2), [b"x", b"y"])
        self.assertEqual({(answer.status, answer.retry_after) for answer in answers},
                         {(503, 77), (409, 0)})

    def test_an_answer_that_is_no_list_settles_nothing(self):
        item = answer_to(b"x")
        wrong = [b"", b"DPF1", b"DPF1" + item, b"DPF2" + 2 * item, b"DPF1" + 2 * item[:-1],
                 b"DPF1" + 2 * item + b"x", b"DPF1" + 3 * item,
                 b"DPF1" + item + answer_to(b"x", 42),
                 b"DPF1" + item + answer_to(b"x", kind=b"a\r\nb:c"),
                 b"DPF1" + item + answer_to(b"x", kind=b"\xff")]
        for body in wrong:
            with self.subTest(body=body):
                self.upstream.answer = lambda _, body=body: (200, body)
                self.assertEqual(self.send(self.open(2), [b"x", b"y"]), [gateway.BUSY] * 2)

    def test_a_server_that_fails_or_is_gone_keeps_reports_on_their_devices(self):
        self.upstream.answer = lambda _: (500, b"")
        self.assertEqual(self.send(self.open(2), [b"x", b"y"]), [gateway.BUSY] * 2)
        hub = gateway.Gateway(gateway.Upstream("http://127.0.0.1:1"), 2, 60, 600)
        self.assertEqual(self.send(hub, [b"x", b"y"]), [gateway.BUSY] * 2)
        self.assertEqual(hub.handle("GET", "/v1/keys"), gateway.BUSY)

    def test_a_list_that_is_too_large_is_halved(self):
        self.upstream.answer = lambda items: answer_all(items) if len(items) < 3 else (413, b"")
        bodies = [b"%d" % i for i in range(8)]
        answers = self.send(self.open(8), bodies)
        self.assertEqual([answer.content for answer in answers],
                         [b"for " + body for body in bodies])
        self.assertEqual([len(items) for items in self.upstream.lists], [8, 4, 2, 2, 4, 2, 2])

    def test_campaigns_and_keys_are_kept_until_an_answer_calls_them_old(self):
        hub = self.open(1)
        campaign = f"/v1/campaigns/{CAMPAIGN}"
        for path, status in ("/v1/keys", 410), (campaign, 409), (campaign, 404):
            for _ in range(2):
                self.assertEqual(hub.handle("GET", path),
                                 gateway.Answer(200, "a/type", 0, b"signed " + path.encode()))
            self.assertEqual(self.upstream.gets, [path])
            self.upstream.post_status = status
            self.assertEqual(hub.handle("POST", REPORTS, b"x").status, status)
            hub.handle("GET", path)
            self.assertEqual(self.upstream.gets, [path, path])
            hub.handle("POST", REPORTS, b"x")
            self.upstream.gets.clear()

    def test_a_closed_campaign_is_not_kept(self):
        hub = self.open(1)
        self.upstream.get_status = 409
        for _ in range(2):
            self.assertEqual(hub.handle("GET", f"/v1/campaigns/{CAMPAIGN}").status, 409)
        self.assertEqual(len(self.upstream.gets), 2)

    def test_nothing_else_is_passed_on(self):
        hub = self.open(1)
        for method, path in (("GET", "/v1/admin/campaigns"), ("GET", "/metrics"),
                             ("GET", REPORTS), ("POST", "/v1/keys"), ("POST", "/v1/forward"),
                             ("POST", REPORTS + "\n"), ("DELETE", REPORTS)):
            self.assertEqual(hub.handle(method, path, b"x"), gateway.UNKNOWN, path)
        self.assertEqual((self.upstream.lists, self.upstream.gets), ([], []))

    def device_of(self, server):
        device = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        self.addCleanup(device.close)
        return device

    def test_devices_use_it_as_a_server(self):
        server = self.serve(gateway.Server(("127.0.0.1", 0), gateway.Device))
        server.gateway = self.open(1)
        device = self.device_of(server)
        for _ in range(2):  # on one connection
            device.request("POST", REPORTS, b"sealed")
            answer = device.getresponse()
            self.assertEqual((answer.status, answer.read()), (202, b"for sealed"))
            self.assertEqual(answer.getheader("Content-Type"), "a/type")
        device.request("GET", "/v1/keys")
        answer = device.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b"signed /v1/keys"))
        device.request("POST", REPORTS, iter([b"chunk"]))
        answer = device.getresponse()
        self.assertEqual((answer.status, answer.getheader("Connection")), (411, "close"))

    def test_more_devices_than_it_has_places_for_are_hung_up_on(self):
        server = self.serve(gateway.Server(("127.0.0.1", 0), gateway.Device))
        server.gateway, server._places = self.open(1), threading.BoundedSemaphore(1)
        first, second = self.device_of(server), self.device_of(server)
        first.request("GET", "/v1/keys")
        self.assertEqual(first.getresponse().status, 200)  # and keeps its connection
        with self.assertRaises((OSError, http.client.HTTPException)):
            second.request("GET", "/v1/keys")
            second.getresponse()

    def test_a_server_address_that_is_none_is_refused(self):
        for server in "", "dpot.example", "ftp://dpot.example", "https://":
            with self.assertRaisesRegex(ValueError, "https://HOST"):
                gateway.Upstream(server)


if __name__ == "__main__":
    unittest.main()
