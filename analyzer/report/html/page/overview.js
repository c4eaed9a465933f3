// SPDX-License-Identifier: Apache-2.0
// The first view: the verdict, the first findings in words, the picture of memory over time, the main
// figures, processes, devices, and what was not checked.

const FIRST_FINDINGS = 5;

// The first frame with a line that is no installed package's, if there is one.
function ownFrame(frames) {
  const isInstalled = (file) => /\/(site|dist)-packages\//.test(file);
  return frames.find((frame) => frame.file && (frame.users ?? !isInstalled(frame.file)));
}

// The line that a reader opens, of the first stack that has one of the program's own, and those that called it.
function findingPlaces(finding) {
  const stack = finding.stacks.find(({ frames }) => ownFrame(frames));
  if (!stack) return [''];
  const outer = stack.frames.slice(stack.frames.indexOf(ownFrame(stack.frames)));
  return outer.filter((frame) => frame.file && (frame.users ?? true)).map(framePlace);
}

// Where other findings of the kind have the same line, with the first call at which it differs.
function distinctPlaces(findings) {
  const chains = findings.map((finding) => [finding.kind, ...findingPlaces(finding)]);
  const begins = (chain, depth) => chain.slice(0, depth + 1).join(' ');
  return chains.map((chain) => {
    for (let depth = 1; depth < chain.length; depth += 1) {
      if (chains.filter((other) => begins(other, depth) === begins(chain, depth)).length > 1) continue;
      return depth === 1 ? chain[1] : `${chain[1]}, called at ${chain[depth]}`;
    }
    return chain[1];
  });
}

function firstFindings() {
  if (report.findings.length === 0) return null;
  const places = distinctPlaces(report.findings.slice(0, FIRST_FINDINGS));
  const rows = report.findings.slice(0, FIRST_FINDINGS).map((finding, index) => el('li', {},
    el('span', { class: `severity ${finding.severity}` }, finding.severity), ' ',
    el('a', { href: `#finding-${index + 1}` }, finding.kind), ' ', finding.message, ' ',
    el('span', { class: 'quiet' }, ...breakable(places[index]))));
  const left = report.findings.length - rows.length;
  return el('section', { class: 'first-findings' }, el('h2', {}, 'What was found'), el('ol', {}, ...rows),
    left > 0 ? el('p', {}, el('a', { href: '#findings' }, `${plural(left, 'more finding')}`)) : null);
}

// Device memory over time, small: the timeline has the details.
function memoryPicture() {
  const index = largestProcess();
  if (index === undefined) return null;
  const high = extra.processes[index].columns.high;
  const most = Math.max(...high);
  if (most === 0) return null;
  const width = 800;
  const height = 120;
  const step = Math.max(1, Math.ceil(high.length / width));
  let path = `M0,${height}`;
  for (let at = 0; at < high.length; at += step) {
    const value = Math.max(...high.slice(at, at + step));
    const x = (at / high.length) * width;
    const y = height - (value / most) * (height - 4);
    path += `L${x.toFixed(1)},${y.toFixed(1)}L${(((at + step) / high.length) * width).toFixed(1)},${y.toFixed(1)}`;
  }
  const svg = d3.create('svg').attr('viewBox', `0 0 ${width} ${height}`).attr('preserveAspectRatio', 'none')
    .attr('class', 'memory-picture').attr('role', 'img')
    .attr('aria-label', `Device memory over time, at most ${formatBytes(most)}`);
  svg.append('path').attr('d', `${path}L${width},${height}Z`);
  return el('section', {}, el('h2', {}, 'Device memory over time'), svg.node(),
    el('p', { class: 'quiet' }, `At most ${formatBytes(most)}. `, el('a', { href: '#timeline' }, 'Who held it'), '.'));
}

// Where and with what it ran.
function runFacts() {
  const process = report.processes[0];
  if (!process) return null;
  const facts = [];
  if (process.began) facts.push(`${process.began.slice(0, 16).replace('T', ' ')} UTC`);
  if (process.host) facts.push(`on ${process.host}`);
  const names = [...new Set(process.devices)].join(', ');
  facts.push(report.device === 'simulated' ? 'simulated device, no GPU' : names || 'a GPU');
  if (extra.drivers[0]) facts.push(`driver for CUDA ${extra.drivers[0]}`);
  return el('p', { class: 'quiet', id: 'run-facts' }, facts.join(', '));
}

