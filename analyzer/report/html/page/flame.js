// SPDX-License-Identifier: Apache-2.0
// The fourth view: flame graphs of bytes and of allocations. A click or Enter shows one frame as
// wide as the picture; arrow keys walk along the boxes.

const BOX_HEIGHT = 19;

class FlameGraph {
  constructor(root, history) {
    this.history = history;
    this.metric = 'peak_bytes';
    this.inverted = false;
    this.search = '';
    this.svg = d3.select(root).append('svg').attr('class', 'flame').attr('role', 'group')
      .attr('aria-label', 'Flame graph. Arrow keys walk along the boxes, Enter zooms, Escape shows everything.');
    onEvent(this.svg, 'keydown', (event) => this.onKey(event));
    this.details = el('div', { class: 'details', role: 'status' });
    this.rows = el('div', {});
    root.append(this.details, this.rows);
    this.rebuild();
  }

  rebuild() {
    this.tree = flameTree(this.history, this.metric, this.inverted);
    this.format = FLAME_METRICS.find(([metric]) => metric === this.metric)[2];
    this.focusOn(this.tree);
    this.rows.replaceChildren(this.largestStacks());
  }

  // The same as a table, for those who rather read it.
  largestStacks() {
    const [, title, format] = FLAME_METRICS.find(([metric]) => metric === this.metric);
    const rows = this.history.stacks.filter((stack) => stack[this.metric] > 0)
      .sort((a, b) => b[this.metric] - a[this.metric]).slice(0, 20);
    const titles = layerTitles(this.history, { layers: rows.map((row) => ({ stack: this.history.stacks.indexOf(row) })) });
    return table(`${title}: the largest call stacks`, [
      ['Call stack', (row) => el('span', {}, ...breakable(titles[rows.indexOf(row)]))],
      ['Call', (row) => row.api],
      [title, (row) => format(row[this.metric]), 'number']], rows);
  }

  focusOn(node) {
    this.focus = node;
    this.active = node;
    this.draw();
    this.describe(node);
  }

  matches(node) {
    return this.search !== '' && node.name.toLowerCase().includes(this.search);
  }

  draw() {
    const width = Math.max(280, this.svg.node().parentNode.clientWidth);
    const boxes = this.focus.value > 0 ? flameBoxes(this.focus, width) : [];
    const height = BOX_HEIGHT * (1 + (d3.max(boxes, (box) => box.node.depth) ?? 0));
    this.svg.attr('viewBox', `0 0 ${width} ${height}`).attr('height', height);
    const groups = this.svg.selectAll('g').data(boxes).join((enter) => {
      const made = enter.append('g');
      made.append('rect').attr('height', BOX_HEIGHT - 1);
      made.append('text').attr('x', 4).attr('y', 13);
      made.append('title');
      const act = (doing) => (event) => doing(d3.select(event.currentTarget).datum().node);
      onEvent(made, 'click', act((node) => this.focusOn(node)));
      onEvent(made, 'mouseenter', act((node) => this.describe(node)));
      onEvent(made, 'focus', act((node) => this.describe(node)));
      return made;
    });
    groups.attr('class', (box) => `box ${box.node.language}${this.matches(box.node) ? ' match' : ''}`)
      .attr('tabindex', (box) => (box.node === this.active ? 0 : -1)).attr('role', 'button')
      .attr('aria-label', (box) => this.titleOf(box.node))
      .attr('transform', (box) => `translate(${box.x},${box.node.depth * BOX_HEIGHT})`);
    groups.select('rect').attr('width', (box) => Math.max(0.5, box.wide - 1));
    groups.select('text').text((box) => fittingText(this.labelOf(box.node), box.wide - 8));
    groups.select('title').text((box) => this.titleOf(box.node));
  }

  labelOf(node) {
    return node.parent ? node.name : `${node.name}: ${this.format(node.value)}`;
  }

  titleOf(node) {
    const share = this.tree.value > 0 ? formatPercent(node.value / this.tree.value) : '';
    return `${node.name}: ${this.format(node.value)}, ${share}`;
  }

  describe(node) {
    const parts = [el('p', {}, el('strong', {}, node.name), ' ',
      figure('flame-value', node.value, this.format(node.value)),
      this.tree.value > 0 ? `, ${formatPercent(node.value / this.tree.value)} of all` : '')];
    if (this.search) parts.push(this.searchResult());
    const places = [...new Set([...node.frames].map(framePlace).filter((place) => place && place !== 'CUDA'))];
    if (places.length > 0) parts.push(el('p', { class: 'quiet' }, places.slice(0, 6).join(', ')));
    const findings = node.parent ? findingsOf(node).slice(0, 8) : [];
    if (findings.length > 0) parts.push(el('ul', { class: 'links' }, ...findings.map(findingLink)));
    this.details.replaceChildren(...parts);
  }

  searchResult() {
    const value = matchingValue(this.tree, (node) => this.matches(node));
    const share = this.tree.value > 0 ? value / this.tree.value : 0;
    return el('p', {}, 'The search matches ', figure('matched', value, this.format(value)), `, ${formatPercent(share)}`);
  }

  find(text) {
    this.search = text.trim().toLowerCase();
    this.draw();
    this.describe(this.focus);
  }

  onKey(event) {
    const next = this.neighbour(event.key);
    if (event.key === 'Enter') this.focusOn(this.active);
    else if (event.key === 'Escape') this.focusOn(this.tree);
    else if (next) this.active = next;
    else return;
    event.preventDefault();
    if (next) this.draw();
    const chosen = this.svg.selectAll('g').filter((box) => box.node === this.active).node();
    if (chosen) chosen.focus();
  }

  neighbour(key) {
    const node = this.active;
    const sorted = (of) => [...of.children.values()].sort((a, b) => b.value - a.value);
    const siblings = node.parent ? sorted(node.parent) : [node];
    const at = siblings.indexOf(node);
    return { ArrowDown: sorted(node)[0], ArrowUp: node.parent, ArrowLeft: siblings[at - 1],
      ArrowRight: siblings[at + 1] }[key];
  }
}

function findingLink(index) {
  const finding = report.findings[index];
  return el('li', {}, el('a', { href: `#finding-${index + 1}` }, `${finding.severity} ${finding.kind}`), ` ${finding.message}`);
}

function flameControls(graph, chooser) {
  const metric = el('select', { id: 'flame-metric', change: () => {
    graph.metric = metric.value;
    graph.rebuild();
  } }, ...flameMetrics(graph.history).map(([name, title]) => option(name, title)));
  const inverted = el('input', { type: 'checkbox', id: 'flame-inverted', change: () => {
    graph.inverted = inverted.checked;
    graph.rebuild();
  } });
  const search = el('input', { type: 'search', id: 'flame-search', input: () => graph.find(search.value) });
  const reset = el('button', { type: 'button', click: () => graph.focusOn(graph.tree) }, 'Show everything');
  return el('form', { class: 'controls', submit: (event) => event.preventDefault() },
    ...(chooser ? [chooser] : []), labelled('Figure', metric), labelled('Search', search),
    labelled('Inverted: callers below', inverted), reset);
}

const FLAME_COLOURS = [['native', 'C and C++'], ['python', 'Python'], ['kernel', 'kernel'], ['cuda', 'CUDA']];

function flameLegend() {
  return el('ul', { class: 'legend' }, ...FLAME_COLOURS.map(([language, title]) =>
    el('li', {}, el('span', { class: `dot ${language}` }), title)));
}
