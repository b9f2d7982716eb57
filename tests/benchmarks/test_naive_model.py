"""The naive model computes what the project's model computes: same loss, same gradients."""

import pytest
import torch
from naive import NaiveModel, naive_loss

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.batching import Batch
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss

BATCH = Batch(  # ragged on both sides, the longest row not the first
    source=torch.tensor([[5, 3, 0, 0], [7, 8, 9, 3], [9, 4, 3, 0]]),
    source_lengths=torch.tensor([2, 4, 3]),
    target_input=torch.tensor([[2, 5, 6], [2, 7, 0], [2, 0, 0]]),
    target_output=torch.tensor([[5, 6, 3], [7, 3, 0], [3, 0, 0]]),
    target_cells=torch.tensor([0, 1, 2, 3, 4, 6]),
    indices=torch.arange(3).numpy(),
)


def gradients_in_the_projects_terms(naive: NaiveModel) -> dict[str, torch.Tensor]:
    """Gradients under the names and in the shapes of the project's model."""

    def of(parameter: torch.nn.Parameter) -> torch.Tensor:
        assert parameter.grad is not None
        return parameter.grad

    embedding = naive.source_embedding.embedding_dim
    inputs, context = of(naive.cell.weight_ih).tensor_split([embedding], dim=1)
    found = {
        "decoder.input_gates.weight": inputs,
        "decoder.input_gates.bias": of(naive.cell.bias_hh),  # the second bias moves alike
        "decoder.state_gates.weight": torch.cat([context, of(naive.cell.weight_hh)], dim=1),
    }
    if naive.attends:
        found["decoder.attention.query.weight"] = of(naive.query.weight)
        found["decoder.attention.key.weight"] = of(naive.key.weight)
        found["decoder.attention.vector"] = of(naive.score.weight)[0]
        assert naive.word_query is not None
        found["decoder.attention.word_query.weight"] = of(naive.word_query.weight)
    for name, parameter in naive.encoder.named_parameters():
        side = "backwards" if name.endswith("_reverse") else "forwards"
        found[f"encoder.{side}.0.{name.removesuffix('_reverse')}"] = of(parameter)
    for own, module in {
        "source_embedding": naive.source_embedding,
        "target_embedding": naive.target_embedding,
        "decoder.initial": naive.initial,
        "decoder.readout_layer": naive.readout,
        "output": naive.output,
    }.items():
        for name, parameter in module.named_parameters():
            found[f"{own}.{name}"] = of(parameter)
    return found


@pytest.mark.parametrize("kind", ["additive", "fixed"])
@pytest.mark.parametrize("tied", [True, False])
def test_equals_the_translation_model(kind, tied):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6,
        dropout=0.0,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(kind=kind, size=5),
        decoder=DecoderConfig(hidden_size=7, recurrence="reference", tie_embedding=tied),
    )
    model = TranslationModel(config, 11, 13).double()
    for parameter in model.parameters():  # zeros would hide a weight that went astray
        torch.nn.init.normal_(parameter, std=0.5)
    naive = NaiveModel(config, 11, 13).double()
    naive.load_from(model)

    expected = batch_loss(model, BATCH, 0.1).smoothed / len(BATCH.target_cells)
    logits = naive(BATCH.source, BATCH.source_lengths, BATCH.target_input)
    loss = naive_loss(logits, BATCH.target_output, 0.1)
    torch.testing.assert_close(loss, expected)

    expected.backward()
    loss.backward()
    found = gradients_in_the_projects_terms(naive)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, msg=lambda text, n=name: n + text)
