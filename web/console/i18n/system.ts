import { texts } from '../state';

/** The texts of the screens about the installation itself, which come with these screens only. */
const en = {
  all: 'All', when: 'When', older: 'Older', newest: 'Newest', search: 'Search', details: 'Details',
  ledger: 'Ledger', ledgerLead: 'Every movement of money and Credits. Rows are never changed; each account’s entries are linked by hashes.',
  verify: 'Promises about money', verifyHelp: 'The consumers hold the stores against each other every night, as `adnet verify` does.', runNow: 'Run now', asked: 'A run was asked for; it begins within seconds.', noRuns: 'No run yet',
  runStates: { waiting: 'Waits', running: 'Runs', clean: 'Clean', broken: 'Broken', failed: 'Failed', lost: 'Lost' } as Record<string, string>,
  run: 'Run', promise: 'Promise', expected: 'Expected', found: 'Found', holds: 'Holds', broken: 'Broken', nightly: 'nightly', runs: 'Runs',
  account: 'Account', subject: 'Campaign, publisher or advertiser (id)', auction: 'Auction (id)', kind: 'Kind', since: 'From (UTC)', until: 'Before (UTC)',
  auctionHelp: 'An auction gives the movements of its campaign and publisher in the 15 minutes after its events.',
  movements: 'Movements', noMovements: 'No movement matches', entries: 'Entries: account, amount, balance after, number', reverses: 'takes back',
  heads: 'Chain heads', headsHelp: 'The last link of every chain. Kept elsewhere it proves later that nothing before it was changed.', number: 'Number', balance: 'Balance', hash: 'Hash', next: 'Next', first: 'First',
  kinds: { charge: 'Charge', mint: 'Mint', credit_fund: 'Credits spent', credit_release: 'Credits released', credit_available: 'Credits spendable', credit_take_back: 'Credits taken back', credit_expire: 'Credits expired', deposit: 'Deposit', refund: 'Refund', dispute: 'Dispute', dispute_won: 'Dispute won', mint_release: 'Held Credits released', mint_clawback: 'Credits clawed back', traffic_refund: 'Refund of traffic' } as Record<string, string>,
  letters: 'Dead letters', lettersLead: 'Records of the log that settlement could not decode. Nothing was charged or earned by them.', noLetters: 'No dead letters wait', problem: 'Why (part of the text)', state: 'State', openOnes: 'Not sent again', bytes: 'Bytes', place: 'Place in the log', evidence: 'What it holds', read: 'Read', replay: 'Send again', sent: 'Sent again', begun: 'Begun, not ended: it may be in the log', firstBytes: 'First bytes, hex', fields: 'Fields', nothingDecoded: 'The bytes are no event.',
  replayHelp: 'Do this after what made it unreadable was mended. An event that was applied counts as a duplicate.', replayed: 'It is in the log again.', close: 'Close',
  settings: 'Settings', settingsLead: 'Of the node that answers, with secrets masked.', name: 'Name', value: 'Value', standard: 'Default', origin: 'Origin', changed: 'Changed ones only',
  origins: { default: 'Default', environment: 'Environment', file: 'File', flag: 'Flag' } as Record<string, string>,
  network: 'Network', networkLead: 'All publishers and advertisers together.', today: 'Today', month: 'This month', requests: 'Requests', fill: 'Fill rate', impressions: 'Impressions', clicks: 'Clicks', spend: 'Spend', credits: 'Credits', invalid: 'Invalid events', ctr: 'Click rate',
  noFill: 'Why there was no ad', noneUnfilled: 'Every request had an ad', byReason: 'Invalid traffic by reason', byPublisher: 'By publisher', byDay: 'By day', reason: 'Reason', other: 'Other', publisher: 'Publisher (id)', period: 'Period', days: (n: number) => `${n} days`, noInvalid: 'No invalid traffic',
  health: 'System health', healthLead: 'What this node finds when it looks around, at most 30 seconds ago.', servers: 'Servers', inProcess: 'In-memory mode: log and stores are parts of this process.', server: 'Server', version: 'Version', latency: 'Latency', works: 'Works', mend: 'To be mended', away: 'Not reached', findings: 'Findings',
  settlement: 'Settlement', behind: 'Records that wait', unknown: 'unknown', nodes: 'Serving nodes', heard: 'Last heard', ended: 'Ended', serving: 'Serves', silent: 'Silent', thisNode: 'This node', ready: 'Ready', notReady: 'Not ready', lastVerify: 'Newest verify', partitions: 'Partitions',
  processes: 'Processes', uptime: 'Runs', spool: 'Waits on disk', weights: 'Weights', campaigns: 'Campaigns', roles: { ingress: 'serves ads', consumers: 'consumers', standalone: 'all in one' } as Record<string, string>,
  bytesOf: (n: string) => `${n} bytes`, eventsOf: (n: string) => `${n} events`, trial: (n: string, stage: string) => `version ${n} on trial: ${stage}`, stages: { shadow: 'foretells only', part: 'decides a share', all: 'decides all' } as Record<string, string>, deliver: (n: string) => `${n} deliver`,
  jobs: 'Recurring jobs', job: 'Job', lastRun: 'Last run', outcome: 'Outcome', nextRun: 'Next run', notYet: 'none told yet', notPlanned: 'no process plans it', jobDone: 'Done', jobFailed: 'Failed', jobNames: { verify: 'Verify', train: 'Training of the ranking', retention: 'Retention', goals: 'Goals of campaigns', rollup: 'Roll-up of closed days' } as Record<string, string>,
};

