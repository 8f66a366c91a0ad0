// Languages that tests go through the screens in; the menu does not offer them. They are English,
// made long and accented or written from right to left, so that what is clipped, not translated or
// bound to the left shows.

/** The languages of tests. Hebrew is for its direction and its forms of numbers. */
export const trials = { 'en-XA': long, 'he-XB': mirrored };
export type Trial = keyof typeof trials;

const accents = 'áƀçðéƒĝĥíĵķļɱñóþǫŕšţúṽŵẋýžÁƁÇÐÉƑĜĤÍĴĶĻṀÑÓÞǪŔŠŢÛṼŴẊÝŽ',
  hebrew = 'אבגדהוזחטיכלמנסעפצקרשתאבגד';
const plain = /[A-Za-z]/g;
const place = (c: string) => (c < 'a' ? c.charCodeAt(0) - 65 : c.charCodeAt(0) - 97);

/** Every letter accented, and 40 % longer. */
function long(text: string): string {
  const more = Math.ceil(text.length * 0.4);
  return (
    text.replace(plain, (c) => accents[place(c) + (c < 'a' ? 26 : 0)]!) +
    (more ? ' ' + 'ẋẋẋẋẋẋẋ '.repeat(more).slice(0, more).trim() : '')
  );
}

function mirrored(text: string): string {
  return text.replace(plain, (c) => hebrew[place(c)]!);
}

const made = new WeakMap<object, object>();

/** Texts of English, made into a language of tests: the same object for the same texts. */
export function translate<T extends object>(texts: T, by: Trial): T {
  const known = made.get(texts) as { by: Trial; texts: T } | undefined;
  if (known?.by === by) return known.texts;
  const each = (value: unknown): unknown => {
    if (typeof value === 'string') return trials[by](value);
    if (typeof value === 'function') return (...args: unknown[]) => each(value(...args));
    return value && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, each(v)]))
      : value;
  };
  const done = each(texts) as T;
  made.set(texts, { by, texts: done });
  return done;
}
