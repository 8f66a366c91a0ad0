import { effect, signal } from '@preact/signals';
import { api, ApiError, need } from '../shared/api';
import { user } from './state';
import { words } from './ui/load';

// A decision of a reviewer waits for ten seconds in which it can be undone, then it is sent. It is
// neither lost nor made twice:
// - It is sent at once when the page is left, by requests that outlive the page.
// - Until the server has answered, it is also in this tab's storage, from which a page that was
//   reloaded or restored sends it again.
// - Each call has one Idempotency-Key, with which the server acts once however often it is sent,
//   and the version of the campaign that the reviewer saw; of another version it is refused.

interface Call {
  key: string;
  id: string;
  decision: 'approved' | 'rejected';
  notes: string;
  config_version: number;
}

/** A decision about one or more campaigns. */
export interface Decided {
  key: string;
  reviewer: string;
  at: number;
  text: string;
  calls: Call[];
  /** left: of a page that has ended; sent: answered, and perhaps still in a list of the page */
  state: 'waiting' | 'sending' | 'sent' | 'failed' | 'left';
  problem?: string;
}

/** How long a decision can be undone, in milliseconds. */
export const undoable = 10_000;

/** A decision of an ended page is sent again for so long. An older one is left to the queue. */
const resent = 10 * 60_000;

const stored = 'adnet.decided';

function leftovers(): Decided[] {
  try {
    const all = JSON.parse(sessionStorage.getItem(stored) ?? '[]') as Decided[];
    return all.map((d) => ({ ...d, state: 'left' as const }));
  } catch {
    return [];
  }
}

const all = signal<Decided[]>(leftovers());
effect(() => {
  const open = all.value.filter((d) => d.state !== 'sent' && d.state !== 'failed');
  try {
    if (open.length > 0) sessionStorage.setItem(stored, JSON.stringify(open));
    else sessionStorage.removeItem(stored);
  } catch {
    /* without storage a decision is sent when the page is left, and not again */
  }
});

/** The number of answers so far: after each the queue is another one. */
export const answers = signal(0);

/** The decisions of the present reviewer. */
export const decisions = () => all.value.filter((d) => d.reviewer === user.value?.id);

const change = (key: string, to: Partial<Decided>) => {
  all.value = all.value.map((d) => (d.key === key ? { ...d, ...to } : d));
};
const drop = (keys: string[]) => {
  all.value = all.value.filter((d) => !keys.includes(d.key));
};

/** Takes a decision about campaigns. */
export function decide(text: string, calls: Omit<Call, 'key'>[]) {
  const key = crypto.randomUUID();
  all.value = [
    ...all.value,
    {
      key,
      reviewer: user.value!.id,
      at: Date.now(),
      text,
      state: 'waiting',
      calls: calls.map((c) => ({ ...c, key: crypto.randomUUID() })),
    },
  ];
  setTimeout(() => send(key, ['waiting']), undoable);
}

/** Undoes a decision that was not sent. It returns its first campaign. */
export function undo(key: string): string | undefined {
  const d = all.value.find((d) => d.key === key && d.state === 'waiting');
  if (!d) return undefined;
  drop([key]);
  return d.calls[0]?.id;
}

/** The latest decision that can be undone. */
export const latest = () =>
  decisions()
    .filter((d) => d.state === 'waiting')
    .pop();

/** Removes decisions: failed ones that were read, and sent ones of which no list shows a row. */
export const forget = drop;

/** Sends a failed decision again. */
export const retry = (key: string) => send(key, ['failed']);

const pause = () => new Promise((then) => setTimeout(then, 1000));

/** Makes a call. While the server works on an earlier sending of it, it is asked again. */
async function post({ key, ...body }: Call, tries = 0): Promise<void> {
  try {
    await need(
      api.POST('/api/campaigns/review', {
        params: { header: { 'Idempotency-Key': key } },
        body,
        keepalive: true,
      }),
    );
  } catch (e) {
    if (!(e instanceof ApiError && e.code === 'idempotency_in_progress') || tries >= 10) throw e;
    await pause();
    await post({ key, ...body }, tries + 1);
  }
}

async function send(key: string, from: Decided['state'][]): Promise<void> {
  const d = all.value.find((d) => d.key === key && from.includes(d.state));
  if (!d) return;
  change(key, { state: 'sending' });
  // All at once: nothing runs after an await when the page is left.
  const results = await Promise.allSettled(d.calls.map((c) => post(c)));
  const failed = d.calls.filter((_, i) => results[i]!.status === 'rejected');
  const why = results.find((r) => r.status === 'rejected')?.reason;
  if (failed.length === 0) change(key, { state: 'sent' });
  else change(key, { state: 'failed', calls: failed, problem: words(why) });
  answers.value++;
}

/** Sends what waits, at once. */
export const sendAll = () =>
  Promise.all(all.value.map((d) => send(d.key, ['waiting']))).then(() => {});

/** Sends what an ended page of the present reviewer has left. */
export function resume() {
  drop(all.value.filter((d) => d.state === 'left' && d.at < Date.now() - resent).map((d) => d.key));
  for (const d of decisions()) void send(d.key, ['left']);
}

addEventListener('pagehide', () => void sendAll());
// A page that the browser kept, and shows again, may have missed its answers.
addEventListener('pageshow', (e) => {
  if (e.persisted) for (const d of decisions()) void send(d.key, ['sending']);
});
