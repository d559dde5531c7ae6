"""Small models of transformers with random weights, made where they are needed: they read and write,
and understand nothing. Their tokens are bytes."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def text_model(folder: Path, template: str = TEMPLATE) -> Path:
    """A model that reads text; without a template one that was never taught to chat."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = ["<pad>", "<s>", "</s>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokens = Tokenizer(models.BPE(vocab={token: number for number, token in enumerate(alphabet)}, merges=[]))
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokens.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = template or None
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(alphabet),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=8192,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
    )
    random = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for _name, weights in sorted(model.named_parameters()):
            if weights.dim() > 1:
                weights.normal_(0, 1.5 * weights.shape[-1] ** -0.5, generator=random)
        digits = [tokenizer.convert_tokens_to_ids(sign) for sign in "123456789"]
        model.lm_head.weight[digits] *= 3  # answers are often among the likeliest tokens
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def seeing_model(folder: Path) -> Path:
    """A model that reads text and sees pictures."""
    script = Path(__file__).resolve().parents[2] / "servers" / "tiny_vision.py"
    before, sys.argv = sys.argv, [str(script), str(folder)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = before
    return folder
