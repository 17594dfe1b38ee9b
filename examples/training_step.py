"""Captures a training step (forward, loss, backward, Adam) as one module, and runs ten steps.

python examples/training_step.py
"""

import torch

import unmess


class Step(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh())
        self.net.append(torch.nn.Linear(32, 4))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.01)

    def forward(self, x, target):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.net(x), target)
        loss.backward()
        self.optimizer.step()
        return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    step = Step()
    batch = (torch.randn(16, 8), torch.randint(0, 4, (16,)))
    program = unmess.capture(step, batch)
    print(unmess.lower(program, to="torch"))
    runs = {runner: unmess.load(program, on=runner) for runner in ("reference", "iree-cpu")}
    for _ in range(10):
        eager = float(step(*batch).detach())
        ours = [float(run(*batch)) for run in runs.values()]
        print(f"// loss {eager:.6f}, largest difference {max(abs(x - eager) for x in ours):.1e}")
