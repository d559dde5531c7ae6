"""Writes a tiny text model with random weights (about 120,000) as a GGUF file. Run in the
environment of its server.

``python tiny_text.py FILE [prints]``. Its tokens are bytes, so what it says is often no text at
all. It sees no pictures: its template leaves them out or, with ``prints``, puts whatever it is
given into the prompt as text, base64 and all, as careless templates do.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import sys

import gguf
import numpy as np

LEAVES_OUT = (
    "{% for message in messages %}[{{ message.role }}]{% if message.content is string %}{{ message.content }}{% else %}"
    "{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
PRINTS = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}[assistant]{% endif %}"
)
WIDTH, INNER, LAYERS, HEADS = 64, 128, 2, 4
TOKENS = [("<unk>", gguf.TokenType.UNKNOWN), ("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL)]
TOKENS += [(f"<0x{byte:02X}>", gguf.TokenType.BYTE) for byte in range(256)]


def write(path: str, template: str) -> None:
    """The file; the same every time."""
    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(16384)
    file.add_embedding_length(WIDTH)
    file.add_block_count(LAYERS)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_vocab_size(len(TOKENS))
    file.add_tokenizer_model("llama")
    file.add_token_list([token for token, _ in TOKENS])
    file.add_token_scores([0.0] * len(TOKENS))
    file.add_token_types([kind for _, kind in TOKENS])
    file.add_unk_token_id(0)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    file.add_add_space_prefix(False)
    file.add_chat_template(template)
    random = np.random.Generator(np.random.PCG64(0))
    shapes = {"token_embd": (len(TOKENS), WIDTH), "output": (len(TOKENS), WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        block = {
            "attn_norm": (WIDTH,),
            "ffn_norm": (WIDTH,),
            "ffn_gate": (INNER, WIDTH),
            "ffn_up": (INNER, WIDTH),
            "ffn_down": (WIDTH, INNER),
        }
        block |= {f"attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    for name, shape in shapes.items():
        # large enough that what goes in changes what comes out
        weights = random.standard_normal(shape) * 1.5 / np.sqrt(shape[-1]) if len(shape) > 1 else np.ones(shape)
        if name == "output":
            weights[2] *= 2  # replies come to an end, and some are empty
            weights[[3 + byte for byte in b'123456789m-"']] *= (
                2  # answers, and the end of a string, are often among the most probable tokens
            )
        file.add_tensor(f"{name}.weight", weights.astype(np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


write(sys.argv[1], PRINTS if sys.argv[2:] == ["prints"] else LEAVES_OUT)
