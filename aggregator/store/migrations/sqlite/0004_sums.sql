-- Version 4: a checksum of every commit, by which a bit that changes on the disk is detected.

CREATE TABLE commit_sum (
    seq INTEGER PRIMARY KEY,           -- of commits
    sum BLOB NOT NULL                  -- 16 bytes (store/commit_sum.h)
);
INSERT INTO commit_sum (seq, sum)
    SELECT seq, dpot_commit_sum(hash, round, seq, format, n_reports, reports) FROM commits;
