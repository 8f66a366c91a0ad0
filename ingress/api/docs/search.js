// The search of the pages: it reads an index once, when a reader begins to search, and asks no
// server for results.
const form = document.querySelector('form[role=search]');
const field = form.querySelector('input');
const results = form.querySelector('#found');
const most = 12;
let index;

form.hidden = false;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  results.querySelector('a')?.click();
});
field.addEventListener('focus', load);
field.addEventListener('input', async () => show(await load(), field.value));
form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    field.value = '';
    results.replaceChildren();
    field.focus();
  }
});

function load() {
  index ??= fetch(form.dataset.index).then((reply) => reply.json());
  index.catch(() => (index = undefined));
  return index;
}

/** How well an entry fits: a word of its title counts more than one of its text; 0 is no match. */
function rank(entry, words) {
  let sum = 0;
  const title = entry.t.toLowerCase();
  for (const word of words) {
    if (title === word) sum += 8;
    else if (title.includes(word)) sum += 4;
    else if (` ${entry.w}`.includes(` ${word}`) || entry.p.toLowerCase().includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

function show(entries, text) {
  const words = text.toLowerCase().split(/[^\p{L}\p{N}_/]+/u).filter((word) => word.length > 1);
  const list = words.length === 0 ? [] : entries
    .map((entry) => [rank(entry, words), entry])
    .filter(([sum]) => sum > 0)
    .sort(([a], [b]) => b - a)
    .slice(0, most)
    .map(([, entry]) => {
      const link = document.createElement('a');
      link.href = entry.u;
      const from = document.createElement('small');
      from.textContent = entry.p;
      link.append(entry.t, ' ', from);
      return link;
    });
  results.replaceChildren(...list);
  if (words.length > 0 && list.length === 0) results.textContent = 'Nothing found.';
}
