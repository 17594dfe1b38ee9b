"""Backends, which compile and run modules, behind one protocol.

| file | contents |
| --- | --- |
| `backend.py` | `Backend`, the protocol, and `BackendInput`, the IR that a backend takes |
| `table.py` | the backends by name; the only place that lists them |
| `finding.py` | finds a backend by name, in a Python file, or in a TOML file |
| `preparing.py` | lowers a module to the form that a backend takes |
| `results.py` | checks the results of a backend, and converts them to the signature's tensors |
| `loading.py` | loads a module on a backend |

`pipelines/reference/backend.py` and `pipelines/iree/backend.py` implement the protocol.
"""
