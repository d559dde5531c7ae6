"""Writes a tiny vision-language model with random weights (about 150,000): it sees, and understands
nothing. Run in the environment of its server.

``python tiny_vision.py FOLDER``. Its tokens are bytes, so what it says is often no text at all; a
picture is cut into tiles, so larger ones are more tokens.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    GenerationConfig,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    LlavaNextProcessor,
    MistralConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil

SPECIAL = ["<pad>", "<s>", "</s>", "<image>"]
TILE = 128
GRIDS = [[TILE, TILE], [TILE, 2 * TILE], [2 * TILE, TILE], [2 * TILE, 2 * TILE]]
#: Two user messages in a row are refused, as by many models.
TEMPLATE = """{{ bos_token }}{% set seen = namespace(role='') %}{% for message in messages %}
{% if message.role == seen.role %}{{ raise_exception('roles must alternate') }}{% endif %}{% set seen.role = message.role %}
[{{ message.role }}]{% if message.content is string %}{{ message.content }}{% else %}
{% for part in message.content %}{{ '<image>' if part.type == 'image' else part.text }}{% endfor %}{% endif %}{% endfor %}
{% if add_generation_prompt %}[assistant]{% endif %}"""  # noqa: E501


def processor() -> LlavaNextProcessor:
    """Bytes as tokens, and pictures in tiles."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(
        models.BPE(vocab={token: number for number, token in enumerate([*SPECIAL, *alphabet])}, merges=[])
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return LlavaNextProcessor(
        image_processor=LlavaNextImageProcessorPil(
            size={"shortest_edge": TILE}, crop_size={"height": TILE, "width": TILE}, image_grid_pinpoints=GRIDS
        ),
        tokenizer=PreTrainedTokenizerFast(
            tokenizer_object=tokenizer,
            pad_token=SPECIAL[0],
            bos_token=SPECIAL[1],
            eos_token=SPECIAL[2],
            additional_special_tokens=SPECIAL[3:],
        ),
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE.replace("\n", ""),
    )


def model() -> LlavaNextForConditionalGeneration:
    """Random weights, the same every time, and large enough that what goes in changes what comes
    out."""
    made = LlavaNextForConditionalGeneration(
        LlavaNextConfig(
            vision_config=CLIPVisionConfig(
                hidden_size=32,
                intermediate_size=64,
                num_hidden_layers=1,
                num_attention_heads=2,
                image_size=TILE,
                patch_size=16,
                projection_dim=32,
            ),
            text_config=MistralConfig(
                vocab_size=len(SPECIAL) + 256,
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=16384,
                sliding_window=None,
                bos_token_id=1,
                eos_token_id=2,
                pad_token_id=0,
            ),
            image_token_index=SPECIAL.index("<image>"),
            vision_feature_layer=-1,
            image_grid_pinpoints=GRIDS,
        )
    )
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _, weights in sorted(made.named_parameters()):
            if weights.dim() > 1:
                weights.normal_(0, 1.5 * weights.shape[-1] ** -0.5, generator=random)
        made.lm_head.weight[SPECIAL.index("</s>")] *= 2  # replies come to an end, and some are empty
    made.generation_config = GenerationConfig(
        bos_token_id=1, eos_token_id=2, pad_token_id=0, max_new_tokens=16, do_sample=True
    )
    return made


folder = Path(sys.argv[1])
model().save_pretrained(folder)
processor().save_pretrained(folder)
