"""How tests evaluate the toy run: greedily, in short buckets, on one CPU core, in float32."""

from pathlib import Path

from seq2seq.config import DecodingConfig, EvaluateConfig, EvaluationConfig

SETTINGS = EvaluationConfig(length_buckets=[2, 4], bootstrap=100)
USUAL = {"decoding": DecodingConfig(beam=1), "evaluation": SETTINGS}
USUAL |= {"device": "cpu", "precision": "fp32"}


def settings(run: Path, **changes: object) -> EvaluateConfig:
    places = {"checkpoint": str(run), "data": str(run / "data")}
    return EvaluateConfig(**{**USUAL, **places, **changes})
