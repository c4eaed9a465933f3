// SPDX-License-Identifier: Apache-2.0
// The second view: each finding with its stacks, as many as the filters leave.

const FINDINGS_AT_ONCE = 100;
let findingList = null;

// By the index of a finding: what other processes have alike.
const equalFindings = new Map(extra.ranks.equal.flatMap((equal) => equal.findings.map((index) => [index, equal])));

// Of equal findings the first one that is shown stands for all, if more than one is.
function withoutEqual(indices) {
  const shown = new Set();
  return indices.filter((index) => {
    const equal = equalFindings.get(index);
    if (equal && shown.has(equal)) return false;
    if (equal) shown.add(equal);
    return true;
  });
}

function heldTable(finding) {
  const held = finding.held;
  if (!held) return null;
  const rows = held.holders.map((holder) => ({ ...holder, frames: finding.stacks[holder.stack].frames }));
  const what = held.memory === 'host' ? 'host memory' : 'device memory';
  return table(`Who held ${formatBytes(held.bytes)} of ${what} when ${formatBytes(held.requested_bytes)} were asked for`, [
    ['Call stack', (row) => stackTitle(row.frames)], bytesColumn('Bytes', 'bytes'),
    countColumn('Blocks', 'blocks')], rows);
}

function accessList(finding) {
  const access = finding.access;
  if (!access) return null;
  const ideal = access.ideal === null ? '' : `, ${formatCount(access.ideal)} would do`;
  const parts = [`${access.memory} memory, ${access.operation}`, `${formatCount(access.actual)} moved${ideal}`,
    `${formatBytes(access.wasted_bytes)} wasted in all launches`];
  return el('ul', {}, ...parts.map((part) => el('li', {}, part)));
}

function findingFacts(finding, index) {
  const equal = equalFindings.get(index);
  const facts = equal ? [equal.where] : [processTitle(finding.process_index)];
  if (finding.bytes > 0) facts.push(formatBytes(finding.bytes));
  if (finding.count > 1) facts.push(`count ${formatCount(finding.count)}`);
  if (finding.range) facts.push(`in ${finding.range}`);
  if (finding.owner) facts.push(finding.owner);
  return el('p', { class: 'facts' }, facts.join(' · '));
}

function findingArticle(finding, index) {
  const id = `finding-${index + 1}`;
  return el('article', { id, class: `finding ${finding.severity}`, tabindex: '-1', 'data-index': String(index) },
    el('h3', {}, el('span', { class: `severity ${finding.severity}` }, finding.severity), ' ',
      el('span', { class: 'kind' }, finding.kind), ' ',
      el('a', { class: 'permanent', href: `#${id}`, 'aria-label': `Link to finding ${index + 1}` }, `#${index + 1}`)),
    el('p', { class: 'message' }, finding.message), findingFacts(finding, index),
    finding.advice ? el('p', { class: 'advice' }, finding.advice) : null,
    accessList(finding), heldTable(finding),
    ...finding.stacks.map(stackBlock), copyButton(() => findingText(finding)));
}

// The findings of these indices, some at a time.
function showFindings(indices) {
  findingList.replaceChildren();
  let shown = 0;
  const more = el('button', { type: 'button', class: 'more' });
  const add = () => {
    more.remove();
    const next = indices.slice(shown, shown + FINDINGS_AT_ONCE);
    findingList.append(...next.map((index) => findingArticle(report.findings[index], index)));
    shown += next.length;
    if (shown >= indices.length) return;
    more.textContent = `Show more (${formatCount(indices.length - shown)} left)`;
    findingList.append(more);
  };
  more.addEventListener('click', add);
  add();
}

function leftOut() {
  const { limit, min_bytes: small, kinds } = report.not_shown;
  const parts = [];
  if (limit > 0) parts.push(`${plural(limit, 'finding')} beyond the first ${formatCount(report.findings.length)}`);
  if (small > 0) parts.push(`${formatCount(small)} smaller than --min-bytes`);
  if (kinds > 0) parts.push(`${formatCount(kinds)} of kinds that were not asked for`);
  if (report.suppressed > 0) parts.push(`${formatCount(report.suppressed)} suppressed`);
  return parts.length > 0 ? el('p', { class: 'quiet' }, `Not shown: ${parts.join(', ')}.`) : null;
}

function showFindingsView(root) {
  findingList = el('div', { id: 'finding-list' });
  const out = leftOut();
  root.append(el('h2', { class: 'offscreen' }, 'Findings'), findingFilters(), ...(out ? [out] : []), findingList);
  applyFilters();
}

// Opens the finding of this number, whatever the filters say.
function openFinding(number) {
  let article = byId(`finding-${number}`);
  if (!article && report.findings[number - 1]) {
    clearFilters();
    article = byId(`finding-${number}`) || findingArticle(report.findings[number - 1], number - 1);
    if (!article.isConnected) findingList.prepend(article);
  }
  if (!article) return;
  article.scrollIntoView();
  article.focus({ preventScroll: true });
}
