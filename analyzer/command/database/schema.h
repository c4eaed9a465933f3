// SPDX-License-Identifier: Apache-2.0
// The tables of a database report, as docs/report-sqlite.md describes them. Tables and columns are
// only added while the version is the same.
#pragma once

namespace gmt {

inline constexpr int kDatabaseVersion = 1;

inline constexpr const char* kDatabaseSchema = R"(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE process (
  id INTEGER PRIMARY KEY, pid INTEGER, host TEXT, program TEXT, arguments TEXT, trace TEXT,
  device TEXT, driver_version TEXT, ended TEXT, exit_status INTEGER, signal INTEGER,
  begin_realtime_ns INTEGER, peak_bytes INTEGER, live_bytes INTEGER, lost_events INTEGER);
CREATE TABLE event (
  id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, thread INTEGER, call_order INTEGER,
  time_ns INTEGER, duration_ns INTEGER, kind TEXT, call TEXT, result INTEGER, error TEXT,
  address INTEGER, bytes INTEGER, stream INTEGER, context INTEGER,
  stack INTEGER REFERENCES stack, ranges TEXT, details TEXT);
CREATE TABLE block (
  id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, address INTEGER, bytes INTEGER,
  memory TEXT, device INTEGER, context INTEGER, stream INTEGER, state TEXT,
  allocated_order INTEGER, allocated_event INTEGER REFERENCES event,
  freed_order INTEGER, freed_event INTEGER REFERENCES event,
  stack INTEGER REFERENCES stack, freed_stack INTEGER REFERENCES stack);
CREATE TABLE range (
  id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, thread INTEGER, depth INTEGER,
  name TEXT, begin_ns INTEGER, begin_order INTEGER, end_ns INTEGER, end_order INTEGER);
CREATE TABLE stack (id INTEGER PRIMARY KEY, process INTEGER REFERENCES process);
CREATE TABLE frame (
  id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT,
  module_offset INTEGER, inlined INTEGER, language TEXT);
CREATE TABLE stack_frame (
  stack INTEGER REFERENCES stack, depth INTEGER, frame INTEGER REFERENCES frame,
  PRIMARY KEY (stack, depth)) WITHOUT ROWID;
CREATE TABLE finding (
  id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, kind TEXT, severity TEXT,
  fingerprint TEXT, baseline TEXT, message TEXT, advice TEXT, bytes INTEGER, count INTEGER,
  address INTEGER, api TEXT, owner TEXT, ranges TEXT);
CREATE TABLE finding_stack (
  finding INTEGER REFERENCES finding, position INTEGER, label TEXT, api TEXT, kernel TEXT,
  PRIMARY KEY (finding, position)) WITHOUT ROWID;
CREATE TABLE finding_frame (
  finding INTEGER REFERENCES finding, position INTEGER, depth INTEGER,
  frame INTEGER REFERENCES frame, PRIMARY KEY (finding, position, depth)) WITHOUT ROWID;
CREATE TABLE not_checked (what TEXT, why TEXT);
)";

} // namespace gmt
