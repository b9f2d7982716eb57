import gzip
import hashlib
import io
import tarfile

import pytest

from seq2seq.data.archives import extract, gunzip
from seq2seq.errors import UserError

URL = "https://host/a.en.gz"
TEXT = b"one\ntwo\n" * 5000
SHA = hashlib.sha256(TEXT).hexdigest()


def refused(folder, content, sha256=SHA, limit=10**6):
    archive, path = folder / "a.en.gz", folder / "a.en"
    archive.write_bytes(content)
    with pytest.raises(UserError) as caught:
        gunzip(archive, path, sha256, limit, URL)
    assert list(folder.iterdir()) == []  # the next run downloads afresh
    return str(caught.value)


def test_gunzip(tmp_path):
    archive, path = tmp_path / "a.en.gz", tmp_path / "a.en"
    archive.write_bytes(gzip.compress(TEXT))
    gunzip(archive, path, SHA, len(TEXT), URL)
    assert path.read_bytes() == TEXT
    assert sorted(tmp_path.iterdir()) == [path, archive]


def test_gunzip_refuses_other_content(tmp_path):
    other = hashlib.sha256(b"other").hexdigest()
    assert refused(tmp_path, gzip.compress(b"other")) == (
        f"a.en from {URL} has SHA-256 {other}, not {SHA}: it is damaged or was altered and has "
        "been deleted; run again, set corpus.mirror to another base URL, or use corpus=files for "
        "altered text."
    )


@pytest.mark.parametrize(
    "content",
    [b"<html>Log in</html>", gzip.compress(TEXT)[:-20]],
    ids=["page", "cut short"],  # not the bytes: they hold the time of day
)
def test_gunzip_refuses_what_is_no_whole_gzip_file(tmp_path, content):
    message = refused(tmp_path, content)
    assert message.startswith(f"{URL}: a.en.gz is damaged or no archive of this kind (")
    assert message.endswith("); download it again, or get it from another place.")


def test_gunzip_refuses_a_bomb_before_it_fills_the_disk(tmp_path):
    bomb = gzip.compress(bytes(10**8))
    assert refused(tmp_path, bomb, limit=10**7) == (
        f"{URL}: a.en.gz unpacks to more than the 10,000,000 bytes it may, so it is something "
        "else; get it from another place."
    )


def tar(path, *members, damage=lambda content: content):
    """Write a .tar.gz of (name, content); a content (type, link name) makes another kind."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                info.size = len(content)
            else:
                info.type, info.linkname = content
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    path.write_bytes(damage(buffer.getvalue()))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "inside").mkdir()
    return tmp_path


def unpack(folder, limit=10**7):
    members = {"c.en": folder / "inside" / "en.txt", "c.fr": folder / "inside" / "fr.txt"}
    extract(folder / "a.tgz", members, limit)
    return [path.read_bytes() for path in members.values()]


def test_extract_writes_the_members_named_and_no_others(folder):
    tar(
        folder / "a.tgz",
        ("../evil", b"evil"),
        ("/tmp/evil-from-a-test", b"evil"),
        ("c.fr", b"fr" * 50_000),
        ("link", (tarfile.SYMTYPE, "/etc")),
        ("link/evil", b"evil"),
        ("x/c.en", b"not this one"),
        ("c.en", b"en" * 50_000),
    )
    assert unpack(folder) == [b"en" * 50_000, b"fr" * 50_000]
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))
    assert names == ["a.tgz", "inside", "inside/en.txt", "inside/fr.txt"]


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_extract_refuses_what_is_no_regular_file(folder, kind):
    (folder / "secret").write_bytes(b"secret")
    tar(folder / "a.tgz", ("c.en", (kind, "../secret")), ("c.fr", b"fr"))
    with pytest.raises(UserError) as caught:
        unpack(folder)
    assert str(caught.value) == (
        f"{folder / 'a.tgz'}: c.en is not a regular file but a link or something else, so it was "
        "not unpacked; get the archive from another place."
    )
    assert list((folder / "inside").iterdir()) == []


def test_extract_names_missing_members(folder):
    tar(folder / "a.tgz", ("other", b""))
    with pytest.raises(UserError, match=r"a.tgz holds no c.en and no c.fr; get the archive from"):
        unpack(folder)


def test_extract_refuses_a_member_twice(folder):
    tar(folder / "a.tgz", ("c.en", b"en"), ("c.en", b"again"), ("c.fr", b"fr"))
    with pytest.raises(UserError, match=r"c.en is in it twice"):
        unpack(folder)


def test_extract_refuses_a_bomb(folder):
    tar(folder / "a.tgz", ("other", bytes(10**7)), ("c.en", b"en"), ("c.fr", b"fr"))
    with pytest.raises(UserError, match=r"a.tgz unpacks to more than the 1,000,000 bytes it may"):
        unpack(folder, limit=10**6)


def flip(content):
    """Spoil the checksum at the very end, which a reader of the tar alone never reaches."""
    return content[:-8] + bytes([content[-8] ^ 1]) + content[-7:]


@pytest.mark.parametrize(
    "damage",
    [lambda c: c[: len(c) // 2], lambda c: c[:-4], flip, lambda c: b"<html>no</html>"],
    ids=["half", "no trailer", "checksum", "page"],
)
def test_extract_refuses_damage(folder, damage):
    tar(folder / "a.tgz", ("c.en", bytes(range(256)) * 999), ("c.fr", b"fr"), damage=damage)
    with pytest.raises(UserError, match=r"a.tgz is damaged or no archive of this kind \("):
        unpack(folder)


def test_extract_refuses_a_gzip_file_that_is_no_tar(folder):
    (folder / "a.tgz").write_bytes(gzip.compress(TEXT))
    with pytest.raises(UserError, match=r"a.tgz is damaged or no archive of this kind \("):
        unpack(folder)
