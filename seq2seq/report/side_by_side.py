"""The systems of a comparison, with the evaluations behind them and a score for each sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.groups import group_by_system
from seq2seq.evaluation.lengths import bucket_members, source_words
from seq2seq.evaluation.scores import ReferenceScores, Translations, sentence_bleu
from seq2seq.evaluation.systems import Comparison, System, SystemRow
from seq2seq.report.training_runs import text_read
from seq2seq.training.run_folder import identity


@dataclass(frozen=True)
class Arm:
    """A system with its evaluations."""

    number: int
    """From 0, the baseline."""
    system: System
    evaluations: list[Evaluation]
    """One for each seed, in the order of ``System.seeds``."""
    bleus: Float[np.ndarray, "N"]
    """BLEU of each sentence of the first seed."""

    @property
    def name(self) -> str:
        """The system's."""
        return self.system.name

    @property
    def first(self) -> Evaluation:
        """The evaluation whose sentences and maps are shown."""
        return self.evaluations[0]

    @property
    def reference_scores(self) -> list[ReferenceScores]:
        """What the seeds' models said of the references; empty where none was asked."""
        said = [evaluation.texts.reference_scores for evaluation in self.evaluations]
        return [one for one in said if one is not None]

    @property
    def without_maps(self) -> str:
        """Why this system shows no attention map, in a sentence; empty where it has maps."""
        texts = self.first.texts
        if texts.maps:
            return ""
        if self.first.given:
            return "These translations were given; there is no model to look into."
        said = texts.reference_scores
        if said is None or said.piece_losses is None:
            return "This evaluation was made by a version that kept no attention maps."
        if said.entropy is None:
            return "This system does not attend: there is no map of it."
        return "This evaluation holds no attention maps."


@dataclass(frozen=True)
class SideBySide:
    """All that the parts of a page are made from."""

    comparison: Comparison
    arms: list[Arm]
    """In the comparison's order."""
    members: list[Bool[np.ndarray, "N"]]
    """Which sentences are in each bucket, up to the longest that holds any."""

    @classmethod
    def of(cls, comparison: Comparison, evaluations: Sequence[Evaluation]) -> "SideBySide":
        """Put a comparison beside the evaluations that it was made from."""
        groups = group_by_system(evaluations)
        arms = []
        for number, system in enumerate(comparison.systems):
            found = list(groups[system.name].values())
            texts = found[0].texts
            tokenize = comparison.settings.tokenize
            scores = sentence_bleu(texts.hypotheses, texts.references, tokenize)
            arms.append(Arm(number, system, found, scores))
        words = source_words(evaluations[0].texts.sources)
        members = list(bucket_members(words, comparison.settings.length_buckets).values())
        shown = 1 + max(place for place, chosen in enumerate(members) if chosen.any())
        return cls(comparison, arms, members[:shown])

    @property
    def rows(self) -> list[SystemRow]:
        """A row for each of ``members``: what it is called, how many sentences it has."""
        return self.comparison.systems[0].buckets[: len(self.members)]

    @property
    def texts(self) -> Translations:
        """A test set of which sources and references hold for all systems."""
        return self.arms[0].first.texts

    @property
    def losses_apart(self) -> str:
        """That losses do not compare, where the systems read other text or cut it otherwise."""
        records = [e.record for arm in self.arms for e in arm.evaluations if e.record.get("config")]
        texts = [text_read(identity(r["config"]), r.get("training") or {}) for r in records]
        if all(text == texts[0] for text in texts):
            return ""
        return "Losses of systems trained on other text, or in other pieces, do not compare."

    @property
    def several_seeds(self) -> bool:
        """Whether there are seeds whose sentences are not shown."""
        return any(len(arm.evaluations) > 1 for arm in self.arms)
