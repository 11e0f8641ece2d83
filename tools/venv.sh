#!/bin/sh
# Makes .venv with everything that pyproject.toml asks for. Needs Python >= 3.11 and a package index, nothing else.
# PYTHON=/path/to/python chooses the interpreter.
set -eu

say() { printf '%s\n' "runwire: $*" >&2; }

works() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
makes_venvs() { "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; }

# The oldest supported version first: what works there works on the later ones, and all wheels exist for it.
# A name may exist without working (version managers put placeholders on PATH), so each is run.
if [ -n "${PYTHON:-}" ]; then
    works "$PYTHON" || { say "PYTHON=$PYTHON is not Python 3.11 or later"; exit 1; }
else
    for name in python3.11 python3.12 python3.13 python3.14 python3; do
        works "$name" || continue
        PYTHON=${PYTHON:-$name}
        if makes_venvs "$name"; then PYTHON=$name; break; fi
    done
    if [ -z "${PYTHON:-}" ]; then
        say "no Python 3.11 or later found (python3 is $(python3 -V 2>&1 || true))."
        say "Install one (Debian 12: apt-get install python3 python3-venv; macOS: brew install python@3.13) and run make again."
        exit 1
    fi
fi

version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! makes_venvs "$PYTHON"; then
    say "$PYTHON cannot make virtual environments: its module ensurepip is missing."
    say "On Debian and Ubuntu: apt-get install python$version-venv    (or python3-venv)"
    exit 1
fi

# A .venv that was copied or whose Python was removed does not start any more.
if [ -e .venv ] && ! works .venv/bin/python; then
    say "the existing .venv does not work any more and is made again"
    rm -rf .venv
fi
if [ ! -e .venv ]; then
    say "making .venv with $PYTHON ($version)"
    "$PYTHON" -m venv .venv
fi

export PIP_DISABLE_PIP_VERSION_CHECK=1
# Dependency groups need pip 25.1.
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
say "installing runwire with its extras and tools; the first time this takes a minute"
.venv/bin/python -m pip install --quiet --editable '.[all]' --group test --group lint --group docs
