import { texts } from '../state';

/** The texts of an account's side: what it is for. */
const en = {
  role: 'What do you want to do?',
  roles: { advertise: 'Advertise', publish: 'Publish ads', both: 'Both' },
  roleHelp: 'The console shows this first. One account can do both.',
  side: 'What this account is for',
};

const de: typeof en = {
  role: 'Was möchten Sie tun?',
  roles: { advertise: 'Werben', publish: 'Anzeigen zeigen', both: 'Beides' },
  roleHelp: 'Die Konsole zeigt dies zuerst. Ein Konto kann beides.',
  side: 'Wofür dieses Konto ist',
};

export const sideTexts = () => texts(en, de);
