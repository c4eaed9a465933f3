// SPDX-License-Identifier: Apache-2.0
// Parts of a run: the command that shows one with all its detail, and what a page of a part says.

// As a shell reads it.
function shellWord(word) {
  return /^[\w.,:=@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// Times are the history's; null where they have no length, or one column cannot be finer.
function partCommand(history, trace, from, to) {
  const length = history.nanoseconds_per_unit;
  if (!(length > 0) || history.column_width <= 1) return null;
  const first = Math.max(0, Math.floor((from + history.begin) * length));
  const last = Math.max(first + 1, Math.ceil((to + history.begin) * length));
  return `gpumemtrace report --from ${first}ns --to ${last}ns --format html --output part.html ${shellWord(trace)}`;
}

// What a page of a part says above its chart.
function partNote(history) {
  if (!history.is_part) return '';
  const length = history.nanoseconds_per_unit;
  if (!(length > 0)) return 'The whole run is shown: how long it took is not known. ';
  const end = history.begin + history.columns.high.length * history.column_width;
  return `Only the part from ${formatTime(history.begin * length)} to ${formatTime(end * length)} is shown, and its peak. `
    + 'All other views are of the whole run. ';
}

class PartLine {
  constructor() {
    this.root = el('p', { class: 'quiet part' });
  }

  show(command) {
    if (command === this.command) return;
    this.command = command;
    if (command === null) this.root.replaceChildren();
    else {
      this.root.replaceChildren('Every change of what is shown now: ', el('code', {}, command), ' ',
        copyButton(() => command));
    }
  }
}
