-- Times are milliseconds since the Unix epoch. Checksums are unsigned 64-bit numbers kept in the
-- signed integers of SQLite. States are numbered as in RunState.

-- What the store says about itself: store_id, lease_authority, created_at, settled.
CREATE TABLE store (
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Canonical texts of pipelines, each once, by content hash. Never changed.
CREATE TABLE definition (
  hash TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
  body TEXT NOT NULL
) STRICT;

-- Counts iterations. Rows are never removed, so that pruned iterations are not used again.
CREATE TABLE pipeline (
  name TEXT NOT NULL PRIMARY KEY CHECK (name <> ''),
  next_iteration INTEGER NOT NULL CHECK (next_iteration >= 1)
) STRICT, WITHOUT ROWID;

-- One row per run: who may write to it (term), where its history ends, and its summary.
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pipeline TEXT NOT NULL REFERENCES pipeline (name),
  iteration INTEGER NOT NULL CHECK (iteration >= 1),
  definition TEXT NOT NULL REFERENCES definition (hash),
  owner TEXT NOT NULL DEFAULT '',
  term INTEGER NOT NULL CHECK (term >= 0),
  last_seq INTEGER NOT NULL DEFAULT 0 CHECK (last_seq >= 0),
  last_checksum INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 5),
  due_at INTEGER,
  ended_at INTEGER,
  blocked INTEGER NOT NULL DEFAULT 0 CHECK (blocked >= 0),
  ready INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
  submitted INTEGER NOT NULL DEFAULT 0 CHECK (submitted >= 0),
  running INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
  backoff INTEGER NOT NULL DEFAULT 0 CHECK (backoff >= 0),
  unreachable INTEGER NOT NULL DEFAULT 0 CHECK (unreachable >= 0),
  succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded >= 0),
  failed INTEGER NOT NULL DEFAULT 0 CHECK (failed >= 0),
  skipped INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
  stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped >= 0),
  tick_passes INTEGER NOT NULL DEFAULT 0 CHECK (tick_passes >= 0),
  event_passes INTEGER NOT NULL DEFAULT 0 CHECK (event_passes >= 0),
  UNIQUE (pipeline, iteration)
) STRICT;

-- Finds live runs, of one pipeline or all. Not by due_at: that changes with almost every pass, and
-- an index on it would be written as often.
CREATE INDEX run_live ON run (pipeline, iteration) WHERE state < 3;

CREATE INDEX run_definition ON run (definition);

-- History: what one evaluation of decide() concluded. The checksum covers the previous row's.
CREATE TABLE pass (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  term INTEGER NOT NULL CHECK (term >= 0),
  at INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  events BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

-- A fold of the passes up to seq, so that a long history need not be folded from its start.
CREATE TABLE snapshot (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  format INTEGER NOT NULL CHECK (format >= 1),
  checksum INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

-- Requests and reports for a run's holder. A row goes in the transaction that appends what it
-- caused. Ids grow and are never used again, so an id that was read stays the one that was meant.
CREATE TABLE inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  message BLOB NOT NULL
) STRICT;

CREATE INDEX inbox_run ON inbox (run, id);

-- Request ids of starts: the same id gives the same run for as long as that is kept.
CREATE TABLE start_request (
  request TEXT NOT NULL PRIMARY KEY CHECK (request <> ''),
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX start_request_run ON start_request (run);

-- Request ids of inbox messages; they outlive their rows, so that a late repeat is known too.
CREATE TABLE inbox_request (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  request TEXT NOT NULL CHECK (request <> ''),
  PRIMARY KEY (run, request)
) STRICT, WITHOUT ROWID;

-- What attempts left for the successors of their nodes (JSON). Nodes by their index.
CREATE TABLE output (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  node INTEGER NOT NULL CHECK (node >= 0),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  body TEXT NOT NULL,
  PRIMARY KEY (run, node, attempt)
) STRICT, WITHOUT ROWID;

-- Attempts that were ended without a confirmation, until one comes.
CREATE TABLE leftover (
  run INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
  node INTEGER NOT NULL CHECK (node >= 0),
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  nonce INTEGER NOT NULL,
  custodian TEXT NOT NULL,
  since INTEGER NOT NULL,
  PRIMARY KEY (run, node, attempt)
) STRICT, WITHOUT ROWID;

-- Heartbeats of engine processes. `tasks` is a JSON array of names; `load` counts the runs held.
CREATE TABLE replica (
  incarnation TEXT NOT NULL PRIMARY KEY CHECK (incarnation <> ''),
  name TEXT NOT NULL,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  start_time INTEGER NOT NULL,
  last_beat INTEGER NOT NULL,
  tasks TEXT NOT NULL DEFAULT '[]',
  load INTEGER NOT NULL DEFAULT 0 CHECK (load >= 0)
) STRICT, WITHOUT ROWID;
