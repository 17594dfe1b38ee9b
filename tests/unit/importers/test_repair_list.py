"""What `unmess repairs` prints is what the code has."""

from importers.repair_list import record_repairs, recorded_repairs
from importers.repairs.listing import every_repair


def test_the_record_is_what_the_code_has():
    # After a change of a repair or decomposition: ./pixiw run repair-list
    assert recorded_repairs() == every_repair()


def test_a_recorded_list_is_read_back(tmp_path):
    listed = every_repair()[:3]
    record_repairs(listed, tmp_path / "list.yaml")
    assert recorded_repairs(tmp_path / "list.yaml") == listed
