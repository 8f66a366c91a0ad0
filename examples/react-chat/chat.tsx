// A chat in React with an ad below an answer. Build it with
//   npx esbuild chat.tsx --bundle --format=esm --outfile=chat.js
// and set data-url and data-key in index.html to an installation and a browser key of yours.
import { Adnet } from '@adnet/sdk';
import { SponsoredAd } from '@adnet/sdk/react';
import { StrictMode, useState, type FormEvent } from 'react';
import { createRoot } from 'react-dom/client';

const root = document.getElementById('chat')!;
const adnet = new Adnet({ url: root.dataset.url!, key: root.dataset.key! });
const session = crypto.randomUUID(); // of this conversation, known to nobody else

interface Turn {
  question: string;
  answer: string;
}

/** A real chat asks its backend here. */
async function reply(question: string): Promise<string> {
  return `You asked: ${question}`;
}

function Chat() {
  const [turns, setTurns] = useState<Turn[]>([]);
  const [draft, setDraft] = useState('');

  async function send(event: FormEvent) {
    event.preventDefault();
    const question = draft.trim();
    if (question === '') return;
    setDraft('');
    const answer = await reply(question);
    setTurns((before) => [...before, { question, answer }]);
  }

  return (
    <main>
      <ol aria-live="polite">
        {turns.map(({ question, answer }, index) => (
          <li key={index}>
            <p>
              <b>You:</b> {question}
            </p>
            <p>
              <b>Bot:</b> {answer}
            </p>
            <SponsoredAd
              adnet={adnet}
              request={{ context: question, session_id: session, turn: index + 1, format: 'card' }}
            />
          </li>
        ))}
      </ol>
      <form onSubmit={send}>
        <label>
          Message <input value={draft} onChange={(event) => setDraft(event.target.value)} />
        </label>{' '}
        <button>Send</button>
      </form>
    </main>
  );
}

createRoot(root).render(
  <StrictMode>
    <Chat />
  </StrictMode>,
);
