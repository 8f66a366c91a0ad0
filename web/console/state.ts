import { computed, effect, signal } from '@preact/signals';
import {
  api,
  base,
  need,
  onAnswered,
  onCall,
  onSignedOut,
  type Call,
  type Schemas,
} from '../shared/api';
import { formatUSD, type Amount } from '../shared/money';
import { en, type Messages } from './i18n/en';
import type { translate, Trial } from './i18n/trial';
import { part } from './ui/part';

export { base };
export type Info = Schemas['Info'];
export type User = NonNullable<Info['user']>;

/** The server's description of itself and its visitor; undefined until received. */
export const info = signal<Info | undefined>(undefined);
export const infoFailed = signal(false);
export const user = computed(() => info.value?.user ?? null);
export const isAdmin = computed(() => user.value?.role === 'admin');

/** The screen of an account that begins it, below /console/. */
export const home = () =>
  isAdmin.value ? 'review' : user.value?.side === 'publish' ? 'publisher' : 'overview';

export async function loadInfo() {
  try {
    info.value = await need(api.GET('/api/info'));
    infoFailed.value = false;
  } catch {
    infoFailed.value = true;
  }
}

onSignedOut(() => {
  if (info.value?.user) info.value = { ...info.value, user: null };
});

/** The read calls of the current page. */
export const calls = signal<Call[]>([]);
onCall((call) => {
  const ofMenu = ['/api/info', '/api/admin/waiting'].some((path) => call.path.endsWith(path));
  if (ofMenu || calls.value.some((c) => c.path === call.path)) return;
  calls.value = [...calls.value, call];
});

/** The time of the last answer to the current page, which limits the age of its data. */
export const answeredAt = signal('');
onAnswered((at) => {
  answeredAt.value = at;
});

// A reader's choices are stored in this browser if it permits.
function stored(name: string): string | null {
  try {
    return localStorage.getItem('adnet.' + name);
  } catch {
    return null;
  }
}
function store(name: string, value: string) {
  try {
    localStorage.setItem('adnet.' + name, value);
  } catch {
    /* private mode: the choice lasts for this page */
  }
}

export type Lang = 'en' | 'de' | Trial;
export type Theme = 'system' | 'light' | 'dark';

export const messages = signal<Messages>(en);
export const lang = signal<Lang>('en');
/** The zone of displayed times. Days are always UTC days, by which numbers are counted. */
export type Zone = 'utc' | 'local';
export const zone = signal<Zone>(stored('zone') === 'local' ? 'local' : 'utc');
export const theme = signal<Theme>((stored('theme') as Theme) ?? 'system');

export const t = () => messages.value;
export const locale = () =>
  ({ en: 'en-US', de: 'de-DE', 'en-XA': 'en-US', 'he-XB': 'he' })[lang.value];

/** Translates into a test language; loaded only for tests. */
let trial: typeof translate | undefined;

/** The texts of a screen in the reader's language. */
export const texts = <T extends object>(english: T, german: T): T =>
  lang.value === 'de' ? german : lang.value === 'en' ? english : trial!(english, lang.value);

export async function setLang(to: Lang) {
  store('lang', to); // first, so that it holds when the page is loaded anew
  if (to !== 'en' && to !== 'de') trial = (await part(() => import('./i18n/trial'))).translate;
  const german = to === 'de' && (await part(() => import('./i18n/de'))).de;
  messages.value = german || (to === 'en' ? en : trial!(en, to as Trial));
  lang.value = to;
}

/** The reader's selected language, or the browser's. */
export async function firstLang() {
  const wanted = stored('lang') ?? navigator.language;
  const to = wanted.startsWith('de') ? 'de' : wanted;
  if (to !== 'de' && to !== 'en-XA' && to !== 'he-XB') return;
  await setLang(to).catch(() => {}); // English can be read, an empty page cannot
}

effect(() => {
  document.documentElement.lang = lang.value;
  document.documentElement.dir = lang.value === 'he-XB' ? 'rtl' : 'ltr';
});
effect(() => {
  store('zone', zone.value);
});
effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  store('theme', theme.value);
});

/** An amount with all its digits: the only form of amounts, so that equal ones are equal texts. */
export const usd = (amount: Amount | bigint | null | undefined) => formatUSD(amount, locale());
export const count = (n: Amount | null | undefined) =>
  new Intl.NumberFormat(locale()).format((n ?? 0) as number);
export const percent = (n: number | null | undefined, most = 2) =>
  new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: most }).format(n ?? 0);
export const time = (at: string | undefined) => {
  if (at === undefined) return '';
  const shown = new Date(at),
    timeZone = zone.value === 'utc' ? 'UTC' : undefined;
  const name =
    timeZone ??
    new Intl.DateTimeFormat(locale(), { timeZoneName: 'short' })
      .formatToParts(shown)
      .find((part) => part.type === 'timeZoneName')?.value;
  return (
    `${new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short', timeZone }).format(shown)} ` +
    `${name}`
  );
};
/** The time of day, to the second. */
export const clock = (at: number) =>
  new Intl.DateTimeFormat(locale(), {
    timeStyle: 'long',
    timeZone: zone.value === 'utc' ? 'UTC' : undefined,
  }).format(at);
export const date = (at: string) =>
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(at));

/** The UTC day so many days ago, as the API writes it. */
export const day = (ago = 0) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
