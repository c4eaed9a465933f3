# SPDX-License-Identifier: Apache-2.0
"""Correct training by Lightning: mixed precision, checkpoints, manual optimization, accumulation of gradients.

lightning_programs.py NAME. Exit status: 0 the program ran, 2 no such program.
"""

import logging
import sys
import tempfile
import warnings

import lightning
import torch
from program import main, program
from torch.nn import functional

warnings.filterwarnings("ignore")
logging.getLogger("lightning").setLevel(logging.ERROR)


class Autoencoder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 16))
        self.decoder = torch.nn.Sequential(torch.nn.Linear(16, 128), torch.nn.ReLU(), torch.nn.Linear(128, 784))

    def _loss(self, batch):
        return functional.mse_loss(self.decoder(self.encoder(batch[0])), batch[0])

    def training_step(self, batch, _):
        loss = self._loss(batch)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("validation_loss", self._loss(batch), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Adversaries(lightning.LightningModule):
    """Two networks, two optimizers, steps by hand."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.maker = torch.nn.Sequential(torch.nn.Linear(16, 128), torch.nn.ReLU(), torch.nn.Linear(128, 784))
        self.judge = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))

    def training_step(self, batch, _):
        of_maker, of_judge = self.optimizers()
        real, noise = batch[0], torch.randn(len(batch[0]), 16, device=self.device)
        loss = functional.softplus(-self.judge(self.maker(noise))).mean()
        of_maker.zero_grad()
        self.manual_backward(loss)
        of_maker.step()
        made = self.maker(noise).detach()
        loss = functional.softplus(-self.judge(real)).mean() + functional.softplus(self.judge(made)).mean()
        of_judge.zero_grad()
        self.manual_backward(loss)
        of_judge.step()

    def configure_optimizers(self):
        return [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (self.maker, self.judge)]


def loader(workers=0):
    data = torch.utils.data.TensorDataset(torch.rand(512, 784))
    return torch.utils.data.DataLoader(data, batch_size=32, num_workers=workers, pin_memory=True)


def trainer(folder, **settings):
    return lightning.Trainer(
        accelerator="gpu",
        devices=1,
        max_epochs=2,
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        logger=False,
        **settings,
    )


@program
def autoencoder():
    with tempfile.TemporaryDirectory() as folder:
        trainer(folder).fit(Autoencoder(), loader(workers=2), loader())


@program
def mixed_precision():
    with tempfile.TemporaryDirectory() as folder:
        trainer(folder, precision="16-mixed", accumulate_grad_batches=4, gradient_clip_val=1.0).fit(
            Autoencoder(), loader(), loader()
        )


@program
def adversaries():
    with tempfile.TemporaryDirectory() as folder:
        trainer(folder, enable_checkpointing=False).fit(Adversaries(), loader())


@program
def checkpoint_goes_on():
    with tempfile.TemporaryDirectory() as folder:
        first = trainer(folder, precision="bf16-mixed")
        first.fit(Autoencoder(), loader(), loader())
        path = folder + "/state.ckpt"
        first.save_checkpoint(path)
        trainer(folder, precision="bf16-mixed").validate(Autoencoder(), loader(), ckpt_path=path, weights_only=False)


if __name__ == "__main__":
    sys.exit(main())
