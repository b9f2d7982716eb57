"""How tests evaluate the toy run: greedily, in short buckets, on one CPU core, in float32."""

import dataclasses
from pathlib import Path

from seq2seq.config import DecodingConfig, EvaluateConfig, EvaluationConfig

SETTINGS = EvaluationConfig(length_buckets=[2, 4], bootstrap=100)


def settings(run: Path, **changes: object) -> EvaluateConfig:
    config = EvaluateConfig(
        checkpoint=str(run),
        decoding=DecodingConfig(beam=1 if changes.get("checkpoint", run) else 5),
        evaluation=SETTINGS,
        data=str(run / "data"),
        device="cpu",
        precision="fp32",
    )
    return dataclasses.replace(config, **changes)
