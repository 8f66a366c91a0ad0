import type { Schemas } from '../../shared/api';
import { st } from '../i18n/start';
import { Status } from './page';

/** A campaign's state as the API derives it: a live campaign that is not shown does not read as
 *  active. Values that this console does not know show the status. */
export function CampaignStatus({ of }: { of: Pick<Schemas['Campaign'], 'status' | 'delivery'> }) {
  const word = of.status === 'active' && of.delivery ? st().deliveries[of.delivery] : undefined;
  if (word === undefined) return <Status status={of.status} />;
  return <span class={`status ${of.delivery}`}>{word}</span>;
}
