import type { Schemas } from '../../shared/api';
import { texts } from '../state';

/** Those of a newer server are shown by their ids. */
const events: Record<string, string> = {
  'campaign.approved': 'Campaign approved',
  'campaign.rejected': 'Campaign rejected',
  'campaign.ended': 'Campaign ended',
  'deposit.credited': 'Deposit credited',
  'quarantine.ended': 'Case about traffic decided',
};
const states: Record<Schemas['WebhookDeliveryState'], string> = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  failed: 'Failed',
  dropped: 'Dropped',
};

/** The texts of the screen of webhooks, loaded only with it. */
const en = {
  events,
  states,
  lead:
    'adnet sends these events to your server, signed by the convention of Standard Webhooks. ' +
    'Failed messages are sent again for 3 days.',
  create: 'New webhook',
  url: 'Address (https)',
  description: 'Description',
  which: 'Events',
  whichHelp: 'Nothing selected: all events, also those of later versions.',
  add: 'Create webhook',
  none: 'No webhooks yet',
  all: 'all events',
  limit: (n: number) => `An account has at most ${n} webhooks.`,
  on: 'On',
  off: 'Off',
  turnOn: 'Turn on',
  turnOff: 'Turn off',
  edit: 'Edit',
  rotate: 'Replace secret',
  rotateSure: 'Replace the secret? For 24 hours messages are signed with both secrets.',
  both: (until: string) => `Both secrets sign until ${until}.`,
  remove: 'Delete',
  removeSure: (url: string) => `Delete the webhook to ${url}? Its deliveries are deleted with it.`,
  secret: 'Secret of the webhook',
  once: 'It is shown only now. Your server verifies messages with it.',
  kept: 'I have stored it',
  deliveries: 'Deliveries',
  deliveriesHelp: 'Messages of the last 7 days, newest first.',
  noDeliveries: 'No deliveries',
  state: 'State',
  every: 'All',
  event: 'Event',
  created: 'Created',
  attempts: 'Attempts',
  result: 'Last reply',
  next: (at: string) => `Next attempt ${at}`,
  message: 'Message',
  replay: 'Send again',
  replayed: 'The message waits for its delivery.',
  newer: 'Newer',
  older: 'Older',
};

type Texts<T> = {
  [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...args: infer A) => string
      ? (...args: A) => string
      : Texts<T[K]>;
};

const de: Texts<typeof en> = {
  events: {
    'campaign.approved': 'Kampagne freigegeben',
    'campaign.rejected': 'Kampagne abgelehnt',
    'campaign.ended': 'Kampagne beendet',
    'deposit.credited': 'Einzahlung gutgeschrieben',
    'quarantine.ended': 'Fall zum Traffic entschieden',
  },
  states: {
    waiting: 'Wartet',
    delivered: 'Zugestellt',
    failed: 'Gescheitert',
    dropped: 'Verworfen',
  },
  lead:
    'adnet schickt diese Ereignisse an Ihren Server, signiert nach der Konvention Standard ' +
    'Webhooks. Gescheiterte Nachrichten werden 3 Tage lang erneut gesendet.',
  create: 'Neuer Webhook',
  url: 'Adresse (https)',
  description: 'Beschreibung',
  which: 'Ereignisse',
  whichHelp: 'Nichts ausgewählt: alle Ereignisse, auch die späterer Versionen.',
  add: 'Webhook anlegen',
  none: 'Noch keine Webhooks',
  all: 'alle Ereignisse',
  limit: (n) => `Ein Konto hat höchstens ${n} Webhooks.`,
  on: 'An',
  off: 'Aus',
  turnOn: 'Einschalten',
  turnOff: 'Ausschalten',
  edit: 'Bearbeiten',
  rotate: 'Geheimnis ersetzen',
  rotateSure:
    'Das Geheimnis ersetzen? 24 Stunden lang werden Nachrichten mit beiden Geheimnissen signiert.',
  both: (until) => `Bis ${until} signieren beide Geheimnisse.`,
  remove: 'Löschen',
  removeSure: (url) => `Den Webhook an ${url} löschen? Seine Zustellungen werden mit ihm gelöscht.`,
  secret: 'Geheimnis des Webhooks',
  once: 'Es wird nur jetzt gezeigt. Ihr Server prüft damit die Nachrichten.',
  kept: 'Ich habe es aufbewahrt',
  deliveries: 'Zustellungen',
  deliveriesHelp: 'Nachrichten der letzten 7 Tage, die neuesten zuerst.',
  noDeliveries: 'Keine Zustellungen',
  state: 'Stand',
  every: 'Alle',
  event: 'Ereignis',
  created: 'Erstellt',
  attempts: 'Versuche',
  result: 'Letzte Antwort',
  next: (at) => `Nächster Versuch ${at}`,
  message: 'Nachricht',
  replay: 'Erneut senden',
  replayed: 'Die Nachricht wartet auf ihre Zustellung.',
  newer: 'Neuere',
  older: 'Ältere',
};

export const w = () => texts(en, de);
