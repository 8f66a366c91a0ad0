import { api, need, type Schemas } from '../../shared/api';
import { base, isAdmin, t, time, user } from '../state';
import { Loaded, useLoad } from './load';

type Campaign = Schemas['Campaign'];
const stops = ['paused_by_administrator', 'held_by_administrator'];

/** Reports whether an administrator paused the campaign and the viewer may not resume it. */
export const barred = (c: Campaign) =>
  c.policy_violations.some((v) => stops.includes(v.rule)) &&
  (!isAdmin.value || c.advertiser_id === user.value?.id);

/** The reason for an administrator's pause, and a link to appeal. */
export function Stopped({ of: c }: { of: Campaign }) {
  const of = useLoad(
    () => need(api.GET('/api/decisions', { params: { query: { kind: 'pause', limit: 100 } } })),
    [c.id, c.config_version],
  );
  return (
    <div class="notice" role="note" data-part="stopped">
      <h2>{t().stoppedTitle}</h2>
      <Loaded of={of}>
        {({ decisions }) => {
          const why = decisions.find((d) => d.target_id === c.id);
          return (
            <>
              {why && (
                <p>
                  <time>{time(why.at)}</time>: {why.reason}
                </p>
              )}
              <p>
                <a href={`${base}/console/decisions${why ? '#' + why.id : ''}`}>
                  {t().stoppedAppeal}
                </a>
              </p>
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
