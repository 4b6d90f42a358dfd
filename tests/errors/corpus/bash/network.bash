curl -sS http://example.com/
