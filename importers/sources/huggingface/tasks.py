"""The model types of transformers, with the model class and task of each.

The functions import transformers when they are called, since most checks of names do not need it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any


@functools.cache
def model_types() -> dict[str, str]:
    """Returns the task of every model type that has a base model.

    For `image classification`, `encoder-decoder`, `encoder` and `decoder`, the recipe uses the
    class for that task. For other types it uses the base model. Their task is then the first one
    for which transformers has a class, or `feature extraction`.
    """
    from transformers.models.auto import modeling_auto as auto

    tasks = {model_type: task for model_type, (task, _) in _headed().items()}
    for task, names in _base_tasks():
        for model_type in names:
            if model_type in auto.MODEL_MAPPING_NAMES:
                tasks.setdefault(model_type, task)
    return tasks | {
        model_type: tasks.get(model_type, "feature extraction")
        for model_type in auto.MODEL_MAPPING_NAMES
    }


def class_name(model_type: str) -> str:
    """Returns the name of a type's model class: the one for its task, or the base model."""
    from transformers.models.auto import modeling_auto as auto

    headed = _headed().get(model_type)
    return headed[1] if headed else _first(auto.MODEL_MAPPING_NAMES[model_type])


@functools.cache
def text_generating_classes() -> dict[str, str]:
    """Returns the class name of each type that generates text, from text or sound.

    It is the class of the type's recipe if that generates text. Otherwise it is the first class
    for translation and the like, for speech recognition, or for causal language modeling. Types
    without a recipe are left out.
    """
    from transformers.models.auto import modeling_auto as auto

    mappings = (
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
        auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    )
    found: dict[str, str] = {}
    for model_type in model_types():
        names = [_first(mapping[model_type]) for mapping in mappings if model_type in mapping]
        if names:
            own = class_name(model_type)
            found[model_type] = own if own in names else names[0]
    return found


@functools.cache
def _headed() -> dict[str, tuple[str, str]]:
    """Returns task and class name by model type, for types whose recipe has a class for a task."""
    from transformers.models.auto import modeling_auto as auto

    encoders = {
        **auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        **auto.MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES,
    }
    # In order of precedence for types with several tasks.
    by_task = {
        "image classification": auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        "encoder-decoder": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        # Encoders use the base model, whose result is the hidden states.
        "encoder": {key: auto.MODEL_MAPPING_NAMES.get(key, encoders[key]) for key in encoders},
        "decoder": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    # Types that take images or sound in addition to text are excluded from these tasks.
    several = {
        **auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
        **auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
        **auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
    }
    headed: dict[str, tuple[str, str]] = {}
    for task, names in by_task.items():
        for model_type, name in names.items():
            if model_type not in several:
                headed.setdefault(model_type, (task, _first(name)))
    return headed


def _base_tasks() -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Returns the tasks for types not in `_headed`, the more specific first."""
    from transformers.models.auto import modeling_auto as auto

    return (
        ("time series", auto.MODEL_FOR_TIME_SERIES_PREDICTION_MAPPING_NAMES),
        ("speech recognition", auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES),
        ("speech recognition", auto.MODEL_FOR_CTC_MAPPING_NAMES),
        ("speech recognition", auto.MODEL_FOR_RNNT_MAPPING_NAMES),
        ("speech recognition", auto.MODEL_FOR_TDT_MAPPING_NAMES),
        ("audio classification", auto.MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES),
        ("speech synthesis", auto.MODEL_FOR_TEXT_TO_SPECTROGRAM_MAPPING_NAMES),
        ("speech synthesis", auto.MODEL_FOR_TEXT_TO_WAVEFORM_MAPPING_NAMES),
        ("vision-language", auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES),
        ("vision-language", auto.MODEL_FOR_VISUAL_QUESTION_ANSWERING_MAPPING_NAMES),
        ("multimodal", auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES),
        (
            "zero-shot image classification",
            auto.MODEL_FOR_ZERO_SHOT_IMAGE_CLASSIFICATION_MAPPING_NAMES,
        ),
        ("object detection", auto.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES),
        ("object detection", auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES),
        ("segmentation", auto.MODEL_FOR_UNIVERSAL_SEGMENTATION_MAPPING_NAMES),
        ("segmentation", auto.MODEL_FOR_INSTANCE_SEGMENTATION_MAPPING_NAMES),
        ("segmentation", auto.MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES),
        ("segmentation", auto.MODEL_FOR_IMAGE_SEGMENTATION_MAPPING_NAMES),
        ("segmentation", auto.MODEL_FOR_MASK_GENERATION_MAPPING_NAMES),
        ("depth estimation", auto.MODEL_FOR_DEPTH_ESTIMATION_MAPPING_NAMES),
        ("keypoints", auto.MODEL_FOR_KEYPOINT_DETECTION_MAPPING_NAMES),
        ("keypoints", auto.MODEL_FOR_KEYPOINT_MATCHING_MAPPING_NAMES),
        ("pose estimation", auto.MODEL_FOR_POSE_ESTIMATION_MAPPING_NAMES),
        ("image to image", auto.MODEL_FOR_IMAGE_TO_IMAGE_MAPPING_NAMES),
        ("video classification", auto.MODEL_FOR_VIDEO_CLASSIFICATION_MAPPING_NAMES),
        ("image features", auto.MODEL_FOR_IMAGE_MAPPING_NAMES),
        ("image features", auto.MODEL_FOR_BACKBONE_MAPPING_NAMES),
        ("retrieval", auto.MODEL_FOR_RETRIEVAL_MAPPING_NAMES),
    )


def _first(name: Any) -> str:
    return name if isinstance(name, str) else name[0]
