"""Our engine as the program of an image: it calls the folders of a job what an image calls them.

``MOUNTED`` says where these are in truth, ``LISTENING`` where to write the address, ``HOST`` where to listen, and
``DIES`` that it ends when it is asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

from pipeline.engine_contract.methods import PORT
from pipeline.engine_contract.served import ServedEngine
from pipeline.engine_contract.server import serving
from tests.pipeline.local_engine import LocalEngine


class MountedEngine(ServedEngine):
    """Its files lie in the folders of the job, and nowhere else."""

    def _inside(self, text: str) -> Path:
        if "DIES" in os.environ:
            print("out of luck", flush=True)
            os._exit(3)
        for inside, outside in json.loads(os.environ["MOUNTED"]).items():
            if text.startswith(f"{inside}/"):
                return Path(outside + text.removeprefix(inside))
        return super()._inside(text)


def listening_at(address: str) -> None:
    """Tell the runtime."""
    Path(os.environ["LISTENING"]).write_text(address)


async def main() -> None:
    """Serve until the process is ended."""
    host = os.environ.get("HOST", "127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        engine = MountedEngine(LocalEngine(Path(folder) / "engine"), Path(folder))
        async with serving(engine, host=host, port=PORT if "HOST" in os.environ else 0) as port:
            address = host if "HOST" in os.environ else f"{host}:{port}"
            listening_at(address)
            await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
