"""The kind of attention that CONTRIBUTING.md tells a newcomer to write works as it stands there."""

import re
import textwrap
from pathlib import Path

import pytest
import torch

from seq2seq.config import AttentionConfig, EncoderConfig
from seq2seq.model.attention import dot_product
from seq2seq.model.encoder import Encoder

PAGE = (Path(__file__).resolve().parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
CLASS, LINE = map(textwrap.dedent, re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[:2])


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_the_kind_of_attention_on_the_page_attends(precision):
    names = dict(vars(dot_product))  # of the file that the page names
    exec(CLASS, names)
    (kind,) = re.findall(r'"\w+": "dot_product\.(\w+)"', LINE)
    torch.manual_seed(0)
    encoder = Encoder(5, EncoderConfig(hidden_size=4), 0.0)
    attention = names[kind](6, 8, AttentionConfig())
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
        source = encoder(torch.randn(2, 3, 5), torch.tensor([3, 2]))
        source = source._replace(keys=attention.keys(source.annotations))
        query = torch.randn(4, 6)
        context, weights = attention(query, source, attention.init_state(source))
    scores = torch.tanh(source.by_sentence(query) @ source.keys.transpose(1, 2)).flatten(0, 1)
    mask = source.mask.repeat_interleave(2, dim=0)
    expected = scores.masked_fill(~mask, -torch.inf).softmax(dim=1)
    torch.testing.assert_close(weights, expected)
    annotations = source.annotations.repeat_interleave(2, dim=0).float()
    expected = (expected[:, :, None] * annotations).sum(dim=1)
    torch.testing.assert_close(context.float(), expected, atol=0.02, rtol=0.02)
