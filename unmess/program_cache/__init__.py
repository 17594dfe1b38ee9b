"""A cache of captured programs: a second command on the same model needs no `torch.export`.

`request` says what is asked for, `environment` what is installed. `watch` finds out what a model
depends on while it is built, and `dependencies` whether that has changed. `entry` is the form on
disk, which is read without PyTorch; `stored` makes programs of it. `bundles` runs them without
PyTorch, and `capturing` ties these together.
"""
