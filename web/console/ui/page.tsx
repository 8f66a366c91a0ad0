import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { answeredAt, base, calls, info, t, time } from '../state';

interface PageProps {
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  asOf?: string;
  children: ComponentChildren;
}

/** A screen: its title, actions and content, the time of its data and its API calls. */
export function Page({ title, lead, actions, asOf, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · adnet`;
  }, [title]);
  // Before the paint, because later it would take the focus from a user who is typing.
  useLayoutEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <main id="main" class="page">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <p class="lead">{lead}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
      <footer class="proof">
        <p>
          <AsOf at={asOf} /> {t().utcDays} <a href={definition()}>{t().howCounted}</a>
        </p>
        <ApiCalls />
      </footer>
    </main>
  );
}

/** The time of the page's data: of its counts, or else of the server's answer. */
function AsOf({ at }: { at?: string }) {
  const since = at ?? (calls.value.length > 0 ? answeredAt.value : '');
  return since ? <span data-part="as-of">{t().asOf(time(since))}</span> : null;
}

/** "The API call of this page": the equivalent requests for programs. */
function ApiCalls() {
  if (calls.value.length === 0) return null;
  const origin = info.value?.base_url ?? location.origin + base;
  const text = calls.value
    .map(
      (c) => `curl -sS '${origin}${c.path.slice(base.length)}' -H "Authorization: Bearer $TOKEN"`,
    )
    .join('\n');
  return (
    <details class="calls">
      <summary>{t().apiCall}</summary>
      <p>{t().apiCallHelp}</p>
      <Code text={text} label={t().apiCall} />
    </details>
  );
}

/** A text to copy. */
export function Code({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).catch(() => {});
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" class="small" onClick={copy}>
        {copied ? t().copied : t().copy}
      </button>
    </div>
  );
}

export function Card({
  title,
  children,
  wide,
}: {
  title?: string;
  children: ComponentChildren;
  wide?: boolean;
}) {
  return (
    <section class={wide ? 'card wide' : 'card'}>
      {title && <h2>{title}</h2>}
      {children}
    </section>
  );
}

/** The buttons between the pages of a list, from offset on in steps of size. */
export function Pages({
  offset,
  size,
  more,
  onTurn,
  children,
}: {
  offset: number;
  size: number;
  more: boolean;
  onTurn: (offset: number) => void;
  children?: ComponentChildren;
}) {
  return (
    <nav class="pages" aria-label={t().pages}>
      <button
        type="button"
        disabled={offset <= 0}
        onClick={() => onTurn(Math.max(0, offset - size))}
      >
        {t().previous}
      </button>
      {children}
      <button type="button" disabled={!more} onClick={() => onTurn(offset + size)}>
        {t().next}
      </button>
    </nav>
  );
}

/** The page that defines the figures, at the definition of one. */
function definition(id?: string) {
  return `${base}/docs/guide/figures${id ? `#${id}` : ''}`;
}

/** One number with its name, which links to its definition: a heading of docs/figures.md. */
export function Figure({
  name,
  value,
  note,
  id,
}: {
  name: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  id: string;
}) {
  return (
    <div class="figure" data-figure={id}>
      <dt>
        <a href={definition(id)}>{name}</a>
      </dt>
      <dd>{value}</dd>
      {note && <dd class="note">{note}</dd>}
    </div>
  );
}

/** The used share of an amount. */
export function Gauge({
  label,
  used,
  of,
  text,
}: {
  label: string;
  used: bigint;
  of: bigint;
  text: string;
}) {
  const share = of > 0n ? Math.min(100, Number((used * 100n) / of)) : 0;
  return (
    <span class="gauge">
      <progress max={100} value={share} aria-label={label} />
      <span class="gauge-text">{text}</span>
    </span>
  );
}

export function Status({ status }: { status: string }) {
  return (
    <span class={`status ${status}`}>
      {t().statuses[status as keyof ReturnType<typeof t>['statuses']] ?? status}
    </span>
  );
}
