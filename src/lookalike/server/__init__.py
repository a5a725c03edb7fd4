"""The HTTP API and the web page of an index. Only this package knows the web framework.

`serve` starts it. A request passes the gate (`gate`: keys, limits, log), a route (`app`), and the index (`collection`),
where concurrent queries are answered together and one thread writes (`batching`).
"""
