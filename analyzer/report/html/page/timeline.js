// SPDX-License-Identifier: Apache-2.0
// The third view: device memory over time. The wheel, two fingers and the keys + and - zoom, dragging
// and the arrow keys move.

const CHART_HEIGHT = 320;
const MARGIN = { top: 18, left: 70, right: 12, axis: 24 };

class Timeline {
  constructor(root, processIndex, note) {
    this.trace = report.processes[processIndex].trace;
    this.part = new PartLine();
    this.history = extra.processes[processIndex];
    this.count = this.history.columns.high.length;
    this.end = this.count * this.history.column_width;
    this.lanes = lanesOf(this.history);
    this.cursor = null;
    this.svg = d3.select(root).append('svg').attr('class', 'timeline').attr('tabindex', 0)
      .attr('role', 'application').attr('aria-label', 'Device memory over time. Arrow keys move the cursor, plus and '
        + 'minus zoom, p goes to the peak, zero shows everything.');
    this.makeGroups();
    this.status = el('div', { class: 'holders', role: 'status' });
    this.legend = el('ul', { class: 'legend', 'aria-label': 'Layers' });
    root.append(note, this.part.root, this.legend, this.status);
    this.redraw = oncePerFrame(() => this.draw());
    this.zoom = d3.zoom().scaleExtent([1, Math.max(1, this.end / 20)]).on('zoom', this.redraw);
    this.chooseSet(0);
    this.resize();
    this.listen();
  }

  makeGroups() {
    const clip = this.svg.append('clipPath').attr('id', 'timeline-clip').append('rect');
    this.clip = clip.attr('x', 0).attr('y', -MARGIN.top);
    this.plot = this.svg.append('g');
    this.grid = this.plot.append('g').attr('class', 'axis bytes');
    this.areas = this.plot.append('g').attr('clip-path', 'url(#timeline-clip)');
    this.layerPaths = this.areas.append('g');
    this.marks = this.plot.append('g');
    this.axis = this.plot.append('g').attr('class', 'axis time');
    this.activity = this.plot.append('g');
    this.ranges = this.plot.append('g').attr('clip-path', 'url(#timeline-clip)');
    this.line = this.plot.append('line').attr('class', 'cursor').attr('y1', 0).style('display', 'none');
  }

  chooseSet(index) {
    this.layers = layersOf(this.history, this.history.sets[index]);
    this.legend.replaceChildren(...this.layers.map((layer, i) => {
      const item = el('li', {}, el('span', { class: 'swatch' }), layer.title,
        el('span', { class: 'quiet' }, ` up to ${formatBytes(layer.most)}`));
      item.firstChild.style.background = layerColour(layer, i);
      return item;
    }));
    if (this.x) this.draw();
  }

  timeText(units, span) {
    const length = this.history.nanoseconds_per_unit;
    if (length > 0) return formatTime(units * length, span === undefined ? undefined : span * length);
    return `${d3.format('.4~s')(Math.round(units))} ticks`;
  }

  // Of the run, not of what is shown of it.
  momentText(units, span) {
    return this.timeText(units + this.history.begin, span);
  }

  resize() {
    this.outerWidth = Math.max(280, this.svg.node().parentNode.clientWidth);
    this.width = this.outerWidth - MARGIN.left - MARGIN.right;
    this.base = d3.scaleLinear().domain([0, this.end]).range([0, this.width]);
    const highest = Math.max(1, d3.max(this.history.columns.high));
    this.y = d3.scaleLinear().domain([0, highest]).range([CHART_HEIGHT, 0]);
    this.plot.attr('transform', `translate(${MARGIN.left},${MARGIN.top})`);
    this.clip.attr('width', this.width);
    this.zoom.translateExtent([[0, 0], [this.width, CHART_HEIGHT]]).extent([[0, 0], [this.width, CHART_HEIGHT]]);
    this.svg.call(this.zoom);
    this.draw();
  }

  visible() {
    const columnAt = (time) => Math.max(0, Math.min(this.count - 1, Math.floor(time / this.history.column_width)));
    const [from, to] = this.x.domain();
    return { first: columnAt(from), last: columnAt(to) };
  }

  draw() {
    this.x = d3.zoomTransform(this.svg.node()).rescaleX(this.base);
    const { first, last } = this.visible();
    const view = { x: this.x, y: this.y, history: this.history, layers: this.layers, lanes: this.lanes, last,
      width: this.history.column_width, height: CHART_HEIGHT, timeText: (units) => this.timeText(units),
      picked: pickColumns(this.history.columns.high, first, last, this.width) };
    drawLayers(this.layerPaths, view);
    drawLow(this.areas, view);
    drawPeakDetail(this.areas, view);
    drawMarks(this.marks, view);
    this.drawAxes();
    const top = CHART_HEIGHT + MARGIN.axis;
    const rows = drawActivity(this.activity.attr('transform', `translate(0,${top})`), view);
    const lanes = drawLanes(this.ranges.attr('transform', `translate(0,${top + rows + 6})`), view);
    const bottom = top + rows + lanes + 10;
    this.clip.attr('height', bottom + MARGIN.top);
    this.svg.attr('viewBox', `0 0 ${this.outerWidth} ${bottom + MARGIN.top}`).attr('height', bottom + MARGIN.top);
    this.line.attr('y2', bottom - 6);
    this.part.show(partCommand(this.history, this.trace, ...this.x.domain()));
    this.showCursor();
  }

