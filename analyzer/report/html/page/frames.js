// SPDX-License-Identifier: Apache-2.0
// Frames and call stacks in words, with the lines of source around them where they are known.

// Without parameters and template arguments, as far as a label needs.
function shortFunction(name) {
  const plain = name.replaceAll('(anonymous namespace)', '{anonymous}').replaceAll('operator()', 'operator{}');
  const end = plain.indexOf('(');
  return (end > 0 ? plain.slice(0, end) : plain).replaceAll('operator{}', 'operator()');
}

function frameName(frame) {
  if (frame.tail_call) return 'missing: the function ended in a call';
  if (frame.function) return frame.function;
  const offset = frame.offset !== undefined ? `0x${frame.offset.toString(16)}` : frame.module_offset || '';
  if (frame.module) return `${fileName(frame.module)}+${offset}`;
  return frame.address || offset || 'unknown';
}

function frameShort(frame) {
  return shortFunction(frameName(frame)) || frameName(frame);
}

// A file below the folder of the sources, without that folder.
function fromRoot(file) {
  return extra.root && file.startsWith(`${extra.root}/`) ? file.slice(extra.root.length + 1) : file;
}

function framePlace(frame) {
  if (frame.file) return `${fromRoot(frame.file)}:${frame.line}`;
  return frame.module || '';
}

function shortPlace(frame) {
  return frame.file ? `${fileName(frame.file)}:${frame.line}` : fileName(frame.module || '');
}

// "python", "kernel", "cuda" or "native": its colour.
function frameLanguage(frame, ofKernel) {
  if (frame.language) return frame.language;
  if (frame.file && /\.pyx?$/.test(frame.file)) return 'python';
  if (ofKernel) return 'kernel';
  return frame.cuda ? 'cuda' : 'native';
}

// The frame that a reader looks for: the first of the program's own code, else what he can open.
function userFrame(frames) {
  return frames.find((frame) => frame.file && frame.users) || frames.find((frame) => frame.file && !frame.cuda)
    || frames.find((frame) => !frame.cuda) || frames[0];
}

function stackTitle(frames, api) {
  const frame = userFrame(frames);
  if (!frame) return api || 'no call stack';
  return `${frameShort(frame)} ${shortPlace(frame)}`.trim();
}

// Of a stack of the history: its frames are numbers.
function historyStackTitle(stack) {
  return stack.title || stackTitle(stack.frames.map((index) => extra.frames[index]), stack.api);
}

function sourceAround(frame, reach) {
  const lines = frame.file && extra.sources[frame.file];
  if (!lines) return null;
  const rows = [];
  for (let number = frame.line - reach; number <= frame.line + reach; number += 1) {
    if (lines[number] !== undefined) rows.push([number, lines[number]]);
  }
  return rows.length > 0 ? rows : null;
}

function sourceBlock(frame) {
  const rows = sourceAround(frame, 3);
  if (!rows) return null;
  const block = el('div', { class: 'source', tabindex: '0', role: 'group', 'aria-label': 'Source lines' }); // it may scroll
  for (const [number, text] of rows) {
    const here = number === frame.line;
    block.append(el('div', { class: here ? 'here' : null },
      el('span', { class: 'number', 'aria-label': `line ${number}` }, String(number)),
      el('code', {}, text)));
  }
  return block;
}

function frameRow(frame, ofKernel) {
  const language = frameLanguage(frame, ofKernel);
  const head = [el('span', { class: `dot ${language}`, title: language }),
    el('span', { class: 'function' }, ...breakable(frameName(frame))), ' ',
    ...(frame.inlined ? [el('span', { class: 'tag' }, 'inlined'), ' '] : []),
    el('span', { class: 'place' }, ...breakable(framePlace(frame)))];
  const source = sourceBlock(frame);
  if (!source) return el('li', {}, el('div', { class: 'frame' }, ...head));
  return el('li', {}, el('details', {}, el('summary', { class: 'frame' }, ...head), source));
}

function threadText(device) {
  const index = (parts) => (parts ? `(${parts.join(', ')})` : 'all');
  const launch = device.launch ? `, launch ${device.launch}` : '';
  return `${device.kernel || 'unknown kernel'}${launch}, block ${index(device.block)}, thread ${index(device.thread)}`;
}

// Of a finding: its label, its call and its frames. The program's first frame shows its source.
function stackBlock(stack) {
  const list = el('ol', { class: 'frames' });
  const ofKernel = stack.device !== null && stack.device !== undefined;
  for (const frame of stack.frames) list.append(frameRow(frame, ofKernel));
  const first = list.querySelector('details');
  if (first) first.open = true;
  if (stack.frames.length === 0) list.append(el('li', { class: 'quiet' }, 'no call stack was recorded'));
  return el('section', { class: 'stack' },
    el('h4', {}, stack.label, stack.api ? el('span', { class: 'quiet' }, ` ${stack.api}`) : null),
    ofKernel ? el('p', { class: 'quiet' }, threadText(stack.device)) : null, list);
}
