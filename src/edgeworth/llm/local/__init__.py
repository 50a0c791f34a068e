"""Local models: everything here needs torch and transformers, and is imported only when a local model is first asked."""
