"""Creates tiny configurations of transformers models, by attribute names that they share."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from transformers import PreTrainedConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from importers.sources.huggingface.parts import parts
from importers.sources.huggingface.tiny_sizes import TinySizes

VOCABULARY = 512
IMAGE = 64
# Special tokens move to ids from here on, which examples do not use.
_FIRST_SPECIAL = 480

# Sizes by attribute. A model has some of them. The `attribute_map` of its configuration maps them
# to the model's own names.
_VOCABULARIES = {
    "vocab_size": VOCABULARY,
    "decoder_vocab_size": VOCABULARY,
    "src_vocab_size": VOCABULARY,
    "tgt_vocab_size": VOCABULARY,
    "entity_vocab_size": VOCABULARY,
    "vocab_size_per_layer_input": VOCABULARY,
    "max_position_embeddings": 128,
    "max_source_positions": 128,
    "max_target_positions": 128,
}
_DEPTHS = {
    "num_hidden_layers": 2,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "n_layers": 2,
    "depth": 2,
    "num_self_attends_per_block": 2,
    "num_queries": 16,
    "first_k_dense_replace": 1,
    "num_kv_shared_layers": 0,
}
# Enough for every kind of layer in models that repeat a pattern of layers.
_DEEPER = {name: 4 for name in _DEPTHS if name.endswith("layers")} | {"num_kv_shared_layers": 0}
_EXPERTS = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "moe_num_experts": 4,
    "num_experts_per_tok": 2,
    "num_experts_per_token": 2,
    "moe_k": 2,
    "moe_topk": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "expert_ffn_hidden_size": 32,
}
_IMAGES = {
    "image_size": IMAGE,
    "patch_size": 8,
    "mm_tokens_per_image": 16,
    # for scans of state-space models, whose cost grows with the square of the chunk size
    "chunk_size": 8,
    "mamba_chunk_size": 8,
    # for time series
    "prediction_length": 8,
    # for spectrograms
    "max_length": 128,
}
_WIDTHS = {
    "hidden_size": 64,
    "d_model": 64,
    "dim": 64,
    "embed_dim": 64,
    "embedding_size": 32,
    "input_embedding_size": 32,
    "output_embedding_size": 64,
    "word_embed_proj_dim": 32,
    "intermediate_size": 128,
    "ffn_hidden_size": 128,
    "hidden_dim": 128,
    "d_ff": 128,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "ffn_dim": 128,
    "projection_dim": 64,
    "bottleneck_size": 32,
    # heads
    "num_attention_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "n_heads": 4,
    "num_heads": 4,
    "head_dim": 16,
    "global_head_dim": 16,
    "d_kv": 16,
    "rotary_dim": 8,
    "kv_lora_rank": 16,
    "q_lora_rank": 32,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    # Windows are shorter than the example, so that they have an effect.
    "sliding_window": 8,
    "window_size": 2,
}
# Sectioned rotary embeddings and some kernels require heads of size 128.
_WIDE_HEADS = {
    **_WIDTHS,
    "hidden_size": 256,
    "num_attention_heads": 2,
    "head_dim": 128,
}


@dataclasses.dataclass(frozen=True)
class Level:
    """The sizes that a tiny configuration sets.

    Attributes:
        sizes: sizes by attribute.
        agree: whether other widths of the model also become the small width, if their defaults
            equal the width of a part.
    """

    sizes: Mapping[str, int]
    agree: bool = False


_TINY = {**_VOCABULARIES, **_DEPTHS, **_EXPERTS, **_IMAGES, **_WIDTHS}
# The smallest first. Default widths are consistent with each other; reduced ones may not be.
LEVELS: tuple[Level, ...] = (
    Level(_TINY),
    Level(_TINY, agree=True),
    Level({**_TINY, **_DEEPER}, agree=True),
    Level({**_TINY, "num_hidden_layers": 3}, agree=True),
    Level({**_TINY, "num_hidden_layers": 6}, agree=True),
    Level({**_TINY, **_WIDE_HEADS}),
    Level({**_TINY, **_WIDE_HEADS, **_DEEPER}, agree=True),
    Level({**_VOCABULARIES, **_DEPTHS, **_EXPERTS, **_WIDTHS}, agree=True),
    Level({**_VOCABULARIES, **_DEPTHS, **_EXPERTS, **_IMAGES}),
    Level({**_VOCABULARIES, **_DEPTHS}),
    Level({**_DEPTHS}),
    Level({}),
)
# Also set if the default is None, which means a size of the full model, or is an error.
_ALSO_NONE = (
    "head_dim",
    "vocab_size",
    "num_local_experts",
    "num_experts_per_tok",
    "prediction_length",
)
# Never larger than the default, because other defaults depend on it.
_AT_MOST_DEFAULT = (
    "patch_size",
    "image_size",
    "max_length",
    "window_size",
    "rotary_dim",
    "num_experts_per_tok",
    "depth",
    "num_layers",
    "num_hidden_layers",
)
# Name endings of widths, and the names that always refer to the width of another part.
_WIDTH_NAMES = ("hidden_size", "_dim", "_width", "_size", "channels", "d_model")
_OTHERS_WIDTHS = (
    "out_hidden_size",
    "output_hidden_size",
    "text_hidden_size",
    "audio_hidden_size",
    "vision_hidden_size",
    "encoder_hidden_size",
    "decoder_hidden_size",
    "text_dim",
    "output_dim",
)
# Placeholder tokens for features. Some models have none by default.
_PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "audio_token_id")
_HANDED_OUT = {"out_indices", "out_features", "_out_indices", "_out_features"}
_LAYER_INDICES = ("vision_feature_layer", "vision_feature_layers")
# Grouped-query attention keeps two groups; multi-head attention keeps equal counts.
_KEY_VALUE_HEADS = ("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num")


def tiny_config(
    config_class: type[PreTrainedConfig],
    level: Level = LEVELS[0],
    own: TinySizes | None = None,
) -> PreTrainedConfig:
    """Returns a configuration with the sizes of a level, one block per stage, and no cache.

    The type's own sizes replace those of the level.

    Rare attributes keep their defaults, so the model may be larger than intended: check its size
    before you build it.
    """
    values = _overrides(config_class, level.sizes)
    if level.agree:
        _agree(config_class, values, _widths(config_class), level.sizes["hidden_size"])
    if own is not None:
        own.apply(values)
    config = config_class(**values)
    for part in parts(config):
        _set_sections(part)
        if level.agree and getattr(part, "layer_types", ()) is None:
            part.layer_types = ["full_attention"] * part.num_hidden_layers
        if level.agree and getattr(part, "mlp_layer_types", ()) is None:
            part.mlp_layer_types = ["dense", "sparse"] * part.num_hidden_layers
    return config


def _set_sections(config: PreTrainedConfig) -> None:
    """Sets sections of rotary embeddings for time, height and width that exactly fill a head."""
    rotary = getattr(config, "rope_parameters", None)
    # Read the stored values: a size that may differ by layer is not an attribute.
    known = vars(config)
    head, width, heads = (
        known.get(name) for name in ("head_dim", "hidden_size", "num_attention_heads")
    )
    if head is None and _is_size(width) and _is_size(heads):
        head = width // heads
    if isinstance(rotary, dict) and "rope_type" in rotary and _is_size(head):
        pairs = int(head * rotary.get("partial_rotary_factor", 1.0)) // 2
        side = pairs * 3 // 8
        rotary["mrope_section"] = [pairs - 2 * side, side, side]


def _overrides(
    config_class: type[PreTrainedConfig],
    sizes: Mapping[str, int],
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the values that differ from the defaults.

    Args:
        given: the values that a composite configuration sets in this part.
    """
    defaults = {field.name: _default(field) for field in dataclasses.fields(config_class)}
    defaults.update(given or {})
    aliases = config_class.attribute_map
    values: dict[str, Any] = {}
    for shared, size in sizes.items():
        name = aliases.get(shared, shared)
        # Keep `num_stages`: other attributes are lists with one size per stage.
        if name not in defaults or name == "num_stages":
            continue
        # In these models `window_size` is in pixels, or is divided further.
        if name == "window_size" and {"spatial_merge_size", "downsample_rate"} & defaults.keys():
            continue
        default = defaults[name]
        # Keep the depth of a part whose output stages or layers are given. Keep the first width of
        # several stages, which the number of heads divides.
        if shared in _DEPTHS and _HANDED_OUT & defaults.keys() & (given or {}).keys():
            continue
        if name == "embed_dim" and "depths" in defaults:
            continue
        # A size of zero means that the model has no such part.
        if _is_size(default) and default:
            values.setdefault(name, min(size, default) if shared in _AT_MOST_DEFAULT else size)
        elif default is None and shared in _ALSO_NONE:
            values.setdefault(name, size)
        elif name == "image_size" and isinstance(default, (list, tuple)):
            values.setdefault(name, type(default)(min(size, one) for one in default))
    width = aliases.get("hidden_size", "hidden_size")
    if defaults.get("embedding_size") == defaults.get(width) and width in values:
        values["embedding_size"] = values[width]
    heads_name = aliases.get("num_attention_heads", "num_attention_heads")
    heads = defaults.get(heads_name)
    if heads_name in values:
        for name in _KEY_VALUE_HEADS:
            if name in defaults:
                own = defaults[name] in (None, heads)
                values[name] = 4 if own else min(defaults[name], 2)
    _relate(defaults, values)
    for name, default in defaults.items():
        if name in _PLACEHOLDERS and default is None and "vocab_size" in sizes:
            values[name] = _token(name, -1)
        elif name == "intermediate_layers_indices" and default and "num_hidden_layers" in sizes:
            values[name] = [0] * len(default)
        elif name == "cross_attention_layers" and default and "num_hidden_layers" in sizes:
            values[name] = [1]
        elif name == "conv_dim" and isinstance(default, (list, tuple)) and "hidden_size" in sizes:
            values[name] = type(default)([32] * len(default))
        elif name == "n_shared_experts" and default is None and "num_experts_per_tok" in values:
            values[name] = 1
        elif name == "vocabulary_map" and default is None:
            values[name] = {"<image>": _token("image_token_id", -1)}
        elif name == "image_grid_pinpoints" and "image_size" in sizes:
            values[name] = [[sizes["image_size"]] * 2]
        elif name in _LAYER_INDICES and default is not None and "num_hidden_layers" in sizes:
            # Indices of the layers whose results are used: the last layer, as often as before.
            values[name] = -1 if _is_size(default) else [-1] * len(default)
        elif name == "layer_types" and isinstance(default, (list, tuple)):
            layers = values.get(aliases.get("num_hidden_layers", "num_hidden_layers"))
            if layers is not None and len(default) > layers:
                # Each kind once if possible, in the order of the model.
                kinds = list(dict.fromkeys(default))[:layers]
                values[name] = (kinds + list(default))[:layers]
        elif name == "depths" and isinstance(default, (list, tuple)):
            values[name] = [1] * len(default)
        elif (
            name.endswith(("_token_id", "_token_index"))
            and _is_size(default)
            and "vocab_size" in sizes
        ):
            values[name] = _token(name, default)
    for name, spec in config_class.sub_configs_defaults.items():
        if spec.optional and defaults.get(name) is None:
            continue
        part = _part(spec, defaults.get(name))
        if part is not None:
            part_class, own = part
            values[name] = {**own, **_overrides(part_class, sizes, own)}
    if "attention_types" in defaults and "num_hidden_layers" in sizes:
        values["attention_types"] = [[["global", "local"], 1]]  # for GPT-Neo, one per layer
    if "use_cache" in defaults:
        values["use_cache"] = False
    return values


