// SPDX-License-Identifier: Apache-2.0
// What the report consists of: the JSON report as docs/report-json.md describes it, and the history
// of memory of each process.

const report = JSON.parse(byId('report-data').textContent);
const extra = JSON.parse(byId('history-data').textContent);

function processTitle(index) {
  const process = report.processes[index];
  if (!process) return 'unknown process';
  const name = fileName(process.program) || 'process';
  return report.processes.length === 1 ? name : `${name} (pid ${process.pid})`;
}

// Indices of processes whose device memory was followed.
function processesWithHistory() {
  return report.processes
    .map((_, index) => index)
    .filter((index) => extra.processes[index] && extra.processes[index].columns.high.length > 0);
}

// The process that most of the device's memory was used by.
function largestProcess() {
  const peak = (index) => report.processes[index].totals.peak_bytes;
  return processesWithHistory().sort((a, b) => peak(b) - peak(a))[0];
}

// A choice of the process, or nothing if there is one only.
function processChooser(selected, choose) {
  const indices = processesWithHistory();
  if (indices.length < 2) return null;
  const select = el('select', { change: () => choose(Number(select.value)) });
  for (const index of indices) select.append(option(index, processTitle(index)));
  select.value = String(selected);
  return labelled('Process', select);
}
