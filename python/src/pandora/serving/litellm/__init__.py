"""Cascades inside LiteLLM: as a provider of its proxy, which has keys, limits, retries, metrics and models.

    model_list:
      - {model_name: support, litellm_params: {model: cascade/support}}
      - {model_name: small, litellm_params: {model: openai/gpt-5-nano}}
    litellm_settings:
      custom_provider_map: [{provider: cascade, custom_handler: pandora.serving.litellm.handler}]

The environment PANDORA_CASCADES names cascades.toml (configuration.py), whose table [support] is cascade/support.
"""

from __future__ import annotations

import sys

from .configuration import Settings, read
from .handler import CascadeLLM, handler, number_of
from .handler import _begin_in_proxy as _begin

__all__ = ["CascadeLLM", "Settings", "handler", "number_of", "read"]

if "litellm.proxy.proxy_server" in sys.modules:
    _begin()
