import { api, need, type Schemas } from '../../shared/api';
import { s } from '../i18n/system';
import { base, count, time } from '../state';
import { Loaded, useLoad } from '../ui/load';
import { Card, Figure, Page } from '../ui/page';

type Found = Schemas['SystemHealth'];

/** The health of the servers, the log and the nodes, as seen by the answering node. */
export default function Health() {
  const of = useLoad(() => need(api.GET('/api/admin/health')), []);
  return (
    <Page
      title={s().health}
      lead={s().healthLead}
      asOf={of.is === 'loaded' ? of.data.as_of : undefined}
    >
      <Loaded of={of}>
        {(h) => (
          <>
            {h.problems.map((p) => (
              <p key={p} class="problem" role="alert">
                {p}
              </p>
            ))}
            <Card title={s().settlement} wide>
              <dl class="figures">
                <Figure
                  id="behind"
                  name={s().behind}
                  value={h.settlement.behind === null ? s().unknown : count(h.settlement.behind)}
                  note={`${s().partitions}: ${count(h.settlement.partitions)}`}
                />
                <Figure
                  id="ready"
                  name={s().thisNode}
                  value={
                    <Mark good={h.node.ready} words={h.node.ready ? s().ready : s().notReady} />
                  }
                  note={h.node.checks
                    .filter((c) => !c.ok)
                    .map((c) => c.name)
                    .join(', ')}
                />
                <Figure
                  id="verify"
                  name={s().lastVerify}
                  value={
                    h.verify ? (
                      <a href={`${base}/console/ledger`}>{s().runStates[h.verify.state]}</a>
                    ) : (
                      '–'
                    )
                  }
                  note={h.verify ? time(h.verify.ended_at ?? h.verify.asked_at) : undefined}
                />
              </dl>
            </Card>
            <Servers of={h} />
            <Processes of={h} />
            <Jobs of={h} />
            <Card title={s().nodes} wide>
              <div class="scroll flush" tabIndex={0} role="region" aria-label={s().nodes}>
                <table class="rows" data-table="nodes">
                  <thead>
                    <tr>
                      <th scope="col">{s().name}</th>
                      <th scope="col">{s().heard}</th>
                      <th scope="col">{s().state}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {h.nodes.map((n) => (
                      <tr key={n.name}>
                        <th scope="row" class="mono break">
                          {n.name}
                        </th>
                        <td>{time(n.heard_at)}</td>
                        <td>
                          {n.ended ? (
                            s().ended
                          ) : (
                            <Mark
                              good={fresh(n.heard_at, h.as_of)}
                              words={fresh(n.heard_at, h.as_of) ? s().serving : s().silent}
                            />
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** The status reports of the processes, every ten seconds. */
function Processes({ of }: { of: Found }) {
  return (
    <Card title={s().processes} wide>
      <div class="scroll flush" tabIndex={0} role="region" aria-label={s().processes}>
        <table class="rows" data-table="processes">
          <thead>
            <tr>
              <th scope="col">{s().name}</th>
              <th scope="col">{s().version}</th>
              <th scope="col">{s().uptime}</th>
              <th scope="col" class="num">
                {s().spool}
              </th>
              <th scope="col">{s().weights}</th>
              <th scope="col" class="num">
                {s().campaigns}
              </th>
            </tr>
          </thead>
          <tbody>
            {of.processes.map((p) => (
              <tr key={p.name} data-process={p.name}>
                <th scope="row" class="mono break">
                  {p.name}
                  <br />
                  <span class="note">{s().roles[p.role]}</span>
                </th>
                <td class="break">{p.version}</td>
                <td>
                  {s().since}
                  <br />
                  {time(p.started_at)}
                </td>
                {p.serving ? (
                  <>
                    <td class="num">
                      {s().bytesOf(count(p.serving.spool_bytes))}
                      <br />
                      <span class="note">{s().eventsOf(count(p.serving.spool_events))}</span>
                    </td>
                    <td class="break">
                      {p.serving.model}
                      {p.serving.trial ? (
                        <>
                          <br />
                          <span class="note">
                            {s().trial(
                              count(p.serving.trial),
                              s().stages[p.serving.stage] ?? p.serving.stage,
                            )}
                          </span>
                        </>
                      ) : null}
                    </td>
                    <td class="num">
                      {count(p.serving.campaigns)}
                      <br />
                      <span class="note">{s().deliver(count(p.serving.deliverable))}</span>
                    </td>
                  </>
                ) : (
                  <>
                    <td class="num">–</td>
                    <td>–</td>
                    <td class="num">–</td>
                  </>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** The recurring jobs with their last runs, which Redis stores. */
function Jobs({ of }: { of: Found }) {
  return (
    <Card title={s().jobs} wide>
      <div class="scroll flush" tabIndex={0} role="region" aria-label={s().jobs}>
        <table class="rows" data-table="jobs">
          <thead>
            <tr>
              <th scope="col">{s().job}</th>
              <th scope="col">{s().lastRun}</th>
              <th scope="col">{s().outcome}</th>
              <th scope="col">{s().nextRun}</th>
            </tr>
          </thead>
          <tbody>
            {of.jobs.map((j) => (
              <tr key={j.name} data-job={j.name}>
                <th scope="row">{s().jobNames[j.name] ?? j.name}</th>
                <td>
                  {j.ended_at ? time(j.ended_at) : s().notYet}
                  <br />
                  <span class="note mono break">{j.process}</span>
                </td>
                <td>
                  {j.ended_at ? (
                    <Mark good={!j.failed} words={j.failed ? s().jobFailed : s().jobDone} />
                  ) : (
                    '–'
                  )}
                  {j.why && <p class="note break">{j.why}</p>}
                </td>
                <td>{j.next ? time(j.next) : s().notPlanned}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

/** A node reports every second. After ten seconds without a report it is silent. */
const fresh = (heard: string, now: string) => Date.parse(now) - Date.parse(heard) < 10_000;

const Mark = ({ good, words }: { good: boolean; words: string }) => (
  <span class={`status ${good ? 'active' : 'rejected'}`}>{words}</span>
);

function Servers({ of }: { of: Found }) {
  if (of.servers.length === 0)
    return (
      <Card title={s().servers} wide>
        <p>{s().inProcess}</p>
      </Card>
    );
  return (
    <Card title={s().servers} wide>
      <div class="scroll flush" tabIndex={0} role="region" aria-label={s().servers}>
        <table class="rows" data-table="servers">
          <thead>
            <tr>
              <th scope="col">{s().server}</th>
              <th scope="col">{s().state}</th>
              <th scope="col">{s().version}</th>
              <th scope="col" class="num">
                {s().latency}
              </th>
              <th scope="col">{s().findings}</th>
            </tr>
          </thead>
          <tbody>
            {of.servers.map((x) => (
              <tr key={x.server}>
                <th scope="row">
                  {x.server}
                  <br />
                  <span class="note mono break">{x.address}</span>
                </th>
                <td>
                  <Mark good={x.ok} words={!x.reached ? s().away : x.ok ? s().works : s().mend} />
                </td>
                <td class="break">
                  {x.version ?? '–'}
                  <br />
                  <span class="note">{x.encryption}</span>
                </td>
                <td class="num">
                  {x.latency_ms === null ? '–' : `${Number(x.latency_ms).toFixed(1)} ms`}
                </td>
                <td>
                  <ul>
                    {(x.findings ?? []).map((f) => (
                      <li key={f.what}>
                        {f.what} → {f.do}
                      </li>
                    ))}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}
