import { useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { typedNumber } from '../../shared/money';
import { base, info, t, user } from '../state';
import { words } from './load';

/** A deposit at the payment provider, which returns to back, below /console/. */
export function Deposit({ back, help }: { back: string; help?: string }) {
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const [amount, setAmount] = useState('25');
  const [key] = useState(() => crypto.randomUUID());
  const pay = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      const made = await need(
        api.POST('/api/billing/create_checkout', {
          params: { header: { 'Idempotency-Key': `${key}-${amount}` } },
          body: {
            amount: typedNumber(amount),
            advertiser_id: user.value!.id,
            return_url: `${info.value?.base_url ?? location.origin + base}/console/${back}`,
          },
        }),
      );
      location.assign(made.checkout_url);
    } catch (e) {
      setProblem(words(e));
      setBusy(false);
    }
  };
  return (
    <form onSubmit={pay} class="stack" data-form="deposit">
      <label>
        {t().amountUSD}
        <input
          name="amount"
          type="number"
          inputMode="decimal"
          min="1"
          max="100000"
          step="0.01"
          required
          value={amount}
          onInput={(e) => setAmount(e.currentTarget.value)}
        />
      </label>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button class="primary" disabled={busy}>
        {t().toCheckout}
      </button>
      <p class="note">{help ?? t().checkoutHelp}</p>
    </form>
  );
}
