"""Prints the IR of a hand-written module at three stages, and runs it on both runners.

python examples/nnmodule.py
"""

import torch

import unmess


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.head = torch.nn.Linear(8, 10)

    def forward(self, image):
        features = torch.relu(self.conv(image)).mean((2, 3))
        return {"logits": self.head(features), "features": features}


def model():
    torch.manual_seed(0)
    return Net().eval(), (torch.randn(2, 3, 16, 16),)


if __name__ == "__main__":
    net, args = model()
    program = unmess.capture(net, args)
    for stage in ("raw", "torch", "linalg"):
        print(f"// ----- {stage}\n{unmess.lower(program, to=stage)}")
    for runner in ("reference", "iree-cpu"):
        run = unmess.load(program, on=runner)
        difference = run(*args)["logits"] - net(*args)["logits"]
        print(f"// {runner}: largest difference from eager {difference.abs().max():.1e}")
