"""The tables, as numbered migrations. README.md in this folder says what they mean, and who writes them.

The statements are the same for SQLite and PostgreSQL. SQLite looks only at parts of the names of types: BIGINT is an
INTEGER there and DOUBLE PRECISION a REAL, and BYTEA stores bytes unchanged.
"""

from __future__ import annotations

#: the n-th makes schema n from schema n - 1; those of a released version never change
MIGRATIONS: list[list[str]] = [
    [
        "CREATE TABLE pandora_about (name TEXT PRIMARY KEY, number BIGINT NOT NULL, checksum BYTEA)",
        "CREATE TABLE pandora_workers (worker BIGINT PRIMARY KEY, last BIGINT NOT NULL, checksum BYTEA NOT NULL)",
        "CREATE TABLE pandora_events (worker BIGINT NOT NULL, sequence BIGINT NOT NULL, place BIGINT, "
        "time DOUBLE PRECISION NOT NULL, kind TEXT NOT NULL, request BIGINT, payload TEXT NOT NULL, "
        "checksum BYTEA NOT NULL, PRIMARY KEY (worker, sequence))",
        "CREATE UNIQUE INDEX pandora_events_place ON pandora_events (place) WHERE place IS NOT NULL",
        "CREATE INDEX pandora_events_kind ON pandora_events (kind, place) WHERE place IS NOT NULL",
        "CREATE INDEX pandora_events_waiting ON pandora_events (worker, sequence) WHERE place IS NULL",
        "CREATE INDEX pandora_events_request ON pandora_events (request) WHERE request IS NOT NULL",
        "CREATE UNIQUE INDEX pandora_events_feedback ON pandora_events (request) WHERE kind = 'feedback'",
        "CREATE TABLE pandora_states (number BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, level TEXT NOT NULL, "
        "place BIGINT NOT NULL, order_checksum BYTEA NOT NULL, heads TEXT NOT NULL, digest BYTEA NOT NULL, "
        "state BYTEA NOT NULL, checksum BYTEA NOT NULL)",
        "CREATE TABLE pandora_versions (number BIGINT PRIMARY KEY, time DOUBLE PRECISION NOT NULL, "
        "origin TEXT NOT NULL, level TEXT NOT NULL, place BIGINT NOT NULL, state BIGINT NOT NULL, "
        "digest BYTEA NOT NULL, content BYTEA NOT NULL, checksum BYTEA NOT NULL)",
        "CREATE TABLE pandora_removed (block BIGINT PRIMARY KEY, through BIGINT NOT NULL)",
        "INSERT INTO pandora_about (name, number) VALUES ('schema', 1), ('begins', 0), ('order', 0), ('states', 0), "
        "('versions', 0), ('removed', 0)",
    ],
]
