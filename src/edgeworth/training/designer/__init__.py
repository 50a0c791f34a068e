"""Training a language model to design markets: supervised fine-tuning (SFT), then GRPO, through TRL."""
