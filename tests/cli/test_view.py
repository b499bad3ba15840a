import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason="needs the extra viewer")


@pytest.fixture
def served(files) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running `deepume view`, and the address that it printed."""
    words = [sys.executable, "-m", "deepume.cli.main", "view", str(files.source), str(files.target)]
    # A shell that runs the tests in the background has its children ignore Ctrl-C; a user's does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("Open http://127.0.0.1:"), line
    yield process, line.split()[1]
    process.kill()


def test_view_serves_a_page_to_this_machine_only_and_stops_on_ctrl_c(served) -> None:
    process, address = served
    with urllib.request.urlopen(address) as page:
        assert b"<html" in page.read().lower()
    port = urlsplit(address).port
    assert port is not None
    # A server that listens on every address would answer on this one too.
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", port))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == "Stopped.\n"
    assert err == ""
