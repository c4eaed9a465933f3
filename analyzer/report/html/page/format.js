// SPDX-License-Identifier: Apache-2.0
// Numbers as a person reads them. Sizes and times are written as in the text report.

const SIZE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];

function formatBytes(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit + 1 < SIZE_UNITS.length) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${SIZE_UNITS[unit]}`;
}

function formatCount(count) {
  return count.toLocaleString('en-US');
}

function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function formatPercent(share) {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

// The largest unit of which there is at least one.
function timeUnitOf(nanoseconds) {
  return TIME_UNITS.find(([, size]) => Math.abs(nanoseconds) >= size) || TIME_UNITS[3];
}

function formatTime(nanoseconds, span) {
  const [name, size] = timeUnitOf(span === undefined ? nanoseconds : span);
  const digits = span === undefined ? 3 : Math.min(6, digitsFor(span / size));
  return `${(nanoseconds / size).toFixed(digits)} ${name}`;
}

// Enough to distinguish a thousand moments of the span.
function digitsFor(span) {
  return Math.max(0, 3 - Math.floor(Math.log10(Math.max(span, 1e-9))));
}

function fileName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}
