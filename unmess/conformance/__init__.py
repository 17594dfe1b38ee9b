"""Conformance of a backend: cases in four levels, and a report.

| file | contents |
| --- | --- |
| `operators/` | level 1: calls of single operators |
| `programs/` | level 2: random programs |
| `levels.py` | the cases of all levels |
| `running.py` | runs cases in processes of their own, and resumes |
| `result.py` | the result of a case, the file of results, and the comparison of two files |
| `causes.py` | groups failures by cause, and finds the smallest failing IR |
| `report.py` | the summary, JUnit XML, and the HTML page |
| `printing.py` | writes one case as a folder |
"""
