// The texts of an ad are a stranger's. These make them mean nothing to a reader of Markdown.

/** What marks an ad as one, with who paid for it where that is known. */
export function label(ad: { disclosure_label: string; advertiser?: { name: string } }): string {
  const name: unknown = ad.advertiser?.name;
  return typeof name === 'string' && name !== ''
    ? `${ad.disclosure_label} · ${name}`
    : ad.disclosure_label;
}

/** The text of the link to why an ad was shown: the reply's, which is in the reader's language. */
export const whyOf = (ad: { why_label?: string }): string => ad.why_label || 'Why this ad?';

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** text as Markdown that shows exactly its characters, on one line. */
export function inert(text: string): string {
  return oneLine(text)
    .replace(/[\\`*_[\]#|~!>(){}+:@-]/g, (mark) => `\\${mark}`)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;');
}

/** url between the parentheses of a Markdown link. */
export function link(url: string): string {
  return url
    .replace(/[()<>\s\\]/g, encodeURIComponent)
    .replace(/\(/g, '%28')
    .replace(/\)/g, '%29');
}

/** At most max UTF-16 units of text, whole characters, with an ellipsis where some are missing. */
export function cut(text: string, max: number): string {
  const line = oneLine(text);
  if (line.length <= max) return line;
  let kept = '';
  for (const character of line) {
    if (kept.length + character.length > max - 1) break;
    kept += character;
  }
  return `${kept}…`;
}
