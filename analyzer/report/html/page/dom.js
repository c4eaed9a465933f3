// SPDX-License-Identifier: Apache-2.0
// Elements. Text of the report becomes text nodes and attributes, never markup.

function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) setAttribute(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === 'function') element.addEventListener(name, value);
  else element.setAttribute(name, value === true ? '' : value);
}

function byId(id) {
  return document.getElementById(id);
}

// By the browser's own means: what d3 gives its listeners differs between its versions 5 and 6.
function onEvent(selection, name, listener) {
  for (const node of selection.nodes()) node.addEventListener(name, listener);
}

function positionIn(element, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(element.getScreenCTM().inverse());
}

// A figure that is shown in words and can be read back as it is.
function figure(name, value, text) {
  return el('span', { 'data-figure': name, 'data-value': String(value) }, text);
}

function option(value, text) {
  return el('option', { value }, text);
}

function labelled(text, control) {
  return el('label', {}, el('span', {}, text), control);
}

// A name that may break behind its parts, before a letter inside of a word does.
function breakable(text) {
  const parts = String(text).split(/(?<=::|[(,<\/])/);
  return parts.flatMap((part, index) => (index > 0 ? [el('wbr'), part] : [part]));
}

// Runs once before the next picture, however often it is asked for.
function oncePerFrame(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
