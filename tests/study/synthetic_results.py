"""Packed systems whose quality and losses are known by construction."""

import dataclasses

from groups import BUDGET
from helpers.synthetic_translations import evaluated, translated
from packed import LOSSES, Packed

from seq2seq.evaluation.translations import ReferenceScores
from seq2seq.files import write_json

LENGTHS = {5: 30, 15: 30, 25: 20, 35: 30, 45: 10}


def packed(
    root, system, quality, losses=lambda words: 1.0, seed=1, budget=None, texts=None, **changed
):
    """A system with this quality by length, and this loss per reference piece, in nats."""
    texts = texts or translated(LENGTHS, quality, seed)
    words = [len(source.split()) for source in texts.sources]
    scores = ReferenceScores([-count * losses(count) for count in words], words)
    training = {
        "git_commit": "abc",
        "git_modified": False,
        "precision": "bf16",
        "status": "finished",
        "training_pairs": 9,
        "parameters": {"total": 7},
        "progress": {"update": 3, "best_update": 2, "seconds": 60},
        "hardware": {"processor": "a processor"},
        "versions": {"torch": "2"},
        **changed,
    }
    attention = {"kind": "fixed", "slots": 1}
    encoder = {"hidden_size": 4, "directions": "both", "layers": 1, "summary": "top"}
    evaluation = evaluated(
        root / system / str(seed),
        dataclasses.replace(texts, reference_scores=scores),
        system,
        seed,
        experiment="figure2-cpu",
        checkpoint=f"{root}/{system}/checkpoints/best",
        identity={"source": "s", "reference": "r"},
        training=training,
        config={
            "training": {
                **dict.fromkeys(BUDGET, 4),
                "optimizer": {"learning_rate": 0.1},
                **(budget or {}),
            },
            "model": {"attention": attention, "encoder": encoder},
            "corpus": {"train_pairs": 400, "train_max_words": 9},
        },
    )
    write_json(evaluation.directory / LOSSES, [[losses(count)] * count for count in words])
    return Packed.of(evaluation), evaluation
