// Languages for tests of the screens, which the menu does not offer. They are English, made long and
// accented or written from right to left, so that clipped, untranslated or left-bound texts show.

/** The test languages. Hebrew provides its direction and number formats. */
export const trials = { 'en-XA': long, 'he-XB': mirrored };
export type Trial = keyof typeof trials;

const accents = 'áƀçðéƒĝĥíĵķļɱñóþǫŕšţúṽŵẋýžÁƁÇÐÉƑĜĤÍĴĶĻṀÑÓÞǪŔŠŢÛṼŴẊÝŽ',
  hebrew = 'אבגדהוזחטיכלמנסעפצקרשתאבגד';
const plain = /[A-Za-z]/g;
const place = (c: string) => (c < 'a' ? c.charCodeAt(0) - 65 : c.charCodeAt(0) - 97);

/** Accents every letter and makes the text 40 % longer. */
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

const cache = new WeakMap<object, object>();

/** English texts converted into a test language. The same texts give the same object. */
export function translate<T extends object>(texts: T, by: Trial): T {
  const known = cache.get(texts) as { by: Trial; texts: T } | undefined;
  if (known?.by === by) return known.texts;
  const each = (value: unknown): unknown => {
    if (typeof value === 'string') return trials[by](value);
    if (typeof value === 'function') return (...args: unknown[]) => each(value(...args));
    return value && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, each(v)]))
      : value;
  };
  const done = each(texts) as T;
  cache.set(texts, { by, texts: done });
  return done;
}
