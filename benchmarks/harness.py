"""Settings from the command line and results on disk, for every benchmark."""

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.composition import defaults
from seq2seq.config import CORPORA, TokenizationConfig
from seq2seq.errors import UserError
from seq2seq.files import write_json, write_whole
from seq2seq.record import Record, environment_record
from seq2seq.report.tables import markdown_table
from seq2seq.report.training_runs import describe_environments

CONFIGS = Path(__file__).resolve().parent / "configs"


def compose_config(name: str, overrides: Sequence[str]) -> DictConfig:
    """Compose the settings of benchmark ``name`` from ``configs/<name>.yaml`` and Hydra overrides.

    Raises:
        UserError: Hydra, or the schema of a corpus, refuses an override.
    """
    store = ConfigStore.instance()
    for kind, corpus in CORPORA.items():
        store.store(group="corpus", name=kind, node=defaults(corpus))
    store.store(group="tokenization", name="base", node=defaults(TokenizationConfig))
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            config = compose(name, overrides=list(overrides))
        OmegaConf.to_container(config, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        problem = str(error).strip().splitlines()[0].rstrip(".")
        raise UserError(f"{problem}; benchmarks/configs/{name}.yaml lists the settings.") from None
    return config


def main(name: str, benchmark: Callable[[DictConfig], Path]) -> None:
    """Run ``benchmark`` with the settings of the command line, and print the page that it wrote."""
    if {"-h", "--help"} & set(sys.argv):
        print((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8"), end="")
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        config = compose_config(name, sys.argv[1:])
        if config.get("threads"):
            torch.set_num_threads(config.threads)
        print(benchmark(config).read_text(encoding="utf-8"))
    except UserError as error:
        sys.exit(f"error: {error}")


def write_results(
    path: Path,
    title: str,
    rows: Sequence[dict[str, str]],
    notes: Iterable[str],
    runs: Sequence[dict[str, Any]],
    device: torch.device,
) -> Path:
    """Write a page as ``<path>.md`` and raw timings as ``<path>.json``; return the page's path.

    Each of ``rows`` maps columns of the page's table to cells; the notes come below the table. The
    command, the hardware and the versions are in both files.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    environment = environment_record(device)
    write_json(path.with_suffix(".json"), {"runs": runs, "environment": environment})
    (made,) = describe_environments([Record(**environment)])
    made = made.replace("python scripts/", "python benchmarks/", 1)
    table = markdown_table(list(rows[0]), [list(row.values()) for row in rows])
    lines = "".join(f"- {line}\n" for line in [*notes, made])
    write_whole(path.with_suffix(".md"), f"# {title}\n\n{table}\n{lines}".encode())
    return path.with_suffix(".md")
