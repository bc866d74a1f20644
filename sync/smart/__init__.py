"""The smart transfer protocol: conversations over a WebSocket, written as scripts that do no I/O."""