function verdict() {
  const { errors, warnings, notes } = report.summary;
  const failures = (report.conclusion || { failures: [] }).failures.filter((failure) => failure.reason !== 'findings');
  if (failures.length > 0) {
    const counts = report.no_cuda_calls ? [] : [plural(errors, 'error'), plural(warnings, 'warning')];
    const found = counts.length > 0 ? ` ${counts.join(', ')}.` : '';
    return ['error', `Failed: ${failures.map((failure) => failure.message).join('; ')}.${found}`];
  }
  if (errors > 0) return ['error', `${plural(errors, 'error')} found.`];
  if (warnings > 0) return ['warning', `No errors. ${plural(warnings, 'warning')}.`];
  if (notes > 0) return ['note', `No errors and no warnings. ${plural(notes, 'note')}.`];
  return ['clean', 'Nothing was found.'];
}

function endText(ended) {
  const texts = {
    exited: `exited with status ${ended.status}`,
    signalled: `was ended by signal ${ended.signal}`,
    exec: 'was replaced by another program (exec)',
    running: 'was still running',
  };
  return texts[ended.how] || 'ended in an unknown way';
}

function card(title, name, value, text, below) {
  return el('div', { class: 'card' }, el('div', { class: 'title' }, title),
    el('div', { class: 'value' }, figure(name, value, text)), el('div', { class: 'quiet' }, below || ''));
}

function mainCards() {
  const totals = report.totals;
  const severity = (name) => card(name[0].toUpperCase() + name.slice(1), name, report.summary[name],
    formatCount(report.summary[name]));
  return el('div', { class: 'cards' }, severity('errors'), severity('warnings'), severity('notes'),
    card('Peak of device memory', 'peak_bytes', totals.peak_bytes, formatBytes(totals.peak_bytes),
      totals.peak_range ? `in ${totals.peak_range}` : ''),
    card('Live at the end', 'live_bytes', totals.live_bytes, formatBytes(totals.live_bytes),
      plural(totals.live_blocks, 'block')),
    card('Allocations', 'allocations', totals.allocations, formatCount(totals.allocations),
      `${formatBytes(totals.allocated_bytes)} in all, ${plural(totals.frees, 'free')}`),
    card('Kernel launches', 'launches', totals.launches, formatCount(totals.launches),
      `${plural(totals.copies, 'copy').replace('copys', 'copies')} of ${formatBytes(totals.copied_bytes)}`));
}

