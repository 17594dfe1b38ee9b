"""What importers, pipelines and the face share: types, the cache folder, child processes."""
