-- Version 3: reports in batches that were refused as a whole, by reason, over all revisions.

CREATE TABLE drop_count (
    reason INTEGER PRIMARY KEY,        -- enum drop_reason
    n INTEGER NOT NULL
);
