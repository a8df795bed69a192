#!/usr/bin/env python3
"""The files that test_format.c expects, built from the layout alone: prints their BLAKE2b-256."""
import hashlib
import struct


def keyed(key, data):
    return hashlib.blake2b(data, digest_size=32, key=key).digest()


KEY = keyed(b"dpot without a keystore key.....", b"dpot ledger and spool checksum\0")
NONE = bytes(32)


def mac(previous, data):
    return keyed(KEY, previous + data)


def header(magic, counter, generation, accountant):
    data = magic + bytes(range(16)) + struct.pack("<QQI", counter, generation, accountant)
    data = data.ljust(224, b"\0")
    return data + mac(NONE, data)


def record(previous, kind, done, seq, round_, signer, campaign, e, delta, rho, g, time, counter, revision=0, horizon=0):
    data = kind + struct.pack("<IQ", done, seq) + b"\xab" * 32 + struct.pack("<II", round_, revision)
    data += signer + campaign + struct.pack("<QQQQqQq", e, delta, rho, g, time, counter, horizon)
    return data + mac(previous, data)


def slot(round_, content, has_draws):
    name = b"SLOT" + struct.pack("<I", round_) + b"\xab" * 32 + bytes([9]) + bytes(15)
    name += struct.pack("<qII", 86400000, 0, 0)
    name_mac = mac(NONE, name)
    body = {"empty": b"", "free": b"ACKD"}.get(content)
    if body is None:
        body = b"REPT" + struct.pack("<I", 5) + bytes([1, 2, 3]) + bytes(13)
        body += struct.pack("<IIqQ", 6, 1, 0, 8) + bytes(32)
        body += mac(name_mac, body)
    raw = (name + name_mac + body).ljust(216, b"\0")
    if has_draws and content != "free":
        draws = bytes([1, 2, 3]) + bytes(13) + struct.pack("<II", 1500, 40)
        raw += draws + mac(name_mac, draws)[:16]
    return raw.ljust(256, b"\0")


def show(name, data):
    print(name, hashlib.blake2b(data, digest_size=32).hexdigest())


cost = (b"\xcd" * 32, b"\xef" * 16, 1, 2, 3, 4)
nothing = (bytes(32), bytes(16), 0, 0, 0, 0)
ledger = header(b"DPOTLDG1", 7, 0, 1)
ledger += record(ledger[-32:], b"CHRG", 0, 0, 0, *cost, 1000, 8)
ledger += record(ledger[-32:], b"CHRG", 0, 1, 1, *cost, 2000, 9, revision=7, horizon=2064)
ledger += record(ledger[-32:], b"RSMU", 0, 2, 1, *nothing, 2500, 10, horizon=2564)
ledger += record(ledger[-32:], b"DONE", 17, 3, 0, *nothing, 3000, 10)
show("ledger", ledger)
consent = header(b"DPOTLDG1", 7, 0, 1)
consent += record(consent[-32:], b"CHRG", 0, 0, 0, *cost, 1000, 8)
for said, time in ((1, 2000), (2, 3000)):
    data = b"CNST" + struct.pack("<IQ", said, 2 - (said == 1)) + bytes(120) + struct.pack("<qQ", time, 8) + bytes(8)
    consent += data + mac(consent[-32:], data)
show("consent", consent)
show("spool", header(b"DPOTSPL2", 7, 0, 0) + slot(0, "empty", False) + slot(1, "report", True) + slot(2, "free", True)
     + slot(3, "empty", True))
