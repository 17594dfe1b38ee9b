"""Recurrent layers as loops over their steps."""
