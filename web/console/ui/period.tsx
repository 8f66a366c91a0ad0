import { useLocation } from 'preact-iso/router';
import { q } from '../i18n/report';
import { day } from '../state';

export interface Days {
  since: string;
  until: string;
}
export interface Period extends Days {
  name: string;
  /** The days as many before. */
  before: Days;
  compare: boolean;
}

const names = ['today', 'yesterday', '7', '30', '90', 'month', 'last', 'days'] as const;
const date = /^20\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const oneDay = 86_400_000;

/** The UTC day n days after another. */
const after = (from: string, n: number) =>
  new Date(Date.parse(from) + n * oneDay).toISOString().slice(0, 10);

/** The days of a preset; those of `days` are stated. */
export function daysOf(name: string, since = '', until = '', today = day()): Days {
  const month = today.slice(0, 8) + '01';
  switch (name) {
    case 'today':
      return { since: today, until: today };
    case 'yesterday':
      return { since: after(today, -1), until: after(today, -1) };
    case 'month':
      return { since: month, until: today };
    case 'last': {
      const end = after(month, -1);
      return { since: end.slice(0, 8) + '01', until: end };
    }
    case 'days':
      if (date.test(since) && date.test(until) && since <= until) return { since, until };
      return daysOf('30', '', '', today);
    default:
      return { since: after(today, 1 - Number(name)), until: today };
  }
}

/** As many days before the days. */
export function daysBefore({ since, until }: Days): Days {
  const n = (Date.parse(until) - Date.parse(since)) / oneDay + 1;
  return { since: after(since, -n), until: after(since, -1) };
}

/** The parameters of the address, and a change of some of them. */
export function useQuery() {
  const { query, path, route } = useLocation();
  const set = (changes: Record<string, string | undefined>) => {
    const next = new URLSearchParams({ ...query });
    for (const [key, value] of Object.entries(changes))
      value ? next.set(key, value) : next.delete(key);
    route(path + (next.size ? '?' + next : ''), true);
  };
  return { query, set };
}

/** The period of the address: 30 days without one. */
export function usePeriod(): Period {
  const { query } = useLocation();
  const name = names.find((n) => n === query.period) ?? '30';
  const days = daysOf(name, query.since, query.until);
  return { name, ...days, before: daysBefore(days), compare: query.compare === '1' };
}

/** The choice of the period, in the address, so that a link holds it. */
export function PeriodPicker({ compare = true }: { compare?: boolean }) {
  const { set } = useQuery();
  const p = usePeriod();
  const pick = (name: string) =>
    set({
      period: name,
      since: name === 'days' ? p.since : undefined,
      until: name === 'days' ? p.until : undefined,
    });
  const edge = (key: 'since' | 'until', label: string) => (
    <label class="pick">
      <span>{label}</span>
      <input
        type="date"
        name={key}
        value={p[key]}
        max={day()}
        onChange={(e) => {
          const value = e.currentTarget.value;
          if (!date.test(value)) return;
          const other = key === 'since' ? 'until' : 'since';
          const crossed = key === 'since' ? value > p.until : value < p.since;
          set({ [key]: value, [other]: crossed ? value : p[other] });
        }}
      />
    </label>
  );
  return (
    <>
      <label class="pick">
        <span>{q().period}</span>
        <select name="period" value={p.name} onChange={(e) => pick(e.currentTarget.value)}>
          {names.map((n) => (
            <option key={n} value={n}>
              {q().periods[n]}
            </option>
          ))}
        </select>
      </label>
      {p.name === 'days' && (
        <>
          {edge('since', q().from)}
          {edge('until', q().to)}
        </>
      )}
      {compare && (
        <label class="check">
          <input
            type="checkbox"
            name="compare"
            checked={p.compare}
            onChange={(e) => set({ compare: e.currentTarget.checked ? '1' : undefined })}
          />
          {q().compare}
        </label>
      )}
    </>
  );
}
