-- The statements of the store. A section is one statement and becomes one constant.

-- :: kReadSetting
SELECT value FROM store WHERE key = ?1

-- :: kInsertSettings
INSERT INTO store (key, value)
VALUES ('store_id', ?1), ('lease_authority', ?2), ('created_at', unixepoch() || '000')

-- :: kSetLeaseAuthority
UPDATE store SET value = ?1 WHERE key = 'lease_authority'

-- :: kSettle
INSERT INTO store (key, value) VALUES ('settled', '1')
ON CONFLICT (key) DO UPDATE SET value = value + 1

-- :: kReadRun
SELECT id, pipeline, iteration, definition, owner, term, last_seq, last_checksum, created_at, state,
  due_at, ended_at, blocked, ready, submitted, running, backoff, unreachable, succeeded, failed,
  skipped, stopped, tick_passes, event_passes, parked
FROM run WHERE pipeline = ?1 AND iteration = ?2

-- :: kReadRuns
SELECT id, pipeline, iteration, definition, owner, term, last_seq, last_checksum, created_at, state,
  due_at, ended_at, blocked, ready, submitted, running, backoff, unreachable, succeeded, failed,
  skipped, stopped, tick_passes, event_passes, parked
FROM run ORDER BY pipeline, iteration

-- :: kReadHead
SELECT id, term, last_seq, last_checksum, state, owner FROM run
WHERE pipeline = ?1 AND iteration = ?2

-- :: kReadLatestIteration
SELECT max(iteration) FROM run WHERE pipeline = ?1

-- :: kCountLive
SELECT count(*), max(iteration) FROM run WHERE pipeline = ?1 AND state < 3

-- :: kReadLiveRuns
SELECT pipeline, iteration, definition, term, owner, created_at, due_at FROM run WHERE state < 3
ORDER BY due_at IS NULL, due_at, pipeline, iteration

-- :: kReadStartRequest
SELECT run.pipeline, run.iteration FROM start_request JOIN run ON run.id = start_request.run
WHERE request = ?1

-- :: kInsertStartRequest
INSERT INTO start_request (request, run) VALUES (?1, ?2) ON CONFLICT (request) DO NOTHING

-- :: kNextIteration
INSERT INTO pipeline (name, next_iteration) VALUES (?1, 2)
ON CONFLICT (name) DO UPDATE SET next_iteration = next_iteration + 1
RETURNING next_iteration - 1

-- :: kInsertDefinition
INSERT INTO definition (hash, body) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING

-- :: kReadDefinition
SELECT body FROM definition WHERE hash = ?1

-- :: kInsertRun
INSERT INTO run (pipeline, iteration, definition, owner, term, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id

-- :: kSetHolder
UPDATE run SET term = ?2, owner = ?3, parked = '' WHERE id = ?1

-- :: kSetParked
UPDATE run SET parked = ?2 WHERE id = ?1

-- :: kInsertPass
INSERT INTO pass (run, seq, term, at, checksum, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- :: kUpdateSummary
UPDATE run SET last_seq = ?2, last_checksum = ?3, state = ?4, due_at = ?5, ended_at = ?6,
  blocked = ?7, ready = ?8, submitted = ?9, running = ?10, backoff = ?11, unreachable = ?12,
  succeeded = ?13, failed = ?14, skipped = ?15, stopped = ?16, tick_passes = ?17,
  event_passes = ?18
WHERE id = ?1

-- :: kReadHistory
SELECT pass.seq, pass.term, pass.at, pass.checksum, pass.events
FROM run JOIN pass ON pass.run = run.id
WHERE run.pipeline = ?1 AND run.iteration = ?2 AND pass.seq > ?3
ORDER BY pass.seq

-- :: kInsertInboxRequest
INSERT INTO inbox_request (run, request) VALUES (?1, ?2)

-- :: kCountInboxRequest
SELECT count(*) FROM inbox_request WHERE run = ?1 AND request = ?2

-- :: kReadInboxRequest
SELECT count(*) FROM inbox_request JOIN run ON run.id = inbox_request.run
WHERE pipeline = ?1 AND iteration = ?2 AND request = ?3

-- :: kInsertOutput
INSERT INTO output (run, node, attempt, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run, node, attempt) DO UPDATE SET body = excluded.body

-- :: kReadLatestOutput
SELECT output.attempt, output.body FROM run JOIN output ON output.run = run.id
WHERE run.pipeline = ?1 AND run.iteration = ?2 AND output.node = ?3
ORDER BY output.attempt DESC LIMIT 1

-- :: kCopyOutput
INSERT INTO output (run, node, attempt, body)
SELECT ?2, node, attempt, body FROM output WHERE run = ?1 AND node = ?3
ORDER BY attempt DESC LIMIT 1
ON CONFLICT (run, node, attempt) DO NOTHING

-- :: kInsertLeftover
INSERT INTO leftover (run, node, attempt, nonce, custodian, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (run, node, attempt) DO NOTHING

-- :: kDeleteLeftover
DELETE FROM leftover WHERE run = ?1 AND nonce = ?2

-- :: kReadLeftovers
SELECT leftover.node, leftover.attempt, leftover.nonce, leftover.custodian, leftover.since
FROM run JOIN leftover ON leftover.run = run.id
WHERE run.pipeline = ?1 AND run.iteration = ?2
ORDER BY leftover.node, leftover.attempt

-- :: kInsertInbox
INSERT INTO inbox (run, at, message, subject) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run, subject) WHERE subject IS NOT NULL DO NOTHING

-- :: kReadInbox
SELECT inbox.id, inbox.message FROM run JOIN inbox ON inbox.run = run.id
WHERE run.pipeline = ?1 AND run.iteration = ?2
ORDER BY inbox.id LIMIT ?3

-- :: kDeleteInbox
DELETE FROM inbox WHERE id = ?1 AND run = ?2

-- :: kDeleteInboxOfRun
DELETE FROM inbox WHERE run = ?1

-- :: kReadRunsWithInbox
SELECT pipeline, iteration FROM run WHERE id IN (SELECT run FROM inbox) ORDER BY pipeline, iteration

-- :: kReadEnded
SELECT id, pipeline, iteration, definition FROM run
WHERE state >= 3 AND ended_at < ?1
  AND NOT EXISTS (SELECT 1 FROM leftover WHERE leftover.run = run.id)
ORDER BY ended_at, pipeline, iteration LIMIT ?2

-- :: kReadEventCounts
SELECT substr(events, 1, ?2) FROM pass WHERE run = ?1

-- :: kDeleteRun
DELETE FROM run WHERE id = ?1

-- :: kDeleteUnusedDefinition
DELETE FROM definition WHERE hash = ?1
  AND NOT EXISTS (SELECT 1 FROM run WHERE definition = ?1)
