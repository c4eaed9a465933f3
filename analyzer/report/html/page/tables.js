// SPDX-License-Identifier: Apache-2.0
// Tables: a caption, columns with a title each, rows of texts or elements. Columns of numbers are
// on the right.

// `columns`: [title, cell of a row, 'number' or nothing].
function table(caption, columns, rows) {
  const head = el('tr', {}, ...columns.map(([title, , kind]) => el('th', { scope: 'col', class: kind }, title)));
  const body = rows.map((row) => el('tr', {}, ...columns.map(([, cell, kind], index) =>
    el(index === 0 ? 'th' : 'td', { class: kind, scope: index === 0 ? 'row' : null }, cell(row)))));
  return el('div', { class: 'table', role: 'region', 'aria-label': caption, tabindex: '0' },
    el('table', {}, el('caption', {}, caption), el('thead', {}, head), el('tbody', {}, ...body)));
}

function bytesColumn(title, field) {
  return [title, (row) => figure(field, row[field], formatBytes(row[field])), 'number'];
}

function countColumn(title, field) {
  return [title, (row) => figure(field, row[field], formatCount(row[field])), 'number'];
}

function deviceName(device) {
  return device === null ? 'host' : `device ${device}`;
}
