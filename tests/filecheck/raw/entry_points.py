# RUN: %python %s | filecheck %s

# Each entry point is one function. A shared weight has one name. A buffer that one function writes
# is state of the other, too.

import torch

import unmess


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4, bias=False)
        self.register_buffer("last", torch.zeros(4))

    # CHECK-LABEL: func.func @write(
    # CHECK-SAME:    %x: !torch.vtensor<[4],f32> {unmess.input = "x"},
    # CHECK-SAME:    %layer.weight: {{.*}} {unmess.weight = "layer.weight"},
    # CHECK-SAME:    %last: {{.*}} {unmess.state = "last"}) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
    def write(self, x):
        self.last.copy_(self.layer(x))
        return x + 1

    # CHECK-LABEL: func.func @read(
    # CHECK-SAME:    %layer.weight: {{.*}} {unmess.weight = "layer.weight"},
    # CHECK-SAME:    %last: {{.*}} {unmess.state = "last"}) -> !torch.vtensor<[4],f32>
    def read(self):
        return self.layer(self.last)


net = Net()
programs = unmess.combine(
    {"write": unmess.capture(net.write, (torch.ones(4),)), "read": unmess.capture(net.read)}
)
print(unmess.lower(programs, to="raw"))
