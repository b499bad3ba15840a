"""Networks as ONNX files: what is traced, how weights are kept, and what the file says of itself (extra ``export``)."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from deepume.io.packages import import_package
from deepume.networks.deepume import DeepUME, DeepUMEConfig
from deepume.networks.paper import PaperConfig, PaperDeepUME, PaperHead
from deepume.networks.published_files import WeightsError
from deepume.networks.traced import TracedPaper, TracedPass
from deepume.networks.weights_files import Weights, config_of, load_weights, restore_weights

NAMES = ("deepume", "deepume-small", "deepume-paper")
"""Published weights that can be exported."""
FORMAT = "deepume-onnx-1"
"""Version of inputs, outputs and metadata."""
OPSET = 20
"""Version of the operators, the first with GELU; onnxruntime 1.17 and newer run it."""
AXES = {"source": {0: "pairs", 1: "source_points"}, "target": {0: "pairs", 1: "target_points"}}
"""Sizes that may differ from run to run."""
LARGE = 64
"""Entries from which weights are worth storing in half precision."""


class Kind(NamedTuple):
    """How networks of one configuration are exported."""

    config: type
    network: Callable[[Any], nn.Module]
    traced: Callable[[Any], TracedPass | TracedPaper]


KINDS = {
    "DeepUMEConfig": Kind(DeepUMEConfig, DeepUME, TracedPass),
    "PaperConfig": Kind(PaperConfig, PaperDeepUME, TracedPaper),
}
"""By the type that weights files name."""


def export_network(name_or_path: str, out: Path) -> int:
    """Write a network with published weights, or with those of a file, as an ONNX file; returns its size in bytes.

    The same weights give the same bytes. Numbers are stored in half precision where that changes none of them.
    """
    onnx = import_package("onnx", "deepume[export]")
    import_package("onnxscript", "deepume[export]")
    weights = load_weights(name_or_path)
    model = _trace(_traced_network(name_or_path, weights))
    _remove_traces(model)
    _halve_weights(model, onnx)
    _describe(model, name_or_path, weights, onnx)
    onnx.checker.check_model(model, full_check=True)
    contents = model.SerializeToString(deterministic=True)
    _write(out, contents)
    return len(contents)


def _traced_network(name: str, weights: Weights) -> TracedPass | TracedPaper:
    kind = KINDS.get(weights.config.get("type", ""))
    config = config_of(weights, kind.config) if kind else None
    if kind is None or getattr(config, "head", None) is PaperHead.MLP:
        raise WeightsError(f"{name} has no export to ONNX. Networks that have one: {', '.join(NAMES)}.")
    network = kind.network(config)
    restore_weights(network, config, weights)
    return kind.traced(network.eval().requires_grad_(False))


def _trace(network: TracedPass | TracedPaper) -> Any:
    """The graph, from an example whose sizes are all different: none of them is taken for a constant."""
    generator = torch.Generator().manual_seed(0)
    example = torch.rand(2, 70, 3, generator=generator), torch.rand(2, 50, 3, generator=generator)
    with _quiet():
        program = torch.onnx.export(
            network,
            example,
            dynamo=True,
            opset_version=OPSET,
            input_names=list(AXES),
            output_names=list(network.outputs),
            dynamic_shapes=AXES,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter tells of packages that are not needed here."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _remove_traces(model: Any) -> None:
    """Leave out where in the code each operator comes from: paths of one machine, a fifth of the file."""
    for item in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output):
        del item.metadata_props[:]
        item.doc_string = ""
    for item in model.graph.initializer:
        del item.metadata_props[:]
    del model.graph.value_info[:]


def _halve_weights(model: Any, onnx: Any) -> None:
    """Store weights in half precision and cast them when the file is loaded, where the cast gives the same numbers."""
    casts = []
    for weight in model.graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size < LARGE:
            continue
        half = values.astype(np.float16)
        if not np.array_equal(half.astype(np.float32), values):
            continue
        name = weight.name
        weight.CopyFrom(onnx.numpy_helper.from_array(half, f"{name}.half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}.half"], [name], f"{name}.cast", to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _describe(model: Any, name: str, weights: Weights, onnx: Any) -> None:
    """What the header of a weights file says, too: configuration and history."""
    facts = {
        "format": FORMAT,
        "name": Path(name).name.split(".")[0],
        "commit": weights.card.commit,
        "config": json.dumps(weights.config, sort_keys=True),
        "card": json.dumps(asdict(weights.card), sort_keys=True),
    }
    onnx.helper.set_model_props(model, facts)
    model.producer_name = "deepume"
    model.producer_version = ""
    model.graph.name = facts["name"]


def _write(out: Path, contents: bytes) -> None:
    partial = out.with_name(out.name + ".partial")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(contents)
        partial.replace(out)
    except OSError as error:
        raise WeightsError(f"Cannot write {out}: {error.strerror}. Choose another place.") from error
