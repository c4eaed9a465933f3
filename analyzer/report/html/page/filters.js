// SPDX-License-Identifier: Apache-2.0
// Which findings are shown. Choices are offered only where the findings differ.

const filterControls = {};

const FILTER_FIELDS = [
  ['severity', 'Severity', (finding) => finding.severity],
  ['kind', 'Kind', (finding) => finding.kind],
  ['process', 'Process', (finding) => processTitle(finding.process_index)],
  ['range', 'NVTX range', (finding) => finding.range || 'no range'],
  ['owner', 'Owner', (finding) => finding.owner || 'the program'],
];

// All that a reader may look for, in small letters.
function searchableText(finding) {
  return findingText(finding).toLowerCase();
}

function choiceOf(name, title, valueOf) {
  const values = [...new Set(report.findings.map(valueOf))].sort();
  if (values.length < 2) return null;
  const select = el('select', { id: `filter-${name}`, change: applyFilters }, option('', 'all'));
  select.append(...values.map((value) => option(value, value)));
  filterControls[name] = select;
  return labelled(title, select);
}

function findingFilters() {
  const search = el('input', { type: 'search', id: 'filter-text', input: applyFilters,
    placeholder: 'function, file, message' });
  filterControls.text = search;
  const choices = FILTER_FIELDS.map(([name, title, valueOf]) => choiceOf(name, title, valueOf));
  return el('form', { class: 'controls', submit: (event) => event.preventDefault() }, labelled('Text', search),
    ...choices.filter((choice) => choice !== null), el('output', { id: 'filter-result', role: 'status' }));
}

function isShown(finding) {
  const text = filterControls.text.value.trim().toLowerCase();
  if (text && !searchableText(finding).includes(text)) return false;
  return FILTER_FIELDS.every(([name, , valueOf]) => {
    const wanted = filterControls[name] && filterControls[name].value;
    return !wanted || valueOf(finding) === wanted;
  });
}

function applyFilters() {
  const indices = report.findings.map((_, index) => index).filter((index) => isShown(report.findings[index]));
  const all = report.findings.length;
  const once = withoutEqual(indices);
  const filtered = indices.length === all
    ? plural(all, 'finding') : `${formatCount(indices.length)} of ${plural(all, 'finding')}`;
  byId('filter-result').textContent = once.length === indices.length
    ? filtered : `${filtered}, ${formatCount(once.length)} where those of several ${extra.ranks.noun} are one`;
  showFindings(once);
}

function clearFilters() {
  for (const control of Object.values(filterControls)) control.value = '';
  applyFilters();
}
