// By its parts: the whole package brings its renderer for servers.
import suspended, { ErrorBoundary } from 'preact-iso/lazy';
import { LocationProvider, Route, Router, useLocation } from 'preact-iso/router';
import { useEffect } from 'preact/hooks';
import { base, calls, home, info, infoFailed, isAdmin, loadInfo, t, user } from './state';
import { Shell } from './shell';
import { Landing } from './screens/landing';
import { Page } from './ui/page';
import { part } from './ui/part';

/** A screen that is loaded when it is first shown, or the reason why it cannot be. */
function lazy<T>(load: () => Promise<{ default: T }>): T {
  return suspended(() => part(load).catch(() => ({ default: Unloaded as T })));
}

/** The screens and where they are, below /console/. web/build reads these lines, so that the server
 *  names the modules of the screen that is requested together with the page. */
const screens = [
  ['overview', lazy(() => import('./screens/advertiser'))],
  ['campaigns', lazy(() => import('./screens/campaigns'))],
  ['campaigns/new', lazy(() => import('./screens/wizard'))],
  ['campaigns/:id', lazy(() => import('./screens/campaign'))],
  ['campaigns/:id/edit', lazy(() => import('./screens/edit'))],
  ['conversions', lazy(() => import('./screens/conversions'))],
  ['answers', lazy(() => import('./screens/answers'))],
  ['auctions', lazy(() => import('./screens/auctions'))],
  ['profile', lazy(() => import('./screens/profile'))],
  ['creatives', lazy(() => import('./screens/creatives'))],
  ['blocks', lazy(() => import('./screens/blocks'))],
  ['billing', lazy(() => import('./screens/billing'))],
  ['publisher', lazy(() => import('./screens/publisher'))],
  ['suitability', lazy(() => import('./screens/suitability'))],
  ['placements', lazy(() => import('./screens/placements'))],
  ['keys', lazy(() => import('./screens/keys'))],
  ['integrate', lazy(() => import('./screens/integrate'))],
  ['webhooks', lazy(() => import('./screens/webhooks'))],
  ['security', lazy(() => import('./screens/security'))],
  ['decisions', lazy(() => import('./screens/decisions'))],
  ['audit', lazy(() => import('./screens/audit'))],
] as const;
const ofAdministrators = [
  ['review', lazy(() => import('./screens/review'))],
  ['appeals', lazy(() => import('./screens/appeals'))],
  ['reports', lazy(() => import('./screens/reports'))],
  ['cases', lazy(() => import('./screens/cases'))],
  ['refusals', lazy(() => import('./screens/refusals'))],
  ['network', lazy(() => import('./screens/network'))],
  ['health', lazy(() => import('./screens/health'))],
  ['letters', lazy(() => import('./screens/letters'))],
  ['settings', lazy(() => import('./screens/settings'))],
  ['ledger', lazy(() => import('./screens/ledger'))],
  ['users', lazy(() => import('./screens/users'))],
] as const;
const ofLinks = [
  ['forgot', lazy(() => import('./screens/links'))],
  ['reset', lazy(() => import('./screens/links'))],
  ['verify', lazy(() => import('./screens/links'))],
] as const;

/** Links handled by the pages. The server handles others, such as /docs. */
const own = new RegExp(`^${base.replace(/[^\w/-]/g, '\\$&')}/(console(/.*)?)?(\\?.*)?$`);

export function App() {
  return (
    <LocationProvider scope={own}>
      <ErrorBoundary onError={(e) => console.error(e)}>
        <Routes />
      </ErrorBoundary>
    </LocationProvider>
  );
}

function Routes() {
  const { path, route } = useLocation();
  const at = path.slice(base.length) || '/';
  useEffect(() => {
    window.scrollTo(0, 0);
  }, [path]);
  if (infoFailed.value) return <Unreachable />;
  if (at === '/') return <Landing />;
  const link = ofLinks.find(([name]) => at === `/console/${name}`);
  if (link) {
    const [what, Links] = link;
    return <Links what={what} />;
  }
  if (!user.value) return <Landing next={path + location.search} />;
  if (at === '/console' || at === '/console/') {
    queueMicrotask(() => route(`${base}/console/${home()}`, true));
    return null;
  }
  if (user.value.suspended && at !== '/console/decisions') {
    queueMicrotask(() => route(`${base}/console/decisions`, true));
    return null;
  }
  if (user.value.needs_second_factor && at !== '/console/security') {
    queueMicrotask(() => route(`${base}/console/security`, true));
    return null;
  }
  const p = (rest: string) => `${base}/console/${rest}`;
  return (
    <Shell at={at}>
      <Router
        onRouteChange={() => {
          calls.value = [];
        }}
      >
        {screens.map(([at, Screen]) => (
          <Route path={p(at)} component={Screen} />
        ))}
        {ofAdministrators.map(([at, Screen]) => (
          <Route path={p(at)} component={isAdmin.value ? Screen : Forbidden} />
        ))}
        <Route default component={NotFound} />
      </Router>
    </Shell>
  );
}

function Unreachable() {
  return (
    <main id="main" class="page">
      <div class="state" role="alert" data-state="error">
        <h1>{t().errorTitle}</h1>
        <p>{t().errorUnreachable}</p>
        <button type="button" onClick={loadInfo}>
          {t().tryAgain}
        </button>
      </div>
    </main>
  );
}

/** Takes the place of a screen whose code cannot be loaded. */
function Unloaded() {
  return (
    <Page title={t().errorTitle}>
      <div class="state" role="alert" data-state="unloaded">
        <p>{t().unloaded}</p>
        <button type="button" onClick={() => location.reload()}>
          {t().loadAnew}
        </button>
      </div>
    </Page>
  );
}

function NotFound() {
  return (
    <Page title={t().notFoundTitle}>
      <div class="state" data-state="empty">
        <p>{t().notFound}</p>
        <p>
          <a class="button" href={`${base}/console`}>
            {t().toConsole}
          </a>
        </p>
      </div>
    </Page>
  );
}

function Forbidden() {
  return (
    <Page title={t().forbiddenTitle}>
      <div class="state" role="alert" data-state="forbidden">
        <p>{t().adminOnly}</p>
        <p>{info.value?.user?.email}</p>
      </div>
    </Page>
  );
}
