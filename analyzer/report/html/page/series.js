// SPDX-License-Identifier: Apache-2.0
// The history of one process as series of numbers, one a column of time.

// [column, value, column, value, ...] to a value for each column.
function expandSteps(steps, columns) {
  const values = new Float64Array(columns);
  for (let i = 0; i < steps.length; i += 2) {
    values.fill(steps[i + 1], Math.min(steps[i], columns), i + 2 < steps.length ? steps[i + 2] : columns);
  }
  return values;
}

const TENSOR_LINES = 'line of tensors';

// A line makes tensors by many call stacks.
function joinByTitle(layers) {
  const joined = new Map();
  for (const layer of layers) {
    const same = joined.get(layer.title);
    if (same === undefined) joined.set(layer.title, { ...layer, values: Float64Array.from(layer.values) });
    else layer.values.forEach((bytes, i) => { same.values[i] += bytes; });
  }
  for (const layer of joined.values()) Object.assign(layer, { most: d3.max(layer.values), mean: d3.mean(layer.values) });
  return [...joined.values()];
}

// Of a call stack: the program's frame, and the first caller that makes it differ from the others;
// where none does, the library that it went through.
function layerTitles(history, set) {
  const stacks = set.layers.map((layer) => history.stacks[layer.stack]);
  const names = stacks.map((stack) => (stack ? callerNames(stack) : ['no call stack']));
  if (set.by === TENSOR_LINES) return names.map((own) => own[0]);
  const title = (index, depth) => names[index].slice(0, depth).join(' ← ');
  return set.layers.map((layer, index) => {
    if (layer.name) return layer.name;
    for (let depth = 1; depth <= names[index].length; depth += 1) {
      const same = names.filter((_, other) => title(other, depth) === title(index, depth));
      if (same.length === 1) return depth === 1 ? title(index, 1) : `${names[index][0]} ← ${names[index][depth - 1]}`;
    }
    return title(index, 1) + throughLibrary(stacks[index]);
  });
}

// The program's frame and those that called it.
function callerNames(stack) {
  const frames = stack.frames.map((index) => extra.frames[index]);
  if (frames.length === 0) return [stack.api || 'no call stack'];
  if (stack.title) return [stack.title];
  const outer = frames.slice(frames.indexOf(userFrame(frames)) + 1).filter((frame) => frame.users);
  return [historyStackTitle(stack), ...outer.map((frame) => `${frameShort(frame)} ${shortPlace(frame)}`)];
}

// ", through libcublas.so.13" if the library that called CUDA is not the shown frame's.
function throughLibrary(stack) {
  const frames = stack ? stack.frames.map((index) => extra.frames[index]) : [];
  const inner = frames.find((frame) => !frame.cuda);
  if (!inner || !inner.module || (!stack.title && inner.module === userFrame(frames).module)) return '';
  return `, through ${fileName(inner.module)}`;
}

// The layers of one set; what they leave of the whole is the last one.
function layersOf(history, set) {
  const count = history.columns.high.length;
  const rest = Float64Array.from(history.columns.high);
  const titles = layerTitles(history, set);
  const all = set.layers.map((layer, index) => {
    const values = expandSteps(layer.steps, count);
    for (let i = 0; i < count; i += 1) rest[i] = Math.max(0, rest[i] - values[i]);
    return { title: titles[index], values, most: layer.most, mean: d3.mean(values) };
  });
  const layers = set.by === TENSOR_LINES ? joinByTitle(all) : all;
  layers.sort((a, b) => b.mean - a.mean); // what stays is below what comes and goes
  const most = rest.reduce((a, b) => Math.max(a, b), 0);
  let left = set.other_layers > 0 ? `${formatCount(set.other_layers)} others` : 'others';
  if (set.by === TENSOR_LINES) left = 'other tensors, free pieces of the cache, and other memory';
  if (most > 0) layers.push({ title: left, values: rest, most, isRest: true });
  return layers;
}

// A column for each part of the range that is a pixel wide: the one in which most was alive.
function pickColumns(high, first, last, pixels) {
  const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, pixels)));
  const picked = [];
  for (let at = first; at <= last; at += step) {
    let best = at;
    for (let i = at; i < Math.min(at + step, last + 1); i += 1) if (high[i] > high[best]) best = i;
    picked.push({ at, column: best });
  }
  return picked;
}

// What the layers hold in one column, largest first.
function holdersIn(layers, column) {
  return layers.map((layer, index) => ({ index, title: layer.title, bytes: layer.values[column] }))
    .filter((holder) => holder.bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

function layerColour(layer, index) {
  if (layer.isRest) return 'var(--rest)';
  const colours = d3.schemeTableau10;
  const base = d3.color(colours[index % colours.length]);
  return String(base.brighter(0.6 * Math.floor(index / colours.length)));
}
