"""The dataclass behind each script's config, as Hydra knows it."""

import dataclasses
from typing import Any, get_type_hints

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from seq2seq import config as schema

SCHEMAS: dict[str, type] = {
    "prepare": schema.ExperimentConfig,
    "train": schema.ExperimentConfig,
    "reproduce": schema.ExperimentConfig,
    "translate": schema.TranslateConfig,
    "evaluate": schema.EvaluateConfig,
    "compare": schema.CompareConfig,
    "benchmark": schema.BenchmarkConfig,
    "explain": schema.ExplainConfig,
}

NAMED = {
    "compare": ["baselines"],
    "evaluate": ["test_texts"],
    "prepare": ["baselines", "test_texts"],
    "train": ["baselines", "test_texts"],
    "reproduce": ["baselines", "test_texts"],
}
"""Fields whose keys are names that the user gives."""


def register_schemas() -> None:
    """Give Hydra the dataclasses, so that unknown keys and wrong types are refused."""
    store = ConfigStore.instance()
    for name, node in SCHEMAS.items():
        store.store(name=f"{name}_schema", node=node)
    for name, fields in NAMED.items():
        node = OmegaConf.structured(SCHEMAS[name])
        for key in fields:
            OmegaConf.set_struct(node[key], False)
        store.store(name=f"{name}_schema", node=node)
    for name, corpus in schema.CORPORA.items():
        store.store(group="corpus", name=f"{name}_schema", node=corpus)
    store.store(group="tokenization", name="schema", node=schema.TokenizationConfig)
    store.store(group="model", name="schema", node=schema.ModelConfig)
    store.store(group="training", name="schema", node=schema.TrainingConfig)
    store.store(group="decoding", name="schema", node=schema.DecodingConfig)
    store.store(group="evaluation", name="schema", node=schema.EvaluationConfig)


def keys(name: str) -> list[str]:
    """Every dotted key that a script's config may hold, whichever corpus is chosen."""

    def walk(node: Any, prefix: str) -> list[str]:
        found = []
        hints = get_type_hints(node)
        for field in dataclasses.fields(node):
            hint, key = hints[field.name], prefix + field.name
            found.append(key)
            if dataclasses.is_dataclass(hint):
                kinds = schema.CORPORA.values() if hint is schema.CorpusConfig else [hint]
                for kind in kinds:
                    found += walk(kind, f"{key}.")
        return found

    return sorted(set(walk(SCHEMAS[name], "")))
