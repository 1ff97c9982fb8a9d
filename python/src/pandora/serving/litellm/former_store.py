"""Today's Store with the calls of `pandora.serving.open`; it goes when that is there."""

from __future__ import annotations

from typing import Any, Optional

from .. import Store


def opened(url: str, cascade: Any = None, sync_seconds: float = 1.0, **beside: Any) -> _Former:
    """A folder's store."""
    folder = url.split("://")[-1].lstrip("/") if "://" in url else url
    if url.startswith("sqlite:////"):
        folder = "/" + folder
    return _Former(Store(folder, cascade, sync_seconds, refit="beside", decisions=True, **beside))


class _Former:
    def __init__(self, store: Store) -> None:
        self._store, self._pins = store, dict[str, str]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def begin(self, prompt: str = "", columns: Any = None, session: Optional[str] = None) -> Any:
        request = self._store.begin(prompt, columns)
        if session in self._pins:
            request._live.call("only", request=request.number, model=self._pins[session])
        deploy = request.deploy

        def deployed() -> str:
            found = deploy()
            if session is not None:
                self._pins.setdefault(session, found)
            return found

        request.deploy = deployed  # type: ignore[method-assign]
        return request

    def explain(self, number: int) -> dict[str, Any]:
        return self._store.request(number).explain()

    def feedback(self, number: int, quality: float, seconds: float = 2.0) -> bool:
        self._store.feedback(number, quality)
        return True
