"""What the shapes of every protocol are made of: any value where another belongs, under the protocol's own names."""

from typing import Any

from hypothesis import strategies as st


def leaves(words: list[str]) -> st.SearchStrategy[Any]:
    """A value that holds no other, among them words of the protocol and halves of surrogate pairs."""
    return st.one_of(
        st.none(), st.booleans(), st.integers(-2, 3), st.just(2**70), st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from([*words, "{}", "\ud83c", "\udf0d"]), st.text(max_size=3),
    )  # fmt: skip


def values(keys: list[str], words: list[str]) -> st.SearchStrategy[Any]:
    """Any value, nested, with these names of members."""

    def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=5)

    return st.recursive(leaves(words), nested, max_leaves=12)
