"""The client of an adnet installation. What comes from the API keeps the API's names."""

from .client import Adnet, AsyncAdnet
from .errors import (
    AdnetError,
    AuthError,
    ClientError,
    ConflictError,
    NetworkError,
    RateLimitError,
    ReplyError,
    RequestError,
    ServerError,
    TimeLimitError,
)
from .fields import Suitability
from .results import (
    Ad,
    AdResult,
    Advertiser,
    BatchResult,
    BatchTracked,
    Failed,
    Filled,
    NoFill,
    Tracked,
    TrackResult,
)

__all__ = [
    "Ad",
    "AdResult",
    "Adnet",
    "AdnetError",
    "Advertiser",
    "AsyncAdnet",
    "AuthError",
    "BatchResult",
    "BatchTracked",
    "ClientError",
    "ConflictError",
    "Failed",
    "Filled",
    "NetworkError",
    "NoFill",
    "RateLimitError",
    "ReplyError",
    "RequestError",
    "ServerError",
    "Suitability",
    "TimeLimitError",
    "TrackResult",
    "Tracked",
]
