"""Moving in and out: stock savers' databases and our own, each read state by state, written and compared."""

from perdure.moving.mover import Counts, Failure, Report, move
from perdure.moving.ours import OpaqueCodec, OurSource, OurTarget
from perdure.moving.stock import StockSource, StockTarget

__all__ = ["Counts", "Failure", "OpaqueCodec", "OurSource", "OurTarget", "Report", "StockSource", "StockTarget", "move"]
