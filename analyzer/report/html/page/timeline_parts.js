// SPDX-License-Identifier: Apache-2.0
// The parts of the timeline, each drawn into a group of the picture. `view` has the scales, the
// history, its layers and the columns to draw.

const ACTIVITIES = [['allocations', 'allocations'], ['frees', 'frees'], ['copies', 'copies, sets'],
  ['launches', 'launches'], ['waits', 'waits'], ['failures', 'failures']];
const ROW_HEIGHT = 18;
const LANE_HEIGHT = 17;
const MOST_LANES = 12;

function columnTime(view, column) {
  return column * view.width;
}

// Points of steps: at the beginning of each column that is drawn, and at the end of the last one.
function stepPoints(view) {
  const points = view.picked.map((pick) => ({ time: columnTime(view, pick.at), column: pick.column }));
  const end = points[points.length - 1];
  if (end) points.push({ time: columnTime(view, view.last + 1), column: end.column });
  return points;
}

function drawLayers(group, view) {
  const points = stepPoints(view);
  const below = new Float64Array(points.length);
  const shapes = view.layers.map((layer, index) => {
    const base = Float64Array.from(below);
    points.forEach((point, i) => { below[i] += layer.values[point.column]; });
    const top = Float64Array.from(below);
    const area = d3.area().curve(d3.curveStepAfter).x((point) => view.x(point.time))
      .y0((_, i) => view.y(base[i])).y1((_, i) => view.y(top[i]));
    return { path: area(points), colour: layerColour(layer, index), title: layer.title };
  });
  group.selectAll('path.layer').data(shapes).join('path').attr('class', 'layer')
    .attr('d', (shape) => shape.path).attr('fill', (shape) => shape.colour);
}

// The least that was alive in each column: where it is far below the top, memory comes and goes.
function drawLow(group, view) {
  const { low } = view.history.columns;
  const line = d3.line().curve(d3.curveStepAfter).x((point) => view.x(point.time)).y((point) => view.y(low[point.column]));
  group.selectAll('path.low').data([stepPoints(view)]).join('path').attr('class', 'low').attr('d', line);
}

// Every change around the peak, once columns are wide enough to hide some.
function drawPeakDetail(group, view) {
  const { times, bytes } = view.history.peak;
  const span = times.length > 1 ? view.x(times[times.length - 1]) - view.x(times[0]) : 0;
  const line = d3.line().curve(d3.curveStepAfter).x((i) => view.x(times[i])).y((i) => view.y(bytes[i]));
  group.selectAll('path.detail').data(span > 3 * times.length ? [d3.range(times.length)] : []).join('path')
    .attr('class', 'detail').attr('d', line);
}

function drawMarks(group, view) {
  const marks = view.history.failures.map((failure) => ({ time: failure.time, kind: 'failure', text: '✕',
    title: `an allocation of ${formatBytes(failure.bytes)} failed` }));
  marks.push({ time: view.history.peak.time, kind: 'peak', text: 'peak',
    title: `peak: ${formatBytes(d3.max(view.history.columns.high))}` });
  const [begin, end] = view.x.range();
  const seen = marks.filter((mark) => view.x(mark.time) >= begin - 1 && view.x(mark.time) <= end + 1);
  const groups = group.selectAll('g.mark').data(seen).join((enter) => {
    const made = enter.append('g');
    made.append('line').attr('y1', 0);
    made.append('text').attr('y', -4);
    made.append('title');
    return made;
  }).attr('class', (mark) => `mark ${mark.kind}`).attr('transform', (mark) => `translate(${view.x(mark.time)},0)`);
  groups.select('line').attr('y2', view.height);
  groups.select('text').text((mark) => mark.text)
    .attr('text-anchor', (mark) => (view.x(mark.time) > end - 30 ? 'end' : 'middle'));
  groups.select('title').text((mark) => mark.title);
}

// How many calls of a kind there were, as heights that grow with the logarithm.
function drawActivity(group, view) {
  const shown = ACTIVITIES.filter(([name]) => d3.max(view.history.columns[name]) > 0);
  const rows = shown.map(([name, title]) => {
    const counts = view.picked.map((pick, i) => {
      const end = i + 1 < view.picked.length ? view.picked[i + 1].at : view.last + 1;
      return d3.sum(view.history.columns[name].slice(pick.at, end));
    });
    const height = d3.scaleLog().domain([1, 1 + d3.max(counts)]).range([0, ROW_HEIGHT - 5]);
    const points = [...view.picked.map((pick) => columnTime(view, pick.at)), columnTime(view, view.last + 1)];
    const area = d3.area().curve(d3.curveStepAfter).x((_, i) => view.x(points[i])).y0(ROW_HEIGHT - 3)
      .y1((_, i) => ROW_HEIGHT - 3 - height(1 + (counts[Math.min(i, counts.length - 1)] || 0)));
    return { name, title, path: area(points) };
  });
  const groups = group.selectAll('g.activity').data(rows, (row) => row.name).join((enter) => {
    const made = enter.append('g').attr('class', (row) => `activity ${row.name}`);
    made.append('path').attr('clip-path', 'url(#timeline-clip)');
    made.append('text').attr('x', -6).attr('y', 12).attr('text-anchor', 'end');
    return made;
  }).attr('transform', (_, i) => `translate(0,${i * ROW_HEIGHT})`);
  groups.select('path').attr('d', (row) => row.path);
  groups.select('text').text((row) => row.title);
  return rows.length * ROW_HEIGHT;
}

// Lanes by thread and depth, those of the process first.
function lanesOf(history) {
  const keyOf = (range) => `${range.thread}/${range.depth}`;
  const keys = [...new Set(history.ranges.map(keyOf))].sort((a, b) => {
    const [threadA, depthA] = a.split('/').map(Number);
    const [threadB, depthB] = b.split('/').map(Number);
    return threadA === threadB ? depthA - depthB : threadA - threadB;
  }).slice(0, MOST_LANES);
  return history.ranges.map((range) => ({ range, lane: keys.indexOf(keyOf(range)) })).filter((row) => row.lane >= 0);
}

function drawLanes(group, view) {
  const [begin, end] = view.x.range();
  const seen = view.lanes.map(({ range, lane }) => {
    const from = Math.max(begin, view.x(range.begin));
    return { range, lane, from, wide: Math.min(end, view.x(range.end)) - from };
  }).filter((row) => row.wide > 0.3);
  const groups = group.selectAll('g.range').data(seen).join((enter) => {
    const made = enter.append('g').attr('class', 'range');
    made.append('rect').attr('height', LANE_HEIGHT - 2);
    made.append('text').attr('x', 3).attr('y', 11);
    made.append('title');
    return made;
  }).attr('transform', (row) => `translate(${row.from},${row.lane * LANE_HEIGHT})`);
  groups.select('rect').attr('width', (row) => row.wide);
  groups.select('text').text((row) => fittingText(row.range.name, row.wide - 6));
  groups.select('title').text((row) => `${row.range.name}, ${view.timeText(row.range.end - row.range.begin)}`);
  return (1 + (d3.max(view.lanes, (row) => row.lane) ?? -1)) * LANE_HEIGHT;
}

// As much of a text in small letters as fits.
function fittingText(text, pixels) {
  const letters = Math.floor(pixels / 6.7);
  if (text.length <= letters) return text;
  return letters < 3 ? '' : `${text.slice(0, letters - 1)}…`;
}
