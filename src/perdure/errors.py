"""Every error Perdure raises, as one tree.

::

    PerdureError
    ├── ConfigurationError            what was passed to open, or set in the environment, is wrong
    │   ├── InvalidUrlError
    │   ├── UnsafeRoleError           the database role sees every tenant, and tenants are required
    │   ├── EmbeddingModelError       the vectors were made with another model than the index's
    │   └── NotAvailableError         part of the plan, not of this release
    ├── InvalidInputError             (also a ValueError) refused before anything is written
    │   ├── InvalidIdError            thread, tenant, subject or checkpoint id
    │   ├── MissingThreadIdError
    │   ├── MissingContextError       the run's context doesn't say whose items are meant
    │   ├── InvalidLimitError
    │   ├── InvalidCursorError
    │   ├── InvalidFilterError
    │   ├── InvalidNamespaceError
    │   └── InvalidConversationError  a list of messages that no provider would take
    ├── UnsupportedValueError         (also a TypeError) a value that would not come back equal
    ├── StoredValueError              what the database holds can't be turned into a value
    │   ├── CorruptValueError
    │   ├── RefusedValueError         what a database to import from holds is never loaded: a pickle
    │   ├── UnknownTypeError          a type this process has not registered
    │   ├── StateVersionError         a state of a version that this memory was not opened for
    │   └── StateMigrationError       a migration of the state failed
    ├── NotFoundError
    ├── EmbedderError                 the embedder failed, or gave what is no vector
    ├── ConflictError
    │   ├── FencedError               the thread was deleted or begun anew meanwhile
    │   ├── VersionConflictError      the item is not at the version, or absent, as was required
    │   └── LimitReachedError         an increment would pass its bound
    ├── VerificationError             what was moved does not equal its source
    └── DatabaseError
        ├── DatabaseUnavailableError  can't be opened, written or reached
        │   ├── PoolExhaustedError    no connection came free in time
        │   └── DeadlineError         the server did not answer in time
        ├── CommitUnknownError        stored or not: the answer was lost on the way
        ├── PrivilegeError            the database role may not do this
        ├── DatabaseLockedError       another process held it for longer than the timeout
        ├── ForeignDatabaseError      no Perdure database; left untouched
        ├── NewerSchemaError          written by a newer Perdure; left untouched
        ├── CorruptDatabaseError      cut short or damaged
        ├── NotSetUpError             empty, and open was told not to create
        └── ClosedError               the memory was closed

Each class has a `code` that programs can rely on and an HTTP `status`.
Messages say what, where and the next step.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "ClosedError",
    "CommitUnknownError",
    "ConfigurationError",
    "ConflictError",
    "CorruptDatabaseError",
    "CorruptValueError",
    "DatabaseError",
    "DatabaseLockedError",
    "DatabaseUnavailableError",
    "DeadlineError",
    "EmbedderError",
    "EmbeddingModelError",
    "FencedError",
    "ForeignDatabaseError",
    "InvalidConversationError",
    "InvalidCursorError",
    "InvalidFilterError",
    "InvalidIdError",
    "InvalidInputError",
    "InvalidLimitError",
    "InvalidNamespaceError",
    "InvalidUrlError",
    "LimitReachedError",
    "MissingContextError",
    "MissingThreadIdError",
    "NewerSchemaError",
    "NotAvailableError",
    "NotFoundError",
    "NotSetUpError",
    "PerdureError",
    "PoolExhaustedError",
    "PrivilegeError",
    "RefusedValueError",
    "StateMigrationError",
    "StateVersionError",
    "StoredValueError",
    "UnknownTypeError",
    "UnsafeRoleError",
    "UnsupportedValueError",
    "VerificationError",
    "VersionConflictError",
]


class PerdureError(Exception):
    """Something Perdure refuses or could not do."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500


class ConfigurationError(PerdureError):
    """An argument of `Memory.open`, or a setting, is wrong."""

    code = "configuration"
    status = 400


class InvalidUrlError(ConfigurationError):
    """The database URL has a form that no engine takes."""

    code = "invalid_url"


class NotAvailableError(ConfigurationError):
    """What was asked for is planned, and not part of this release."""

    code = "not_available"
    status = 501


class UnsafeRoleError(ConfigurationError):
    """The database role walks through the walls between tenants, and ``tenants="required"`` was given."""

    code = "unsafe_role"


class EmbeddingModelError(ConfigurationError):
    """The vectors of a tenant were made with another model, or of other fields, than the index has."""

    code = "embedding_model"
    status = 409


class UnsafeRoleWarning(UserWarning):
    """The database role walks through the walls between tenants, which then stand in our statements alone."""


class InvalidInputError(PerdureError, ValueError):
    """An argument was refused before anything was written."""

    code = "invalid_input"
    status = 422


class InvalidIdError(InvalidInputError):
    """An id is no string, empty, too long, or holds control characters."""

    code = "invalid_id"


class MissingThreadIdError(InvalidInputError):
    """A config names no thread."""

    code = "missing_thread_id"


