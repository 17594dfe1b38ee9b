"""The small types that importers, pipelines and the face share."""
