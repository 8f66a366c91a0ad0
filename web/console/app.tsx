import { LocationProvider, Router, Route, lazy, ErrorBoundary, useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { base, calls, info, infoFailed, isAdmin, loadInfo, t, user } from './state';
import { Shell } from './shell';
import { Landing } from './screens/landing';
import { Page } from './ui/page';

const Advertiser = lazy(() => import('./screens/advertiser'));
const Campaigns = lazy(() => import('./screens/campaigns'));
const Campaign = lazy(() => import('./screens/campaign'));
const Conversions = lazy(() => import('./screens/conversions'));
const Edit = lazy(() => import('./screens/edit'));
const Wizard = lazy(() => import('./screens/wizard'));
const Billing = lazy(() => import('./screens/billing'));
const Publisher = lazy(() => import('./screens/publisher'));
const Placements = lazy(() => import('./screens/placements'));
const Keys = lazy(() => import('./screens/keys'));
const Integrate = lazy(() => import('./screens/integrate'));
const Links = lazy(() => import('./screens/links'));
const Security = lazy(() => import('./screens/security'));
const Review = lazy(() => import('./screens/review'));
const Decisions = lazy(() => import('./screens/decisions'));
const Appeals = lazy(() => import('./screens/appeals'));
const Auctions = lazy(() => import('./screens/auctions'));
const Profile = lazy(() => import('./screens/profile'));
const Blocks = lazy(() => import('./screens/blocks'));
const Creatives = lazy(() => import('./screens/creatives'));
const Reports = lazy(() => import('./screens/reports'));
const Audit = lazy(() => import('./screens/audit'));
const Cases = lazy(() => import('./screens/cases'));
const Network = lazy(() => import('./screens/network'));
const Health = lazy(() => import('./screens/health'));
const Letters = lazy(() => import('./screens/letters'));
const Settings = lazy(() => import('./screens/settings'));
const Ledger = lazy(() => import('./screens/ledger'));
const Users = lazy(() => import('./screens/users'));

/** Links that the pages follow themselves; /docs and the like are the server's. */
const own = new RegExp(`^${base.replace(/[^\w/-]/g, '\\$&')}/(console(/.*)?)?(\\?.*)?$`);

export function App() {
  return <LocationProvider scope={own}><ErrorBoundary onError={(e) => console.error(e)}><Routes /></ErrorBoundary></LocationProvider>;
}

function Routes() {
  const { path, route } = useLocation();
  const at = path.slice(base.length) || '/';
  useEffect(() => { window.scrollTo(0, 0); }, [path]);
  if (infoFailed.value) return <Unreachable />;
  if (at === '/') return <Landing />;
  const link = (['forgot', 'reset', 'verify'] as const).find((name) => at === `/console/${name}`);
  if (link) return <Links what={link} />;
  if (!user.value) return <Landing next={path + location.search} />;
  if (at === '/console' || at === '/console/') {
    queueMicrotask(() => route(`${base}/console/${isAdmin.value ? 'review' : 'overview'}`, true));
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
      <Router onRouteChange={() => { calls.value = []; }}>
        <Route path={p('overview')} component={Advertiser} />
        <Route path={p('campaigns')} component={Campaigns} />
        <Route path={p('campaigns/new')} component={Wizard} />
        <Route path={p('campaigns/:id')} component={Campaign} />
        <Route path={p('campaigns/:id/edit')} component={Edit} />
        <Route path={p('conversions')} component={Conversions} />
        <Route path={p('auctions')} component={Auctions} />
        <Route path={p('profile')} component={Profile} />
        <Route path={p('creatives')} component={Creatives} />
        <Route path={p('blocks')} component={Blocks} />
        <Route path={p('billing')} component={Billing} />
        <Route path={p('publisher')} component={Publisher} />
        <Route path={p('placements')} component={Placements} />
        <Route path={p('keys')} component={Keys} />
        <Route path={p('integrate')} component={Integrate} />
        <Route path={p('security')} component={Security} />
        <Route path={p('review')} component={isAdmin.value ? Review : Forbidden} />
        <Route path={p('decisions')} component={Decisions} />
        <Route path={p('appeals')} component={isAdmin.value ? Appeals : Forbidden} />
        <Route path={p('reports')} component={isAdmin.value ? Reports : Forbidden} />
        <Route path={p('audit')} component={Audit} />
        <Route path={p('cases')} component={isAdmin.value ? Cases : Forbidden} />
        <Route path={p('network')} component={isAdmin.value ? Network : Forbidden} />
        <Route path={p('health')} component={isAdmin.value ? Health : Forbidden} />
        <Route path={p('letters')} component={isAdmin.value ? Letters : Forbidden} />
        <Route path={p('settings')} component={isAdmin.value ? Settings : Forbidden} />
        <Route path={p('ledger')} component={isAdmin.value ? Ledger : Forbidden} />
        <Route path={p('users')} component={isAdmin.value ? Users : Forbidden} />
        <Route default component={NotFound} />
      </Router>
    </Shell>
  );
}

function Unreachable() {
  return <main id="main" class="page"><div class="state" role="alert" data-state="error"><h1>{t().errorTitle}</h1><p>{t().errorUnreachable}</p>
    <button type="button" onClick={loadInfo}>{t().tryAgain}</button></div></main>;
}

function NotFound() {
  return <Page title={t().notFoundTitle}><div class="state" data-state="empty"><p>{t().notFound}</p><p><a class="button" href={`${base}/console`}>{t().toConsole}</a></p></div></Page>;
}

function Forbidden() {
  return <Page title={t().forbiddenTitle}><div class="state" role="alert" data-state="forbidden"><p>{t().adminOnly}</p>
    <p>{info.value?.user?.email}</p></div></Page>;
}
