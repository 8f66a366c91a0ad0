import { useEffect, useRef, useState } from 'preact/hooks';
import { lang, t, theme, date, time } from '../state';
import { part } from './part';

export interface Point {
  date: string;
  value: number;
  shown: string;
}

/** A further series: another measure, or the period before. */
export interface Line {
  title: string;
  points: Point[];
  /** The first day, which stands at the chart's first. */
  since: string;
  write: (value: number) => string;
  /** It has an axis of its own. */
  own: boolean;
  past: boolean;
}

interface ChartProps {
  title: string;
  points: Point[];
  since: string;
  until: string;
  /** Formats a value of the axis. */
  write: (value: number) => string;
  /** Points are UTC hours instead of days. */
  hourly?: boolean;
  lines?: Line[];
}

/** Adds zeros for days without events. */
export function filled(
  points: Point[],
  since: string,
  until: string,
  zero: string,
  hourly = false,
): Point[] {
  const known = new Map(points.map((p) => [p.date, p]));
  const all: Point[] = [];
  const end = hourly ? Math.min(Date.parse(until) + 86_399_999, Date.now()) : Date.parse(until);
  for (
    let at = Date.parse(since);
    at <= end && all.length < 1200;
    at += hourly ? 3_600_000 : 86_400_000
  ) {
    const iso = new Date(at).toISOString(),
      key = hourly ? iso.slice(0, 19) + 'Z' : iso.slice(0, 10);
    all.push(known.get(key) ?? { date: key, value: 0, shown: zero });
  }
  return all;
}

/** A bar for each UTC day or hour, as a picture or as a table; arrow keys move its cursor. */
export function Chart({ title, points, since, until, write, hourly, lines = [] }: ChartProps) {
  const name = hourly ? time : date;
  const [asTable, setTable] = useState(false);
  const [at, setAt] = useState<number | null>(null);
  const all = filled(points, since, until, write(0), hourly);
  const more = lines.map((l) => {
    const end = new Date(Date.parse(l.since) + (all.length - 1) * 86_400_000);
    return {
      ...l,
      all: filled(l.points, l.since, end.toISOString().slice(0, 10), l.write(0)),
    };
  });
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<{ move: (i: number) => void; destroy: () => void } | null>(null);
  useEffect(() => {
    let dropped = false;
    if (asTable || !box.current) return;
    const target = box.current;
    part(() => import('./plot')).then(
      ({ draw }) => {
        if (!dropped) plot.current = draw(target, all, write, setAt, more);
      },
      () => setTable(true),
    );
    return () => {
      dropped = true;
      plot.current?.destroy();
      plot.current = null;
    };
  }, [asTable, JSON.stringify([all, more]), theme.value, lang.value]);
  const key = (e: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      Home: -all.length,
      End: all.length,
    };
    const step = steps[e.key];
    if (step === undefined) return;
    e.preventDefault();
    const next = Math.max(0, Math.min(all.length - 1, (at ?? (step > 0 ? -1 : all.length)) + step));
    setAt(next);
    plot.current?.move(next);
  };
  const point = at === null ? undefined : all[at];
  return (
    <figure class="chart" data-step={hourly ? 'hour' : 'day'}>
      <figcaption>
        <span>{title}</span>
        <output aria-live="polite">
          {point
            ? [
                `${name(point.date)}: ${point.shown}`,
                ...more.map((l) => `${l.title}: ${l.all[at!]?.shown ?? ''}`),
              ].join(' · ')
            : ''}
        </output>
        <button
          type="button"
          class="small"
          aria-pressed={asTable}
          onClick={() => setTable(!asTable)}
        >
          {t().showTable}
        </button>
      </figcaption>
      {asTable ? (
        <div class="scroll" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">{hourly ? t().hour : t().day}</th>
                <th scope="col" class="num">
                  {title}
                </th>
                {more.map((l) => (
                  <th key={l.title} scope="col" class="num">
                    {l.title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[...all.entries()].reverse().map(([i, p]) => (
                <tr key={p.date}>
                  <th scope="row">{name(p.date)}</th>
                  <td class="num">{p.shown}</td>
                  {more.map((l) => (
                    <td key={l.title} class="num">
                      {l.all[i]?.shown}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <div
          class="plot"
          ref={box}
          tabIndex={0}
          role="application"
          aria-label={hourly ? t().chartHours(title) : t().chartHelp(title)}
          onKeyDown={key}
        />
      )}
    </figure>
  );
}
