-- Times are microseconds since 1970. The key is the folded name; see ParseName in package account.

-- +goose Up
CREATE TABLE accounts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- so that no number is given twice
    name         TEXT NOT NULL,
    key          TEXT NOT NULL UNIQUE,
    password     TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_login   INTEGER,
    banned_at    INTEGER,
    banned_until INTEGER,
    ban_reason   TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE known_addresses (
    account INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    address TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (account, address)
) STRICT, WITHOUT ROWID;

CREATE INDEX known_addresses_seen_at ON known_addresses (seen_at);

-- +goose Down
DROP TABLE known_addresses;
DROP TABLE accounts;
