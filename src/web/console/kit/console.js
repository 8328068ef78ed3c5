// Saves clicks in the console. Every page also works without this script.
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// After a refused form, the list of faults gets the focus.
document.querySelector('.error[role=alert]')?.focus();

// A box in the table's head selects all rows of the page, and a line says how many are selected.
function addSelectAll(table) {
  const boxes = all('tbody .tick input', table);
  if (boxes.length < 2) return;
  const column = boxes[0].closest('td, th').cellIndex;
  const every = element('input', { type: 'checkbox', title: 'Select all rows on this page' });
  every.setAttribute('aria-label', 'Select all rows on this page');
  const said = element('p', { className: 'hint' });
  said.setAttribute('role', 'status');
  const count = () => {
    const chosen = boxes.filter((one) => one.checked).length;
    every.checked = chosen === boxes.length;
    every.indeterminate = chosen > 0 && chosen < boxes.length;
    said.textContent = chosen === 0 ? '' : `${chosen} of ${boxes.length} selected`;
  };
  every.addEventListener('change', () => {
    for (const one of boxes) one.checked = every.checked;
    count();
  });
  table.addEventListener('change', count);
  table.tHead.rows[0].cells[column].replaceChildren(element('label', { className: 'tick' }, every));
  // Phones hide the table's head.
  const button = element('button', { type: 'button', className: 'second narrow-only', textContent: 'Select all' });
  button.addEventListener('click', () => every.click());
  table.before(button, said);
  count();
}

function addCopy(code) {
  const button = element('button', { type: 'button', className: 'second copy', textContent: 'Copy' });
  button.setAttribute('aria-label', `Copy ${code.dataset.copy}`);
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(code.dataset.copy);
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  });
  (code.closest('a') ?? code).after(button);
}

function enhance(within) {
  all('table.rows', within).forEach(addSelectAll);
  if (navigator.clipboard !== undefined) all('[data-copy]', within).forEach(addCopy);
}
enhance(document);

// While a job runs, its page reads itself again every two seconds.
async function followJob() {
  if (document.getElementById('progress') === null) return;
  const response = await fetch(location.href).catch(() => null);
  if (response?.ok && !response.redirected) {
    const read = new DOMParser().parseFromString(await response.text(), 'text/html');
    document.querySelector('main').replaceChildren(...read.querySelector('main').childNodes);
    enhance(document.querySelector('main'));
  }
  if (response === null || response.ok) setTimeout(followJob, 2000);
}
setTimeout(followJob, 2000);

// Keys. A person who does not want single keys switches them off in the list of keys.
const offKey = 'keys-off';
const keys = [
  ['/', 'Search'],
  ['j, k', 'Next or previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['?', 'Show this list'],
];

function moveRow(step) {
  const links = all('table.rows tbody tr')
    .filter((row) => row.offsetParent !== null)
    .map((row) => row.querySelector('a'))
    .filter((link) => link !== null);
  const here = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
  links[Math.min(links.length - 1, Math.max(0, here + step))]?.focus();
}

function showKeys() {
  const isOff = element('input', { type: 'checkbox', checked: localStorage.getItem(offKey) !== 'yes' });
  isOff.addEventListener('change', () => localStorage.setItem(offKey, isOff.checked ? 'no' : 'yes'));
  const rows = keys.map(([key, means]) =>
    element('tr', {}, element('th', { scope: 'row' }, element('kbd', { textContent: key })), element('td', { textContent: means })),
  );
  const dialog = element(
    'dialog',
    { className: 'keys' },
    element('h2', { id: 'keys-title', textContent: 'Keyboard' }),
    element('table', {}, element('tbody', {}, ...rows)),
    element('p', {}, element('label', {}, isOff, ' Use these keys')),
    element('form', { method: 'dialog' }, element('button', { textContent: 'Close' })),
  );
  dialog.setAttribute('aria-labelledby', 'keys-title');
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.target.closest('input:not([type=checkbox]), select, textarea, dialog') !== null) return;
  if (event.key === '?') {
    showKeys();
    return;
  }
  if (localStorage.getItem(offKey) === 'yes') return;
  if (event.key === '/') {
    const field = document.getElementById('find');
    if (field === null) return;
    event.preventDefault();
    field.focus();
  } else if (event.key === 'j') moveRow(1);
  else if (event.key === 'k') moveRow(-1);
  else if (event.key === 'x') event.target.closest('tr')?.querySelector('.tick input')?.click();
});
