import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { api, need } from '../shared/api';
import {
  base,
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
  return (
    <>
      {isAdmin.value && (
        <Group
          title={t().administer}
          at={at}
          items={[
            ['network', 'chart', t().network],
            ['refusals', 'shield', t().refusals],
            ['review', 'shield', t().reviewQueue],
            ['reports', 'megaphone', t().reports],
            ['appeals', 'alert', t().appeals],
            ['cases', 'lock', t().cases],
            ['users', 'users', t().accounts],
            ['ledger', 'wallet', t().ledger],
            ['letters', 'alert', t().letters],
            ['health', 'check', t().health],
            ['settings', 'code', t().settings],
            ['audit', 'book', t().auditLog],
          ]}
        />
      )}
      <Group
        title={t().advertise}
        at={at}
        items={[
          ['overview', 'home', t().overview],
          ['campaigns', 'megaphone', t().campaigns],
          ['creatives', 'chart', t().creatives],
          ['conversions', 'chart', t().conversions],
          ['billing', 'wallet', t().billing],
        ]}
      />
      <Group
        title={t().publish}
        at={at}
        items={[
          ['publisher', 'chart', t().earnings],
          ['placements', 'menu', t().placements],
          ['integrate', 'code', t().integrate],
          ['keys', 'key', t().keys],
          ['blocks', 'shield', t().blocks],
          ['suitability', 'shield', t().suitability],
        ]}
      />
      <Group
        title={t().account}
        at={at}
        items={[
          ['answers', 'chart', t().answers],
          ['auctions', 'chart', t().auctions],
          ['profile', 'home', t().profile],
          ['security', 'lock', t().security],
          ['decisions', 'alert', t().decisions],
          ...(isAdmin.value ? [] : [['audit', 'book', t().auditLog] as [string, IconName, string]]),
        ]}
      />
    </>
  );
}

function Group({
  title,
  items,
  at,
}: {
  title: string;
  items: [string, IconName, string][];
  at: string;
}) {
  return (
    <div class="group">
      <h2>{title}</h2>
      <ul>
        {items.map(([path, icon, name]) => {
          const here = at === `/console/${path}` || at.startsWith(`/console/${path}/`);
          return (
            <li key={path}>
              <a href={`${base}/console/${path}`} aria-current={here ? 'page' : undefined}>
                <Icon name={icon} />
                {name}
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
