"""Writes a bundle, a folder that runs without PyTorch, and compares its results with eager.

python examples/bundle.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from nnmodule import model

import unmess

# This part needs only iree-base-runtime and NumPy. It can also run on another computer.
DEPLOYED = """
import sys
import numpy as np
import unmess.bundle

run = unmess.bundle.load(sys.argv[1])
np.save(sys.argv[2], run(np.load(sys.argv[3]))["logits"])
print("PyTorch is", "there" if "torch" in sys.modules else "not imported")
"""

if __name__ == "__main__":
    net, (image,) = model()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = unmess.package(unmess.capture(net, (image,)), folder / "net", on="iree-cpu")
        for file, about in made.files.items():
            print(f"{file:16} {about['bytes']:8} bytes")
        np.save(folder / "image.npy", image.numpy())
        arguments = [folder / part for part in ("net", "logits.npy", "image.npy")]
        subprocess.run([sys.executable, "-c", DEPLOYED, *arguments], check=True)
        logits = torch.from_numpy(np.load(folder / "logits.npy"))
    print(f"largest difference from eager {(logits - net(image)['logits']).abs().max():.1e}")
