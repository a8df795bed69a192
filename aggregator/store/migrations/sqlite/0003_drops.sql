-- Version 3: reports of batches that were refused whole, by reason, over all revisions.

CREATE TABLE drop_count (
    reason INTEGER PRIMARY KEY,        -- enum drop_reason
    n INTEGER NOT NULL
);
