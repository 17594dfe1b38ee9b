"""The commands and files in docs/matrix.md: they have the form that the commands take."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from command_line import parsed

from unmess.cli import cli
from unmess.matrix.cells import matching_models, parse_shard

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "matrix.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
COMMANDS = [
    match
    for _, block in BLOCKS
    for match in re.findall(
        r"""\b(unmess (?:matrix|report) (?:[^|>&#\n)'"]|'[^'\n]*'|"[^"\n]*")+)""",
        block.replace("\\\n", " "),
    )
]


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_have_the_options_of_the_command(text):
    text = re.sub(r"\$\{\{ matrix.shard \}\}|\$SLURM_ARRAY_TASK_ID", "2", text)
    text = text.replace("$SLURM_ARRAY_TASK_COUNT", "8")
    _, name, *arguments = shlex.split(text)
    command = cli.commands[name]
    if arguments[0] == "diff":
        command, name, arguments = command.commands["diff"], "diff", arguments[1:]
    with parsed(command, name, arguments) as context:
        if name == "matrix":
            assert parse_shard(context.params["shard"]).index <= 2
            patterns = [each for each in context.params["patterns"] if ".py" not in each]
            assert matching_models(patterns)


def test_each_shard_of_the_examples_runs():
    assert len(COMMANDS) >= 9
    workflow = yaml.safe_load(next(block for kind, block in BLOCKS if kind == "yaml"))
    shards = workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    run = "".join(step.get("run", "") for step in workflow["jobs"]["shard"]["steps"])
    assert f"--shard ${{{{ matrix.shard }}}}/{len(shards)}" in run
    script = next(block for _, block in BLOCKS if "#SBATCH" in block)
    assert "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" in script