def _relate(defaults: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Keeps sizes consistent that models derive from each other."""
    rotary, head = defaults.get("qk_rope_head_dim"), defaults.get("head_dim")
    if "head_dim" in values and rotary is not None and rotary == head:
        values["head_dim"] = values["qk_rope_head_dim"]
    # State-space models distribute an expanded state over the heads.
    if {"expand", "num_heads", "head_dim"} <= defaults.keys() and "hidden_size" in values:
        values["head_dim"] = values["hidden_size"] * defaults["expand"] // values["num_heads"]
        if _is_size(defaults.get("n_groups")):
            values["n_groups"] = 2


def _widths(config_class: type[PreTrainedConfig]) -> set[int]:
    """Returns the default widths of a model and its parts."""
    defaults = {field.name: _default(field) for field in dataclasses.fields(config_class)}
    found = {defaults.get(config_class.attribute_map.get("hidden_size", "hidden_size"))}
    for name, spec in config_class.sub_configs_defaults.items():
        if (part := _part(spec, defaults.get(name))) is not None:
            found |= _widths(part[0])
            found |= {value for key, value in part[1].items() if key == "hidden_size"}
    return {width for width in found if _is_size(width)}


def _agree(
    config_class: type[PreTrainedConfig], values: dict[str, Any], widths: set[int], width: int
) -> None:
    """Sets other widths of a model to the small width, and missing values to small ones."""
    defaults = {field.name: _default(field) for field in dataclasses.fields(config_class)}
    for name, default in defaults.items():
        wide = name.endswith(_WIDTH_NAMES) and _is_size(default)
        if wide and name not in values and (default in widths or name in _OTHERS_WIDTHS):
            values[name] = width
        elif default is None and name in _EXPERTS:
            values[name] = _EXPERTS[name]
        elif default is None and name == "mask_token_id":
            values[name] = _token(name, -1)
        elif default is None and name == "pad_token_id":
            values[name] = 0
        elif default is None and name == "sliding_window":
            values[name] = _WIDTHS[name]
    for name, spec in config_class.sub_configs_defaults.items():
        if isinstance(values.get(name), dict) and (part := _part(spec, defaults.get(name))):
            for key, value in part[1].items():
                if key.endswith(_WIDTH_NAMES) and value in widths:
                    values[name][key] = width
            _agree(part[0], values[name], widths, width)
        elif spec.optional and name not in values and (part := _part(spec, None)):
            # Published models have the optional parts.
            values[name] = {**part[1], **_overrides(part[0], _TINY, part[1])}
            _agree(part[0], values[name], widths, width)


def _part(spec: Any, default: Any) -> tuple[type[PreTrainedConfig], dict[str, Any]] | None:
    """Returns the class and own values of a part of a composite configuration."""
    own = dict(spec.init_kwargs or {})
    if isinstance(default, Mapping):
        own |= default
    model_type = own.get("model_type", spec.model_type)
    if model_type in CONFIG_MAPPING:
        return CONFIG_MAPPING[model_type], {"model_type": model_type, **own}
    config_class = spec.config_class
    if isinstance(config_class, type) and issubclass(config_class, PreTrainedConfig):
        return config_class, own
    return None


def _default(field: dataclasses.Field) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, (bool, enum.Enum))


def _token(name: str, default: int) -> int:
    """Returns a token id inside the vocabulary that examples do not contain."""
    if 0 <= default < VOCABULARY // 8:
        return default
    return _FIRST_SPECIAL + sum(name.encode()) % (VOCABULARY - _FIRST_SPECIAL)
