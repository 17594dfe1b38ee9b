"""The list that `unmess repairs` prints matches the code."""

from importers.repair_list import record_repairs, recorded_repairs
from importers.repairs.listing import every_repair


def test_recorded_list_matches_the_code():
    # After changing a repair or decomposition, run: ./pixiw run repair-list
    assert recorded_repairs() == every_repair()


def test_a_recorded_list_is_read_back(tmp_path):
    listed = every_repair()[:3]
    record_repairs(listed, tmp_path / "list.yaml")
    assert recorded_repairs(tmp_path / "list.yaml") == listed
