-- The key is the folded name; see ParseName in package account. It is compared by its bytes,
-- whatever the language of the database.

-- +goose Up
CREATE TABLE accounts (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL,
    key          text COLLATE "C" NOT NULL UNIQUE,
    password     text NOT NULL,
    created_at   timestamptz NOT NULL,
    last_login   timestamptz,
    banned_at    timestamptz,
    banned_until timestamptz,
    ban_reason   text NOT NULL DEFAULT ''
);

CREATE TABLE known_addresses (
    account bigint NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    address text COLLATE "C" NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (account, address)
);

CREATE INDEX known_addresses_seen_at ON known_addresses (seen_at);

-- +goose Down
DROP TABLE known_addresses;
DROP TABLE accounts;
