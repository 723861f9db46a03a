raise ValueError("unknown host key format")
