"""A model that is defined by its steps alone."""

import torch

from seq2seq.model.translation import TranslationModel


class Stepwise(TranslationModel):
    """Reads a known target step by step; its readouts are the logits of the steps."""

    def forward(self, source, source_lengths, target_input):
        read = self.encode(source, source_lengths)
        state, steps = self.init_state(read), []
        for token in target_input.unbind(dim=1):
            steps.append(self.step(token, state, read))
            state = steps[-1].state
        logits, _, weights = zip(*steps, strict=True)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)

    def logits(self, readouts):
        return readouts