class MissingContextError(InvalidInputError):
    """A run's context, or its config, doesn't say whose items a part works on. `field` is what it lacks."""

    code = "missing_context"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidLimitError(InvalidInputError):
    """A limit or offset is no whole number in its range."""

    code = "invalid_limit"


class InvalidCursorError(InvalidInputError):
    """A page cursor was not made by this listing."""

    code = "invalid_cursor"


class InvalidFilterError(InvalidInputError):
    """A filter has a form that the filter rules don't know."""

    code = "invalid_filter"


class InvalidNamespaceError(InvalidInputError):
    """A namespace or one of its labels has a form that is not allowed."""

    code = "invalid_namespace"


class InvalidConversationError(InvalidInputError):
    """A list of messages would be left in a form that providers refuse: a tool call without its result, say."""

    code = "invalid_conversation"


class UnsupportedValueError(PerdureError, TypeError):
    """A value that would not come back equal and of the same type.

    `path` names the place inside the value, as in ``$.messages[3].artifact``.
    """

    code = "unsupported_value"
    status = 422

    def __init__(self, message: str, *, path: str = "$") -> None:
        super().__init__(message)
        self.path = path


class StoredValueError(PerdureError):
    """What the database holds can't be turned into a value."""

    code = "stored_value"


class CorruptValueError(StoredValueError):
    """Stored bytes fail their checksum or are no value of ours."""

    code = "corrupt_value"


class RefusedValueError(StoredValueError):
    """A value in a database to import from is of a form that is never loaded: a pickle, or encrypted by others."""

    code = "refused_value"
    status = 422


class UnknownTypeError(StoredValueError):
    """A stored value has a type tag that this process has not registered.

    `tag` is the stored tag, `path` the place inside the value.
    """

    code = "unknown_type"

    def __init__(self, message: str, *, tag: str = "", path: str = "$") -> None:
        super().__init__(message)
        self.tag = tag
        self.path = path


class StateVersionError(StoredValueError):
    """A thread's state has another version than the memory was opened for, and no migrations lead from there.

    `stored` is its version, `opened` the `schema_version` of the memory.
    """

    code = "state_version"
    status = 409

    def __init__(self, message: str, *, stored: int = 1, opened: int = 1) -> None:
        super().__init__(message)
        self.stored = stored
        self.opened = opened


class StateMigrationError(StoredValueError):
    """A function of `migrations` raised, or gave something that is no state; nothing was written."""

    code = "state_migration"


class EmbedderError(PerdureError):
    """The embedder failed, or gave something that is no vector; what was stored is kept."""

    code = "embedder"
    status = 502


class NotFoundError(PerdureError):
    """What was named does not exist."""

    code = "not_found"
    status = 404


class ConflictError(PerdureError):
    """Somebody else's change came first."""

    code = "conflict"
    status = 409


class FencedError(ConflictError):
    """The thread was deleted or begun anew while this run was under way."""

    code = "fenced"


class VersionConflictError(ConflictError):
    """An item is not at the version that a write required; nothing of its batch was stored.

    `current` is the item as it is, as `get` returns it; None: there is none.
    """

    code = "version_conflict"

    def __init__(self, message: str, *, current: Any = None) -> None:
        super().__init__(message)
        self.current = current


class LimitReachedError(ConflictError):
    """An increment would have passed its bound; nothing was stored. `current` is the number as it is."""

    code = "limit_reached"

    def __init__(self, message: str, *, current: float = 0) -> None:
        super().__init__(message)
        self.current = current


class VerificationError(PerdureError):
    """What was moved to another database does not equal its source; it was not kept."""

    code = "verification"


class DatabaseError(PerdureError):
    """The database failed or refused."""

    code = "database"
    status = 503


class DatabaseUnavailableError(DatabaseError):
    """The database can't be opened, written or reached."""

    code = "database_unavailable"


class PoolExhaustedError(DatabaseUnavailableError):
    """No connection of the pool came free within its timeout; nothing was sent."""

    code = "pool_exhausted"


class DeadlineError(DatabaseUnavailableError):
    """The server did not answer in time, and the connection was closed; nothing was stored."""

    code = "deadline"


class CommitUnknownError(DatabaseError):
    """The connection was lost before the server's answer to a commit came: it may be stored or not.

    Every call of ours can be repeated: what is stored already is stored once.
    """

    code = "commit_unknown"


class PrivilegeError(DatabaseError):
    """The database role may not do this."""

    code = "privilege"
    status = 500


class DatabaseLockedError(DatabaseError):
    """Another process held the database for longer than the timeout."""

    code = "database_locked"


class ForeignDatabaseError(DatabaseError):
    """The file is no Perdure database; it was left untouched."""

    code = "foreign_database"
    status = 500


class NewerSchemaError(DatabaseError):
    """The database was written by a newer Perdure; it was left untouched."""

    code = "newer_schema"
    status = 500


class CorruptDatabaseError(DatabaseError):
    """The file is cut short or damaged."""

    code = "corrupt_database"
    status = 500


class NotSetUpError(DatabaseError):
    """The database is empty, and `create=False` was given."""

    code = "not_set_up"


class ClosedError(DatabaseError):
    """The memory was closed before this call."""

    code = "closed"
    status = 500
