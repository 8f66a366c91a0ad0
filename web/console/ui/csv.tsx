import { useState } from 'preact/hooks';
import { download } from '../../shared/api';
import { base, t } from '../state';
import { words } from './load';

/** A link that saves the table of a report. of is the API path with its query. */
export function CSV({ of }: { of: string }) {
  const [problem, setProblem] = useState('');
  const path = `${of}&format=csv&bom=1`;
  const save = async (e: Event) => {
    e.preventDefault();
    setProblem('');
    try {
      const url = URL.createObjectURL(await download(path));
      const link = document.createElement('a');
      link.href = url;
      link.download = 'adnet.csv';
      link.click();
      URL.revokeObjectURL(url);
    } catch (e) {
      setProblem(words(e));
    }
  };
  return (
    <>
      {problem && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
      <a class="button small" href={base + path} data-act="csv" onClick={save}>
        {t().asCSV}
      </a>
    </>
  );
}
