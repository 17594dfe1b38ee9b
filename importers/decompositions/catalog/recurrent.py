"""Decompositions of recurrent layers."""

from importers.decompositions.decomposition import entries
from importers.decompositions.recurrent.cells import GRU, LSTM, RNN_RELU, RNN_TANH
from importers.decompositions.recurrent.layers import layers, packed_layers

RECURRENT = entries(
    "recurrent layers",
    "torch",
    "PyTorch's decomposition repeats the operators of a step for every step",
    {
        f"{name}.{overload}": function(cell)
        for overload, function in (("input", layers), ("data", packed_layers))
        for name, cell in (
            ("lstm", LSTM),
            ("gru", GRU),
            ("rnn_tanh", RNN_TANH),
            ("rnn_relu", RNN_RELU),
        )
    },
)
