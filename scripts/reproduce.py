"""Train, evaluate and compare all systems of an experiment, or resume this work."""

from cli import launch

from seq2seq.config import ReproduceConfig, TrainConfig


def main(config: ReproduceConfig, runs: list[TrainConfig]) -> None:
    """Run all stages and print the comparisons; skip the work that an earlier call has finished."""
    from seq2seq.experiment import reproduce_runs
    from seq2seq.report.terminal import summary

    print(summary(reproduce_runs(config, runs)))


if __name__ == "__main__":
    launch("reproduce", main)
