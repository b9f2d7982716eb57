"""The server: its answers are the translator's, and what is wrong is refused in a sentence."""

import asyncio
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import urllib.error
import urllib.request

import pytest
from helpers.commands import ROOT, quick
from helpers.tiny_translator import SENTENCES, save_tiny
from helpers.word_models import save_words

from seq2seq.config import ServeConfig
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.serve import server
from seq2seq.serve.service import Question, Service

pytest.importorskip("starlette")
httpx = pytest.importorskip("httpx")

from seq2seq.serve import app as application  # noqa: E402

HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
LOCAL = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run folders: two models of subwords with attention, and one without."""
    root = tmp_path_factory.mktemp("runs")
    kinds = {"a": "additive", "b": "coverage", "c": "fixed"}
    return {name: save_tiny(root / name, kind) for name, kind in kinds.items()}


@pytest.fixture(scope="module")
def service(runs):
    checkpoints = [str(runs["a"]), str(runs["c"]), [str(runs["a"]), str(runs["b"])]]
    return Service.load(ServeConfig(checkpoint=checkpoints, precision="fp32"))


class Client:
    """Asks an application, without a network."""

    def __init__(self, app):
        self.app = app

    def request(self, method, path, **content):
        async def once():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as client:
                return await client.request(method, path, **content)

        return asyncio.run(once())

    def get(self, path, **content):
        return self.request("GET", path, **content)

    def post(self, path, **content):
        return self.request("POST", path, **content)


@pytest.fixture(scope="module")
def client(service):
    return Client(application.build_app(service, HOSTS))


def ask(client, **question):
    return client.post("/api/translate", json=question)


def test_answers_are_those_of_the_translator(client, service, runs):
    listed = client.get("/api/systems").json()["systems"]
    names = [system["name"] for system in listed]
    assert len(set(names)) == 3
    paths = [runs["a"]], [runs["c"]], [runs["a"], runs["b"]]
    translators = [Translator.load(folders, precision="fp32") for folders in paths]
    for text in (SENTENCES[2], " ".join(SENTENCES)):
        for options in ({}, {"beam": 1}, {"prefix": ["▁the", "🎉"], "beam": 2}):
            answers = ask(client, text=text, **options).json()["systems"]
            assert [answer["name"] for answer in answers] == names
            begun = "".join(options.get("prefix", [])).strip("▁")
            assert all(answer["text"].startswith(begun) for answer in answers)
            for answer, translator in zip(answers, translators, strict=True):
                found = translator.translate(text, attention=True, choices=5, **options)
                for key in ("text", "pieces", "source_pieces", "unknown", "capped"):
                    assert answer[key] == getattr(found, key)
                pieces = translator.source.tokenizer.tokenize(text)
                assert answer["source_length"] == len(pieces)
                assert answer["source_read"] == min(len(pieces), 20)
                assert answer["score"] == pytest.approx(found.score)
                assert answer["milliseconds"] >= 0
                listed = [[tuple(one) for one in row] for row in answer["choices"]]
                expected = [[(p, round(share, 4)) for p, share in row] for row in found.choices]
                assert listed == expected
                if found.attention is None:
                    assert answer["attention"] is None
                else:
                    for row, weights in zip(answer["attention"], found.attention, strict=True):
                        assert row == pytest.approx(weights.tolist(), abs=1e-4)
    only = ask(client, text="a dog", systems=[names[1]]).json()["systems"]
    assert [answer["name"] for answer in only] == [names[1]]


def test_systems_answer_side_by_side_as_one_by_one(service):
    names = sorted([*service.processes] * 2)  # one model also answers twice at once
    asked = [[name] for name in names] + [names]
    found = [service.answer(Question(text=SENTENCES[0], systems=systems)) for systems in asked]
    for answer in itertools.chain.from_iterable(found):
        del answer["milliseconds"]
    *alone, together = found
    assert together == [one for (one,) in alone]


def test_answers_and_questions_are_as_the_description_says(client):
    description = client.get("/openapi.json").json()
    paths = {route.path for route in client.app.routes}
    assert set(description["paths"]) == paths
    schemas = description["components"]["schemas"]
    answer = ask(client, text="a dog").json()["systems"][0]
    assert set(answer) == set(schemas["Answer"]["properties"]) == set(schemas["Answer"]["required"])
    system = client.get("/api/systems").json()["systems"][0]
    assert set(system) == set(schemas["System"]["properties"])
    assert set(Question.__annotations__) == set(schemas["Question"]["properties"])
    assert client.get("/healthz").json() == {"status": "ok"}


BAD = [
    *(b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe", b"[" * 10_000, b'{"text": NaN}'),
    *({}, {"text": ""}, {"text": " \t\n"}, {"text": "a\nb"}, {"text": 1}, {"text": None}),
    *({"text": ["a"]}, {"text": {"a": "b"}}, {"text": "a\u0000"}, {"text": "a" * 2_001}),
    *({"text": "a", "systems": "a"}, {"text": "a", "systems": ["nobody"]}),
    *({"text": "a", "systems": [1]}, {"text": "a", "systems": ["\ud83d"]}),
    *({"text": "a", "beam": 0}, {"text": "a", "beam": 11}, {"text": "a", "beam": "1"}),
    *({"text": "a", "beam": True}, {"text": "a", "beam": 1.5}, {"text": "a", "beam": 10**400}),
    *({"text": "a", "prefix": "a"}, {"text": "a", "prefix": [1]}, {"text": "a", "prefix": [None]}),
    *({"text": "a", "prefix": ["a"] * 501}, {"text": "a", "txt": "b"}, {"txt": "a"}),
    *({"text": "a", "checkpoint": "/etc/passwd"}, {"text": "a", "__class__": "x"}),
]


@pytest.mark.parametrize("body", BAD, ids=lambda body: str(body)[:30])
def test_bad_questions_are_refused_in_one_sentence(client, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    refused = client.post("/api/translate", content=content, headers=headers)
    assert refused.status_code == 400
    sentence = refused.json()["error"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "Traceback" not in sentence


def test_other_requests_are_refused_too(client, service):
    long = client.post(
        "/api/translate", content=b" " * 70_000, headers={"Content-Type": "application/json"}
    )
    assert long.status_code == 413
    form = client.post("/api/translate", data={"text": "a dog"})
    plain = client.post("/api/translate", content=b'{"text": "a dog"}')
    assert form.status_code == plain.status_code == 415
    assert client.get("/api/translate").status_code == 405
    for path in (
        "/x",
        "/../pyproject.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/static",
    ):
        assert client.get(path).status_code == 404
    for host in ("evil.com", "evil.com:8000", "127.0.0.1.evil.com", "", "[", "localhost@evil.com"):
        refused = client.get("/", headers={"Host": host})
        assert refused.status_code == 421
        assert refused.json()["error"].endswith(".")
    for host in ("localhost", "LOCALHOST:8000", "[::1]:8000", "127.0.0.1"):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200
    named = Client(application.build_app(service, frozenset({"My-Computer.local"})))
    assert named.get("/healthz", headers={"Host": "My-Computer.local:8000"}).status_code == 200


def test_every_answer_allows_the_page_its_own_script_and_nothing_else(client):
    for answer in (client.get("/"), client.get("/x"), client.get("/", headers={"Host": "x"})):
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    page = client.get("/").text
    assert len(re.findall(r"'sha256-", policy)) == len(re.findall("<(?:script|style)>", page)) == 2
    assert "access-control-allow-origin" not in client.get("/", headers={"Origin": "x"}).headers


class SlowService(Service):
    """Its first answers wait until they may go on."""

    go = threading.Event()

    def answer(self, question):
        assert self.go.wait(60)
        return super().answer(question)


def test_eight_at_once_are_answered_and_more_are_asked_to_come_again(service):
    slow = SlowService(**vars(service))
    app = application.build_app(slow, HOSTS)
    system = next(iter(service.processes))
    expected = {text: service.answer(Question(text=text, systems=[system])) for text in SENTENCES}
    questions = [{"text": text, "systems": [system]} for text in SENTENCES * 3]  # nine

    async def scene():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=LOCAL) as client:
            asked = [
                asyncio.ensure_future(client.post("/api/translate", json=question))
                for question in questions
            ]
            refused, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert (await client.get("/healthz")).status_code == 200
            slow.go.set()
            answers = await asyncio.gather(*asked)
            again = await client.post("/api/translate", json=questions[0])
            return [one.result() for one in refused], answers, again

    refused, answers, again = asyncio.run(scene())
    (late,) = refused
    assert late.status_code == 429
    assert late.json()["error"].endswith(".")
    for question, answer in zip(questions, answers, strict=True):
        if answer is not late:
            (mine,), (theirs,) = answer.json()["systems"], expected[question["text"]]
            assert mine["pieces"] == theirs["pieces"]
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"checkpoint": []}, "checkpoint"),
        ({"checkpoint": ["a", []]}, "checkpoint"),
        ({"checkpoint": ["a", [1]]}, "checkpoint"),
        ({"checkpoint": ["a"], "port": 70_000}, "port"),
        ({"checkpoint": ["a"], "host": "ä..", "port": 0}, "host="),
        ({"checkpoint": ["a"], "host": "no.such.host.invalid", "port": 0}, "host="),
    ],
)
def test_settings_that_cannot_be_served_are_refused(settings, named):
    with pytest.raises(UserError, match=named):
        server.serve(ServeConfig(**settings))


def test_systems_of_different_languages_do_not_share_a_page(runs, tmp_path):
    words = save_words(tmp_path / "words", "fixed")
    with pytest.raises(UserError, match="languages"):
        Service.load(ServeConfig(checkpoint=[str(runs["a"]), str(words)]))


def test_models_of_one_name_each_answer_for_themselves(tmp_path):
    names = ["a", "a", "a 2"]
    folders = [
        str(save_words(tmp_path / str(seed), "fixed", seed, name))
        for seed, name in enumerate(names)
    ]
    service = Service.load(ServeConfig(checkpoint=folders, precision="fp32"))
    answers = service.answer(Question(text="the old man sees a dog ."))
    assert [answer["name"] for answer in answers] == [one["name"] for one in service.systems]
    assert len({answer["name"] for answer in answers}) == len(names)
    for answer, folder in zip(answers, folders, strict=True):
        found = Translator.load(folder, precision="fp32").translate("the old man sees a dog .")
        assert answer["score"] == pytest.approx(found.score)


def test_a_killed_system_ends_the_server(runs, monkeypatch, caplog):
    one = Service.load(ServeConfig(checkpoint=[str(runs["c"])]))
    (process,) = one.processes.values()
    os.kill(process.submit(os.getpid).result(), signal.SIGKILL)
    raised = []
    monkeypatch.setattr(signal, "raise_signal", raised.append)
    answer = ask(Client(application.build_app(one, HOSTS)), text="a dog")
    assert (answer.status_code, raised) == (503, [signal.SIGTERM])
    assert answer.json()["error"] in caplog.text


def test_without_its_packages_one_sentence_says_how_to_install_them(monkeypatch):
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install"):
        server.serve(ServeConfig(checkpoint=["x"]))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_the_command_answers_until_ctrl_c(runs):
    arguments = [f"checkpoint=[{runs['a']},[{runs['a']},{runs['b']}]]", "port=0", "precision=fp32"]
    started = subprocess.Popen(quick("serve", *arguments), cwd=ROOT, stderr=subprocess.PIPE)
    with started:
        try:
            line = started.stderr.readline().decode()
            address = re.search(r"http://127\.0\.0\.1:\d+/", line)[0]
            body = json.dumps({"text": "a dog barks"}).encode()
            headers = {"Content-Type": "application/json"}
            question = urllib.request.Request(address + "api/translate", body, headers)
            with urllib.request.urlopen(question, timeout=300) as answer:
                assert len(json.load(answer)["systems"]) == 2
            port = address.rpartition(":")[2].strip("/")
            second = subprocess.run(
                quick("serve", arguments[0], f"port={port}"), capture_output=True, text=True
            )
            assert (second.returncode, second.stderr.count("\n")) == (1, 1)
            assert f"port={port}" in second.stderr
            started.send_signal(signal.SIGINT)
            rest = started.stderr.read().decode()
            assert (started.wait(300), rest) == (0, "")
        finally:
            started.kill()
