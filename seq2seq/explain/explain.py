"""The stage ``explain``: worked examples of attention, as text and as pictures."""

from functools import partial
from pathlib import Path

from seq2seq.config import EXAMPLES, ExplainConfig
from seq2seq.explain.decoder_attention import additive, dot, local
from seq2seq.explain.pictures import picture
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.files import write_whole
from seq2seq.report.style import render

ALL = additive, dot, local, scaled_dot, softmax_axis, multi_head
COMPUTE = {example.__name__: example for example in ALL}


def explain(config: ExplainConfig) -> str:
    """Draw the examples that ``config`` names into ``config.output``; their text.

    Writes <example>.png and <example>.svg; the same bytes each time. The text ends by naming the
    folder.
    """
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    texts = []
    for name in config.examples or EXAMPLES:
        example = COMPUTE[name]()
        for form, content in render(partial(picture, example)).items():
            write_whole(output / f"{name}.{form}", content)
        texts.append(example.text())
    return "\n\n\n".join([*texts, f"Pictures of these arrays are in {output}."])
