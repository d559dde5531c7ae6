"""Devices and precision: Lightning Fabric knows devices, precision and several processes; this says it in the words of a config."""

from __future__ import annotations

import logging
import os
import warnings
from typing import TYPE_CHECKING

import torch

from ....core.errors import SpanLabError
from .config import TrainingConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def fabric_for(config: TrainingConfig) -> Fabric:
    """Lightning Fabric for a config; under ``torchrun`` one of several processes that learn together.

    Raises
    ------
    SpanLabError
        when Fabric is not installed, this machine has no such device, or the precision is not for it.
    """
    try:
        from lightning_fabric import Fabric
        from lightning_fabric.strategies.ddp import DDPStrategy
    except ImportError as error:
        raise SpanLabError(f"training needs Lightning Fabric, which cannot be imported ({error}); install it with: pip install 'spanlab[networks]'") from None
    device = device_named(config.device)
    if device != "cuda" and (config.precision != "float32" or config.fuse):
        raise SpanLabError(f"'precision: {config.precision}' and 'fuse' are for GPUs, and this runs on the {device} device; leave them out of the config")
    processes = int(os.environ.get("WORLD_SIZE", "1")) if "TORCHELASTIC_RUN_ID" in os.environ else 1
    here = int(os.environ.get("LOCAL_WORLD_SIZE", "1")) if processes > 1 else 1
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fabric = Fabric(
            accelerator=device,
            devices=here,
            num_nodes=max(1, processes // here),
            strategy=DDPStrategy(find_unused_parameters=True) if processes > 1 else "auto",
            precision="bf16-mixed" if config.precision == "bf16" else "32-true",
        )
        fabric.launch()
    return fabric


def device_named(name: str) -> str:
    """The device that a config names.

    Raises
    ------
    SpanLabError
        when this machine has none such.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return "cuda" if there["cuda"] else "mps" if there["mps"] else "cpu"
    if not there[name]:
        raise SpanLabError(f"this machine has no {name} device that torch can use; set 'device: cpu' (or auto) in the config")
    return name
