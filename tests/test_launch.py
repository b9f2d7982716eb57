"""What a bad command line says: one sentence that names the key and the nearest valid ones."""

import dataclasses

import pytest
from launch import compose_config

from seq2seq.config import ExperimentConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.errors import UserError

REFUSED = {
    # an unknown key, by itself or forced in with + or ++
    ("train", "training.max_epoch=3"): r"training\.max_epoch is not a config key of train; "
    r"nearest valid: training\.max_epochs",
    ("train", "+training.max_epoch=3"): r"nearest valid: training\.max_epochs",
    ("train", "++model.decoder.hiden=3"): r"nearest valid: model\.decoder\.hidden",
    ("evaluate", "chekpoint=x"): r"chekpoint is not a config key of evaluate; .* checkpoint",
    # a key of another corpus
    ("train", "corpus.max_ratio=2"): r"corpus\.max_ratio belongs to another kind of corpus",
    # a choice that does not exist
    ("train", "corpus=europrl"): r"corpus=europrl is not a valid choice; .* europarl\.",
    ("train", "experiment=quickstrt"): r"experiment=quickstrt .* nearest valid: quickstart\.",
    ("train", "model.attention.kind=aditive"): r"model\.attention\.kind=aditive .* additive",
    ("train", "training.precision=fp16"): r"training\.precision=fp16 .* bf16",
    ("train", "system=atention"): r"system=atention is not a system of quickstart; .* attention",
    ("train", "baseline=none"): r"baseline=none is not a system of quickstart",
    (
        "reproduce",
        "scale=gpu",
    ): r"scale=gpu goes with an experiment that comes in sizes, such as ex",
    # a value of the wrong type, or out of range
    ("train", "training.max_epochs=many"): r"training\.max_epochs: Value 'many' of type 'str' "
    "could not be converted to Integer",
    ("train", "model.dropout=3"): r"model\.dropout=3\.0 is out of range; it must be between 0 and",
    ("train", "seed=-1"): r"seed=-1 is out of range",
    ("train", "model.encoder=3"): r"model\.encoder: ",
    ("train", "training.optimizer.betas=[0.9]"): r"betas=\[0\.9\] must be two numbers",
    (
        "train",
        "evaluation.length_buckets=[20,10]",
    ): r"evaluation\.length_buckets=\[20, 10\] must be rising",
    ("train", "tokenization.joint=true"): r"tokenization\.joint=true goes with sentencepiece",
    ("train", "corpus.target=en"): r"corpus\.source and corpus\.target are both en",
    # settings that the script, or the rest of the config, leaves without effect
    ("train", "seeds=[1,2]"): r"seeds=\[1,2\] would have no effect: train is for one run, .* seed=",
    ("prepare", "beams=[3]"): r"beams=\[3\] would have no effect: prepare is for one run",
    ("reproduce", "baselines={}"): r"baselines=\{\} would have no effect: .* by ~baselines\.NAME",
    (
        "train",
        "model.attention={kind: fixed}",
    ): r"\{kind: fixed\} would .*: system=attention decides",
    (
        "train",
        "model.attention.heads=2",
    ): r"heads=2 would have no effect on .*=additive: it is of mul",
    ("train", "training.optimizer.momentum=0.9"): r"momentum=0\.9 would .*kind=adam: it is of sgd",
    (
        "reproduce",
        "training.optimizer.decay_factor=0.7",
    ): r"would .*schedule=linear: it is of plateau",
    ("train", "name="): r"name= is no name of a folder below output",
    ("train", "name=../elsewhere"): r"name=\.\./elsewhere is no name of a folder below output",
    ("train", "name=/elsewhere"): r"name=/elsewhere is no name of a folder below output",
    ("train", "+systems.comparison=[]"): r"systems\.comparison would share the folder",
    ("train", "decoding.top_k=5"): r"decoding\.top_k=5 would have no effect: it is of sampling",
    ("reproduce", "seeds=[]"): r"seeds=\[\] must name at least one value, and none twice",
    ("reproduce", "seeds=[1,1]"): r"seeds=\[1, 1\] must name",
    ("reproduce", "beams=[0]"): r"beams=0 is out of range",
    ("benchmark", "attention=aditive"): r"attention=aditive is not .* additive",
    ("benchmark", "paths=[]"): r"paths=\[\] must name at least one value, and none twice",
    ("benchmark", "updates=0"): r"updates=0 is out of range",
    ("explain", "examples=[aditive]"): r"examples=aditive is not .* nearest valid: additive",
    ("explain", "examples=[dot,dot]"): r"examples=\['dot', 'dot'\] must name .*, and none twice",
    ("explain", "examples=dot"): r"examples is a list; put brackets around .*: examples=\[\.\.\.\]",
    ("reproduce", "beams=5"): r"beams is a list; put brackets around its values: beams=\[",
    # an interpolation to what does not belong there, or to nothing
    (
        "train",
        "evaluation.length_buckets=${name}",
    ): r"The config of train: config key 'length_buckets' holds 'qui",
    ("train", "name=${no.such:1}"): r"name: .*no\.such",
    ("train", "seed=${oc.env:NO_SUCH_VARIABLE}"): r"seed: .*NO_SUCH_VARIABLE",
    ("train", "+=[1]"): r"The config cannot be composed: ",
    # a value that is missing, and a line Hydra cannot parse
    ("translate", "input=x"): r"checkpoint is not set; give it as checkpoint=\.\.\.",
    ("evaluate", "source=x"): r"checkpoint=FOLDER",
    ("train", "nonsense"): r"nonsense is not of the form key=value",
    ("translate", "checkpoint=a=b"): r"checkpoint=a=b is not of the form .* put quotes around",
}


