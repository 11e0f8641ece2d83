"""All settings: one frozen struct, read once from RUNWIRE_* by the command line. Nobody else reads the environment.

A field `idle_ms` is set by RUNWIRE_IDLE_MS. Times end in `_s` (seconds, may be fractions) or `_ms` (milliseconds).
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from runwire.errors import SettingInvalid, SettingUnknown

PREFIX: Final = "RUNWIRE_"
# Known to the tests only: where the corpus lies, that nothing may be skipped, and an image to test on.
FOREIGN: Final = frozenset(
    {"RUNWIRE_CORPUS", "RUNWIRE_REQUIRE_ALL", "RUNWIRE_TEST_IMAGE", "RUNWIRE_TEST_IMAGE_COMMAND"}
)

Seconds = Annotated[float, msgspec.Meta(gt=0, le=10 * 366 * 86_400)]
Millis = Annotated[int, msgspec.Meta(ge=1, le=10 * 366 * 86_400_000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
Size = Annotated[int, msgspec.Meta(ge=1024, le=512 * 2**20)]
# No braces: they would move a key to another cluster slot. No colon: it separates the parts of a key.
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}\Z")]

DAY_S: Final = 86_400.0
DAY_MS: Final = 86_400_000


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every number has its reason beside it; limits of the grammar have it in the contract."""

    redis_url: str = "redis://127.0.0.1:6379/0"
    prefix: Name = "rw"
    # Stored at first start and never changed after: it is the upper bound of enforcer processes that have work.
    partitions: Annotated[int, msgspec.Meta(ge=1, le=16_384)] = 16
    allow_no_persistence: bool = False
    # Longer than BLOCK and the slowest commit measured (0.3 s), shorter than the lease, so that a lost reply is
    # noticed by its owner before anybody else may take over.
    command_timeout_s: Seconds = 2.0
    connect_timeout_s: Seconds = 2.0
    # After any connection error: 50 ms, doubled up to 1 s, with jitter.
    backoff_min_s: Seconds = 0.05
    backoff_max_s: Seconds = 1.0

    # What a crash costs: nobody serves a dead owner's partitions before its lease is over.
    lease_ttl_s: Seconds = 3.0
    renew_s: Seconds = 0.5
    # A partition that was just taken waits for the old read to end, so BLOCK is short.
    block_ms: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    # A commit stops the server for everybody: 2,000 chunks take it about 4 ms.
    commit_chunks: Count = 2000
    commit_bytes: Size = 2**20
    read_records: Count = 500

    log_ttl_s: Seconds = DAY_S
    tombstone_ttl_s: Seconds = 7 * DAY_S
    raw_horizon_s: Seconds = DAY_S
    evidence_ttl_s: Seconds = 7 * DAY_S
    evidence_max: Count = 100_000
    kept_bytes: Size = 16 * 2**20
    # Trimming waits this long at most for a violated run's raw records to be copied aside.
    keep_wait_s: Seconds = 60.0
    events_max: Count = 100_000

    max_chunk_bytes: Size = 2**20
    max_agent_chunk_bytes: Size = 8 * 2**20
    gap_ms: Millis = 10_000
    gap_records: Count = 1000
    gap_bytes: Size = 2**20
    idle_call_ms: Millis = 120_000
    idle_tools_ms: Millis = 3_600_000
    idle_ms: Millis = 300_000
    idle_suspended_ms: Millis = 7 * DAY_MS
    ending_ms: Millis = 5000
    suspend_mark_ms: Millis = 2000
    idle_task_ms: Millis = DAY_MS
    idle_task_suspended_ms: Millis = 30 * DAY_MS

    # What a producer sends in one MULTI/EXEC, and how long it waits for more.
    batch_records: Count = 500
    batch_bytes: Size = 2**20
    linger_ms: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2
    # Everysec persistence may lose a second or two, so the last five are replayed on every new connection.
    replay_window_s: Seconds = 5.0
    buffer_bytes: Size = 16 * 2**20
    publish_timeout_s: Seconds = 30.0
    # Back-pressure: a producer stops while its partition has more unread records than this. At the 100,000 records a
    # second that one enforcer takes, that is a second of work.
    max_lag_records: Count = 100_000

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    data_dir: str = ".runwire"

    def __post_init__(self) -> None:
        """Rules between fields. msgspec turns the ValueError into its ValidationError, `load` into SettingInvalid."""
        if problem := _problem(self):
            raise ValueError(problem)


def load(environ: Mapping[str, str]) -> Settings:
    """The settings of this process. Raises SettingUnknown and SettingInvalid, both naming the variable."""
    given: dict[str, str] = {}
    for variable, value in environ.items():
        if variable.startswith(PREFIX) and variable not in FOREIGN:
            name = variable.removeprefix(PREFIX)
            field = name.lower()
            if name != name.upper() or field not in Settings.__struct_fields__:
                raise SettingUnknown(f"unknown setting: {variable}{_meant(field)}")
            given[field] = value
    try:
        return msgspec.convert(given, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingInvalid(_named(str(error), given)) from None


def _problem(settings: Settings) -> str | None:
    """The first rule between fields that is broken, if any."""
    scheme = urlsplit(settings.redis_url).scheme
    rules = (
        (
            settings.renew_s * 3 > settings.lease_ttl_s,
            "lease_ttl_s is less than three times renew_s: one late renewal would lose the lease",
        ),
        (
            settings.command_timeout_s >= settings.lease_ttl_s,
            "command_timeout_s is not below lease_ttl_s: an owner would learn of a lost reply after its lease",
        ),
        (
            settings.block_ms / 1000 >= settings.command_timeout_s,
            "block_ms is not below command_timeout_s: an idle read would look like a lost connection",
        ),
        (settings.backoff_min_s > settings.backoff_max_s, "backoff_min_s is above backoff_max_s"),
        (
            settings.tombstone_ttl_s < 2 * settings.raw_horizon_s,
            "tombstone_ttl_s is less than twice raw_horizon_s: a replayed record could open a finished run again",
        ),
        (
            settings.tombstone_ttl_s < settings.log_ttl_s,
            "tombstone_ttl_s is below log_ttl_s: the log of a run would outlive what is known about the run",
        ),
        (
            scheme not in ("redis", "rediss", "unix"),
            "redis_url does not begin with redis://, rediss:// or unix://",
        ),
    )
    return next((text for broken, text in rules if broken), None)


def _meant(field: str) -> str:
    """A near name, for the commonest mistake: two letters changed places, or one is missing."""
    near = [known for known in Settings.__struct_fields__ if sorted(known) == sorted(field)]
    near = near or [k for k in Settings.__struct_fields__ if k.startswith(field) or field.startswith(k)]
    return f" (did you mean {PREFIX}{near[0].upper()}?)" if field and near else ""


def _named(problem: str, given: Mapping[str, str]) -> str:
    """What msgspec says ends with `at `$.field``; people set variables."""
    text, _, path = problem.partition(" - at `$.")
    field = path.rstrip("`")
    return f"{PREFIX}{field.upper()}={given[field]!r}: {text}" if field in given else text
