"""Backends that are described as commands in a TOML file.

| file | contents |
| --- | --- |
| `schema.json` | every value of the file |
| `description.py` | reads and validates the file |
| `backend.py` | `CommandBackend`: compiles and runs with the commands |
| `tools.py` | the identity of the tools, for the cache |
| `process.py` | runs a command with limits, and describes how it ended |
| `tensors.py` | tensors in files: `.npy`, `.bin` with a JSON table, safetensors |
| `printing.py` | a `main` without arguments that prints its results, and reads them back |
"""
