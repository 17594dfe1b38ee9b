"""Writes importers/repair_list.yaml, which `unmess repairs` prints, from the code."""

from importers.repair_list import FILE, record_repairs
from importers.repairs.listing import every_repair

if __name__ == "__main__":
    record_repairs(every_repair())
    print(f"wrote {FILE.name}")
