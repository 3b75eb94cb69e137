"""Failures: what PostgreSQL or the connection to it says, as our errors. No text of a statement's values gets out."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
import psycopg_pool
from psycopg import errors as pg

from perdure import errors
from perdure.engine import OutdatedError

__all__ = ["Failure", "closed", "no_connection", "of"]


@dataclass(frozen=True, slots=True)
class Failure:
    """What to raise, and whether running the work once more may help and can do no harm."""

    error: Exception
    again: bool = False


_OUTDATED = (pg.DivisionByZero, pg.UniqueViolation)
"""A required change that changed nothing divides by zero (`statements.required`); a free key is taken."""

_AGAIN = (pg.SerializationFailure, pg.DeadlockDetected)
_LEAVING = (
    pg.AdminShutdown,
    pg.CrashShutdown,
    pg.CannotConnectNow,
    pg.IdleInTransactionSessionTimeout,
    pg.IdleSessionTimeout,
)
_FULL = (pg.DiskFull, pg.TooManyConnections, pg.OutOfMemory, pg.ConfigurationLimitExceeded)


def of(error: psycopg.Error, *, ended: bool, late: bool, seconds: float) -> Failure:
    """Return what a failure of psycopg means.

    `ended`: the commit was on its way. `late`: the deadline had passed, after `seconds`.
    """
    if isinstance(error, _OUTDATED):
        return Failure(OutdatedError())
    if isinstance(error, _AGAIN):
        return Failure(_locked(), again=True)
    if error.sqlstate is None or isinstance(error, _LEAVING) or (error.sqlstate or "").startswith("08"):
        return _lost(ended=ended, late=late, seconds=seconds)
    return Failure(_refused(error))


def _lost(*, ended: bool, late: bool, seconds: float) -> Failure:
    why = f"the server did not answer within {seconds:g} s" if late else "the connection was lost"
    if ended:
        return Failure(
            errors.CommitUnknownError(
                f"{why} before the answer to a commit came, so the change may be stored or not. "
                "Look, or make the same call again: what is stored already is stored once."
            )
        )
    if late:
        return Failure(
            errors.DeadlineError(f"{why}; nothing was stored. Check the server, or raise pool={{'call_timeout': …}}.")
        )
    error = errors.DatabaseUnavailableError(
        f"{why}; nothing was stored. Check that the server runs: 'perdure doctor --db …'"
    )
    return Failure(error, again=True)


def _locked() -> errors.DatabaseLockedError:
    return errors.DatabaseLockedError(
        "the server gave another call the precedence twice (a deadlock or a serialization failure); nothing was "
        "stored. Try again."
    )


def _refused(error: psycopg.Error) -> Exception:  # noqa: PLR0911 - one for each thing that can be wrong
    code = error.sqlstate
    match error:
        case pg.InsufficientPrivilege():
            return errors.PrivilegeError(
                f"the database role may not do this ({code}); 'perdure setup --role NAME' grants what is needed"
            )
        case pg.UndefinedTable() | pg.UndefinedColumn() | pg.InvalidSchemaName():
            return errors.NotSetUpError(f"Perdure's tables are not there ({code}); run 'perdure setup --db …'")
        case pg.QueryCanceled() | pg.TransactionTimeout():
            return errors.DeadlineError(
                "the server ended the call (statement_timeout or transaction_timeout?); nothing was stored"
            )
        case pg.LockNotAvailable():
            return errors.DatabaseLockedError("the server's lock_timeout passed; nothing was stored. Try again.")
        case pg.ProgramLimitExceeded():
            return errors.InvalidInputError(
                "the ids of this call (tenant, namespace and key, or tenant, thread and checkpoint) are too long "
                "together for a key of PostgreSQL, about 2,600 bytes; nothing was stored. Use shorter ones."
            )
        case pg.ReadOnlySqlTransaction():
            return errors.DatabaseUnavailableError(
                "the server takes no writes (a standby, or default_transaction_read_only); connect to the primary"
            )
    if isinstance(error, _FULL):
        return errors.DatabaseUnavailableError(f"the server has no room ({code}: {type(error).__name__})")
    return errors.DatabaseError(f"PostgreSQL refused a statement ({code}: {type(error).__name__}); please report this")


def closed() -> errors.ClosedError:
    """Return the error for a call after `close`."""
    return errors.ClosedError("this memory was closed; open it again with Memory.open(…)")


def no_connection(used: int, size: int, error: Exception) -> errors.DatabaseError:
    """Return the error for a call that got no connection of a pool: none came free, or none could be made."""
    if used >= size or isinstance(error, psycopg_pool.TooManyRequests):
        return errors.PoolExhaustedError(
            f"no connection came free: {used} of {size} are in use ({error}). Raise pool={{'max_size': …}} or its "
            "'timeout', or let fewer calls run at once."
        )
    return errors.DatabaseUnavailableError(
        "the PostgreSQL server could not be reached in time; check that it runs and takes more connections: "
        "'perdure doctor --db …' tries one"
    )
