"""A cache of captured programs: a second command on the same model needs no `torch.export`.

`request` describes the requested program, `environment` the installed packages. `watch` records a
model's dependencies while it is built, and `dependencies` checks whether they have changed. `entry`
reads entries from disk without PyTorch; `stored` converts them from and to programs. `bundles` runs
programs without PyTorch, and `capturing` combines these modules.
"""
