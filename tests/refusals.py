"""Wrong input for the scripts: script, command line, and what the one sentence has to name.

Each script runs in a folder that ``make`` has filled.
"""

from pathlib import Path

REFUSALS = [
    # a key that does not exist: mistyped, of another program, forced in, or inside a group
    ("train", "training.max_epoch=3", "training.max_epochs"),
    ("train", "+training.lr=3", "training.optimizer.learning_rate"),
    ("train", "+lr=3", "training.optimizer.learning_rate"),
    ("train", "hidden_size=1", "model.encoder.hidden_size, model.decoder.hidden_size"),
    ("train", "vocab=1", "tokenization.vocabulary_size"),
    ("train", "dropuot=1", "model.dropout"),
    ("train", "words=1", "corpus.max_words"),
    ("train", "corpus.dir=1", "corpus.directory"),
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
    ("train", "model.dropout=a", "model.dropout=a"),
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
    ("compare", "'evaluations=[a, [b]' output=o", "[a, [b]"),
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
    ("train", "--hidden-size 7", "model.encoder.hidden_size"),
    ("reproduce", "--experiment smoke", "--experiment"),
    ("translate", "--sauce x", "--sauce"),
    ("train", "corpus.train = 100", "corpus.train"),
    ("translate", "runs/a/seed-1", "runs/a/seed-1"),
    # settings that do not go together
    ("train", "'model.attention={kind: fixed}'", "model.attention.kind=fixed"),
    ("train", "corpus.target=en", "corpus.source and corpus.target"),
    ("train", "model.decoder.input_feeding=true", "model.decoder.order=luong"),
    ("train", "system=dot model.encoder.hidden_size=7", "model.decoder.hidden_size=14"),
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
    ("train", "--config-dir=. experiment=list", "experiment/list"),
    ("train", "--config-dir=. experiment=twice", "twice.yaml"),
    ("train", "--config-dir=. experiment=bytes", "bytes.yaml"),
    ("train", "--config-dir=. experiment=lost", "no_such"),
    ("train", "--config-dir=. experiment=typo", "training.max_epoch "),
]
FILES = {
    "list": b"- 1\n",
    "twice": b"training: {max_epochs: 1}\ntraining: {max_epochs: 2}\n",
    "bytes": b"name: \xff\n",
    "lost": b"defaults: [override /model: no_such]\n",
    "typo": b"defaults: [quickstart, _self_]\ntraining: {max_epoch: 1}\n",
}


def make(folder: Path, words: str) -> None:
    """Write the file of settings that ``words`` choose."""
    if "--config-dir=." in words:
        name = words.rpartition("=")[2]
        (folder / "experiment").mkdir()
        (folder / "experiment" / f"{name}.yaml").write_bytes(FILES[name])