  drawAxes() {
    const [from, to] = this.x.domain();
    const times = d3.axisBottom(this.x).tickValues(this.timeTicks(from, to)).tickSizeOuter(0)
      .tickFormat((time) => this.momentText(time, to - from));
    this.axis.attr('transform', `translate(0,${CHART_HEIGHT})`).call(times);
    const highest = this.y.domain()[1];
    const step = niceBytes(highest / 5);
    const sizes = d3.axisLeft(this.y).tickValues(d3.range(0, highest, step)).tickFormat(formatBytes)
      .tickSizeInner(-this.width).tickSizeOuter(0);
    this.grid.call(sizes);
  }

  // Round in nanoseconds, if the length of the trace's units is known.
  timeTicks(from, to) {
    const length = this.history.nanoseconds_per_unit || 1;
    const { begin } = this.history;
    return d3.ticks((from + begin) * length, (to + begin) * length, Math.max(2, this.width / 130))
      .map((time) => time / length - begin);
  }

  showCursor() {
    const column = this.cursor ?? this.peakColumn();
    const time = (column + 0.5) * this.history.column_width;
    const at = this.x(time);
    this.line.style('display', this.cursor === null || at < 0 || at > this.width ? 'none' : null)
      .attr('x1', at).attr('x2', at);
    const { low, high } = this.history.columns;
    const holders = holdersIn(this.layers, column).slice(0, 8);
    const when = this.cursor === null ? 'At the peak' : `At ${this.momentText(time)}`;
    const rows = holders.map((holder) => el('li', {}, swatch(this.layers[holder.index], holder.index),
      el('span', { class: 'number' }, formatBytes(holder.bytes)), holder.title));
    this.status.replaceChildren(el('p', {}, el('strong', {}, when), ': ',
      figure('high', high[column], formatBytes(high[column])),
      low[column] < high[column] ? `, and never less than ${formatBytes(low[column])} in this column of time` : ''),
    el('ol', {}, ...rows));
  }

  peakColumn() {
    return Math.min(this.count - 1, Math.floor(this.history.peak.time / this.history.column_width));
  }

  moveCursor(column) {
    this.cursor = Math.max(0, Math.min(this.count - 1, column));
    const [from, to] = this.x.domain();
    const time = (this.cursor + 0.5) * this.history.column_width;
    if (time < from || time > to) this.svg.call(this.zoom.translateTo, this.base(time), 0);
    else this.showCursor();
  }

  listen() {
    const show = oncePerFrame(() => this.showCursor());
    onEvent(this.svg, 'mousemove', (event) => {
      const at = positionIn(this.plot.node(), event).x;
      if (at < 0 || at > this.width) return;
      this.cursor = Math.min(this.count - 1, Math.floor(this.x.invert(at) / this.history.column_width));
      show();
    });
    onEvent(this.svg, 'mouseleave', () => {
      this.cursor = null;
      show();
    });
    onEvent(this.svg, 'keydown', (event) => this.onKey(event));
  }

  onKey(event) {
    const { first, last } = this.visible();
    const step = Math.max(1, Math.round((last - first) / 200)) * (event.shiftKey ? 10 : 1);
    const from = this.cursor ?? this.peakColumn();
    const actions = {
      ArrowLeft: () => this.moveCursor(from - step),
      ArrowRight: () => this.moveCursor(from + step),
      '+': () => this.svg.call(this.zoom.scaleBy, 2),
      '-': () => this.svg.call(this.zoom.scaleBy, 0.5),
      p: () => this.goToPeak(),
      0: () => this.svg.call(this.zoom.transform, d3.zoomIdentity),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  // So close that single changes can be seen.
  goToPeak() {
    const { times, time } = this.history.peak;
    const span = Math.max(times.length > 1 ? times[times.length - 1] - times[0] : 0, this.history.column_width * 4);
    const scale = Math.min(this.zoom.scaleExtent()[1], Math.max(1, this.end / span));
    this.svg.call(this.zoom.transform, d3.zoomIdentity.translate(this.width / 2, 0).scale(scale)
      .translate(-this.base(time), 0));
  }
}

function swatch(layer, index) {
  const mark = el('span', { class: 'swatch' });
  mark.style.background = layerColour(layer, index);
  return mark;
}

// 1, 2 or 5 times a power of two, at least the size.
function niceBytes(size) {
  return 2 ** Math.ceil(Math.log2(Math.max(1, size)));
}
