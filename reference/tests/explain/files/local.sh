curl -sS http://127.0.0.1:1/health || exit 8
