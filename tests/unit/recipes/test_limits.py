"""Known limits can be written and read back, and keep their links."""

import pytest

from importers.recipes.limits import FILE, Limit, known_limits, record_limits

STOPS = Limit("capture", "a line: with 'quotes', commas and — dashes")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("")
    return path


def test_written_limits_are_read_back(file):
    elsewhere = Limit("compare", "max abs error 1", "iree-cpu")
    record_limits({"hf:b": [STOPS, elsewhere], "hf:a": [STOPS]}, file)
    assert known_limits(file) == {"hf:a": (STOPS,), "hf:b": (STOPS, elsewhere)}


def test_limits_of_other_models_are_kept(file):
    record_limits({"hf:a": [STOPS]}, file)
    record_limits({"hf:b": [STOPS]}, file)
    assert set(known_limits(file)) == {"hf:a", "hf:b"}


def test_model_without_limits_has_no_entry(file):
    record_limits({"hf:a": [STOPS]}, file)
    record_limits({"hf:a": []}, file)
    assert known_limits(file) == {}


def test_a_link_stays_with_its_stage(file):
    file.write_text("hf:a:\n- stage: capture\n  cause: old\n  link: https://example.org/1\n")
    record_limits({"hf:a": [STOPS, Limit("run", "new")]}, file)
    first, second = known_limits(file)["hf:a"]
    assert (first.cause, first.link) == (STOPS.cause, "https://example.org/1")
    assert second.link is None


def test_a_limit_of_one_runner():
    assert STOPS.holds_for("reference")
    assert Limit("run", "slow", "reference").holds_for("reference")
    assert not Limit("run", "slow", "reference").holds_for("iree-cpu")


def test_the_file_of_the_project_can_be_read():
    assert FILE.is_file()
    assert all(
        limit.stage and limit.cause for limits in known_limits().values() for limit in limits
    )
