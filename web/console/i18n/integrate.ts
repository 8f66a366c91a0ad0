import { texts } from '../state';

/** The texts of the snippets, loaded only with their screens. */
const en = {
  methods: {
    mcp: 'MCP server',
    'mcp-python': 'MCP server, Python',
    js: 'In a page',
    npm: 'npm',
    python: 'Python',
    rest: 'REST',
    discord: 'Discord',
  } as Record<string, string>,
  help: {
    mcp: 'A server in TypeScript whose tool answers with an ad beside its result.',
    'mcp-python': 'A server in Python whose tool answers with an ad beside its result.',
    js: 'A script and an element; with integrity, so that the browser takes these bytes only.',
    npm: 'For Node, Deno, Bun and workers. The user never waits longer than the time limit.',
    python: 'For Python 3.11 and later; synchronous, and as AsyncAdnet.',
    rest: 'One call returns an ad, or the reason why there is none.',
    discord: 'A bot adds an embed beside its own answer.',
  } as Record<string, string>,
  key: 'Your publisher key',
  browserKey: 'Your browser key',
  keyHelp: (test: string) =>
    `Without one the code has ${test}: it shows a test ad and earns nothing. The key stays in ` +
    'this tab.',
  browserKeyHelp: 'A page needs a browser key that lists its origin. The key stays in this tab.',
  make: 'Make a key',
  made: 'The code has your new key. It is shown only now: keep it like a password.',
  madeName: 'Integrate',
  install: '1. Install, in an empty folder',
  save: (file: string) => `Save as ${file}`,
  run: 'Run',
  show: 'Show the code with this key',
  runHelp: {
    mcp: 'A host of MCP starts the server by its command; this call stands for one.',
    'mcp-python': 'A host of MCP starts the server by its command; this call stands for one.',
    js: 'Then open http://localhost:8000. The key must list this origin.',
    discord:
      'Put the token of your bot in place of YOUR_BOT_TOKEN, and write "!ask" with a question. ' +
      'The bot needs the message content intent.',
  } as Record<string, string>,
  guide: 'All fields and methods: the guide',
};

const de: typeof en = {
  methods: {
    mcp: 'MCP-Server',
    'mcp-python': 'MCP-Server, Python',
    js: 'In einer Seite',
    npm: 'npm',
    python: 'Python',
    rest: 'REST',
    discord: 'Discord',
  },
  help: {
    mcp: 'Ein Server in TypeScript, dessen Werkzeug neben seinem Ergebnis eine Anzeige liefert.',
    'mcp-python':
      'Ein Server in Python, dessen Werkzeug neben seinem Ergebnis eine Anzeige liefert.',
    js: 'Ein Skript und ein Element; mit Prüfsumme, damit der Browser nur diese Bytes nimmt.',
    npm: 'Für Node, Deno, Bun und Worker. Niemand wartet länger als das Zeitlimit.',
    python: 'Für Python ab 3.11; synchron und als AsyncAdnet.',
    rest: 'Ein Aufruf liefert eine Anzeige oder den Grund, warum es keine gibt.',
    discord: 'Ein Bot fügt neben seiner Antwort eine Einbettung hinzu.',
  },
  key: 'Ihr Publisher-Schlüssel',
  browserKey: 'Ihr Browser-Schlüssel',
  keyHelp: (test) =>
    `Ohne einen hat der Code ${test}: er zeigt eine Testanzeige und verdient nichts. Der ` +
    'Schlüssel bleibt in diesem Tab.',
  browserKeyHelp:
    'Eine Seite braucht einen Browser-Schlüssel, der ihren Ursprung nennt. Er bleibt in diesem Tab.',
  make: 'Schlüssel erzeugen',
  made: 'Der Code hat Ihren neuen Schlüssel. Er wird nur jetzt gezeigt: verwahren Sie ihn wie ein Passwort.',
  madeName: 'Einbinden',
  install: '1. Installieren, in einem leeren Ordner',
  save: (file) => `Speichern als ${file}`,
  run: 'Ausführen',
  show: 'Code mit diesem Schlüssel zeigen',
  runHelp: {
    mcp: 'Ein MCP-Host startet den Server mit seinem Befehl; dieser Aufruf steht für einen.',
    'mcp-python':
      'Ein MCP-Host startet den Server mit seinem Befehl; dieser Aufruf steht für einen.',
    js: 'Öffnen Sie dann http://localhost:8000. Der Schlüssel muss diesen Ursprung nennen.',
    discord:
      'Setzen Sie das Token Ihres Bots für YOUR_BOT_TOKEN ein, und schreiben Sie "!ask" mit einer ' +
      'Frage. Der Bot braucht das Recht, Inhalte von Nachrichten zu lesen.',
  },
  guide: 'Alle Felder und Methoden: die Anleitung',
};

export const i = () => texts(en, de);
