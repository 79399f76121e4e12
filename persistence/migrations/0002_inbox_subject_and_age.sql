-- What a waiting message is about, where only the first may wait: `stop`, or `node ID`.
ALTER TABLE inbox ADD COLUMN subject TEXT;

CREATE UNIQUE INDEX inbox_subject ON inbox (run, subject) WHERE subject IS NOT NULL;

-- Messages that wait since before are named as well, of several the first. They are encoded as
-- format (1), kind (1 stop, 2 node-done), then of a node-done the length of the node's id, which is
-- at most 255: one byte below 128, else that very number and a 1.
UPDATE OR IGNORE inbox SET subject = 'stop' WHERE substr(message, 1, 2) = x'0101';

UPDATE OR IGNORE inbox SET subject = (
  SELECT 'node ' || CAST(substr(message, iif(size < 128, 4, 5), size) AS TEXT)
  FROM (SELECT 16 * instr('123456789ABCDEF', substr(hex(substr(message, 3, 1)), 1, 1))
    + instr('123456789ABCDEF', substr(hex(substr(message, 3, 1)), 2, 1)) AS size))
WHERE substr(message, 1, 2) = x'0102';

-- Finds runs that are old enough to be removed. Written once per run.
CREATE INDEX run_ended ON run (ended_at) WHERE state >= 3;
