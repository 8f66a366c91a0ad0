import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../state';
import { words } from './load';

export interface Asked {
  title: string;
  help?: string;
  label?: string;
  act: string;
  check?: string;
  id?: string; // label of a field for one more id
  danger?: boolean;
  most?: number;
  optional?: boolean;
  does: (text: string, checked: boolean, id: string) => Promise<unknown>;
}

/**
 * Asks before an act, for words where it has a label: they are kept, and the person whom it
 * concerns reads them.
 */
export function Ask({ of, onClose }: { of: Asked; onClose: (done: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const left = useRef(false);
  const [text, setText] = useState('');
  const [checked, setChecked] = useState(false);
  const [id, setID] = useState('');
  const [problem, setProblem] = useState('');
  const [busy, setBusy] = useState(false);
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  // Runs once and immediately: the close event of a dialog arrives late, when the next question may
  // already be open.
  const leave = (done: boolean) => {
    if (left.current) return;
    left.current = true;
    dialog.current?.close(); // returns the focus to the element that opened it
    onClose(done);
  };
  const act = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    try {
      await of.does(text.trim(), checked, id.trim());
      leave(true);
    } catch (e) {
      setProblem(words(e));
      setBusy(false);
    }
  };
  return (
    <dialog
      ref={dialog}
      aria-labelledby="asked"
      onCancel={(e) => {
        e.preventDefault();
        leave(false);
      }}
      onClose={() => leave(false)}
    >
      <h2 id="asked">{of.title}</h2>
      {of.help && <p>{of.help}</p>}
      <form class="stack" onSubmit={act} data-form="ask">
        {of.id && (
          <label>
            {of.id}
            <input
              name="other"
              required
              minLength={36}
              maxLength={36}
              value={id}
              onInput={(e) => setID(e.currentTarget.value)}
            />
          </label>
        )}
        {of.label && (
          <label>
            {of.label}
            <textarea
              name="words"
              rows={3}
              required={!of.optional}
              maxLength={of.most ?? 1000}
              value={text}
              onInput={(e) => setText(e.currentTarget.value)}
            />
          </label>
        )}
        {of.check && (
          <label class="check">
            <span>
              <input
                type="checkbox"
                name="checked"
                checked={checked}
                onInput={(e) => setChecked(e.currentTarget.checked)}
              />{' '}
              {of.check}
            </span>
          </label>
        )}
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="row">
          <button class={of.danger ? 'danger' : 'primary'} disabled={busy}>
            {of.act}
          </button>
          <button type="button" onClick={() => leave(false)}>
            {t().cancel}
          </button>
        </div>
      </form>
    </dialog>
  );
}
