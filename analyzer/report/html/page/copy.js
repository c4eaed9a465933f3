// SPDX-License-Identifier: Apache-2.0
// A finding as plain text, and the clipboard.

function frameText(frame) {
  return `      ${frameName(frame)}  ${framePlace(frame)}`.trimEnd();
}

function stackText(stack) {
  const head = `    ${stack.label}${stack.api ? `, ${stack.api}` : ''}`;
  return [head, ...stack.frames.map(frameText)].join('\n');
}

function findingText(finding) {
  const parts = [`${finding.severity}  ${finding.kind}`, `  ${finding.message}`];
  if (finding.range) parts.push(`    in ${finding.range}`);
  parts.push(...finding.stacks.map(stackText));
  if (finding.advice) parts.push(`  ${finding.advice}`);
  return `${parts.join('\n')}\n`;
}

// Pages from a disk may lack the newer way.
function copyOldWay(text) {
  const area = el('textarea', { class: 'offscreen', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    return copyOldWay(text);
  }
}

function copyButton(textOf) {
  const button = el('button', { type: 'button', click: async () => {
    const done = await copyText(textOf());
    button.textContent = done ? 'Copied' : 'Could not be copied';
    setTimeout(() => { button.textContent = 'Copy as text'; }, 1500);
  } }, 'Copy as text');
  return button;
}
