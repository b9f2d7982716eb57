"""The stage ``explain``: worked examples of attention, as text and as pictures."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from seq2seq.config import EXAMPLES, ExplainConfig
from seq2seq.drawing import render
from seq2seq.explain.decoder_attention import additive, dot, local
from seq2seq.explain.decoder_steps import decoding, hard_soft, output_word
from seq2seq.explain.example import Example
from seq2seq.explain.pictures import picture
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.files import write_whole

TWICE = additive, dot, local, scaled_dot, softmax_axis, multi_head
COMPUTE: dict[str, list[Callable[[], Example]]] = {
    **{example.__name__: [example, partial(example, large=True)] for example in TWICE},
    **{example.__name__: [example] for example in (output_word, decoding, hard_soft)},
}
"""Name -> the small example; and the same with larger arrays, if there is one."""


def explain(config: ExplainConfig) -> str:
    """Draw what ``config`` names into ``config.output``; the text that goes with it.

    Writes <example>.png and <example>.svg; the same bytes each time. The text ends by naming the
    folder.
    """
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    if config.checkpoint is not None:
        from seq2seq.explain.trained_model import explain_model  # imports torch

        return explain_model(config.checkpoint, config.text or "", output)
    texts = []
    for compute in (each for name in config.examples or EXAMPLES for each in COMPUTE[name]):
        example = compute()
        for form, content in render(partial(picture, example)).items():
            write_whole(output / f"{example.name}.{form}", content)
        texts.append(example.text())
    return "\n\n\n".join([*texts, f"Pictures of these arrays are in {output}."])
