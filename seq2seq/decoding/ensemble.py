"""Several checkpoints as one model to translate with."""

from collections.abc import Sequence

from seq2seq.checkpoint import Checkpoint
from seq2seq.errors import UserError
from seq2seq.model.ensemble import Ensemble, average_weights
from seq2seq.model.translation import TranslationModel


def combine(checkpoints: Sequence[Checkpoint], average: bool) -> TranslationModel | Ensemble:
    """The model of one checkpoint, or several as one.

    Args:
        checkpoints: at least one; they share both vocabularies and both tokenizers.
        average: one model whose weights are the mean of all, which must be of one architecture: as
            fast as one, and good for checkpoints of one training. Else an ensemble, which averages
            the models' probabilities at each step.

    Raises:
        UserError: the checkpoints do not go together.
    """
    first, *others = checkpoints
    for other in others:
        for side in ("source", "target"):
            ours, theirs = getattr(first, side), getattr(other, side)
            same_pieces = ours.vocabulary.pieces == theirs.vocabulary.pieces
            if not same_pieces or ours.tokenizer.kind != theirs.tokenizer.kind:
                raise UserError(
                    f"{first.directory} and {other.directory} do not cut the {side} text into the "
                    "same pieces, so they cannot translate together; give checkpoints trained on "
                    "one corpus with one tokenization."
                )
        if average and first.config.model != other.config.model:
            raise UserError(
                f"{first.directory} and {other.directory} are models of different settings, whose "
                "weights have no mean; set average=false for an ensemble of them."
            )
    models = [checkpoint.model for checkpoint in checkpoints]
    if not others:
        return first.model
    return average_weights(models) if average else Ensemble(models)
