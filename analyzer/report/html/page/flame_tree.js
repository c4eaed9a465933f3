// SPDX-License-Identifier: Apache-2.0
// Call stacks joined to a tree: equal functions called by equal functions are one node.

const FLAME_METRICS = [['peak_bytes', 'Live at the peak', formatBytes], ['live_bytes', 'Live at the end', formatBytes],
  ['allocated_bytes', 'Allocated in all', formatBytes], ['allocations', 'Number of allocations', formatCount],
  ['tensor_peak_bytes', 'Tensors at their peak', formatBytes]];

// Those that the process has: only PyTorch has tensors.
function flameMetrics(history) {
  return FLAME_METRICS.filter(([metric]) => metric !== 'tensor_peak_bytes' || history.stacks.some((stack) => stack[metric] > 0));
}

function makeNode(name, language, parent) {
  return { name, language, parent, value: 0, children: new Map(), frames: new Set(), depth: parent ? parent.depth + 1 : 0 };
}

function frameKey(frame) {
  return frame.function ? `${frame.function}\n${frame.module}` : `${frame.module}\n${frame.offset}`;
}

function childOf(node, frame) {
  const key = frameKey(frame);
  let child = node.children.get(key);
  if (!child) {
    child = makeNode(frameShort(frame), frameLanguage(frame, false), node);
    node.children.set(key, child);
  }
  child.frames.add(frame);
  return child;
}

// The call itself is the innermost frame.
function framesWithCall(stack) {
  const frames = stack.frames.map((index) => extra.frames[index]);
  return stack.api ? [{ function: stack.api, module: 'CUDA', cuda: true, isCall: true }, ...frames] : frames;
}

function flameTree(history, metric, inverted) {
  const root = makeNode('all', 'root', null);
  for (const stack of history.stacks) {
    if (stack[metric] === 0) continue;
    const frames = framesWithCall(stack);
    let node = root;
    root.value += stack[metric];
    for (const frame of inverted ? frames : frames.reverse()) {
      node = childOf(node, frame);
      node.value += stack[metric];
    }
  }
  addOthers(root, history.other_stacks, metric);
  return root;
}

function addOthers(root, others, metric) {
  if (others[metric] === 0) return;
  const node = makeNode(`${formatCount(others.stacks)} other call stacks`, 'rest', root);
  node.value = others[metric];
  root.children.set('others', node);
  root.value += others[metric];
}

function pathOf(node) {
  const path = [];
  for (let at = node; at; at = at.parent) path.unshift(at);
  return path;
}

// Boxes as wide as their share of `focus`, in pixels; those too narrow to see are left out.
function flameBoxes(focus, width) {
  const boxes = pathOf(focus).map((node) => ({ node, x: 0, wide: width }));
  const place = (node, x) => {
    const children = [...node.children.values()].sort((a, b) => b.value - a.value);
    let at = x;
    for (const child of children) {
      const wide = (child.value / focus.value) * width;
      if (wide >= 0.6) {
        boxes.push({ node: child, x: at, wide });
        place(child, at);
      }
      at += wide;
    }
  };
  place(focus, 0);
  return boxes;
}

// What all outermost nodes of that name hold together.
function matchingValue(node, matches) {
  if (matches(node)) return node.value;
  let sum = 0;
  for (const child of node.children.values()) sum += matchingValue(child, matches);
  return sum;
}

// Findings that have one of the node's frames in a call stack.
function findingsOf(node) {
  const keys = new Set([...node.frames].filter((frame) => !frame.isCall).map(placeKey));
  return report.findings.map((_, index) => index).filter((index) =>
    report.findings[index].stacks.some((stack) => stack.frames.some((frame) => keys.has(placeKey(frame)))));
}

function placeKey(frame) {
  return `${frame.function || ''}\n${frame.module || ''}\n${frame.file || ''}\n${frame.line || ''}`;
}
