// SPDX-License-Identifier: Apache-2.0
// Two runs beside each other: findings that are new, gone or have grown, and both runs' memory as one
// flame graph. A box is as wide as the larger of the two; its colour says which one that is.

const compare = byId('compare-data') ? JSON.parse(byId('compare-data').textContent) : null;

function changeText(before, after, format) {
  if (before === after) return `${format(after)}, unchanged`;
  return `${format(before)} → ${format(after)} (${after > before ? '+' : '−'}${format(Math.abs(after - before))})`;
}

function compareTree(metric) {
  const root = { ...makeNode('all', 'same', null), before: 0, after: 0 };
  for (const stack of compare.stacks) {
    const before = stack.before[metric];
    const after = stack.after[metric];
    if (before === 0 && after === 0) continue;
    let node = root;
    const add = (to) => {
      to.value += Math.max(before, after);
      to.before += before;
      to.after += after;
    };
    add(root);
    for (const index of [...stack.frames].reverse()) {
      if (!node.children.has(index)) {
        const name = compare.names[index];
        const child = { ...makeNode(shortFunction(name) || name, 'same', node), before: 0, after: 0 };
        child.frames.add({ function: name });
        node.children.set(index, child);
      }
      node = node.children.get(index);
      add(node);
    }
  }
  colourChanges(root);
  return root;
}

function colourChanges(node) {
  if (node.after > node.before) node.language = 'grown';
  else if (node.after < node.before) node.language = 'gone';
  node.children.forEach(colourChanges);
}

class CompareFlame extends FlameGraph {
  rebuild() {
    this.tree = compareTree(this.metric);
    this.format = FLAME_METRICS.find(([metric]) => metric === this.metric)[2];
    this.focusOn(this.tree);
    this.rows.replaceChildren(this.largestChanges());
  }

  largestChanges() {
    const change = (row) => row.after[this.metric] - row.before[this.metric];
    const rows = compare.stacks.filter((row) => change(row) !== 0)
      .sort((a, b) => Math.abs(change(b)) - Math.abs(change(a))).slice(0, 20);
    const name = (row) => row.frames.slice(0, 3).map((index) => shortFunction(compare.names[index])).join(' < ');
    const value = (side) => (row) => figure(`stack-${side}`, row[side][this.metric], this.format(row[side][this.metric]));
    return table('The largest changes by call stack', [['Call stack', name], ['Before', value('before'), 'number'],
      ['After', value('after'), 'number']], rows);
  }

  labelOf(node) {
    return node.parent ? node.name : `${node.name}: ${changeText(node.before, node.after, this.format)}`;
  }

  titleOf(node) {
    return `${node.name}: ${changeText(node.before, node.after, this.format)}`;
  }

  describe(node) {
    this.details.replaceChildren(el('p', {}, el('strong', {}, node.name), ' ',
      figure('flame-before', node.before, this.format(node.before)), ' → ',
      figure('flame-after', node.after, this.format(node.after))));
  }
}

function sizesText(sizes) {
  if (sizes === null) return 'none';
  return sizes.bytes > 0 ? `${formatBytes(sizes.bytes)} in ${formatCount(sizes.count)}` : plural(sizes.count, 'time');
}

function comparedFindings() {
  const number = (row) => report.findings.findIndex((finding) => finding.fingerprint === row.fingerprint);
  const name = (row) => {
    const index = row.state === 'gone' ? -1 : number(row);
    return index < 0 ? el('span', {}, row.kind) : el('a', { href: `#finding-${index + 1}` }, row.kind);
  };
  return table('Findings', [['State', (row) => el('span', { class: `state ${row.state}`, 'data-state': row.state }, row.state)],
    ['Severity', (row) => row.severity], ['Kind', name], ['Where', (row) => row.functions.join(' < ')],
    ['Before', (row) => sizesText(row.before), 'number'], ['After', (row) => sizesText(row.after), 'number']],
  compare.findings);
}

let compareFlame = null;

function showCompare(root) {
  const count = (state) => compare.findings.filter((row) => row.state === state).length;
  const states = ['new', 'grown', 'gone'].map((state) => [state, count(state)]);
  const memory = [['Peak of device memory', 'peak', compare.peak_bytes], ['Live at the end', 'live', compare.live_bytes]];
  root.append(el('p', {}, 'Before: ', el('code', {}, compare.before), '. After: ', el('code', {}, compare.after),
    '. All other views are of the run after.'));
  for (const [run, failures] of [['before', compare.failures_before], ['after', compare.failures_after]])
    root.append(...failures.map((failure) => el('p', { class: 'failure', 'data-run': run }, `The run ${run}: ${failure}.`)));
  root.append(el('div', { class: 'cards' },
    ...states.map(([state, number]) => card(`Findings: ${state}`, `${state}-findings`, number, formatCount(number), '')),
    card('Findings: unchanged', 'unchanged-findings', compare.unchanged, formatCount(compare.unchanged), ''),
    ...memory.map(([title, name, [before, after]]) => card(title, `${name}-after`, after, formatBytes(after),
      changeText(before, after, formatBytes)))));
  root.append(compare.findings.length > 0 ? comparedFindings() : el('p', {}, 'No finding has changed.'));
  const chart = el('div', { class: 'chart' });
  root.append(el('h2', {}, 'Memory by call stack'), compareNote(), chart);
  if (compare.stacks.length === 0) return;
  compareFlame = new CompareFlame(chart, null);
  const metric = el('select', { id: 'compare-metric', change: () => {
    compareFlame.metric = metric.value;
    compareFlame.rebuild();
  } }, ...FLAME_METRICS.slice(0, compare.all_stacks ? 4 : 1).map(([name, title]) => option(name, title)));
  const search = el('input', { type: 'search', id: 'compare-search', input: () => compareFlame.find(search.value) });
  chart.before(el('form', { class: 'controls', submit: (event) => event.preventDefault() }, labelled('Figure', metric),
    labelled('Search', search),
    el('button', { type: 'button', click: () => compareFlame.focusOn(compareFlame.tree) }, 'Show everything')));
}

function compareNote() {
  const part = compare.all_stacks ? '' : ' One of the two is a JSON report, which has only the ten call stacks that held most.';
  const left = compare.left_out_stacks > 0 ? ` ${plural(compare.left_out_stacks, 'smaller call stack')} not shown.` : '';
  const mark = (state, title) => el('li', {}, el('span', { class: `dot ${state}` }), title);
  return el('div', {}, el('p', { class: 'quiet' },
    `A box is as wide as the larger of the two runs' figures.${part}${left}`),
  el('ul', { class: 'legend' }, mark('grown', 'more after'), mark('gone', 'less after'), mark('same', 'unchanged')));
}
