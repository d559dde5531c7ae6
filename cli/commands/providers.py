"""``spanlab providers``: where chat models can be served. Part of the command line."""

from __future__ import annotations

from .listing import print_table


def providers() -> None:
    """List the named providers of chat models: chat:MODEL@NAME, or chat:@NAME for the default model."""
    from ...agents.chat.providers import FILE_VARIABLE, own_file
    from ...agents.chat.providers import providers as known
    from ...agents.chat.transport.endpoint import Endpoint

    rows = []
    for name, provider in known().items():
        endpoint = Endpoint(provider.base_url, provider.key_variable, name)
        key = "none needed" if provider.key_variable is None else f"{provider.key_variable} ({'set' if endpoint.has_key else 'not set'})"
        limits = ", ".join(f"{value:,} {limit.replace('_', ' ')}" for limit, value in provider.limits.model_dump(exclude_none=True).items())
        rows.append((name, endpoint.public, key, provider.default_model or "", limits, ", ".join(provider.prices)))
    print_table(("name", "address", "key", "default model", "limits", "prices of"), rows)
    path = own_file()
    print(f"\nproviders of your own: {path} ({'read' if path.exists() else 'there is none'}; {FILE_VARIABLE} names another file)")