@pytest.mark.parametrize(("script", "override"), REFUSED, ids=lambda value: str(value))
def test_a_bad_override_is_one_sentence(script, override):
    with pytest.raises(UserError, match=REFUSED[script, override]) as caught:
        compose_config(script, [override])
    assert "\n" not in str(caught.value)


def test_a_frequency_of_words_is_refused_where_there_are_pieces():
    with pytest.raises(UserError, match=r"min_frequency=2 goes with words, not with sentencepiece"):
        compose_config("train", ["experiment=multi30k", "tokenization.min_frequency=2"])


def test_a_source_without_its_reference_is_refused():
    with pytest.raises(UserError, match="source and reference go together"):
        compose_config("evaluate", ["checkpoint=x", "source=y"])


@pytest.mark.parametrize("override", ["decoding.beam=3", "decoding=greedy"])
def test_a_width_that_beams_would_undo_is_refused(override):
    with pytest.raises(UserError, match=f"{override} would have no effect: beams=") as refused:
        compose_config("evaluate", ["checkpoint=x", "beams=[1,5]", override])
    assert "\n" not in str(refused.value)


def test_the_system_of_given_text_is_only_a_name():
    config = compose_config(
        "evaluate", ["hypotheses=h", "source=s", "reference=r", "system=attention", "output=o"]
    )
    assert (config.system, config.checkpoint) == ("attention", None)


def test_the_chosen_system_decides_over_the_rest_of_the_command_line():
    config = compose_config("train", ["system=no-attention", "model.embedding_dim=8"])
    assert isinstance(config, ExperimentConfig)
    assert config.model.attention.kind == "fixed"
    assert config.model.embedding_dim == 8


def test_the_arms_of_each_experiment_differ_in_the_attention_alone():
    for experiment in ("quickstart", "multi30k"):
        arms = [
            compose_config("train", [f"experiment={experiment}", f"system={system}"])
            for system in ("attention", "no-attention")
        ]
        assert [arm.model.attention.kind for arm in arms] == ["additive", "fixed"]
        arms[0].model.attention.kind = "fixed"
        arms[0].system = "no-attention"
        assert arms[0] == arms[1]


def test_an_override_that_the_system_would_undo_is_refused():
    with pytest.raises(UserError, match=r"kind=fixed would have no effect: system=attention"):
        compose_config("train", ["system=attention", "model.attention.kind=fixed"])
    compose_config("train", ["system=no-attention", "model.attention.kind=fixed"])  # agrees


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_a_kind_of_attention_by_itself_is_a_system_of_its_name(kind):
    config = compose_config("train", ["experiment=multi30k", f"model.attention.kind={kind}"])
    assert config.model.attention.kind == kind
    assert config.system == {"additive": "attention", "fixed": "no-attention"}.get(kind, kind)
    compared = {"attention", "no-attention"}
    if kind not in ("additive", "fixed"):
        compared = {"no-attention", kind}
    assert set(config.systems) == compared
    assert config == dataclasses.replace(
        compose_config("train", ["experiment=multi30k"]),
        model=config.model,
        system=config.system,
        systems=config.systems,
    )


def test_a_kind_of_attention_keeps_what_else_the_system_decides():
    config = compose_config("train", ["experiment=figure2", "model.attention.kind=dot"])
    assert (config.system, config.corpus.train_max_words) == ("dot", 50)
    assert list(config.systems) == ["attention-30", "no-attention-30", "no-attention-50", "dot"]
    kinds = compose_config("train", ["experiment=attention_kinds", "model.attention.kind=local_p"])
    assert kinds.system == "local-p"


def test_a_system_with_a_broken_override_is_refused():
    with pytest.raises(UserError, match=r"model\.attention\.knd is not a config key"):
        compose_config("train", ["+systems.x=['model.attention.knd=fixed']", "system=x"])


@pytest.mark.parametrize(
    "given", [["experiment=paper"], ["experiment=figure2", "scale=gpu"]], ids=lambda given: given[0]
)
def test_a_model_of_which_the_experiment_sets_all_is_refused(given):
    with pytest.raises(
        UserError, match="model=small would have no effect: the experiment sets all"
    ):
        compose_config("train", [*given, "model=small"])
    assert compose_config("train", [*given, "model=base"]) == compose_config("train", given)


@pytest.mark.parametrize("kind", ["dot", "'dot'"])
@pytest.mark.parametrize(
    ("given", "default"),
    [(["experiment=bottleneck_width"], "width-256"), (["baseline=attention"], "attention")],
    ids=["baselines", "baseline"],
)
def test_a_system_that_others_are_compared_with_stays_beside_a_new_kind(given, default, kind):
    config = compose_config("train", [*given, f"model.attention.kind={kind}"])
    assert (config.system, config.model.attention.kind) == ("dot", "dot")
    assert default in config.systems


def mine(folder, first_line):
    (folder / "experiment").mkdir(parents=True)
    settings = "name: mine\nsystems: {a: [], b: []}\nsystem: a\nbaseline: b\n"
    (folder / "experiment" / "mine.yaml").write_text(first_line + settings)
    return f"hydra.searchpath=['file://{folder}']"


def test_an_experiment_may_lie_in_a_folder_of_ones_own(tmp_path):
    place = mine(tmp_path, "# @package _global_\n")
    config = compose_config("train", [place, "experiment=mine", "system=b"])
    assert (config.name, config.system) == ("mine", "b")


def test_an_experiment_without_its_first_line_is_one_sentence(tmp_path):
    place = mine(tmp_path, "")
    with pytest.raises(UserError, match="its first line has to be # @package _global_"):
        compose_config("train", [place, "experiment=mine"])
