"""Checkpoints as the WorM benchmark writes them, made of a formula: names, order and shapes of
weights as its code has them.

``golden/worm_logits.npz`` holds the outputs of the benchmark's own code for networks with these
weights.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

#: heads in the order of the published code
HEADS = {"sc": 1, "sfr": 100, "si": 1, "smu": 9, "sts": 3, "vir": 1, "vsr": 9, "vsrec": 1, "cd": 1, "cs": 21}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
CONVOLUTIONS = {0: (64, 3), 2: (128, 64), 5: (256, 128), 8: (512, 256)}


def shapes(architecture: str, hidden: int, layers: int = 2) -> dict[str, tuple[int, ...]]:
    """The weights of a published network: names and shapes, in order. ``layers`` counts those of
    the transformer (TRF)."""
    inputs = hidden if architecture == "TRF" else 512
    found: dict[str, tuple[int, ...]] = {}
    for number, (out, into) in CONVOLUTIONS.items():
        found |= {f"CNN_Encoder.{number}.weight": (out, into, 3, 3), f"CNN_Encoder.{number}.bias": (out,)}
    found |= {"ProjectionHead.weight": (inputs - 14, 512), "ProjectionHead.bias": (inputs - 14,)}
    if architecture == "TRF":
        found["positional_encoding.weight"] = (20, hidden)
        for layer in range(layers):
            place = f"MEM.layers.{layer}"
            found |= {
                f"{place}.self_attn.in_proj_weight": (3 * hidden, hidden),
                f"{place}.self_attn.in_proj_bias": (3 * hidden,),
            }
            found |= {
                f"{place}.self_attn.out_proj.weight": (hidden, hidden),
                f"{place}.self_attn.out_proj.bias": (hidden,),
            }
            found |= {f"{place}.linear1.weight": (2048, hidden), f"{place}.linear1.bias": (2048,)}
            found |= {f"{place}.linear2.weight": (hidden, 2048), f"{place}.linear2.bias": (hidden,)}
            for norm in ("norm1", "norm2"):
                found |= {f"{place}.{norm}.weight": (hidden,), f"{place}.{norm}.bias": (hidden,)}
    else:
        rows = GATES[architecture] * hidden
        found |= {
            "MEM.weight_ih_l0": (rows, inputs),
            "MEM.weight_hh_l0": (rows, hidden),
            "MEM.bias_ih_l0": (rows,),
            "MEM.bias_hh_l0": (rows,),
        }
    for head, size in HEADS.items():
        found |= {f"{head}_task_head.weight": (size, hidden), f"{head}_task_head.bias": (size,)}
    return found | {"task_embedding.weight": (14, 14)}


def state(architecture: str, hidden: int, layers: int = 2) -> dict[str, torch.Tensor]:
    """Weights by the formula with which the golden outputs were made."""
    made = {}
    for number, (name, shape) in enumerate(shapes(architecture, hidden, layers).items()):
        waves = np.sin(0.7 * np.arange(math.prod(shape), dtype=np.float64) + number)
        if len(shape) > 1:
            waves *= math.sqrt(2 / math.prod(shape[1:]))
        else:
            waves = 0.05 * waves + ("norm" in name and name.endswith("weight"))
        made[name] = torch.from_numpy(waves.astype(np.float32).reshape(shape))
    return made


def config(architecture: str, hidden: int, layers: int = 2) -> dict[str, Any]:
    """The part of a published configuration that is about the network."""
    return {
        "stage": "Train",
        "num_tasks": 14,
        "img_size": 96,
        "rs_img_size": 32,
        "num_input_channels": 3,
        "max_seq_len": 20,
        "task_embedding": "Learned",
        "task_embedding_given": "All_TS",
        "use_cnn": 1,
        "mem_architecture": architecture,
        "mem_input_size": hidden if architecture == "TRF" else 512,
        "mem_hidden_size": hidden,
        "mem_num_layers": layers if architecture == "TRF" else 1,
        "trf_dim_ff": 2048,
        "projection": "linear",
        "classifier": "linear",
        "run_name": f"{architecture.lower()}_{hidden}",
    }


def checkpoint(architecture: str, hidden: int, layers: int = 2) -> dict[str, Any]:
    """The content of a published checkpoint file."""
    return {
        "epoch": 195,
        "model_state_dict": state(architecture, hidden, layers),
        "optimizer_state_dict": {"state": {}, "param_groups": [{"lr": 1e-4, "betas": (0.9, 0.999), "params": [0, 1]}]},
        "train_multitask_loss": 0.31,
        "val_multitask_loss": 0.33,
        "val_task_acc_dict": {"SC_Task": np.float64(0.9)},
        "val_multitask_acc": np.float64(0.87654321),
        "min_val_multitask_loss_dict": {},
        "save_condition": "max_multitask_val_acc",
        "best_epoch": np.int64(180),
        "config": config(architecture, hidden, layers),
    }


def write(path: Path, architecture: str, hidden: int, layers: int = 2, **changes: Any) -> Path:
    """A checkpoint file; ``changes`` replace its parts."""
    torch.save({**checkpoint(architecture, hidden, layers), **changes}, path)
    return path
