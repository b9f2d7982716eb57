"""Wrong input for the scripts: script, command line, and what the one sentence has to name.

Each script runs in a folder that ``make`` has filled.
"""

import os
from pathlib import Path

from helpers.small_checkpoint import save, save_tiny
from helpers.synthetic_translations import evaluated, translated

OWN = "experiment=own_text corpus.source=en corpus.directory"
REFUSALS = [
    # a key that does not exist: mistyped, of another program, forced in, or inside a group
    ("train", "training.max_epoch=3", "training.max_epochs"),
    ("train", "+lr=3", "training.optimizer.learning_rate"),
    ("train", "hidden_size=1", "model.encoder.hidden_size, model.decoder.hidden_size"),
    ("train", "dropuot=1", "model.dropout"),
    ("train", "attention=1", "model.attention"),
    ("translate", "beam_size=5", "decoding.beam"),
    ("evaluate", "+foo=b", "foo"),
    ("train", "+=[1]", "not a setting"),
    ("train", "'systems.attention={model: {atention: {kind: dot}}}'", "model.attention"),
    # a setting that the script would not read
    ("train", "seeds=[1,2]", "seeds"),
    ("prepare", "decoding.beam=3", "decoding.beam"),
    ("reproduce", "seed=2", "seeds="),
    ("reproduce", "decoding=greedy", "beams="),
    ("translate", "corpus=multi30k", "corpus"),
    # a choice that does not exist
    ("train", "corpus=europrl", "first: europarl"),
    ("train", "experiment=[a]", "experiment=[a]"),
    ("train", "experiment=/no/such", "experiment=/no/such"),
    ("train", "--config-dir=nowhere experiment=mine", "nowhere"),
    ("reproduce", "system=atention", "first: attention"),
    ("train", "system=bahdanau", "first: additive"),
    ("reproduce", "system=transformer", "system=transformer"),
    ("train", "training.device=gpu", "first: cuda"),
    ("reproduce", "training.device=cuda", "device=cuda"),
    ("train", "corpus.kind=multi30k", "corpus"),
    # a value of the wrong type or out of range, or one that cannot be read
    ("train", "training.max_epochs=many", "training.max_epochs=many"),
    ("train", "training.max_epochs=", "training.max_epochs="),
    ("train", "training.max_epochs=0", "training.max_epochs=0"),
    ("train", "model.dropout=nan", "model.dropout=nan"),
    ("train", "training.deterministic=maybe", "training.deterministic=maybe"),
    ("train", "training.optimizer.betas=[0.9]", "training.optimizer.betas"),
    ("train", "seed=null", "seed"),
    ("train", "seed=true", "seed=true"),
    ("train", "name=[a,b]", "name="),
    ("train", "training=3", "training=3"),
    ("reproduce", "beams=5", "beams=5"),
    ("reproduce", "beams=[]", "beams=[]"),
    ("compare", "'evaluations=[a, b' output=o", "evaluations="),
    ("translate", "checkpoint=", "checkpoint="),
    ("translate", "input=x", "checkpoint"),
    ("train", "name=../elsewhere", "name=../elsewhere"),
    ("train", "output=out-\udce9", "output"),
    ("train", "output=a\x1b[2J", "output"),
    # text that stands for another setting
    ("train", "'name=${'", "name"),
    ("translate", "'input=${x}.txt' checkpoint=c", "input"),
    ("train", "'seed=${oc.env:NO_SUCH_VARIABLE}'", "NO_SUCH_VARIABLE"),
    ("train", "'seed=${seed}'", "seed"),
    # a word that is not of the form key=value
    ("train", "--epochs 5", "training.max_epochs"),
    ("train", "seed=2 --batch-size=8", "training.batch_size"),
    ("reproduce", "--experiment smoke", "--experiment"),
    ("translate", "runs/a/seed-1", "runs/a/seed-1"),
    # settings that do not go together
    ("train", "'model.attention={kind: fixed}'", "model.attention.kind=fixed"),
    ("train", "corpus.target=en", "corpus.source and corpus.target"),
    ("train", "model.decoder.input_feeding=true", "model.decoder.order=luong"),
    ("train", "system=dot model.encoder.hidden_size=7", "model.decoder.hidden_size=14"),
    ("train", "system=multi_head model.attention.heads=7", "model.attention.heads=7"),
    ("train", "system=multi_head model.attention.size=15 model.attention.heads=5", "heads=5"),
    ("train", "model.decoder.order=luong model.decoder.readout=maxout", "model.decoder.readout"),
    ("train", "tokenization=sentencepiece tokenization.vocabulary_size=null", "vocabulary_size"),
    ("train", "training.early_stopping_metric=bleu training.dev_bleu_sentences=0", "dev_bleu"),
    ("translate", "checkpoint=a decoding.n_best=6", "decoding.n_best=6"),
    ("evaluate", "", "checkpoint=FOLDER or hypotheses=FILE"),
    ("evaluate", "checkpoint=a hypotheses=b", "checkpoint=FOLDER or hypotheses=FILE"),
    ("evaluate", "hypotheses=b reference=c system=d output=e", "source"),
    ("evaluate", "hypotheses=b source=c reference=d output=e", "system"),
    ("evaluate", "checkpoint=a source=b", "reference"),
    # systems of an experiment
    ("reproduce", "systems.atention.model.dropout=0.5", "first: attention"),
    ("reproduce", "'baselines={attention: nobody}'", "baselines.attention=nobody"),
    ("reproduce", "baseline=nobody", "baseline=nobody"),
    ("train", "'+systems.attention.decoding={beam: 3}'", "systems.attention.decoding"),
    ("reproduce", "'+systems.attention={model: small}'", "model=small"),
    ("train", "+systems.attention.label=no-attention", "no-attention"),
    ("train", "\"+systems.attention.label=' '\"", "attention"),
    # files of settings
    ("train", "--config-dir=list experiment=mine", "experiment/mine"),
    ("train", "--config-dir=twice experiment=mine", "mine.yaml"),
    ("train", "--config-dir=bytes experiment=mine", "mine.yaml"),
    ("train", "--config-dir=lost experiment=mine", "no_such"),
    ("train", "--config-dir=typo experiment=mine", "training.max_epoch "),
    # text that is no corpus
    ("prepare", f"{OWN}=uneven", "valid.fr"),
    ("prepare", f"{OWN}=hollow", "test.en"),
    ("prepare", f"{OWN}=latin1", "train.fr, line 1"),
    ("prepare", f"{OWN}=no-valid", "corpus.valid_pairs"),
    ("prepare", f"{OWN}=no-test", "corpus.test_pairs"),
    ("prepare", f"{OWN}=no-train corpus.valid_pairs=1", "train.fr"),
    ("prepare", f"{OWN}=no-valid corpus.valid_pairs=3", "corpus.valid_pairs=3"),
    ("prepare", f"{OWN}=whole corpus.valid_pairs=1", "corpus.valid_pairs"),
    ("prepare", f"{OWN}=whole corpus.target=de", "corpus.target=de"),
    ("prepare", "experiment=own_text corpus.directory=whole", "corpus.source=en"),
    ("prepare", f"{OWN}=nowhere", "corpus.directory"),
    ("prepare", "corpus=files", "corpus.directory"),
    ("prepare", "corpus.directory=.", "corpus.directory"),
    ("prepare", f"{OWN}=exchanged", "train."),
    ("prepare", "experiment=own_text corpus.source=zh corpus.directory=chinese", "train."),
    ("prepare", f"{OWN}=whole tokenization=whitespace tokenization.max_pieces=1", "max_pieces"),
    ("prepare", f"{OWN}=whole", "vocabulary_size=8000"),
    # what contradicts the checkpoint that a training starts from
    ("train", "training.init_from=nowhere", "nowhere"),
    ("train", "training.init_from=words tokenization.min_frequency=2", "min_frequency=1"),
    ("train", "training.init_from=words system=general", "kind=additive"),
    ("train", "training.init_from=words model.embedding_dim=16", "model.embedding_dim=6"),
    ("train", f"training.init_from=words {OWN}=whole corpus.source=fr", "corpus"),
    # output files that would mix or be lost, and links that the model cannot give
    ("translate", "checkpoint=model input=text alignments=-", "alignments"),
    ("translate", "checkpoint=model input=text hypotheses=link", "input, hypotheses"),
    ("translate", "checkpoint=model input=text hypotheses=a n_best_list=./b/../a", "n_best_list"),
    ("translate", "checkpoint=model input=text.part hypotheses=link", "text.part"),
    ("translate", "checkpoint=fixed input=text alignments=links", "alignments"),
    # texts to score
    ("evaluate", "source=src reference=ref hypotheses=short system=m output=o", "short"),
    ("evaluate", "source=src reference=[ref,blank] hypotheses=ref system=m output=o", "Line 1"),
    ("evaluate", "source=empty reference=empty hypotheses=empty system=m output=o", "empty"),
    ("evaluate", "source=none reference=ref hypotheses=ref system=m output=o", "source=none"),
    ("evaluate", "source=pipe reference=ref hypotheses=ref system=m output=o", "source=pipe"),
    ("evaluate", "source=src reference=ref hypotheses=pipe system=m output=o", "hypotheses=pipe"),
    ("evaluate", "source=src reference=ref checkpoint=model maps=[3] output=o", "maps=3"),
    ("evaluate", "checkpoint=model test_sets=[] test_texts.test=src output=o", "test_texts.test "),
    ("evaluate", "checkpoint=model test_sets=[] test_texts.a/b=src output=o", "test_texts.a/b "),
    # evaluations to compare
    ("compare", "evaluations=[one,two] output=o baseline=onw", "baseline=onw"),
    ("compare", "evaluations=[one,two] output=o baselines.two=onw", "baselines=onw"),
    ("compare", "evaluations=[one,nowhere] output=o", "nowhere"),
    ("compare", "evaluations=[one,broken] output=o", "hypotheses.txt"),
    ("compare", "evaluations=[one,two] output=o 'labels={one: x, two: x}'", "'x'"),
    ("compare", "evaluations=[one,two] output=o labels.one=two", "'two'"),
    ("compare", "evaluations=[one,two] output=o labels.onw=x", "labels=onw"),
    ("compare", "evaluations=[one,two] output=one", "output=one"),
]
YAML = {
    "list": b"- 1\n",
    "twice": b"training: {max_epochs: 1}\ntraining: {max_epochs: 2}\n",
    "bytes": b"name: \xff\n",
    "lost": b"defaults: [override /model: no_such]\n",
    "typo": b"defaults: [quickstart, _self_]\ntraining: {max_epoch: 1}\n",
}
TEXTS = {
    "src": "a\nb\n",
    "ref": "A\nB\n",
    "short": "A\n",
    "blank": "\nB\n",
    "empty": "",
    "text": "a dog\n",
    "text.part": "a dog\n",
}
SMALL = {
    "train.en": "a x\nb x\nc x\n",
    "train.fr": "d y\ne y\nf y\n",
    "valid.en": "a\n",
    "valid.fr": "b\n",
    "test.en": "a\nb\n",
    "test.fr": "c\nd\n",
}
NUMBERS = "".join(f"number{n}\n" for n in range(30))
CIPHERS = "".join(f"cipher{n}\n" for n in range(30))
CHINESE = "猫看见狗\n狗看见老人\n老人喜欢小猫\n小狗跑得很快\n"
ENGLISH = "cat sees dog\ndog sees man\nman likes cat\npup runs\n"
CORPORA = {  # folder -> what differs from SMALL; None: the file is missing
    "whole": {},
    "uneven": {"valid.fr": "b\nc"},
    "hollow": {"test.fr": "", "test.en": ""},
    "latin1": {"train.fr": "été\nd\nf\n"},
    "no-valid": {"valid.fr": None, "valid.en": None},
    "no-test": {"test.en": None},
    "no-train": {"train.en": None, "valid.en": None},
    "exchanged": {
        "train.en": NUMBERS,
        "train.fr": CIPHERS,
        "valid.en": CIPHERS,
        "valid.fr": NUMBERS,
    },
    "chinese": {
        "train.zh": CHINESE,
        "train.en": ENGLISH,
        "valid.zh": ENGLISH,
        "valid.en": CHINESE,
        "test.zh": CHINESE,
        "test.en": ENGLISH,
    },
}


def make(folder: Path, words: str) -> None:
    """Write what ``words`` name."""
    for name, content in YAML.items():
        (folder / name / "experiment").mkdir(parents=True)
        (folder / name / "experiment" / "mine.yaml").write_bytes(content)
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    (folder / "link").symlink_to("text")
    os.mkfifo(folder / "pipe")
    if "init_from=words" in words:
        save(folder / "words")
    for name, kind in {"model": "additive", "fixed": "fixed"}.items():
        if f"checkpoint={name}" in words:
            save_tiny(folder / name, kind)
    for name, changed in CORPORA.items():
        if f"corpus.directory={name}" in words:
            (folder / name).mkdir()
            for file, text in (SMALL | changed).items():
                if text is not None:
                    encoding = "latin-1" if name == "latin1" else "utf-8"
                    (folder / name / file).write_text(text, encoding)
    for name in ("one", "two", "broken"):
        if "evaluations=[one" in words:
            evaluated(folder / name, translated({5: 3}, lambda _: 0.9), name)
    (folder / "broken" / "hypotheses.txt").unlink(missing_ok=True)
