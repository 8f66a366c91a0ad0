// Amounts are exact: they stay decimal texts or whole micro-units, never a number above 2^53.

/** An amount as the API gives it: a number, or a text where a number would lose digits. */
export type Amount = number | string;

const scale = 6;

/** Whole millionths of a decimal amount; what lies beyond is cut. */
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

function plain(amount: Amount | null | undefined): string {
  if (amount === null || amount === undefined || amount === '') return '0';
  if (typeof amount === 'string' && /^-?\d+(\.\d+)?$/.test(amount)) return amount;
  const n = Number(amount);
  return Number.isFinite(n) ? n.toFixed(scale) : '0';
}

/** An amount in the reader's language, with as many digits as it needs, at least two. */
export function formatUSD(amount: Amount | bigint | null | undefined, locale: string, most = 2): string {
  const text = decimal(typeof amount === 'bigint' ? amount : micros(amount));
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: most });
  // The text goes in as it is: engines since 2023 format it without a detour over a number.
  return format.format(text as unknown as number);
}

/** JSON whose long numbers come out as texts. */
export function parseExact(text: string): unknown {
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g, (part) =>
    part[0] !== '"' && !/[eE]/.test(part) && part.replace(/[-.]/g, '').length > 15 ? `"${part}"` : part);
  return JSON.parse(exact);
}
