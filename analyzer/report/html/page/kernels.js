// SPDX-License-Identifier: Apache-2.0
// The fifth view: how kernels use global memory, their source with what each line wastes, how true
// results of the simulated device are, and what went wrong inside kernels.

function ratioCell(value, digits) {
  return value === null || value === undefined ? '' : value.toFixed(digits);
}

function kernelTable(accesses, index) {
  return table(`Kernels, ${processTitle(index)}`, [
    ['Kernel', (row) => row.kernel],
    ['Launches', (row) => (row.launches === null ? '' : formatCount(row.launches)), 'number'],
    countColumn('Requests', 'requests'), countColumn('Sectors', 'sectors'),
    ['Sectors a request', (row) => ratioCell(row.sectors_per_request, 1), 'number'],
    ['Efficiency', (row) => (row.efficiency === null ? '' : figure('efficiency', row.efficiency, formatPercent(row.efficiency))), 'number'],
    bytesColumn('Wasted', 'wasted_bytes')], accesses.kernels);
}

function lineTable(accesses, index) {
  return table(`Lines that waste most, ${processTitle(index)}`, [
    ['Line', (row) => (row.file ? `${fileName(row.file)}:${row.line}` : `+${row.offset}`)],
    ['Access', (row) => `${row.width ? `${row.width}-byte ` : ''}${row.operation}`],
    ['Kernel', (row) => shortFunction(row.kernel)],
    ['Ratio', (row) => ratioCell(row.ratio, 1), 'number'], bytesColumn('Wasted', 'wasted_bytes'),
    ['Of all traffic', (row) => (row.share === null ? '' : formatPercent(row.share)), 'number'],
    ['Cause', (row) => row.cause || '']], accesses.lines);
}

// Lines of one file, with the figures of those that were measured.
function sourceView(file, accesses) {
  const lines = extra.sources[file];
  if (!lines) return null;
  const of = (number) => accesses.filter((access) => access.line === number);
  const rows = Object.entries(lines).map(([number, text]) => ({ number: Number(number), text, of: of(Number(number)) }));
  const sum = (row, field) => d3.sum(row.of, (access) => access[field]);
  return table(`Source: ${file}`, [
    ['Line', (row) => String(row.number), 'number'],
    ['Wasted', (row) => (row.of.length > 0 ? formatBytes(sum(row, 'wasted_bytes')) : ''), 'number'],
    ['Efficiency', (row) => efficiencyOf(row.of), 'number'],
    ['', (row) => el('code', { class: row.of.length > 0 ? 'wasteful' : null }, row.text)]], rows);
}

function efficiencyOf(accesses) {
  const actual = d3.sum(accesses, (access) => access.actual);
  const ideal = d3.sum(accesses, (access) => access.ideal || 0);
  return actual > 0 && ideal > 0 ? formatPercent(ideal / actual) : '';
}

function sourceViews(accesses) {
  const files = [...new Set(accesses.lines.map((line) => line.file).filter((file) => file))];
  return files.map((file) => sourceView(file, accesses.lines.filter((line) => line.file === file)))
    .filter((part) => part !== null);
}

function accessSection(process, index) {
  const accesses = process.accesses;
  if (!accesses) return null;
  const measured = `${formatCount(accesses.measured_launches)} of ${plural(accesses.launches, 'launch').replace('launchs', 'launches')} measured`;
  return el('section', {}, el('h2', {}, `Global memory, ${processTitle(index)}`),
    el('p', {}, figure('moved_bytes', accesses.moved_bytes, formatBytes(accesses.moved_bytes)), ' moved, ',
      figure('wasted_bytes', accesses.wasted_bytes, formatBytes(accesses.wasted_bytes)), ` of it wasted; ${measured}.`),
    kernelTable(accesses, index), lineTable(accesses, index), ...sourceViews(accesses));
}

const differences = { 'last-bits': 'a GPU\u2019s last bits may differ', order: 'a GPU may add in another order',
  joined: 'a GPU may round once, as fma does' };
const endings = { stopped: 'stopped in the middle', 'not-run': 'not run', 'not-selected': 'not selected' };

// Kernels on the simulated device: what a GPU may compute otherwise, and what did not run.
function fidelitySection(process, index) {
  const kernels = process.kernels;
  if (!kernels) return null;
  const { features, exact_instructions: exact } = kernels.fidelity;
  const rows = [
    ...features.map((row) => ({ ...row, text: differences[row.difference] })),
    { feature: features.length > 0 ? 'all other instructions' : 'all instructions', text: 'exact',
      instructions: exact, launches: kernels.ran },
    ...kernels.left_out.map((row) => ({ feature: row.kernel, text: `${endings[row.how]}: ${row.reason}`,
      instructions: null, launches: row.launches }))];
  return el('section', {}, el('h2', {}, `Simulated device, ${processTitle(index)}`),
    el('p', {}, `${formatCount(kernels.ran)} of ${formatCount(kernels.launches)} launches ran to their end.`),
    table(`Kernels against a GPU\u2019s results, ${processTitle(index)}`, [
      ['', (row) => row.feature], ['Result', (row) => row.text],
      ['Launches', (row) => formatCount(row.launches), 'number'],
      ['Instructions of threads', (row) => (row.instructions === null ? '' : formatCount(row.instructions)), 'number']],
    rows));
}

// Findings of calls or accesses inside kernels.
function inKernels() {
  return report.findings.map((_, index) => index).filter((index) =>
    report.findings[index].stacks.some((stack) => stack.device));
}

function showKernels(root) {
  const sections = report.processes.map(accessSection).filter((section) => section !== null);
  const findings = inKernels();
  if (sections.length === 0) {
    root.append(el('p', {}, 'Accesses of global memory were not measured. Run the program with ',
      el('code', {}, '--coalescing'), ' on a GPU to see which lines waste bandwidth.'));
  }
  const simulated = report.processes.map(fidelitySection).filter((section) => section !== null);
  root.append(...sections, ...simulated, el('h2', {}, 'Findings inside kernels'), findings.length > 0
    ? el('ul', { class: 'links' }, ...findings.map(findingLink)) : el('p', {}, 'None.'));
}
