import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, need } from '../shared/api';
import {
  base,
  count,
  info,
  isAdmin,
  lang,
  setLang,
  t,
  theme,
  user,
  zone,
  type Lang,
  type Theme,
  type Zone,
} from './state';
import { sendAll } from './decided';
import { countWaiting, waiting } from './waiting';
import { Invented } from './ui/invented';
import { Icon, Logo, type IconName } from './ui/icons';
import { Toasts } from './ui/toasts';

/** Ends the session, here and in the cookie. */
async function signOut() {
  await sendAll();
  await need(api.POST('/api/auth/logout')).catch(() => {});
  if (info.value) info.value = { ...info.value, user: null };
  location.assign(base + '/');
}

/** Language, theme and the zone of times. */
export function Preferences() {
  return (
    <>
      <label class="pick">
        <span>{t().language}</span>
        <select value={lang.value} onChange={(e) => void setLang(e.currentTarget.value as Lang)}>
          <option value="en" lang="en">
            English
          </option>
          <option value="de" lang="de">
            Deutsch
          </option>
        </select>
      </label>
      <label class="pick">
        <span>{t().theme}</span>
        <select
          value={theme.value}
          onChange={(e) => {
            theme.value = e.currentTarget.value as Theme;
          }}
        >
          <option value="system">{t().themeSystem}</option>
          <option value="light">{t().themeLight}</option>
          <option value="dark">{t().themeDark}</option>
        </select>
      </label>
      <label class="pick">
        <span>{t().zone}</span>
        <select
          name="zone"
          value={zone.value}
          onChange={(e) => {
            zone.value = e.currentTarget.value as Zone;
          }}
        >
          <option value="utc">UTC</option>
          <option value="local">{t().zoneLocal}</option>
        </select>
      </label>
    </>
  );
}

/** The frame of every screen. */
export function Shell({ at, children }: { at: string; children: ComponentChildren }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => {
    if (menu.current) menu.current.open = false;
    setOpen(false);
  }, [at]);
  const closeByEscape = (e: KeyboardEvent) => {
    if (e.key !== 'Escape' || !menu.current?.open) return;
    menu.current.open = false;
    menu.current.querySelector('summary')!.focus();
  };
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t().skip}
      </a>
      <header class="top">
        <a class="brand" href={`${base}/console`}>
          <Logo />
          <b>adnet</b>
        </a>
        <button
          type="button"
          class="menu"
          aria-expanded={open}
          aria-controls="side"
          onClick={() => setOpen(!open)}
        >
          <Icon name="menu" />
          {t().navigation}
        </button>
        <details class="account" ref={menu} onKeyDown={closeByEscape}>
          <summary>
            <span class="email">{user.value?.email}</span>
          </summary>
          <div class="sheet">
            <p class="note">{isAdmin.value ? t().roleAdmin : t().roleUser}</p>
            <Preferences />
            <button type="button" onClick={signOut}>
              <Icon name="out" /> {t().signOut}
            </button>
          </div>
        </details>
        <Invented />
      </header>
      <nav id="side" class={open ? 'side open' : 'side'} aria-label={t().navigation}>
        {user.value?.suspended ? (
          <Group title={t().account} at={at} items={[['decisions', 'alert', t().decisions]]} />
        ) : (
          <Menu at={at} />
        )}
        <div class="group">
          <ul>
            <li>
              <a href={`${base}/docs`}>
                <Icon name="book" />
                {t().apiDocs}
              </a>
            </li>
          </ul>
        </div>
      </nav>
      {children}
      <Toasts />
    </div>
  );
}

function Menu({ at }: { at: string }) {
  const admin = isAdmin.value;
  useEffect(() => {
    if (admin) void countWaiting();
  }, [at, admin]);
  return (
    <>
      {isAdmin.value && (
        <Group
          title={t().administer}
          at={at}
          items={[
            ['network', 'chart', t().network],
            ['refusals', 'ban', t().refusals],
            ['review', 'eye', t().reviewQueue],
            ['reports', 'flag', t().reports],
            ['appeals', 'reply', t().appeals],
            ['cases', 'search', t().cases],
            ['users', 'users', t().accounts],
            ['ledger', 'rows', t().ledger],
            ['letters', 'mail', t().letters],
            ['health', 'pulse', t().health],
            ['settings', 'sliders', t().settings],
            ['audit', 'book', t().auditLog],
          ]}
        />
      )}
      <Sides at={at} />
      <Group
        title={t().account}
        at={at}
        items={[
          ['answers', 'chart', t().answers],
          ['auctions', 'gavel', t().auctions],
          ['profile', 'person', t().profile],
          ['security', 'lock', t().security],
          ['webhooks', 'out', t().webhooks],
          ['decisions', 'alert', t().decisions],
          ...(isAdmin.value ? [] : [['audit', 'book', t().auditLog] as Item]),
        ]}
      />
    </>
  );
}

type Item = [string, IconName, string];

const ofSide = (): Record<'advertise' | 'publish', Item[]> => ({
  advertise: [
    ['overview', 'home', t().overview],
    ['campaigns', 'megaphone', t().campaigns],
    ['creatives', 'picture', t().creatives],
    ['conversions', 'target', t().conversions],
    ['billing', 'wallet', t().billing],
  ],
  publish: [
    ['publisher', 'coins', t().earnings],
    ['placements', 'grid', t().placements],
    ['integrate', 'code', t().integrate],
    ['keys', 'key', t().keys],
    ['blocks', 'block', t().blocks],
    ['suitability', 'shield', t().suitability],
  ],
});

/** The screens of both sides of the market: that of the account first, the other one folded. */
function Sides({ at }: { at: string }) {
  const side = user.value?.side ?? 'both',
    items = ofSide();
  const order =
    side === 'publish' ? (['publish', 'advertise'] as const) : (['advertise', 'publish'] as const);
  return (
    <>
      {order.map((of) => (
        <Group
          key={of}
          title={t()[of]}
          at={at}
          items={items[of]}
          folded={side !== 'both' && of !== side}
        />
      ))}
    </>
  );
}

const isAt = (at: string, path: string) =>
  at === `/console/${path}` || at.startsWith(`/console/${path}/`);

function Group({
  title,
  items,
  at,
  folded,
}: {
  title: string;
  items: Item[];
  at: string;
  folded?: boolean;
}) {
  const list = (
    <ul>
      {items.map(([path, icon, name]) => (
        <li key={path}>
          <a href={`${base}/console/${path}`} aria-current={isAt(at, path) ? 'page' : undefined}>
            <Icon name={icon} />
            {name}
            {(waiting.value[path] ?? 0) > 0 && (
              <span class="badge" data-waiting={path}>
                {count(waiting.value[path]!)}
              </span>
            )}
          </a>
        </li>
      ))}
    </ul>
  );
  if (folded)
    return (
      <details class="group" open={items.some(([path]) => isAt(at, path))}>
        <summary>{title}</summary>
        {list}
      </details>
    );
  return (
    <div class="group">
      <h2>{title}</h2>
      {list}
    </div>
  );
}
