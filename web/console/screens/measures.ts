import { count, percent, t, usd } from '../state';
import type { Amount } from '../../shared/money';

export type Measure =
  | 'spend_usd'
  | 'impressions'
  | 'clicks'
  | 'ctr'
  | 'ecpm'
  | 'conversions'
  | 'credits';

interface Shown {
  name: string;
  show: (value: Amount) => string;
  write: (value: number) => string;
}

/** What is counted by day, and how it is written. */
export function measures(): Record<Measure, Shown> {
  const money = (name: string): Shown => ({
    name,
    show: (v) => usd(v),
    write: (v) => usd(v),
  });
  const number = (name: string): Shown => ({
    name,
    show: (v) => count(v),
    write: (v) => count(Math.round(v)),
  });
  return {
    spend_usd: money(t().spend),
    impressions: number(t().impressions),
    clicks: number(t().clicks),
    ctr: { name: t().ctr, show: (v) => percent(Number(v)), write: (v) => percent(v, 1) },
    ecpm: money(t().ecpm),
    conversions: number(t().conversions),
    credits: number(t().credits),
  };
}
