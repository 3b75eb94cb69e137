"""The integers that stored bytes use to say what kind of value follows.

They are the whole vocabulary of a stored value: each leads to one decoder of ours.
"""

from __future__ import annotations

from typing import Final

# Never change or reuse a number, not even one whose kind is gone: databases hold them.
# -128..9 stay free (LangGraph's own serializer uses 0..7, MessagePack -1); 100..109 are the callers' references.
USER: Final = 10
PAIRS: Final = 11
BIG_INT: Final = 12
SURROGATE_STR: Final = 13
TUPLE: Final = 14
SET: Final = 15
FROZENSET: Final = 16
DEQUE: Final = 17
BYTEARRAY: Final = 18
COMPLEX: Final = 19
DECIMAL: Final = 20
FRACTION: Final = 21
DATETIME: Final = 22
DATE: Final = 23
TIME: Final = 24
TIMEDELTA: Final = 25
TIMEZONE: Final = 26
ZONEINFO: Final = 27
UUID: Final = 28
PURE_POSIX_PATH: Final = 29
PURE_WINDOWS_PATH: Final = 30
POSIX_PATH: Final = 31
WINDOWS_PATH: Final = 32
PATTERN: Final = 33
IPV4_ADDRESS: Final = 34
IPV4_NETWORK: Final = 35
IPV4_INTERFACE: Final = 36
IPV6_ADDRESS: Final = 37
IPV6_NETWORK: Final = 38
IPV6_INTERFACE: Final = 39
RANGE: Final = 40
SLICE: Final = 41
ELLIPSIS: Final = 42
COUNTER: Final = 43
ORDERED_DICT: Final = 44
DEFAULT_DICT: Final = 45
CHAIN_MAP: Final = 46
NAMESPACE: Final = 47
SECRET_STR: Final = 48
SECRET_BYTES: Final = 49
NUMPY_SCALAR: Final = 50
NUMPY_ARRAY: Final = 51
ANY_URL: Final = 52
ANY_HTTP_URL: Final = 53
HTTP_URL: Final = 54
ANY_WEBSOCKET_URL: Final = 55
WEBSOCKET_URL: Final = 56
FILE_URL: Final = 57
FTP_URL: Final = 58

HUMAN_MESSAGE: Final = 60
AI_MESSAGE: Final = 61
SYSTEM_MESSAGE: Final = 62
TOOL_MESSAGE: Final = 63
CHAT_MESSAGE: Final = 64
FUNCTION_MESSAGE: Final = 65
REMOVE_MESSAGE: Final = 66
HUMAN_MESSAGE_CHUNK: Final = 67
AI_MESSAGE_CHUNK: Final = 68
SYSTEM_MESSAGE_CHUNK: Final = 69
TOOL_MESSAGE_CHUNK: Final = 70
CHAT_MESSAGE_CHUNK: Final = 71
FUNCTION_MESSAGE_CHUNK: Final = 72
BASE_MESSAGE: Final = 73
BASE_MESSAGE_CHUNK: Final = 74
DOCUMENT: Final = 75
TEXT_ACCESSOR: Final = 76
ADDABLE_DICT: Final = 77

SEND: Final = 80
INTERRUPT: Final = 81
COMMAND: Final = 82
OVERWRITE: Final = 83
TIMEOUT_POLICY: Final = 84
STATE_SNAPSHOT: Final = 85
PREGEL_TASK: Final = 86
STATE_UPDATE: Final = 87
ITEM: Final = 88
SEARCH_ITEM: Final = 89
GET_OP: Final = 90
DELTA_SNAPSHOT: Final = 91

REF_CODES: Final = range(100, 110)
"""Extension codes a caller may give its own meaning, by the `refs` argument of `unpack`."""
