import { computed, effect, signal } from '@preact/signals';
import { api, base, need, onCall, onSignedOut, type Call, type Schemas } from '../shared/api';
import { formatUSD, type Amount } from '../shared/money';
import { en, type Messages } from './i18n/en';

export { base };
export type Info = Schemas['Info'];
export type User = NonNullable<Info['user']>;

/** What the server says of itself and of its visitor; undefined until it has. */
export const info = signal<Info | undefined>(undefined);
export const infoFailed = signal(false);
export const user = computed(() => info.value?.user ?? null);
export const isAdmin = computed(() => user.value?.role === 'admin');

export async function loadInfo() {
  try {
    info.value = await need(api.GET('/api/info'));
    infoFailed.value = false;
  } catch {
    infoFailed.value = true;
  }
}

onSignedOut(() => { if (info.value?.user) info.value = { ...info.value, user: null }; });

/** The calls that the page on show has made to read its data. */
export const calls = signal<Call[]>([]);
onCall((call) => {
  if (call.path.endsWith('/api/info') || calls.value.some((c) => c.path === call.path)) return;
  calls.value = [...calls.value, call];
});

// What a reader chose stays in this browser, if it lets us.
function stored(name: string): string | null {
  try { return localStorage.getItem('adnet.' + name); } catch { return null; }
}
function store(name: string, value: string) {
  try { localStorage.setItem('adnet.' + name, value); } catch { /* private mode: it holds for this page */ }
}

export type Lang = 'en' | 'de';
export type Theme = 'system' | 'light' | 'dark';

export const messages = signal<Messages>(en);
export const lang = signal<Lang>('en');
export const theme = signal<Theme>((stored('theme') as Theme) ?? 'system');

export const t = () => messages.value;
export const locale = () => (lang.value === 'de' ? 'de-DE' : 'en-US');

export async function setLang(to: Lang) {
  messages.value = to === 'de' ? (await import('./i18n/de')).de : en;
  lang.value = to;
  store('lang', to);
}

/** The language that the reader chose, or the browser's. */
export async function firstLang() {
  const wanted = stored('lang') ?? navigator.language;
  if (wanted.startsWith('de')) await setLang('de');
}

effect(() => { document.documentElement.lang = lang.value; });
effect(() => {
  if (theme.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
  store('theme', theme.value);
});

export const usd = (amount: Amount | bigint | null | undefined, most = 2) => formatUSD(amount, locale(), most);
export const count = (n: Amount | null | undefined) => new Intl.NumberFormat(locale()).format((n ?? 0) as number);
export const percent = (n: number | null | undefined, most = 2) =>
  new Intl.NumberFormat(locale(), { style: 'percent', maximumFractionDigits: most }).format(n ?? 0);
export const time = (at: string | undefined) => at === undefined ? '' :
  new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(new Date(at)) + ' UTC';
export const date = (at: string) => new Intl.DateTimeFormat(locale(), { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(at));

/** The UTC day so many days ago, as the API writes it. */
export const day = (ago = 0) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
