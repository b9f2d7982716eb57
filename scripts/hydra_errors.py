"""Hydra's and OmegaConf's errors as one sentence: what is wrong, and what would be valid."""

import contextlib
import re
from collections.abc import Iterator

import yaml
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    OmegaConfBaseException,
    ValidationError,
)
from schemas import keys

from seq2seq import config as schema
from seq2seq.errors import UserError


@contextlib.contextmanager
def in_words_of_ours(name: str) -> Iterator[None]:
    """A context in which the errors of Hydra and OmegaConf become a UserError."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(sentence(error, name)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        text = " ".join(str(error).split())
        raise UserError(f"A config file is not plain YAML ({text}); mend it.") from None
    except (AssertionError, ValueError) as error:  # Hydra's own, where it expects no such thing
        text = " ".join(str(error).split()).rstrip(".") or "an override has no key"
        raise UserError(f"The config cannot be composed: {text}; mend the override.") from None


def sentence(error: Exception, name: str) -> str:
    """One sentence for an error of Hydra or OmegaConf: what is wrong, and what would be valid."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, UserError):
            return str(cause)
        if isinstance(cause, MissingConfigException) and cause.options:
            group, _, choice = (cause.missing_cfg_file or "").rpartition("/")
            options = [option for option in cause.options if not option.endswith("schema")]
            return f"{group}={choice} is not a valid choice; nearest valid: " + (
                f"{schema.nearest(choice, options)}."
            )
        if isinstance(cause, OverrideParseException):
            return (
                f"{cause.override} is not of the form key=value; put quotes around a value that "
                "holds spaces, commas, brackets or =, such as input=\"'my file.txt'\"."
            )
    text = " ".join(str(error).split())
    if found := re.search(r"Could not (?:override|append to config|delete).*? '([^'=]+)'", text):
        key = found.group(1).lstrip("+")
        if key not in keys(name):
            return unknown_key(key, name)
    for cause in causes:
        key = getattr(cause, "full_key", None)
        if isinstance(cause, OmegaConfBaseException) and key:
            if key not in keys(name) and not isinstance(cause, ValidationError):
                return unknown_key(key, name)
            if isinstance(cause, ConfigKeyError | ConfigAttributeError):
                return f"{key} belongs to another kind of {key.partition('.')[0]}; leave it out."
            if "is not a ListConfig" in str(cause.msg):
                return f"{key} is a list; put brackets around its values: {key}=[...]."
            return f"{key}: {str(cause.msg).splitlines()[0].rstrip('.')}."
    return f"{text.rstrip('.')}."


def unknown_key(key: str, name: str) -> str:
    """Name the valid keys nearest to an unknown one."""
    if "experiment" in re.split(r"[@.]", key):
        return (
            "The file of experiment=... sets keys of a group of its own; its first line has to be "
            "# @package _global_, and it has to hold settings."
        )
    near = schema.nearest(key, keys(name))
    return f"{key} is not a config key of {name}; nearest valid: {near}."
