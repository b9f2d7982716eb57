"""The stage ``explain``: worked examples of attention, as text and as pictures."""

from pathlib import Path

from seq2seq.config import EXAMPLES, ExplainConfig
from seq2seq.explain.decoder_attention import additive, dot
from seq2seq.explain.local_attention import local
from seq2seq.explain.pictures import render_walkthrough
from seq2seq.explain.printing import walkthrough_text
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.explain.walkthrough import Walkthrough
from seq2seq.files import write_whole


def explain(config: ExplainConfig) -> str:
    """Draw the examples that ``config`` names into ``config.output``; their text.

    Writes <example>.png and <example>.svg; the same bytes each time. The text ends by naming the
    folder.
    """
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    texts = []
    for name in config.examples or EXAMPLES:
        walkthrough = walk_through(name)
        for form, content in render_walkthrough(walkthrough).items():
            write_whole(output / f"{name}.{form}", content)
        texts.append(walkthrough_text(walkthrough))
    return "\n\n\n".join([*texts, f"Pictures of these arrays are in {output}."])


def walk_through(name: str) -> Walkthrough:
    """The example called ``name``, computed."""
    if name == "additive":
        return additive()
    if name == "dot":
        return dot()
    if name == "local":
        return local()
    if name == "scaled_dot":
        return scaled_dot()
    if name == "softmax_axis":
        return softmax_axis()
    if name == "multi_head":
        return multi_head()
    raise ValueError(f"example {name!r} has no function")
