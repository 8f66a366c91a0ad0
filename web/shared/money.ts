// Amounts are exact: they are decimal texts or whole micro-units, never numbers above 2^53.

/** An amount from the API: a number, or a text if a number would lose digits. */
export type Amount = number | string;

const scale = 6;

/** Whole millionths of a decimal amount; further digits are cut. */
export function micros(amount: Amount | null | undefined): bigint {
  const text = plain(amount);
  const negative = text.startsWith('-');
  const [whole = '0', part = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole || '0') * 1_000_000n + BigInt(part.slice(0, scale).padEnd(scale, '0'));
  return negative ? -value : value;
}

/** The decimal text of whole millionths. */
export function decimal(value: bigint): string {
  const sign = value < 0n ? '-' : '';
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  return sign + digits.slice(0, -scale) + '.' + digits.slice(-scale);
}

/** A JSON number written with the typed digits, of any length. */
export class Exact {
  constructor(readonly text: string) {}
  toJSON() {
    return this.text;
  }
}

/**
 * A typed number for the body of a call: its digits, never a JavaScript number. Other text is sent
 * unchanged, so that the API reports the valid form.
 */
export function typedNumber(typed: string): number {
  const m = /^\+?(-?)0*(\d*)(\.\d*)?([eE][-+]?\d+)?$/.exec(typed.trim());
  const exact =
    m && /\d/.test(m[0])
      ? m[1]! + (m[2] || '0') + (m[3] && m[3].length > 1 ? m[3] : '') + (m[4] ?? '')
      : null;
  // openapi.json says "number" of it, and on the wire it is one.
  return (exact === null ? typed.trim() : new Exact(exact)) as unknown as number;
}

/** JSON in which each {@link Exact} is a number with its own digits. */
export function writeExact(value: unknown): string {
  if (value instanceof Exact) return value.text;
  if (Array.isArray(value)) return `[${value.map((v) => writeExact(v ?? null)).join()}]`;
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => `${JSON.stringify(k)}:${writeExact(v)}`)
      .join()}}`;
  return JSON.stringify(value);
}

function plain(amount: Amount | null | undefined): string {
  if (amount === null || amount === undefined || amount === '') return '0';
  if (typeof amount === 'string' && /^-?\d+(\.\d+)?$/.test(amount)) return amount;
  const n = Number(amount);
  return Number.isFinite(n) ? n.toFixed(scale) : '0';
}

/** An amount in the reader's language, unrounded: with as many digits as it needs, at least two. */
export function formatUSD(amount: Amount | bigint | null | undefined, locale: string): string {
  const text = decimal(typeof amount === 'bigint' ? amount : micros(amount));
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: scale,
  });
  // The text is passed unchanged: engines since 2023 format it without conversion to a number.
  return format.format(text as unknown as number);
}

/** Parses JSON, with long numbers as texts. */
export function parseExact(text: string): unknown {
  // no number is long: most replies, and it is several times faster
  if (!/(?:\d\.?){16}/.test(text)) return JSON.parse(text);
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g, (part) =>
    part[0] !== '"' && !/[eE]/.test(part) && part.replace(/[-.]/g, '').length > 15
      ? `"${part}"`
      : part,
  );
  return JSON.parse(exact);
}
