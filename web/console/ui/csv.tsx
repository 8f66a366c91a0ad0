import { useState } from 'preact/hooks';
import { save } from '../../shared/api';
import { t } from '../state';
import { words } from './load';

/** A button that saves the table of a report. of is the API path with its query. */
export function CSV({ of }: { of: string }) {
  const [problem, setProblem] = useState('');
  const get = () => {
    setProblem('');
    save(`${of}&format=csv&bom=1`, 'adnet.csv').catch((e) => setProblem(words(e)));
  };
  return (
    <>
      {problem && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      <button type="button" class="small" data-act="csv" onClick={get}>
        {t().asCSV}
      </button>
    </>
  );
}
