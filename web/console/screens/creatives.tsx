import { api, need } from '../../shared/api';
import { AdCard } from '../../shared/card';
import { base, t, user } from '../state';
import { Empty, Loaded, useLoad } from '../ui/load';
import { Page } from '../ui/page';
import { CampaignStatus } from '../ui/delivery';

/** The creatives of an account. Images are only on the page of each campaign, because a list may have sixty. */
export default function Creatives() {
  const of = useLoad(
    () =>
      need(
        api.GET('/api/campaigns/list', {
          params: { query: { limit: 60, advertiser_id: user.value!.id } },
        }),
      ),
    [user.value?.id],
  );
  return (
    <Page title={t().creatives} lead={t().creativesLead}>
      <Loaded of={of}>
        {({ campaigns }) =>
          campaigns.length === 0 ? (
            <Empty title={t().noCreatives}>
              <a class="button primary" href={`${base}/console/campaigns/new`}>
                {t().newCampaign}
              </a>
            </Empty>
          ) : (
            <ul class="columns">
              {campaigns.map((c) => (
                <li key={c.id} class="card">
                  <p>
                    <CampaignStatus of={c} />
                  </p>
                  <AdCard
                    ad={{ ...c, media_url: undefined, poster_url: undefined, logo_url: undefined }}
                    surface="card"
                    label={t().sponsored}
                    names={{ headline: t().yourHeadline, cta: t().learnMore }}
                  />
                  <p>
                    <a
                      href={`${base}/console/campaigns/${c.id}`}
                      aria-label={`${t().openCampaign}: ${c.name || c.headline}`}
                    >
                      {c.name || c.headline}
                    </a>
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}
