"""The grammar: records of one run in, numbered chunks and evidence out. Pure: no I/O, no clock, no randomness."""

from runwire.grammar.limits import Limits
from runwire.grammar.machine import GRAMMAR_VERSION, Produced, RunMachine

__all__ = ["GRAMMAR_VERSION", "Limits", "Produced", "RunMachine"]
