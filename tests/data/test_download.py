import gzip
import io
import random
import socket

import pytest
import requests

from seq2seq.data.download import Patience, fetch
from seq2seq.errors import UserError

BODY = random.Random(1).randbytes(300_001)
SOON = Patience(attempts=3, backoff=0.001, timeout=5.0)
WAYS_OUT = (
    "set corpus.mirror to another base URL, or corpus.directory to a folder that holds the files."
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "a.gz"


def refusal(url, path, limit=10**6, patience=SOON):
    with pytest.raises(UserError) as caught:
        fetch(url, path, limit, patience)
    assert not path.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def names(path):
    return sorted(p.name for p in path.parent.iterdir())


def test_a_whole_file_arrives_and_nothing_else(remote, path):
    remote.files["/a.gz"] = BODY
    fetch(f"{remote.url}/a.gz", path, len(BODY), SOON)
    assert path.read_bytes() == BODY
    assert names(path) == ["a.gz"]


@pytest.mark.parametrize("body", [b"", b"x"])
def test_tiny_files_arrive(remote, path, body):
    remote.files["/a.gz"] = body
    fetch(f"{remote.url}/a.gz", path, 10, SOON)
    assert path.read_bytes() == body


def test_missing_file_is_asked_for_once(remote, path):
    url = f"{remote.url}/a.gz"
    assert refusal(url, path) == (
        f"{url} could not be downloaded: the server answered 404 Not Found; {WAYS_OUT}"
    )
    assert len(remote.requests) == 1
    assert names(path) == []


def test_no_server(path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/a.gz"
    assert refusal(url, path) == (
        f"{url} could not be downloaded in 3 attempts (Connection refused); {WAYS_OUT}"
    )


def test_silent_server(remote, path):
    remote.faults["/a.gz"] = ["silent"]
    url = f"{remote.url}/a.gz"
    assert refusal(url, path, patience=Patience(attempts=1, timeout=0.1)) == (
        f"{url} could not be downloaded in 1 attempt (the server did not answer in time); "
        f"{WAYS_OUT}"
    )


def test_busy_server_is_asked_again(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["busy", "busy"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY
    remote.faults["/a.gz"] = ["busy"] * 3
    path.unlink()
    assert "in 3 attempts (the server answered 503 Service Unavailable);" in refusal(
        f"{remote.url}/a.gz", path
    )


def test_broken_download_resumes_where_it_broke(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["half", "half"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY
    ranges = [span for _, span in remote.requests]
    assert ranges == [None, "bytes=150000-", "bytes=225000-"]
    assert names(path) == ["a.gz"]


def test_broken_download_starts_over_where_resuming_is_unknown(remote, path):
    remote.files["/a.gz"] = BODY
    remote.ranges = False
    remote.faults["/a.gz"] = ["half"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY
    assert len(remote.requests) == 2


def test_an_answer_always_cut_short_is_never_taken_for_the_file(remote, path):
    remote.files["/a.gz"] = BODY
    remote.ranges = False
    remote.faults["/a.gz"] = ["half"] * 3
    url = f"{remote.url}/a.gz"
    assert refusal(url, path) == (
        f"{url} could not be downloaded in 3 attempts "
        f"(the answer ended after 150000 of 300001 bytes); {WAYS_OUT}"
    )


def test_a_later_run_resumes(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["half"]
    refusal(f"{remote.url}/a.gz", path, patience=Patience(attempts=1))
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY
    assert remote.requests[1] == ("/a.gz", "bytes=150000-")


def test_a_file_that_changed_meanwhile_is_fetched_afresh(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["half"]
    refusal(f"{remote.url}/a.gz", path, patience=Patience(attempts=1))
    remote.files["/a.gz"] = BODY[::-1]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY[::-1]


def test_another_mirrors_beginning_is_not_continued(remote, path):
    remote.files["/a.gz"] = BODY
    remote.files["/mirror/a.gz"] = BODY[::-1]
    remote.faults["/a.gz"] = ["half"]
    refusal(f"{remote.url}/a.gz", path, patience=Patience(attempts=1))
    fetch(f"{remote.url}/mirror/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY[::-1]
    assert remote.requests[1] == ("/mirror/a.gz", None)


def test_a_range_nobody_asked_for_is_not_appended(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["half", "shifted"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY


def test_a_part_that_is_already_whole_does_no_harm(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["half"]
    refusal(f"{remote.url}/a.gz", path, patience=Patience(attempts=1))
    path.with_name("a.gz.part").write_bytes(BODY)  # killed just before it was renamed
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY


@pytest.mark.parametrize("fault", ["", "endless"])
def test_too_long_an_answer_is_refused(remote, path, fault):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = [fault]
    url = f"{remote.url}/a.gz"
    assert refusal(url, path, limit=300_000) == (
        f"{url} sends more than the 300,000 bytes this file may have, so it is something else; "
        f"{WAYS_OUT}"
    )
    assert names(path) == []


def test_an_answer_without_length_arrives(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["endless"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert path.read_bytes() == BODY


def test_a_gz_file_labelled_as_packed_on_the_way_stays_packed(remote, path):
    remote.files["/a.gz"] = gzip.compress(b"text")
    remote.faults["/a.gz"] = ["packed"]
    fetch(f"{remote.url}/a.gz", path, 10**6, SOON)
    assert gzip.decompress(path.read_bytes()) == b"text"


def test_a_server_cannot_point_at_files_of_this_machine(remote, path):
    remote.files["/a.gz"] = BODY
    remote.faults["/a.gz"] = ["elsewhere"]
    message = refusal(f"{remote.url}/a.gz", path)
    assert "could not be downloaded: No connection adapters were found" in message


@pytest.mark.parametrize("hops", [["http://host/b.gz"], ["http://host/x", "https://host/b.gz"]])
def test_a_secure_download_is_not_led_to_an_insecure_place(path, monkeypatch, hops):
    answers = [requests.Response() for _ in hops]
    for answer, url in zip(answers, hops, strict=True):
        answer.url = url
        answer.raw = io.BytesIO()
    answers[-1].history = answers[:-1]
    monkeypatch.setattr(requests, "get", lambda *arguments, **settings: answers[-1])
    message = refusal("https://host/a.gz", path)
    assert f"the server points to {hops[0]}, which is not secure; {WAYS_OUT}" in message


def test_file_urls_are_copied(tmp_path, path):
    origin = tmp_path / "with space" / "a.gz"
    origin.parent.mkdir()
    origin.write_bytes(BODY)
    fetch(origin.as_uri(), path, 10**6, SOON)
    assert path.read_bytes() == BODY
    assert origin.read_bytes() == BODY
    path.unlink()
    assert "sends more than the 1,000 bytes" in refusal(origin.as_uri(), path, limit=1000)
    origin.unlink()
    assert refusal(origin.as_uri(), path) == (
        f"{origin.as_uri()} names no file on this machine; {WAYS_OUT}"
    )


@pytest.mark.parametrize("url", ["ftp://host/a.gz", "/srv/corpora/a.gz", "host/a.gz"])
def test_other_schemes_are_refused(url, path):
    assert refusal(url, path) == (
        f"{url} cannot be downloaded: only http, https and file URLs are known; "
        "correct corpus.mirror."
    )


def test_an_impossible_url_is_refused(path):
    assert "http:///a.gz could not be downloaded: Invalid URL" in refusal("http:///a.gz", path)
