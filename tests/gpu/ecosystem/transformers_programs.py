# SPDX-License-Identifier: Apache-2.0
"""Correct training and generation with models of Hugging Face's transformers, with random weights and made-up data.

transformers_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import os
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers
from program import main, program

CUDA = "cuda"
WORDS = 1000


def train(model, batch, *, steps=10, half=torch.bfloat16):
    """batch: the model's keyword arguments, labels among them."""
    model = model.to(CUDA).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(CUDA, half):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert torch.isfinite(loss), loss
    return model


def tokens(*shape):
    return torch.randint(5, WORDS, shape, device=CUDA)


@program
def bert_classifier():
    config = transformers.BertConfig(
        vocab_size=WORDS, hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024
    )
    batch = {"input_ids": tokens(16, 128), "labels": torch.randint(0, 2, (16,), device=CUDA)}
    train(transformers.BertForSequenceClassification(config), batch, half=torch.float16)


@program
def gpt2_generates():
    config = transformers.GPT2Config(vocab_size=WORDS, n_embd=256, n_layer=4, n_head=4, n_positions=256)
    ids = tokens(8, 96)
    model = train(transformers.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}).eval()
    out = model.generate(ids[:, :16], max_new_tokens=40, do_sample=True, pad_token_id=0)
    assert out.shape[0] == 8


@program
def llama_kv_cache():
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=256,
    )
    ids = tokens(8, 64)
    model = train(transformers.LlamaForCausalLM(config), {"input_ids": ids, "labels": ids}).to(torch.bfloat16).eval()
    out = model.generate(ids[:, :16], max_new_tokens=48, do_sample=False, pad_token_id=0)
    assert out.shape[0] == 8


@program
def mixtral_experts():
    config = transformers.MixtralConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
    )
    ids = tokens(4, 64)
    train(transformers.MixtralForCausalLM(config), {"input_ids": ids, "labels": ids}, steps=6)


@program
def t5_translates():
    config = transformers.T5Config(
        vocab_size=WORDS, d_model=128, d_ff=512, num_layers=3, num_heads=4, d_kv=32, decoder_start_token_id=0
    )
    batch = {"input_ids": tokens(8, 48), "labels": tokens(8, 32)}
    model = train(transformers.T5ForConditionalGeneration(config), batch).eval()
    model.generation_config.decoder_start_token_id = 0
    model.generate(batch["input_ids"], max_new_tokens=20, num_beams=3)


@program
def whisper_listens():
    config = transformers.WhisperConfig(
        vocab_size=WORDS,
        d_model=128,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=256,
        decoder_ffn_dim=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    sound = torch.randn(4, config.num_mel_bins, 2 * config.max_source_positions, device=CUDA)
    train(transformers.WhisperForConditionalGeneration(config), {"input_features": sound, "labels": tokens(4, 24)})


@program
def clip_pairs():
    small = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4}
    config = transformers.CLIPConfig(
        text_config={**small, "vocab_size": WORDS, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0},
        vision_config={**small, "image_size": 96, "patch_size": 16},
        projection_dim=64,
    )
    batch = {"input_ids": tokens(16, 20), "pixel_values": torch.randn(16, 3, 96, 96, device=CUDA), "return_loss": True}
    train(transformers.CLIPModel(config), batch)


@program
def wav2vec2_frames():
    config = transformers.Wav2Vec2Config(
        vocab_size=32, hidden_size=128, num_hidden_layers=3, num_attention_heads=4, intermediate_size=256
    )
    sound, words = torch.randn(4, 16000, device=CUDA), torch.randint(1, 32, (4, 12), device=CUDA)
    train(transformers.Wav2Vec2ForCTC(config), {"input_values": sound, "labels": words}, steps=6)


class _Lines(torch.utils.data.Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, index):
        torch.manual_seed(index)
        ids = torch.randint(5, WORDS, (64,))
        return {"input_ids": ids, "labels": ids.clone()}


@program
def trainer_epochs():
    config = transformers.GPT2Config(vocab_size=WORDS, n_embd=128, n_layer=2, n_head=4, n_positions=128)
    with tempfile.TemporaryDirectory() as folder:
        settings = transformers.TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=8,
            num_train_epochs=2,
            bf16=True,
            report_to=[],
            logging_steps=5,
            save_strategy="epoch",
            dataloader_num_workers=2,
            disable_tqdm=True,
        )
        lines = _Lines()
        trainer = transformers.Trainer(
            model=transformers.GPT2LMHeadModel(config), args=settings, train_dataset=lines, eval_dataset=lines
        )
        trainer.train()
        trainer.evaluate()


@program
def llama_static_cache_compiled():
    config = transformers.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
    )
    model = transformers.LlamaForCausalLM(config).to(CUDA, torch.bfloat16).eval()
    forward = torch.compile(model.forward)
    ids = tokens(2, 32)
    with torch.no_grad():
        for _ in range(4):
            out = forward(input_ids=ids, use_cache=False).logits
    assert torch.isfinite(out).all()


if __name__ == "__main__":
    sys.exit(main())
