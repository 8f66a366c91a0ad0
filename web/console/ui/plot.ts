import uPlot from 'uplot';
import { date } from '../state';
import type { Line, Point } from './chart';

/** Steps of a count axis. */
const steps = [1, 2, 5]
  .flatMap((n) => Array.from({ length: 12 }, (_, i) => n * 10 ** i))
  .sort((a, b) => a - b);

/** Draws points into a resizable box. */
export function draw(
  box: HTMLElement,
  points: Point[],
  write: (value: number) => string,
  at: (i: number | null) => void,
  lines: (Line & { all: Point[] })[] = [],
) {
  const style = getComputedStyle(box);
  const ink = style.getPropertyValue('color');
  const accent = getComputedStyle(document.documentElement).getPropertyValue('--chart-line') || ink;
  const probe = (name: string) => {
    const e = document.createElement('i');
    e.className = name;
    box.append(e);
    const color = getComputedStyle(e).color;
    e.remove();
    return color;
  };
  const line = probe('chart-ink') || accent;
  const grid = probe('chart-grid');
  const second = probe('chart-second') || ink;
  const own = lines.find((l) => l.own);
  const height = 240;
  const half =
    points.length > 1 ? (Date.parse(points[1]!.date) - Date.parse(points[0]!.date)) / 2000 : 43_200;
  const whole = points.every((p) => Number.isInteger(p.value));
  const plot = new uPlot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      padding: [12, 12, 0, 0],
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: (_, min, max) => [min - half, max + half] },
        own: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
        y: {
          range: (_, __, max) => [0, max > 0 ? Math.max(max * 1.1, whole ? 4 : 0) : whole ? 4 : 1],
        },
      },
      axes: [
        {
          stroke: ink,
          grid: { show: false },
          ticks: { stroke: grid },
          font: '12px system-ui',
          values: (_, values) =>
            values.map((v) => date(new Date(v * 1000).toISOString()).replace(/[ ,]*\d{4}$/, '')),
          space: 70,
        },
        {
          stroke: ink,
          grid: { stroke: grid, width: 1 },
          ticks: { show: false },
          font: '12px system-ui',
          size: 70,
          incrs: whole ? steps : undefined,
          values: (_, values) => values.map(write),
        },
        ...(own
          ? [
              {
                scale: 'own',
                side: 1 as const,
                stroke: second,
                grid: { show: false },
                ticks: { show: false },
                font: '12px system-ui',
                size: 70,
                incrs: own.all.every((p) => Number.isInteger(p.value)) ? steps : undefined,
                values: (_: uPlot, values: number[]) => values.map(own.write),
              },
            ]
          : []),
      ],
      series: [
        {},
        {
          stroke: line,
          width: 0,
          fill: line,
          paths: uPlot.paths.bars!({ size: [0.7, 28], radius: 0.15 }),
          points: { show: false },
        },
        ...lines.map((l) => ({
          scale: l.own ? 'own' : 'y',
          stroke: l.own ? second : ink,
          width: 2,
          dash: l.past ? [4, 4] : undefined,
          points: { show: false },
        })),
      ],
      // It tells of a cursor that is nowhere when it is drawn, too; the keyboard's may stand
      // somewhere then.
      hooks: {
        setCursor: [
          (u) => {
            if (u.cursor.idx != null || u.cursor.event) at(u.cursor.idx ?? null);
          },
        ],
      },
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), 'UTC'),
    },
    [
      points.map((p) => Date.parse(p.date) / 1000),
      points.map((p) => p.value),
      ...lines.map((l) => points.map((_, i) => l.all[i]?.value ?? 0)),
    ],
    box,
  );
  const resize = new ResizeObserver(() => {
    if (box.clientWidth > 0) plot.setSize({ width: box.clientWidth, height });
  });
  resize.observe(box);
  return {
    move: (i: number) =>
      plot.setCursor({ left: plot.valToPos(plot.data[0][i] ?? 0, 'x'), top: 10 }),
    destroy: () => {
      resize.disconnect();
      plot.destroy();
    },
  };
}
