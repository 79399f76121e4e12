-- The leases: their table and their statements. A section becomes one constant.

-- :: kSchema
-- Who may schedule a run until when. `expires` is on CLOCK_BOOTTIME of the boot `boot_id`, in
-- milliseconds; a row of another boot has expired. `since` is wall time, for people.
CREATE TABLE IF NOT EXISTS lease (
  run TEXT NOT NULL PRIMARY KEY,
  token TEXT NOT NULL,
  expires INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  replica TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start_time INTEGER NOT NULL,
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The number that was drawn last, for all leases.
CREATE TABLE IF NOT EXISTS drawn (
  one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  last INTEGER NOT NULL
) STRICT;

-- :: kRead
SELECT token, expires, boot_id, replica, incarnation, host, pid, start_time FROM lease
WHERE run = ?1

-- :: kTake
INSERT OR REPLACE INTO lease
  (run, token, expires, boot_id, replica, incarnation, host, pid, start_time, since)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

-- :: kExtend
UPDATE lease SET expires = ?3
WHERE run = ?1 AND token = ?2 AND boot_id = ?4 AND expires > ?5

-- :: kRelease
DELETE FROM lease WHERE run = ?1 AND token = ?2 AND boot_id = ?3 AND expires > ?4

-- :: kForgetExpired
DELETE FROM lease WHERE boot_id <> ?1 OR expires <= ?2

-- :: kDraw
INSERT INTO drawn (one, last) VALUES (1, ?1)
ON CONFLICT (one) DO UPDATE SET last = max(last + 1, excluded.last) RETURNING last
