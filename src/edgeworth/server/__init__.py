"""Both games over the wire: sessions that survive the server, designers that are asked in a queue, OpenEnv's protocol."""
