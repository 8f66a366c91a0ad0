import { useState } from 'preact/hooks';
import { api, need, type Schemas } from '../../shared/api';
import { a } from '../i18n/admin';
import { count, time, usd } from '../state';
import { Loaded, useLoad, words } from '../ui/load';
import { Card, Pages } from '../ui/page';

const perPage = 50;
type Event = Schemas['ParkedDelivery'];
type Decision = Schemas['ParkedDecision']['decision'];

/** Events of payment providers that wait for an administrator's decision. */
export function Parked() {
  const [said, setSaid] = useState('');
  const [offset, setOffset] = useState(0);
  const of = useLoad(
    () =>
      need(
        api.GET('/api/billing/parked', {
          params: { query: { state: 'open', limit: perPage, offset } },
        }),
      ),
    [offset],
  );
  return (
    <Card title={a().parked} wide>
      <p class="note">{a().parkedHelp}</p>
      <output aria-live="polite" class="good">
        {said}
      </output>
      <Loaded of={of}>
        {({ parked, more }) => (
          <>
            {parked.length === 0 && offset === 0 && <p>{a().noParked}</p>}
            {parked.map((e) => (
              <Row
                key={e.id}
                of={e}
                onDone={() => {
                  setSaid(a().caseDecided);
                  if (parked.length === 1 && offset > 0) setOffset(offset - perPage);
                  else of.reload();
                }}
              />
            ))}
            {(offset > 0 || more) && (
              <Pages offset={offset} size={perPage} more={more} onTurn={setOffset} />
            )}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Row({ of, onDone }: { of: Event; onDone: () => void }) {
  const [decision, setDecision] = useState<Decision>('credit');
  const [account, setAccount] = useState('');
  const [amount, setAmount] = useState(of.amount && of.count === 1 ? String(of.amount) : '');
  const [note, setNote] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  const moves = decision !== 'dismiss';
  const decide = async (e: SubmitEvent) => {
    e.preventDefault();
    setBusy(true);
    setProblem('');
    try {
      await need(
        api.POST('/api/billing/parked', {
          body: {
            id: of.id,
            decision,
            note,
            ...(moves && { account_id: account.trim(), amount: Number(amount) }),
          },
        }),
      );
      onDone();
    } catch (e) {
      setProblem(words(e));
      setBusy(false);
    }
  };
  return (
    <details data-parked={of.id}>
      <summary>
        {of.provider} <span class="mono">{of.event_type}</span>{' '}
        {of.amount !== null && usd(of.amount)} {of.count > 1 && `× ${count(of.count)}`} ·{' '}
        {time(of.received_at)}
      </summary>
      <dl class="facts">
        <dt>{a().why}</dt>
        <dd>{of.reason}</dd>
        <dt>{a().payment}</dt>
        <dd class="mono">{of.payment_id}</dd>
        <dt>{a().event}</dt>
        <dd class="mono">{of.event_id}</dd>
      </dl>
      <form class="stack" data-form="parked" onSubmit={decide}>
        <label>
          {a().decision}
          <select
            name="decision"
            value={decision}
            onChange={(e) => setDecision(e.currentTarget.value as Decision)}
          >
            <option value="credit">{a().credit}</option>
            <option value="debit">{a().debit}</option>
            <option value="dismiss">{a().dismiss}</option>
          </select>
        </label>
        {moves && (
          <>
            <label>
              {a().accountId}
              <input
                name="account_id"
                required
                value={account}
                onInput={(e) => setAccount(e.currentTarget.value)}
              />
            </label>
            <label>
              {a().amountUSD}
              <input
                name="amount"
                type="number"
                min="0.000001"
                step="any"
                required
                value={amount}
                onInput={(e) => setAmount(e.currentTarget.value)}
              />
            </label>
          </>
        )}
        <label>
          {a().why}
          <textarea
            name="note"
            rows={2}
            required
            maxLength={500}
            value={note}
            onInput={(e) => setNote(e.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="row">
          <button class={decision === 'dismiss' ? '' : 'primary'} disabled={busy}>
            {decision === 'credit' ? a().credit : decision === 'debit' ? a().debit : a().dismiss}
          </button>
        </div>
      </form>
    </details>
  );
}
