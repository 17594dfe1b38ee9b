"""Tests some node test cases of the onnx package. `./pixiw run onnx-nodes` runs all of them."""

import functools

import pytest

from unmess.conformance.operators.outcomes import outcomes
from unmess.core.processes.workers import Parent
from unmess.isolated import libraries_of

# Cases that have failed before, and some for each file of operators, without the prefix `test_`.
CASES = (
    *("adam", "affine_grid_2d", "argmax_keepdims_example_select_last_index", "attention_4d_gqa"),
    *("attention_4d_softcap", "averagepool_2d_ceil", "basic_conv_with_padding"),
    *("batchnorm_example_training_mode", "bitshift_right_uint32", "blackmanwindow"),
    *("center_crop_pad_crop", "cast_FLOAT_to_FLOAT8E4M3FN", "cast_FLOAT_to_INT4"),
    *("causal_conv_with_state_basic", "clip_min_greater_than_max", "col2im_pads", "compress_0"),
    *("convinteger_with_padding", "convtranspose_output_shape", "cumsum_1d_reverse_exclusive"),
    *("depthtospace_crd_mode_example", "dequantizelinear_blocked", "dft_irfft"),
    *("dynamicquantizelinear", "einsum_sum", "gather_negative_indices"),
    *("gathernd_example_int32_batch_dim1", "gemm_all_attributes", "gridsample_nearest"),
    *("group_normalization_epsilon", "gru_seq_length", "hardmax_axis_0", "isinf_negative"),
    *("l2normalization_axis_0", "layer_normalization_4d_axis1", "loop11", "linear_attention_delta"),
    *("lppool_2d_dilations", "lrn", "lstm_with_peepholes"),
    *("maxpool_with_argmax_2d_precomputed_strides", "melweightmatrix", "mod_int64_fmod"),
    *("nllloss_NCd1_weight_ii", "nonmaxsuppression_two_classes", "onehot_negative_indices"),
    *("pow_types_float32_int64", "qlinearconv", "qlinearmatmul_3D_int8_float32"),
    *("quantizelinear_axis", "reduce_log_sum_exp_negative_axes_keepdims_random", "reflect_pad"),
    *("reshape_zero_dim", "resize_downsample_scales_linear_align_corners"),
    *("resize_upsample_scales_cubic_align_corners", "resize_tf_crop_and_resize"),
    *("reversesequence_batch", "roialign_aligned_true", "rotary_embedding_interleaved"),
    *("rotary_embedding_with_interleaved_rotary_dim", "scan9_sum"),
    *("scatter_elements_with_reduction_max", "scatternd_multiply", "sce_mean_weight_ii"),
    *("shape_start_1_end_negative_1", "slice_neg_steps", "softmax_large_number"),
    *("split_1d_uneven_split_opset18", "stft_with_window", "swiglu"),
    *("tfidfvectorizer_tf_batch_onlybigrams_skip5", "top_k_smallest", "training_dropout_default"),
    *("tril_neg", "unique_sorted_with_axis", "upsample_nearest"),
)
# Cases that also run on IREE.
ON_BOTH = frozenset(
    {"lstm_with_peepholes", "resize_downsample_scales_linear_align_corners"}
    | {"qlinearmatmul_3D_int8_float32", "gridsample_nearest", "l2normalization_axis_0"}
    | {"rotary_embedding_with_interleaved_rotary_dim", "cast_FLOAT_to_INT4"}
)

# One test worker runs all tests, since it computes all outcomes together.
pytestmark = pytest.mark.xdist_group("onnx nodes")


@functools.cache
def failures():
    """Returns the Failure of each case, or None, by runner and name."""
    # The import computes all cases of the package, which takes 5 s. Every test worker imports this
    # file, and one of them runs its tests.
    from onnx_cases import OnnxCase

    libraries = (*libraries_of((), ["reference", "iree-cpu"]), "onnx_cases")
    with Parent((*libraries, "importers.onnx.operators")) as parent:
        found = {}
        for runner, names in (("reference", CASES), ("iree-cpu", sorted(ON_BOTH))):
            cases = [OnnxCase(f"test_{name}") for name in names]
            done = outcomes(cases, [runner], parent=parent)
            for name, outcome in zip(names, done, strict=True):
                found[runner, name] = outcome[runner]
        return found


@pytest.mark.parametrize("name", CASES)
def test_as_recorded(name):
    assert failures()["reference", name] is None, str(failures()["reference", name])


@pytest.mark.parametrize("name", sorted(ON_BOTH))
def test_as_recorded_on_iree(name):
    assert failures()["iree-cpu", name] is None, str(failures()["iree-cpu", name])
