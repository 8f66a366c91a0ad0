import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { Schemas } from '../../shared/api';
import { micros } from '../../shared/money';
import { st } from '../i18n/start';
import { t, usd } from '../state';
import { Deposit } from './deposit';
import type { Loading } from './load';
import { Card } from './page';

/** How often a returning payer's balance is read again: providers report a payment in seconds. */
const every = 3000;

/** The days of a daily budget that a balance pays for. */
function lasting(balance: bigint, daily: bigint): string {
  if (daily <= 0n || balance < daily) return st().lessThanDay;
  return st().days(Number(balance / daily));
}

/**
 * The money behind a draft, before it becomes a campaign: the balance, the days that it lasts, and
 * the deposit, which returns to the draft. Nothing where campaigns need no deposit.
 */
export function Funds({ of, daily }: { of: Loading<Schemas['Balance']>; daily: bigint }) {
  const { query } = useLocation();
  const purse = of.is === 'loaded' && of.data.funding === 'prepaid' ? of.data : undefined;
  const balance = micros(purse?.balance ?? 0);
  const waits = purse !== undefined && query.deposit !== undefined && balance <= 0n;
  useEffect(() => {
    if (!waits) return;
    const timer = setInterval(of.reload, every);
    return () => clearInterval(timer);
  }, [waits]);
  if (!purse) return null;
  return (
    <Card title={st().funds} wide>
      <p data-part="funds" class={balance > 0n ? undefined : 'notice'}>
        {balance > 0n
          ? st().fundsLast(usd(balance), lasting(balance, daily))
          : st().fundsNone(usd(balance))}
      </p>
      {query.deposit && (
        <p class="note" role="status">
          {t().depositReturned}
        </p>
      )}
      <Deposit back="campaigns/new?step=summary&deposit=done" help={st().depositHelp} />
    </Card>
  );
}
