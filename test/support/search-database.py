"""Searches everything in a SQLite database for words: the values of all tables, their base64 and compressed contents, and the files."""

import base64
import gzip
import json
import re
import sqlite3
import sys
import zlib

BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
MOST_LAYERS = 4


def forms(value, layers=MOST_LAYERS):
    """The bytes themselves, and what they become when they are decoded in every way that a store may have used."""
    yield value
    if layers == 0:
        return
    for unpack in (zlib.decompress, gzip.decompress):
        try:
            yield from forms(unpack(value), layers - 1)
        except (zlib.error, OSError, EOFError):
            pass
    for found in BASE64.findall(value):
        text = found.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        # A text that stands before it may have shifted it.
        for start in range(4):
            part = text[start:]
            try:
                yield base64.b64decode(part[: len(part) // 4 * 4])
            except ValueError:
                pass


def values(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.text_factory = bytes
    tables = [row[0].decode() for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for row in database.execute(f'SELECT * FROM "{table}"'):
            for value in row:
                if isinstance(value, bytes):
                    yield table, value
                elif value is not None:
                    yield table, str(value).encode()


def main():
    path, *words = sys.argv[1:]
    needles = {word: [word.encode(), word.encode("utf-16-le"), word.encode().hex().encode()] for word in words}
    found = {word: set() for word in words}
    searched = {"values": 0, "bytes": 0}

    def search(place, value):
        for form in forms(value):
            for word, ways in needles.items():
                if any(way in form for way in ways):
                    found[word].add(place)

    for table, value in values(path):
        searched["values"] += 1
        searched["bytes"] += len(value)
        search(table, value)
    for end in ("", "-wal"):
        try:
            with open(path + end, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            continue
        for word, ways in needles.items():
            if any(way in content for way in ways):
                found[word].add("the file" + end)
    print(json.dumps({"found": {word: sorted(places) for word, places in found.items()}, **searched}))


main()
