// SPDX-License-Identifier: Apache-2.0
// Below the timeline: PyTorch's cache at one moment. Each row is a part of a segment; what no tensor
// holds of it is a hole. Above it the whole device as one bar.

const MAP_ROW = 16;
const MAP_GAP = 5;
const MOST_COLOURED = 10;

function mapMoment(map) {
  return map.moment === 'peak' ? 'at the peak of tensors'
    : `when ${formatBytes(map.asked_bytes)} were asked for and not found`;
}

// Of [offset, bytes, blocks, stack, ...]
function segmentPieces(segment) {
  const pieces = [];
  for (let i = 0; i < segment.tensors.length; i += 4) {
    const [offset, bytes, blocks, stack] = segment.tensors.slice(i, i + 4);
    pieces.push({ offset, bytes, blocks, stack });
  }
  return pieces;
}

function tensorTitle(history, stack) {
  return stack === null ? 'other call stacks' : callerNames(history.stacks[stack])[0];
}

// The lines that hold most have colours.
function mapColours(history, map) {
  const held = new Map();
  for (const segment of map.segments) {
    for (const { bytes, stack } of segmentPieces(segment)) {
      const title = tensorTitle(history, stack);
      held.set(title, (held.get(title) || 0) + bytes);
    }
  }
  const sorted = [...held].sort((a, b) => b[1] - a[1]);
  return sorted.map(([title, bytes], index) => ({ title, bytes,
    colour: index < MOST_COLOURED ? d3.schemeTableau10[index] : 'var(--rest)' }));
}

function mapFigures(map) {
  const bytes = d3.sum(map.segments, (segment) => segment.bytes);
  const holes = [];
  for (const segment of map.segments) {
    let at = 0;
    for (const piece of segmentPieces(segment)) {
      if (piece.offset > at) holes.push(piece.offset - at);
      at = piece.offset + piece.bytes;
    }
    if (at < segment.bytes) holes.push(segment.bytes - at);
  }
  return { bytes, holes, free: d3.sum(holes), largest: d3.max(holes) ?? 0 };
}

// Rows as wide as the picture. A segment that is longer goes on in the next one; small ones share.
function mapRows(map, width) {
  const largest = d3.max(map.segments, (segment) => segment.bytes);
  const total = d3.sum(map.segments, (segment) => segment.bytes);
  const perRow = Math.max(total / 40, largest / 8);
  const scale = (width - MAP_GAP) / perRow;
  const boxes = [];
  let row = 0;
  let x = 0;
  const box = (from, bytes, fill, title) => {
    for (let done = 0; done < bytes;) {
      const part = Math.min(bytes - done, perRow - from.at);
      boxes.push({ x: from.x + from.at * scale, row: from.row, width: part * scale, fill, title });
      done += part;
      from.at += part;
      if (from.at >= perRow - 1 && done < bytes) Object.assign(from, { row: from.row + 1, at: 0, x: 0 });
    }
  };
  for (const segment of map.segments) {
    if (x > 0 && x + segment.bytes * scale > width) {
      row += 1;
      x = 0;
    }
    const from = { row, x, at: 0 };
    let at = 0;
    for (const piece of segmentPieces(segment)) {
      box(from, piece.offset - at, null, 'free');
      box(from, piece.bytes, piece.stack, piece);
      at = piece.offset + piece.bytes;
    }
    box(from, segment.bytes - at, null, 'free');
    row = from.row;
    x = from.x + from.at * scale + MAP_GAP;
  }
  return { boxes, rows: row + 1 };
}

function mapPicture(history, map, colours, width) {
  const { boxes, rows } = mapRows(map, width);
  const colour = new Map(colours.map((row) => [row.title, row.colour]));
  const svg = d3.create('svg').attr('class', 'cache-map').attr('viewBox', `0 0 ${width} ${rows * (MAP_ROW + MAP_GAP)}`)
    .attr('role', 'img').attr('aria-label', `PyTorch's cache ${mapMoment(map)}: segments and holes`);
  const groups = svg.selectAll('rect').data(boxes).join('rect').attr('x', (box) => box.x)
    .attr('y', (box) => box.row * (MAP_ROW + MAP_GAP)).attr('height', MAP_ROW).attr('width', (box) => Math.max(0.3, box.width))
    .attr('class', (box) => (box.title === 'free' ? 'hole' : 'held'))
    .attr('fill', (box) => (box.title === 'free' ? null : colour.get(tensorTitle(history, box.fill))));
  groups.append('title').text((box) => (box.title === 'free' ? 'free'
    : `${formatBytes(box.title.bytes)} in ${plural(box.title.blocks, 'tensor')}, ${tensorTitle(history, box.fill)}`));
  return svg.node();
}

