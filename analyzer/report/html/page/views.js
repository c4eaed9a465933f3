// SPDX-License-Identifier: Apache-2.0
// Which view is open: the part of the address behind '#' says it. A view is made when it is opened
// first. For print all of them are shown.

const EMPTY_HISTORY = 'No device memory was allocated, so there is nothing to draw.';
const made = {};
let timeline = null;
let flame = null;

function showTimelineView(root) {
  const fill = (index) => {
    const history = extra.processes[index];
    const chart = el('div', { class: 'chart' });
    const set = el('select', { id: 'timeline-set', change: () => timeline.chooseSet(Number(set.value)) },
      ...history.sets.map((layers, i) => option(String(i), layers.by)));
    const button = (text, action) => el('button', { type: 'button', click: action }, text);
    const controls = [processChooser(index, fill), labelled('Stacked by', set),
      button('Show the peak', () => timeline.goToPeak()),
      button('Show everything', () => timeline.svg.call(timeline.zoom.transform, d3.zoomIdentity))];
    root.replaceChildren(el('form', { class: 'controls', submit: (event) => event.preventDefault() },
      ...controls.filter((control) => control !== null)), chart);
    timeline = new Timeline(chart, index, timelineNote(history));
    root.append(...history.cache_maps.map((map) => cacheMapSection(history, map, Math.max(280, root.clientWidth))));
    const first = (by) => history.sets.findIndex((layers) => layers.by === by);
    const chosen = first(TENSOR_LINES) >= 0 ? first(TENSOR_LINES) : first('call stack');
    set.value = String(chosen);
    timeline.chooseSet(chosen);
  };
  const first = largestProcess();
  if (first === undefined) root.append(el('p', {}, EMPTY_HISTORY));
  else fill(first);
}

function timelineNote(history) {
  const width = history.nanoseconds_per_unit > 0
    ? formatTime(history.column_width * history.nanoseconds_per_unit) : `${formatCount(history.column_width)} ticks`;
  const left = history.more_ranges > 0 ? ` ${plural(history.more_ranges, 'shorter range')} of NVTX not shown.` : '';
  const failed = history.more_failures > 0 ? ` ${plural(history.more_failures, 'more failure')} not marked.` : '';
  return el('p', { class: 'quiet' }, partNote(history), `A column stands for ${width}. Its height is the most that was alive in it, so no peak `
    + `is lost; the dotted line is the least.${left}${failed}`);
}

function showFlameView(root) {
  const fill = (index) => {
    const chart = el('div', { class: 'chart' });
    root.replaceChildren(chart);
    flame = new FlameGraph(chart, extra.processes[index]);
    root.prepend(flameControls(flame, processChooser(index, fill)), flameLegend());
  };
  const first = largestProcess();
  if (first === undefined) root.append(el('p', {}, EMPTY_HISTORY));
  else fill(first);
}

const VIEWS = { overview: showOverview, findings: showFindingsView, timeline: showTimelineView, flame: showFlameView,
  kernels: showKernels };
if (compare !== null) VIEWS.compare = showCompare;

const FIRST_VIEW = compare === null ? 'overview' : 'compare';

function openView(name) {
  const root = byId(`view-${name}`);
  root.hidden = false;
  if (made[name]) return;
  made[name] = true;
  VIEWS[name](root);
}

// "#finding-3" is in the view of findings.
function route() {
  const word = location.hash.slice(1);
  const number = /^finding-(\d+)$/.exec(word);
  const wanted = number ? 'findings' : word;
  const name = Object.hasOwn(VIEWS, wanted) ? wanted : FIRST_VIEW;
  for (const other of Object.keys(VIEWS)) byId(`view-${other}`).hidden = other !== name;
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  openView(name);
  if (number) openFinding(Number(number[1]));
}

function onResize() {
  if (timeline && !byId('view-timeline').hidden) timeline.resize();
  if (flame && !byId('view-flame').hidden) flame.draw();
  if (compareFlame && !byId('view-compare').hidden) compareFlame.draw();
}

function showHeader() {
  const program = report.program;
  const name = program ? fileName(program.path) : 'no process';
  document.title = `${name}: gpumemtrace report`;
  const words = program ? program.arguments.join(' ') : 'no process left a trace';
  const device = report.device === 'simulated' ? ' on the simulated device' : '';
  byId('subject').replaceChildren(el('code', {}, words), el('span', { class: 'quiet' }, ` ${endText(report.ended)}${device}`));
  const { errors, warnings, notes } = report.summary;
  byId('finding-count').textContent = formatCount(errors + warnings + notes);
  byId('footer').textContent = `gpumemtrace ${report.tool.version}. This file loads nothing from anywhere.`;
}

byId('nav-compare').hidden = compare === null;
showHeader();
route();
addEventListener('hashchange', route);
addEventListener('resize', oncePerFrame(onResize));
addEventListener('beforeprint', () => Object.keys(VIEWS).forEach(openView));
addEventListener('afterprint', route);