type Texts<T> = { [K in keyof T]: T[K] extends string ? string : T[K] extends (...args: infer A) => string ? (...args: A) => string : Texts<T[K]> };

const de: Texts<typeof en> = {
  all: 'Alle', when: 'Wann', older: 'Ältere', newest: 'Neueste', search: 'Suchen', details: 'Einzelheiten',
  ledger: 'Hauptbuch', ledgerLead: 'Jede Bewegung von Geld und Credits. Zeilen ändern sich nie; die Einträge jedes Kontos sind durch Prüfsummen verkettet.',
  verify: 'Versprechen über Geld', verifyHelp: 'Die Consumer vergleichen die Speicher jede Nacht, wie `adnet verify`.', runNow: 'Jetzt prüfen', asked: 'Eine Prüfung ist angefordert; sie beginnt in Sekunden.', noRuns: 'Noch keine Prüfung',
  runStates: { waiting: 'Wartet', running: 'Läuft', clean: 'Sauber', broken: 'Verletzt', failed: 'Gescheitert', lost: 'Verloren' },
  run: 'Prüfung', promise: 'Versprechen', expected: 'Erwartet', found: 'Gefunden', holds: 'Gehalten', broken: 'Verletzt', nightly: 'nächtlich', runs: 'Prüfungen',
  account: 'Konto', subject: 'Kampagne, Publisher oder Werbekunde (Kennung)', auction: 'Auktion (Kennung)', kind: 'Art', since: 'Ab (UTC)', until: 'Vor (UTC)',
  auctionHelp: 'Eine Auktion gibt die Bewegungen ihrer Kampagne und ihres Publishers in den 15 Minuten nach ihren Ereignissen.',
  movements: 'Bewegungen', noMovements: 'Keine Bewegung passt', entries: 'Einträge: Konto, Betrag, Stand danach, Nummer', reverses: 'nimmt zurück',
  heads: 'Kettenenden', headsHelp: 'Das letzte Glied jeder Kette. Anderswo aufbewahrt beweist es später, dass nichts davor geändert wurde.', number: 'Nummer', balance: 'Stand', hash: 'Prüfsumme', next: 'Weiter', first: 'Anfang',
  kinds: { charge: 'Belastung', mint: 'Gutschrift', credit_fund: 'Credits ausgegeben', credit_release: 'Credits freigegeben', credit_available: 'Credits verfügbar', credit_take_back: 'Credits zurückgenommen', credit_expire: 'Credits verfallen', deposit: 'Einzahlung', refund: 'Erstattung', dispute: 'Anfechtung', dispute_won: 'Anfechtung gewonnen', mint_release: 'Einbehaltene Credits freigegeben', mint_clawback: 'Credits zurückgeholt', traffic_refund: 'Erstattung von Verkehr' },
  letters: 'Unlesbare Einträge', lettersLead: 'Einträge des Logs, die die Abrechnung nicht lesen konnte. Durch sie wurde nichts berechnet oder verdient.', noLetters: 'Kein unlesbarer Eintrag wartet', problem: 'Warum (Teil des Textes)', state: 'Zustand', openOnes: 'Nicht wieder gesendet', bytes: 'Bytes', place: 'Ort im Log', evidence: 'Was darin steht', read: 'Lesen', replay: 'Wieder senden', sent: 'Wieder gesendet', begun: 'Begonnen, nicht beendet: er kann im Log stehen', firstBytes: 'Erste Bytes, hexadezimal', fields: 'Felder', nothingDecoded: 'Die Bytes sind kein Ereignis.',
  replayHelp: 'Erst wenn die Ursache behoben ist. Ein Ereignis, das schon galt, zählt als Dublette.', replayed: 'Er steht wieder im Log.', close: 'Schließen',
  settings: 'Einstellungen', settingsLead: 'Des Knotens, der antwortet; Geheimes ist verdeckt.', name: 'Name', value: 'Wert', standard: 'Vorgabe', origin: 'Herkunft', changed: 'Nur geänderte',
  origins: { default: 'Vorgabe', environment: 'Umgebung', file: 'Datei', flag: 'Aufruf' },
  network: 'Netz', networkLead: 'Alle Publisher und Werbekunden zusammen.', today: 'Heute', month: 'Dieser Monat', requests: 'Anfragen', fill: 'Füllrate', impressions: 'Einblendungen', clicks: 'Klicks', spend: 'Ausgaben', credits: 'Credits', invalid: 'Ungültige Ereignisse', ctr: 'Klickrate',
  noFill: 'Warum es keine Anzeige gab', noneUnfilled: 'Jede Anfrage bekam eine Anzeige', byReason: 'Ungültiger Verkehr nach Grund', byPublisher: 'Nach Publisher', byDay: 'Nach Tag', reason: 'Grund', other: 'Andere', publisher: 'Publisher (Kennung)', period: 'Zeitraum', days: (n) => `${n} Tage`, noInvalid: 'Kein ungültiger Verkehr',
  health: 'Zustand des Systems', healthLead: 'Was dieser Knoten vor höchstens 30 Sekunden vorfand.', servers: 'Server', inProcess: 'Im Speicher-Modus sind Log und Speicher Teile dieses Prozesses.', server: 'Server', version: 'Version', latency: 'Laufzeit', works: 'Geht', mend: 'Zu beheben', away: 'Nicht erreicht', findings: 'Befunde',
  settlement: 'Abrechnung', behind: 'Wartende Einträge', unknown: 'unbekannt', nodes: 'Knoten', heard: 'Zuletzt gehört', ended: 'Beendet', serving: 'Dient', silent: 'Stumm', thisNode: 'Dieser Knoten', ready: 'Bereit', notReady: 'Nicht bereit', lastVerify: 'Neueste Prüfung', partitions: 'Partitionen',
  processes: 'Prozesse', uptime: 'Läuft', spool: 'Wartet auf Platte', weights: 'Gewichte', campaigns: 'Kampagnen', roles: { ingress: 'liefert Anzeigen', consumers: 'Consumer', standalone: 'alles in einem' },
  bytesOf: (n) => `${n} Bytes`, eventsOf: (n) => `${n} Ereignisse`, trial: (n, stage) => `Version ${n} auf Probe: ${stage}`, stages: { shadow: 'sagt nur voraus', part: 'entscheidet einen Teil', all: 'entscheidet alles' }, deliver: (n) => `${n} werden ausgeliefert`,
  jobs: 'Wiederkehrende Aufgaben', job: 'Aufgabe', lastRun: 'Letzter Lauf', outcome: 'Ergebnis', nextRun: 'Nächster Lauf', notYet: 'noch keiner gemeldet', notPlanned: 'kein Prozess plant sie', jobDone: 'Erledigt', jobFailed: 'Gescheitert', jobNames: { verify: 'Prüfung', train: 'Lernen der Rangfolge', retention: 'Aufräumen', goals: 'Ziele der Kampagnen', rollup: 'Verdichten alter Tage' },
};

export const s = () => texts(en, de);
