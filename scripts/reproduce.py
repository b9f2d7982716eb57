"""Train, evaluate and compare every system of an experiment; resumes where it stopped."""

from cli import launch

from seq2seq.config import ReproduceConfig, TrainConfig


def main(config: ReproduceConfig, runs: list[TrainConfig]) -> None:
    """Run all stages and print the comparisons; skip the work that an earlier call has finished."""
    from seq2seq.experiment import reproduce_runs
    from seq2seq.report.terminal import show

    show(reproduce_runs(config, runs))


if __name__ == "__main__":
    launch("reproduce", main)
