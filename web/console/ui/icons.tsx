const paths = {
  home: 'M3 10.5 12 3l9 7.5V20a1 1 0 0 1-1 1h-5v-6H9v6H4a1 1 0 0 1-1-1z',
  megaphone: 'M4 10v4h3l8 5V5L7 10zM18 9a4 4 0 0 1 0 6',
  wallet:
    'M3 7a2 2 0 0 1 2-2h13v4M3 7v11a2 2 0 0 0 2 2h15a1 1 0 0 0 1-1V10a1 1 0 0 0-1-1H5a2 ' +
    '2 0 0 1-2-2m14 7h.01',
  chart: 'M4 4v16h16M8 15l3-4 3 2 5-7',
  key: 'M14.5 9.5a4.5 4.5 0 1 1-2.2-3.9M12 12l8 8m-3-3 2-2',
  code: 'm8 7-5 5 5 5m8-10 5 5-5 5M14 4l-4 16',
  shield: 'M12 3 4 6v6c0 5 3.5 8 8 9 4.500-1 8-4 8-9V6zm-3.500 9 2.500 2.500 4.500-5',
  users:
    'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8m-7 10a7 7 0 0 1 14 0m0-18a4 4 0 0 1 0 8m6 10a7 7 ' +
    '0 0 0-5-6.700',
  lock:
    'M6 11h12a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1m2 0V8a4 4 0 0 ' +
    '1 8 0v3',
  book: 'M4 5a2 2 0 0 1 2-2h13v18H6a2 2 0 0 1-2-2zm0 14a2 2 0 0 1 2-2h13',
  plus: 'M12 5v14M5 12h14',
  alert: 'M12 8v5m0 3.500h.01M12 3 2 20h20z',
  check: 'm5 12 5 5L20 7',
  menu: 'M4 6h16M4 12h16M4 18h16',
  gavel: 'm14 4 6 6-3 3-6-6zM12.500 8.500 4 17l3 3 8.500-8.500M13 21h8',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8m-8 9a8 8 0 0 1 16 0',
  ban: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M5.700 5.700l12.600 12.600',
  eye: 'M2 12s3.500-7 10-7 10 7 10 7-3.500 7-10 7-10-7-10-7m10 3a3 3 0 1 0 0-6 3 3 0 0 0 0 6',
  flag: 'M5 21V4h13l-3 4 3 4H5',
  reply: 'M9 7 4 12l5 5m-5-5h11a5 5 0 0 1 5 5v2',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14m5 12 5 5',
  rows: 'M4 5h16v14H4zm0 5h16M4 14.500h16M10 5v14',
  mail: 'M3 6h18v12H3zm0 1 9 7 9-7',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  sliders: 'M4 7h10m4 0h2M4 17h4m4 0h8M14 5v4M8 15v4',
  picture: 'M4 5h16v14H4zm0 11 5-5 4 4 3-3 4 4M15 9h.01',
  target: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18m0 4a5 5 0 1 0 0 10 5 5 0 0 0 0-10m0 5h.01',
  coins: 'M9 4a6 6 0 1 0 0 12A6 6 0 0 0 9 4m7 4.300A6 6 0 1 1 10 18M9 8v4',
  grid: 'M4 4h7v7H4zm9 0h7v7h-7zM4 13h7v7H4zm9 0h7v7h-7z',
  block: 'M8 3h8l5 5v8l-5 5H8l-5-5V8zm0 9h8',
  out: 'M10 17l-5-5 5-5m-5 5h11m-2-9h6v18h-6',
};
export type IconName = keyof typeof paths;

/** A decorative icon beside a text. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="28" height="28" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" class="logo-back" />
      <path
        d="M8 23 16 8l8 15"
        fill="none"
        stroke="#fff"
        stroke-width="3.200"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
      <circle cx="16" cy="19.500" r="2.600" class="logo-dot" />
    </svg>
  );
}