function processTable() {
  const total = (field) => (row) => figure(field, row.totals[field], formatBytes(row.totals[field]));
  const rank = report.processes.some((process) => process.rank !== null)
    ? [['Rank', (row) => (row.rank === null ? '' : String(row.rank)), 'number']] : [];
  const byRank = (a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || 0;
  return table('Processes', [
    ['Program', (row) => row.program || 'unknown'], ...rank,
    ['Pid', (row) => String(row.pid), 'number'],
    ['Host', (row) => row.host],
    ['Ended', (row) => endText(row.ended)],
    ['Peak', total('peak_bytes'), 'number'],
    ['Live at the end', total('live_bytes'), 'number'],
    ['Calls', (row) => figure('events', row.totals.events, formatCount(row.totals.events)), 'number'],
  ], rank.length > 0 ? [...report.processes].sort(byRank) : report.processes);
}

function familyTable(process, index) {
  return table(`Memory by kind, ${processTitle(index)}`, [
    ['Kind', (row) => row.family], ['Where', (row) => deviceName(row.device)],
    countColumn('Allocations', 'allocations'), bytesColumn('Allocated', 'allocated_bytes'),
    countColumn('Frees', 'frees'), bytesColumn('Peak', 'peak_bytes'),
    bytesColumn('Live at the end', 'live_bytes')], process.memory.families);
}

function moduleTable(process, index) {
  return table(`Who allocated, ${processTitle(index)}`, [
    ['Library or program', (row) => row.owner || fileName(row.module || 'unknown')],
    countColumn('Allocations', 'allocations'), bytesColumn('Allocated', 'allocated_bytes'),
    bytesColumn('At the peak', 'peak_bytes'), bytesColumn('Live at the end', 'live_bytes'),
  ], process.memory.modules);
}

function deviceTable(process, index) {
  return table(`Devices, ${processTitle(index)}`, [
    ['Device', (row) => (row.device === null ? 'unknown' : String(row.device))],
    bytesColumn('Peak', 'peak_bytes'), bytesColumn('Live at the end', 'live_bytes')], process.memory.devices);
}

function copyTable(process, index) {
  return table(`Copies, ${processTitle(index)}`, [
    ['Direction', (row) => row.direction], countColumn('Copies', 'copies'), bytesColumn('Bytes', 'bytes'),
    bytesColumn('Of pageable memory', 'pageable_bytes')], process.memory.copies);
}

// PyTorch's tensors when most were alive: a line makes them by many call stacks.
function tensorTable(process, index) {
  const { holders_at_peak: holders, other_holders: others } = process.memory.tensors;
  const lines = new Map();
  for (const { stack, bytes, blocks } of holders) {
    const frame = ownFrame(stack.frames);
    const place = frame ? framePlace(frame) : 'no line of the program (the backward pass)';
    const row = lines.get(place) || { place, bytes: 0, blocks: 0 };
    lines.set(place, { place, bytes: row.bytes + bytes, blocks: row.blocks + blocks });
  }
  const rows = [...lines.values()].sort((a, b) => b.bytes - a.bytes);
  if (others.bytes > 0) rows.push({ place: plural(others.stacks, 'other call stack'), bytes: others.bytes, blocks: null });
  return table(`Tensors at their peak, ${processTitle(index)}`, [
    ['Made at', (row) => row.place], bytesColumn('Bytes', 'bytes'),
    ['Blocks', (row) => (row.blocks === null ? '' : figure('blocks', row.blocks, formatCount(row.blocks))), 'number'],
  ], rows);
}

function processTables(process, index) {
  const tables = [];
  if (process.memory.families.length > 0) tables.push(familyTable(process, index));
  if (process.memory.devices.length > 0) tables.push(deviceTable(process, index));
  if (process.memory.copies.length > 0) tables.push(copyTable(process, index));
  if (process.memory.modules.length > 0) tables.push(moduleTable(process, index));
  if (process.memory.tensors) tables.push(tensorTable(process, index));
  const shown = report.processes.length === 1;
  return el('details', { open: shown }, el('summary', {}, `Memory of ${processTitle(index)}`), ...tables);
}

function listSection(title, entries, empty) {
  if (entries.length === 0 && !empty) return null;
  const list = el('ul', {}, ...entries.map((entry) => el('li', {}, ...entry)));
  return el('section', {}, el('h2', {}, title), entries.length > 0 ? list : el('p', {}, empty));
}

function notCheckedSection() {
  const entries = report.not_checked.map((entry) => [el('strong', {}, entry.what), `: ${entry.why}`]);
  return listSection('Not checked, or only in part', entries, 'Nothing that applies was left out.');
}

function losses() {
  if (report.lost_events === 0) return [];
  return [[`${plural(report.lost_events, 'record')} lost or damaged: findings may be missing or wrong.`]];
}

function showOverview(root) {
  const [kind, sentence] = verdict();
  root.append(...[el('p', { class: `verdict ${kind}`, id: 'verdict' }, sentence), runFacts(), firstFindings(),
    memoryPicture(), mainCards()].filter((part) => part !== null));
  const parts = [
    listSection('Losses', losses()),
    listSection(`What differs between ${extra.ranks.noun}`, extra.ranks.differing.map((words) => [words])),
    listSection('About this run', report.remarks.map((remark) => [remark])),
    notCheckedSection(),
    report.processes.length > 0 ? processTable() : null,
    ...report.processes.slice(0, 64).map(processTables),
  ];
  root.append(...parts.filter((part) => part !== null));
}
