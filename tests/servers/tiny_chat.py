"""Writes a tiny text model with random weights (about 200,000) and a chat template, as a folder.
Run in the environment of its server.

``python tiny_chat.py FOLDER``. Its tokens are bytes, so what it says is often no text at all; a
message ends with a token of its own.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<s>", "</s>", "<|end|>"]
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% if not (loop.last and"
    " continue_final_message is defined and continue_final_message) %}<|end|>\n{% endif %}{% endfor %}{% if"
    " add_generation_prompt %}[assistant]{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Bytes as tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate([*SPECIAL, *alphabet])}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[3],
        additional_special_tokens=SPECIAL[2:3],
    )
    fast.chat_template = TEMPLATE
    return fast


def model() -> LlamaForCausalLM:
    """Random weights, the same every time, and large enough that what goes in changes what comes
    out."""
    made = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(SPECIAL) + 256,
            hidden_size=128,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=64,
            max_position_embeddings=16384,
            bos_token_id=1,
            eos_token_id=3,
            pad_token_id=0,
        )
    )
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, weights in sorted(made.named_parameters()):
            if weights.dim() > 1:
                weights.normal_(0, 1.5 * weights.shape[-1] ** -0.5, generator=random)
    made.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=3, pad_token_id=0)
    return made


folder = Path(sys.argv[1])
model().save_pretrained(folder)
tokenizer().save_pretrained(folder)
