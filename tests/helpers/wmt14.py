"""A small test set that sacreBLEU takes for its wmt14, to be fetched from a file here."""

import hashlib
import tarfile

from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from sacrebleu.utils import DATASETS


def write_archive(archive, sides):
    """Write the lines of each side as SGML, under its name in the archive."""
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:gz") as tar:
        for name, lines in sides.items():
            segments = [f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, start=1)]
            file = archive.with_name("side.sgm")
            file.write_text('<doc docid="1" genre="news" origlang="en">\n' + "".join(segments))
            tar.add(file, name)
    return archive


def stand_in(folder, patch, sources, references, pair="en-de", name="wmt14"):
    """Register the test set while ``patch`` lasts; return its archive in ``folder``."""
    sides = {"src.sgm": sources, "ref.sgm": references}
    archive = write_archive(folder / f"{name.replace('/', '-')}.tgz", sides)
    patch.setattr("sacrebleu.dataset.base.SACREBLEU_DIR", str(folder / "cache"))
    digest = hashlib.md5(archive.read_bytes()).hexdigest()
    files = [*sides, "ref.sgm"] if name.endswith("tworefs") else [*sides]
    test_set = FakeSGMLDataset(name, [archive.as_uri()], md5=[digest], langpairs={pair: files})
    patch.setitem(DATASETS, name, test_set)
    return archive
