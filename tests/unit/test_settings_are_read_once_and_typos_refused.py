"""Settings come from RUNWIRE_* only; what cannot be right is refused with the variable's name."""

import msgspec
import pytest

from runwire.errors import SettingInvalid, SettingUnknown
from runwire.settings import Settings, load


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = load({"PATH": "/bin"})
    assert settings == Settings()
    assert (settings.partitions, settings.lease_ttl_s, settings.gap_ms) == (16, 3.0, 10_000)


def test_values_are_converted() -> None:
    given = {"RUNWIRE_PARTITIONS": "4", "RUNWIRE_LEASE_TTL_S": "2.5", "RUNWIRE_ALLOW_NO_PERSISTENCE": "1"}
    settings = load(given)
    assert (settings.partitions, settings.lease_ttl_s, settings.allow_no_persistence) == (4, 2.5, True)


def test_what_only_tests_know_is_ignored() -> None:
    assert load({"RUNWIRE_CORPUS": "x", "RUNWIRE_REQUIRE_ALL": "1"}) == Settings()


@pytest.mark.parametrize(
    ("variable", "hint"),
    [
        ("RUNWIRE_PARTITOINS", "did you mean RUNWIRE_PARTITIONS?"),
        ("RUNWIRE_LEASE", "did you mean RUNWIRE_LEASE_TTL_S?"),
        ("RUNWIRE_partitions", "did you mean RUNWIRE_PARTITIONS?"),
        ("RUNWIRE_", "unknown setting: RUNWIRE_"),
        ("RUNWIRE_XYZ", "unknown setting: RUNWIRE_XYZ"),
    ],
)
def test_an_unknown_name_is_refused(variable: str, hint: str) -> None:
    with pytest.raises(SettingUnknown) as caught:
        load({variable: "1"})
    assert variable in str(caught.value)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RUNWIRE_PARTITIONS", "0"),
        ("RUNWIRE_PARTITIONS", "many"),
        ("RUNWIRE_PARTITIONS", "16385"),
        ("RUNWIRE_LEASE_TTL_S", "nan"),
        ("RUNWIRE_LEASE_TTL_S", "inf"),
        ("RUNWIRE_GAP_MS", "-1"),
        ("RUNWIRE_PREFIX", "a{b}"),
        ("RUNWIRE_PREFIX", "rw\n"),
        ("RUNWIRE_PREFIX", ""),
        ("RUNWIRE_LOG_LEVEL", "loud"),
        ("RUNWIRE_COMMIT_BYTES", "1"),
    ],
)
def test_a_value_that_cannot_be_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingInvalid, match=variable):
        load({variable: value})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"RUNWIRE_RENEW_S": "2"}, "three times renew_s"),
        ({"RUNWIRE_COMMAND_TIMEOUT_S": "3"}, "below lease_ttl_s"),
        ({"RUNWIRE_COMMAND_TIMEOUT_S": "0.1"}, "below command_timeout_s"),
        ({"RUNWIRE_BACKOFF_MIN_S": "2"}, "above backoff_max_s"),
        ({"RUNWIRE_RAW_HORIZON_S": "400000"}, "twice raw_horizon_s"),
        ({"RUNWIRE_LOG_TTL_S": "700000"}, "below log_ttl_s"),
        ({"RUNWIRE_REDIS_URL": "http://localhost"}, "redis_url"),
    ],
)
def test_fields_that_do_not_fit_together_are_refused(given: dict[str, str], reason: str) -> None:
    with pytest.raises(SettingInvalid, match=reason):
        load(given)


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        Settings().partitions = 3  # type: ignore[misc] # that it cannot be assigned is what is tested
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"colour": 1}, Settings)
