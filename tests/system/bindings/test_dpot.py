"""The Python module against a server that bindings.sh has prepared; its world comes on stdin."""

import array
import gc
import json
import os
import sys
import threading
import time
import traceback
import unittest

import dpot

WORLD = json.load(sys.stdin)
SECRET = 0.123456789  # in no exception


def settings(name, **more):
    caps = {"campaign_epsilon_cap": 4, "window_epsilon_cap": 8, "lifetime_epsilon_cap": 8,
            "window_seconds": 86400}
    return {"folder": os.path.join(WORLD["folder"], name), "server_url": WORLD["url"],
            "pin": WORLD["pin"], "send_delay_ms": 1, **caps, **more}


def flush(client):
    """Pumps until nothing waits; returns how many were accepted."""
    accepted = 0
    while True:
        result = client.pump(30)
        accepted += result["n_accepted"]
        if result["next_due_ms"] is None:
            return accepted
        time.sleep(max(0, result["next_due_ms"] / 1000 - time.time()) + 0.001)


class Numbers:
    """A row whose second number cannot be had."""

    def __len__(self):
        return 2

    def __iter__(self):
        yield SECRET
        raise RuntimeError(f"not after {SECRET}")


class Bindings(unittest.TestCase):
    maxDiff = None

    def open(self, **more):
        client = dpot.Client(**settings(self.id().rsplit(".", 1)[1], **more))
        self.addCleanup(client.close)
        return client

    def refused(self, kind, status, call, *arguments):
        with self.assertRaises(kind) as caught:
            call(*arguments)
        self.assertIsInstance(caught.exception, dpot.Error)
        self.assertEqual(caught.exception.name, status)
        self.assertTrue(str(caught.exception).startswith(status + ": "))
        return caught.exception

    def test_each_kind_of_data_is_reported_once_and_accepted(self):
        group = {WORLD["points"]: 1, bytes.fromhex(WORLD["histogram"]): 0}
        with self.open(groups=group) as client:
            for campaign in "points", "histogram", "vector":
                client.enroll(WORLD[campaign])
            places = [[0.25, 0.5], (0.75, 0.75)]
            self.assertEqual(client.submit_points(WORLD["points"], places, [1, 2]),
                             dpot.Outcome.REPORTED)
            self.assertEqual(client.submit_points(WORLD["points"], places), dpot.Outcome.PENDING)
            cells = array.array("d", range(16))
            self.assertEqual(client.submit_histogram(WORLD["histogram"], cells),
                             dpot.Outcome.REPORTED)
            self.assertEqual(list(cells), list(range(16)))  # only copies are wiped
            vector = memoryview(array.array("f", [0.5, 0, 0.25]))
            self.assertEqual(client.submit_vector(WORLD["vector"], vector), dpot.Outcome.REPORTED)
            self.assertEqual(client.status()["n_pending"], 3)
            self.assertIn('label "b" openly', client.statement())
            self.assertEqual(flush(client), 3)
            status = client.status()
            self.assertEqual((status["n_submitted"], status["n_accepted"]), (3, 3))
            self.assertAlmostEqual(status["spent_epsilon"], 6, delta=0.1)
            self.assertEqual(client.submit_points(WORLD["points"], None), dpot.Outcome.DONE)
            info = client.campaign(WORLD["points"])
            self.assertEqual((info["spent_epsilon"], info["n_numbers"]), (2, 16))
            self.assertFalse(info["is_vector"])

    def test_a_campaign_is_imported_and_reported_later(self):
        with open(WORLD["signed"], "rb") as file:
            signed = file.read()
        with self.open(server_url=None, group=0) as client:
            self.assertEqual(client.import_campaign(signed), WORLD["points"])
            self.refused(dpot.CallError, "DPOT_ERR_STATE", client.pump)
            client.submit_points(WORLD["points"], [])
        with self.open(group=0) as client:
            self.assertEqual(flush(client), 1)

    def test_refusals_have_a_kind_a_name_and_a_sentence(self):
        client = self.open(lifetime_epsilon_cap=3)
        self.refused(dpot.DataError, "DPOT_ERR_NOT_FOUND", client.enroll, "00" * 16)
        self.refused(dpot.DataError, "DPOT_ERR_NOT_FOUND", client.campaign, WORLD["points"])
        self.refused(dpot.DataError, "DPOT_ERR_SHAPE", self.wrong_vector, client)
        client.enroll(WORLD["histogram"])
        client.submit_histogram(WORLD["histogram"], None)
        error = self.refused(dpot.PrivacyError, "DPOT_ERR_BUDGET", client.submit_vector,
                             WORLD["vector"], [SECRET, 0, 0])
        self.assertIn("lifetime", str(error))
        self.assertEqual(error.status, -300)
        client.withdraw()
        self.assertEqual(client.status()["n_dropped_withdrawn"], 1)
        self.refused(dpot.PrivacyError, "DPOT_ERR_CONSENT", client.enroll, WORLD["points"])
        client.grant()
        client.expect(["00" * 32])
        self.refused(dpot.PrivacyError, "DPOT_ERR_UNEXPECTED", client.enroll, WORLD["points"])

    def wrong_vector(self, client):
        client.enroll(WORLD["vector"])
        client.submit_vector(WORLD["vector"], [SECRET])

    def test_settings_are_refused_by_key_and_value(self):
        self.assertIn("window_seconds", str(self.refused(
            dpot.CallError, "DPOT_ERR_ARGUMENT", lambda: self.open(window_seconds="soon"))))
        self.assertIn("windows", str(self.refused(
            dpot.CallError, "DPOT_ERR_ARGUMENT", lambda: self.open(windows=1))))
        self.refused(dpot.PrivacyError, "DPOT_ERR_CAP_UNSET",
                     lambda: self.open(lifetime_epsilon_cap=None))
        self.refused(dpot.TemporaryError, "DPOT_ERR_IO", lambda: self.open(folder="/dev/null"))
        with self.assertRaises(ValueError):
            self.open(folder="a\0b")
        with self.assertRaises(ValueError):
            self.open(groups={"12": 1})

    def test_a_failed_pump_says_what_waits(self):
        client = self.open()
        client.enroll(WORLD["histogram"])
        client.submit_histogram(WORLD["histogram"], [1] * 16)
        client.close()
        client = self.open(server_url="http://127.0.0.1:1")
        while True:
            due = client.status()["next_due_ms"] / 1000
            time.sleep(max(0, due - time.time()) + 0.001)
            try:
                client.pump(30)
            except dpot.TemporaryError as error:
                self.assertEqual(error.name, "DPOT_ERR_NETWORK")
                self.assertEqual(error.result["n_pending"], 1)
                break
        client.withdraw()

    def test_data_are_in_no_exception(self):
        client = self.open()
        client.enroll(WORLD["points"])
        wrong = ([[SECRET, SECRET], [SECRET]], [[SECRET, "0.123456789"]], [[SECRET, None]], SECRET,
                 [[10**400, 0]], str(SECRET), [Numbers()], {"x": SECRET})
        for points in wrong:
            with self.assertRaises(TypeError) as caught:
                client.submit_points(WORLD["points"], points)
            self.assertIsNone(caught.exception.__context__)
            self.assertNotIn("0.12", "".join(traceback.format_exception(
                type(caught.exception), caught.exception, caught.exception.__traceback__)))
        with self.assertRaises(TypeError):
            client.submit_points(WORLD["points"], [[SECRET, 0]], [1, 2])
        error = self.refused(dpot.DataError, "DPOT_ERR_SHAPE", client.submit_points,
                             WORLD["points"], [[SECRET]])
        self.assertNotIn("0.12", str(error))
        self.assertEqual(client.status()["n_submitted"], 0)

    def test_arrays_of_every_layout_are_read_as_their_numbers(self):
        rows = array.array("d", [1, 2, 3, 4, 5, 6])
        matrix = memoryview(rows).cast("B").cast("d", (2, 3))
        for data, shape, numbers in (
                (matrix, (2, 3), [1, 2, 3, 4, 5, 6]),
                (memoryview(rows)[::2], (3,), [1, 3, 5]),
                (memoryview(rows)[::-1], (6,), [6, 5, 4, 3, 2, 1]),
                (array.array("i", [-1, 2]), (2,), [-1, 2]),
                (memoryview(array.array("f", [0.5])), (1,), [0.5]),
                (array.array("d"), (0,), []),
                (((1, 2), [True, 4.5]), (2, 2), [1, 2, 1, 4.5]),
                (range(3), (3,), [0, 1, 2])):
            with dpot._Doubles("data", data) as copy:
                self.assertEqual((tuple(copy.shape), list(copy.array)), (shape, numbers))
            self.assertEqual(list(copy.array), [0] * len(numbers))

    def test_a_closed_client_is_not_used(self):
        client = self.open()
        client.close()
        client.close()
        for call in (client.status, client.pump, client.statement, client.withdraw):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()

    def test_a_client_that_is_dropped_frees_its_folder(self):
        client = self.open()
        client.status()
        self._cleanups.clear()
        before = set(os.listdir("/proc/self/fd"))
        del client
        gc.collect()
        self.assertLess(len(os.listdir("/proc/self/fd")), len(before))

    def test_threads_take_turns(self):
        client, failures = self.open(), []

        def work():
            try:
                for _ in range(50):
                    client.status()
                    self.refused(dpot.DataError, "DPOT_ERR_NOT_FOUND", client.campaign, "11" * 16)
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_child_process_does_not_use_the_client(self):
        client = self.open()
        child = os.fork()
        if child == 0:
            try:
                client.status()
            except RuntimeError:
                os._exit(0)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_consent_is_withdrawn_without_a_client(self):
        client = self.open()
        client.enroll(WORLD["histogram"])
        folder = settings(self.id().rsplit(".", 1)[1])["folder"]
        dpot.withdraw(folder)
        self.refused(dpot.PrivacyError, "DPOT_ERR_CONSENT", client.enroll, WORLD["points"])
        self.refused(dpot.DataError, "DPOT_ERR_NOT_FOUND", dpot.withdraw, WORLD["folder"])

    def test_the_version_is_that_of_the_library(self):
        self.assertRegex(dpot.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
