import { texts } from '../state';

/** The texts of the audit log, loaded only with its screen. */
const en = {
  title: 'Audit log',
  leadOwn: 'What happened to your account, and by whom. Entries cannot be changed or removed.',
  leadAll: 'What was changed in this network, and by whom. Entries cannot be changed or removed.',
  when: 'When',
  who: 'By',
  what: 'Object',
  fields: 'Changes',
  none: 'No entries',
  kind: 'Type',
  all: 'All',
  older: 'Older',
  newest: 'Newest',
  system: 'This server',
  mine: 'My account only',
  actor: 'Acting account (id)',
  kinds: {
    campaign: 'Campaign',
    user: 'Account',
    key: 'Key',
    deposit: 'Deposit',
    dead_letter: 'Dead letter',
    parked_payment: 'Parked payment',
    store: 'Store',
    quarantine: 'Quarantine case',
    publisher: 'Publisher',
    appeal: 'Appeal',
    ad_report: 'Reported ad',
  } as Record<string, string>,
};

const de: typeof en = {
  title: 'Protokoll',
  leadOwn:
    'Was mit Ihrem Konto geschah, und durch wen. Einträge lassen sich weder ändern noch entfernen.',
  leadAll:
    'Was in diesem Netzwerk geändert wurde, und durch wen. Einträge lassen sich weder ' +
    'ändern noch entfernen.',
  when: 'Wann',
  who: 'Durch',
  what: 'Objekt',
  fields: 'Änderungen',
  none: 'Keine Einträge',
  kind: 'Art',
  all: 'Alle',
  older: 'Ältere',
  newest: 'Neueste',
  system: 'Dieser Server',
  mine: 'Nur mein Konto',
  actor: 'Handelndes Konto (ID)',
  kinds: {
    campaign: 'Kampagne',
    user: 'Konto',
    key: 'Schlüssel',
    deposit: 'Einzahlung',
    dead_letter: 'Dead Letter',
    parked_payment: 'Nicht verbuchte Zahlung',
    store: 'Speicher',
    quarantine: 'Quarantäne-Fall',
    publisher: 'Publisher',
    appeal: 'Beschwerde',
    ad_report: 'Gemeldete Anzeige',
  },
};

export const l = () => texts(en, de);
