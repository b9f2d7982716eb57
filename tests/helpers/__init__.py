"""Helpers that several tests use; this file has the run-time checker of annotations.

An int passes for a float, as in PEP 484.
"""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
