"""A small test set that sacreBLEU takes for its wmt14, to be fetched from a file here."""

import hashlib
import tarfile

from sacrebleu.dataset.fake_sgml import FakeSGMLDataset
from sacrebleu.utils import DATASETS


def stand_in(folder, patch, sources, references, pair="en-de", name="wmt14"):
    """Register it while ``patch`` lasts, with sacreBLEU's cache in ``folder``; its archive."""
    sides = {"src.sgm": sources, "ref.sgm": references}
    archive = folder / f"{name.replace('/', '-')}.tgz"
    folder.mkdir(exist_ok=True)
    with tarfile.open(archive, "w:gz") as tar:
        for file, lines in sides.items():
            segments = [f'<seg id="{n}">{line}</seg>\n' for n, line in enumerate(lines, start=1)]
            head = '<doc docid="1" genre="news" origlang="en">\n'
            (folder / file).write_text(head + "".join(segments))
            tar.add(folder / file, file)
    patch.setattr("sacrebleu.dataset.base.SACREBLEU_DIR", str(folder / "cache"))
    digest = hashlib.md5(archive.read_bytes()).hexdigest()
    files = [*sides, "ref.sgm"] if name.endswith("tworefs") else [*sides]
    test_set = FakeSGMLDataset(name, [archive.as_uri()], md5=[digest], langpairs={pair: files})
    patch.setitem(DATASETS, name, test_set)
    return archive
