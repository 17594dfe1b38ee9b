"""The table of stages. Quick to import."""

# Stages at which other compilers take over.
OUTPUT_DIALECTS = ("linalg", "tosa", "stablehlo")
# Stages that pipelines lower to.
LOWERED = ("torch", *OUTPUT_DIALECTS)
# Stages that a Module can be at.
IR_STAGES = ("raw", *LOWERED)
# Stages before a backend gets the program.
BEFORE_BACKEND = ("source", "capture", "import", *LOWERED)
# Stages of an Error.
STAGES = ("usage", *BEFORE_BACKEND, "compile", "load", "run", "compare")