// What the whole device is taken by, as far as it is known.
function deviceParts(map, device) {
  const own = map.segments.filter((segment) => segment.device === device.number);
  const { bytes, free } = mapFigures({ segments: own });
  const parts = [['tensors', bytes - free, 'var(--python)'], ["free in PyTorch's cache", free, 'var(--rest)'],
    ...device.others.map(([library, held], index) => [library || 'the program and other libraries', held,
      d3.schemeTableau10[(index + 1) % 10]])];
  if (device.untraced_bytes !== null) parts.push(['contexts, code and others, as the driver says', device.untraced_bytes, 'var(--kernel)']);
  const known = d3.sum(parts, ([, held]) => held);
  const rest = device.untraced_bytes === null ? 'contexts, code, other programs, and free' : 'free';
  if (device.total_bytes > known) parts.push([rest, device.total_bytes - known, 'var(--panel)']);
  return parts.filter(([, held]) => held > 0);
}

function deviceBar(map, device, width) {
  const parts = deviceParts(map, device);
  const total = d3.sum(parts, ([, held]) => held);
  const svg = d3.create('svg').attr('class', 'cache-map').attr('viewBox', `0 0 ${width} ${MAP_ROW}`).attr('role', 'img')
    .attr('aria-label', `Device ${device.number}: ${parts.map(([name, held]) => `${name} ${formatBytes(held)}`).join(', ')}`);
  let x = 0;
  for (const [name, held, fill] of parts) {
    const wide = (held / total) * width;
    svg.append('rect').attr('x', x).attr('width', wide).attr('height', MAP_ROW).attr('fill', fill).attr('class', 'held')
      .append('title').text(`${name}: ${formatBytes(held)}`);
    x += wide;
  }
  const rows = parts.map(([name, held, fill]) => {
    const item = el('li', {}, el('span', { class: 'swatch' }), `${name} `, figure('device-part', held, formatBytes(held)));
    item.firstChild.style.background = fill;
    return item;
  });
  const title = device.number < 0 ? 'The device' : `Device ${device.number}`;
  return [el('h4', {}, device.total_bytes > 0 ? `${title}, ${formatBytes(device.total_bytes)}` : title), svg.node(),
    el('ul', { class: 'legend' }, ...rows)];
}

function cacheMapSection(history, map, width) {
  const colours = mapColours(history, map);
  const { bytes, holes, free, largest } = mapFigures(map);
  const legend = colours.slice(0, MOST_COLOURED).map((row) => {
    const item = el('li', {}, el('span', { class: 'swatch' }), row.title, el('span', { class: 'quiet' }, ` ${formatBytes(row.bytes)}`));
    item.firstChild.style.background = row.colour;
    return item;
  });
  const left = map.other_segments > 0
    ? ` ${plural(map.other_segments, 'smaller segment')} of ${formatBytes(map.other_segment_bytes)} not shown.` : '';
  return el('section', { class: 'cache' }, el('h3', {}, `PyTorch's cache ${mapMoment(map)}`),
    el('p', {}, figure('cache-bytes', bytes, formatBytes(bytes)), ` in ${plural(map.segments.length, 'segment')}; free: `,
      figure('cache-free', free, formatBytes(free)), ...(holes.length > 0 ? [` in ${plural(holes.length, 'hole')}, the largest of `,
        figure('cache-largest', largest, formatBytes(largest))] : []), `.${left}`),
    mapPicture(history, map, colours, width), el('ul', { class: 'legend' }, ...legend),
    ...map.devices.flatMap((device) => deviceBar(map, device, width)));
}
