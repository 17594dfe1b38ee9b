# RUN: unmess import %s:model --to raw --locations | filecheck %s

# Every operation has the user's source line.

import torch


def function(x):
    return torch.relu(x)


# CHECK: torch.aten.relu %x : {{.*}} loc(#[[LOC:loc[0-9]*]])
# CHECK: #[[LOC]] = loc("{{.*}}source_locations.py":9:0)


def model():
    return function, (torch.randn(3),)
