"""`pandora serve`: LiteLLM's proxy as its own program, with the cascades of a file."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys
from typing import NoReturn

from ..errors import DataError, UsageError

#: The packages that the proxy needs; litellm alone has no server.
_NEEDED = ("litellm", "fastapi", "uvicorn", "apscheduler", "jsonschema", "prometheus_client")


def serve(config: str, proxy: str, host: str, port: int, workers: int) -> NoReturn:
    """Becomes the proxy. Raises UsageError if it is not installed, and DataError if a file is missing or wrong."""
    if missing := [name for name in _NEEDED if importlib.util.find_spec(name) is None]:
        raise UsageError(
            f"serve: LiteLLM's proxy is not installed ({missing[0]} is missing); install it with "
            "uv pip install 'litellm[proxy]' jsonschema prometheus_client"
        )
    cascades = pathlib.Path(config).resolve()
    file = pathlib.Path(proxy).resolve() if proxy else cascades.parent / "config.yaml"
    if not cascades.is_file():
        raise DataError(
            f"{config}: there is no such file; it names the cascades, as examples/gateway/cascades.toml does"
        )
    if not file.is_file():
        raise DataError(
            f"{proxy or file}: there is no such file; it is the configuration of LiteLLM's proxy, as "
            "examples/gateway/config.yaml is"
        )
    os.environ["PANDORA_CASCADES"] = str(cascades)
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # prices without the network
    listening = ["--host", host, "--port", str(port), "--num_workers", str(workers)]
    if workers > 1:  # a worker that takes longer than 5 seconds to start would be ended, and another one started
        listening += ["--timeout_worker_healthcheck", "120"]
    command = [sys.executable, "-m", "litellm.proxy.proxy_cli", "--config", str(file), *listening]
    sys.stdout.flush()
    os.execv(sys.executable, command)
