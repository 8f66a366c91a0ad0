import { useState } from 'preact/hooks';
import { api, need } from '../../shared/api';
import { s } from '../i18n/system';
import { Loaded, useLoad } from '../ui/load';
import { Page } from '../ui/page';

/** Every setting of the answering node with the origin of its value. */
export default function Settings() {
  const of = useLoad(() => need(api.GET('/api/admin/settings')), []);
  const [text, setText] = useState(''),
    [changed, setChanged] = useState(false);
  return (
    <Page title={s().settings} lead={s().settingsLead}>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label>
          {s().search}
          <input
            type="search"
            name="q"
            maxLength={80}
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <label class="pick">
          <input
            type="checkbox"
            checked={changed}
            onChange={(e) => setChanged(e.currentTarget.checked)}
          />{' '}
          <span>{s().changed}</span>
        </label>
      </form>
      <Loaded of={of}>
        {({ settings }) => (
          <div class="scroll card flush" tabIndex={0} role="region" aria-label={s().settings}>
            <table class="rows" data-table="settings">
              <thead>
                <tr>
                  <th scope="col">{s().name}</th>
                  <th scope="col">{s().value}</th>
                  <th scope="col">{s().standard}</th>
                  <th scope="col">{s().origin}</th>
                </tr>
              </thead>
              <tbody>
                {settings
                  .filter(
                    (x) =>
                      (!changed || x.origin !== 'default') &&
                      (x.name + x.help).toLowerCase().includes(text.toLowerCase()),
                  )
                  .map((x) => (
                    <tr key={x.name} data-id={x.name}>
                      <th scope="row">
                        <span class="mono">{x.name}</span>
                        <br />
                        <span class="note break">{x.help}</span>
                      </th>
                      <td class="mono break">{x.value || '–'}</td>
                      <td class="mono break">{x.default || '–'}</td>
                      <td>
                        <span class={`status ${x.origin === 'default' ? '' : 'active'}`}>
                          {s().origins[x.origin]}
                        </span>
                      </td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </Page>
  );
}
