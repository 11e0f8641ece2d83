"""Every answer to a batch is either stored whole or not at all, and says what a producer must do."""

import pytest

from runwire.broker.batches import Full, Refused, Stored, Unusable, outcome_of
from runwire.broker.connection import Reply, ServerError
from runwire.producer.session import ServerIdentity, identity_of

OOM = "OOM command not allowed when used memory > 'maxmemory'."
ABORTED = "EXECABORT Transaction discarded because of"


def batch(last: Reply, queued: Reply = b"QUEUED") -> list[Reply]:
    return [b"OK", queued, b"QUEUED", last]


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        (batch([b"1-1", b"1-2"]), Stored),
        (batch(ServerError(f"{ABORTED} previous errors."), ServerError(OOM)), Full),
        (batch(ServerError(f"{ABORTED}: {OOM}")), Full),
        (batch(ServerError(OOM)), Full),
        (batch(ServerError(f"{ABORTED}: READONLY You can't write against a read only replica.")), Unusable),
        (batch(ServerError("READONLY You can't write against a read only replica.")), Unusable),
        (batch(ServerError("LOADING Redis is loading the dataset in memory")), Unusable),
        (batch(ServerError("MISCONF Errors writing to the AOF file: No space left on device")), Unusable),
        (batch(ServerError("NOREPLICAS Not enough good replicas to write.")), Unusable),
        (batch(ServerError("MASTERDOWN Link with MASTER is down")), Unusable),
        (batch(ServerError("CLUSTERDOWN The cluster is down")), Unusable),
        (batch(ServerError(f"{ABORTED} previous errors."), ServerError("NOREPLICAS Not enough")), Unusable),
        (batch(ServerError("ERR max number of clients reached")), Unusable),
        (batch(ServerError("NOAUTH Authentication required.")), Refused),
        (batch(ServerError("WRONGPASS invalid username-password pair")), Refused),
        (batch(ServerError(f"{ABORTED} previous errors."), ServerError("NOPERM no permissions")), Refused),
        (batch(ServerError("MOVED 1 10.0.0.1:6379")), Refused),
        (batch([ServerError("WRONGTYPE Operation against a key"), ServerError("WRONGTYPE Operation")]), Refused),
        (batch([b"1-1"]), Refused),
        (batch(None), Refused),
    ],
)
def test_outcome(replies: list[Reply], kind: type) -> None:
    assert isinstance(outcome_of(replies, 2), kind)


def test_the_identity_of_a_server_is_its_run_its_role_and_its_replication() -> None:
    info = b"# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n# Replication\r\nrole:master\r\nmaster_replid:def\r\n"
    assert identity_of(info) == ServerIdentity("abc", "master", "def")
    assert identity_of(ServerError("NOPERM no permissions to run the 'info' command")) is None
